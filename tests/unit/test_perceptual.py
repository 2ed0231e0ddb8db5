import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from attacks import perceptual
from attacks.perceptual import BACKBONES, backbone_shapes, check_backbone, embed, load_perceptual, pairwise_lpips
from condensers.errors import BadData

WEIGHTS = Path(__file__).parents[2].parent / "shared" / "weights"
CPU = torch.device("cpu")
SHORT = {"vgg16": "vgg", "alexnet": "alex"}


def random_backbone(network: str) -> dict[str, torch.Tensor]:
    """He-scaled kernels, so that activations neither vanish nor grow."""
    generator = np.random.default_rng(1)
    return {
        name: torch.from_numpy(
            (generator.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:], initial=1))).astype(np.float32)
            * (1.0 if len(shape) == 4 else 0.1)
        ).float()
        for name, shape in backbone_shapes(network).items()
    }


def package_lpips(network: str, backbone: dict[str, torch.Tensor]) -> torch.nn.Module:
    """The lpips package's own module with this backbone put into it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lpips

        module = lpips.LPIPS(net=SHORT[network], pnet_rand=True, verbose=False)
    for name, parameter in module.net.named_parameters():
        _, index, kind = name.split(".")
        parameter.data.copy_(backbone[f"features.{index}.{kind}"])
    return module


def random_images(count: int, shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(-1, 1, (count, *shape)).astype(np.float32))


def assert_as_package(network: str, backbone: dict[str, torch.Tensor], images, records, shown=lambda x: x) -> None:
    module = package_lpips(network, backbone)
    found = pairwise_lpips(load_perceptual(network, backbone, CPU), images, records)
    with torch.no_grad():
        expected = torch.stack([module(shown(image[None]), shown(records)).flatten() for image in images])
    assert expected.std() > 1e-4
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-5, rtol=0)


@pytest.mark.shared
@pytest.mark.skipif(not WEIGHTS.is_dir(), reason="no weights beside the checkout")
@pytest.mark.parametrize("network", BACKBONES)
def test_lpips_against_package(network: str) -> None:
    images, records = random_images(2, (3, 64, 64), 2), random_images(5, (3, 64, 64), 3)
    records[3] = images[1]
    backbone = load_file(WEIGHTS / f"{network}_features.safetensors")
    assert_as_package(network, backbone, images, records)


def test_grey_small_images_against_package_on_enlarged_ones() -> None:
    images, records = random_images(2, (1, 8, 12), 2), random_images(5, (1, 8, 12), 3)

    def shown(pictures: torch.Tensor) -> torch.Tensor:
        colours = pictures.repeat(1, 3, 1, 1)
        return functional.interpolate(colours, size=(64, 96), mode="bilinear", align_corners=False)

    assert_as_package("alexnet", random_backbone("alexnet"), images, records, shown)


def test_blocks_change_nothing_against_one_block(monkeypatch) -> None:
    metric = load_perceptual("alexnet", random_backbone("alexnet"), CPU)
    images, records = random_images(5, (3, 64, 64), 2), random_images(20, (3, 64, 64), 3)
    whole = pairwise_lpips(metric, images, records)
    assert torch.equal(whole, torch.cat([pairwise_lpips(metric, images, part) for part in records.split(16)], 1))
    size = 4 * sum(vectors.shape[1] for vectors in embed(metric, images[:1]))
    monkeypatch.setattr(perceptual, "_BYTES_OF_IMAGES", 2 * size)
    monkeypatch.setattr(perceptual, "RECORDS_AT_ONCE", 3)
    told: list[int] = []
    parted = pairwise_lpips(metric, images, records, tick=told.append)
    np.testing.assert_allclose(parted.numpy(), whole.numpy(), atol=1e-6)
    assert told == 3 * [3, 3, 3, 3, 3, 3, 2]  # five images, two at a time: three passes over twenty records


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda tensors: tensors.pop("features.3.bias"), "lacks features.3.bias"),
        (lambda tensors: tensors.update({"features.3.bias": torch.zeros(191)}), "needs [192]"),
        (lambda tensors: tensors.update({"features.3.bias": torch.zeros(192).double()}), "float32 is needed"),
        (lambda tensors: tensors["features.3.bias"].fill_(float("nan")), "not finite"),
    ],
    ids=["missing", "shape", "dtype", "nan"],
)
def test_backbone_that_is_not_one_is_refused_in_a_line(spoil, said: str) -> None:
    tensors = random_backbone("alexnet")
    spoil(tensors)
    with pytest.raises(BadData) as error:
        check_backbone("alexnet", tensors, where="weights")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
