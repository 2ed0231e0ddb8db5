"""Features of wide networks against torch's own operations in double precision."""

from functools import partial

import numpy as np
import pytest
import torch

from condensers import wide
from condensers.networks import Network, Parameters, classify, draw_parameters, embeds_wide
from condensers.record_gradients import record_gradients
from condensers.samples import clip_vectors

# Of the size of what is compared. Convolutions by tiles are off by 8e-5 (tests/unit/test_winograd.py). Where a value is
# so near to zero that its ReLU turns, a gradient is off by one pixel's share: 1e-2 of a record's at most, measured for
# torch's operations in single precision as well.
TOLERANCE, TOLERANCE_OF_GRADIENTS = 5e-4, 3e-2
CASES = [
    pytest.param((1, 28, 28), 3, id="28x28"),
    pytest.param((3, 32, 32), 3, id="32x32 in colour"),
    pytest.param((1, 8, 16), 2, id="8x16"),
]


def drawn(shape: tuple[int, ...], depth: int, num_networks: int = 1) -> tuple[Network, Parameters]:
    network = Network(kind="convnet", input_shape=shape, num_classes=5, width=64, depth=depth)
    generators = [np.random.default_rng(seed) for seed in range(num_networks)]
    parameters = draw_parameters(network, generators, torch.device("cpu"))
    noise = torch.Generator().manual_seed(1)
    for name, value in parameters.items():
        if name.startswith("norm"):  # as after training: scales of both signs and shifts
            value.add_(torch.randn(value.shape, generator=noise))
    return network, parameters


def images_of(shape: tuple[int, ...], num_networks: int = 1, num: int = 21) -> torch.Tensor:
    return torch.randn(num_networks, num, *shape, generator=torch.Generator().manual_seed(0))


def exactly(values: Parameters) -> Parameters:
    """In double precision, in which torch's own operations are taken."""
    return {name: value.detach().double() for name, value in values.items()}


def distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(found - expected) / torch.linalg.vector_norm(expected))


@pytest.mark.parametrize(("shape", "depth"), CASES)
@pytest.mark.parametrize("num_networks", [1, 3])
def test_logits_against_torch(shape, depth, num_networks):
    network, parameters = drawn(shape, depth, num_networks)
    images = images_of(shape, num_networks)
    assert embeds_wide(network, images)
    assert not embeds_wide(network, images.double())
    expected = classify(network, exactly(parameters), images.double())
    assert distance(classify(network, parameters, images), expected) < TOLERANCE
    shown_to_all = classify(network, parameters, images[:1])
    assert distance(shown_to_all, classify(network, exactly(parameters), images[:1].double())) < TOLERANCE


def logsumexp_gradients(
    network: Network, values: Parameters, images: torch.Tensor, *, again: bool
) -> dict[str, torch.Tensor]:
    """At weights and images; with `again` those of a function of the first ones, as gradient matching needs them."""
    leaves = {name: value.detach().requires_grad_() for name, value in values.items()}
    shown = images.detach().requires_grad_()
    loss = classify(network, leaves, shown).logsumexp(-1).square().sum()
    at = {**leaves, "images": shown}
    found = torch.autograd.grad(loss, list(at.values()), create_graph=again)
    if again:
        loss = sum(each.square().sum() for each in found)  # type: ignore[assignment]
        found = torch.autograd.grad(loss, list(at.values()))
    return dict(zip(at, found, strict=True))


@pytest.mark.parametrize(("shape", "depth"), CASES)
@pytest.mark.parametrize("again", [False, True])
def test_gradients_against_torch(shape, depth, again):
    network, parameters = drawn(shape, depth)
    of = partial(logsumexp_gradients, network, again=again)
    found, expected = of(parameters, images_of(shape)), of(exactly(parameters), images_of(shape).double())
    largest = max(float(torch.linalg.vector_norm(value)) for value in expected.values())
    for name, value in expected.items():
        if name.startswith("conv") and name.endswith("bias"):  # the norm removes it
            assert torch.linalg.vector_norm(value) < 1e-9 * largest
            assert not found[name].any()
        else:
            assert distance(found[name], value) < TOLERANCE_OF_GRADIENTS, name


@pytest.mark.parametrize("values_at_once", [1, 1 << 30])
def test_parts_of_any_size_give_the_same(values_at_once, monkeypatch):
    network, parameters = drawn((1, 28, 28), 3)
    images = images_of((1, 28, 28))
    before = logsumexp_gradients(network, parameters, images, again=False)
    monkeypatch.setattr(wide, "VALUES_AT_ONCE", values_at_once)
    after = logsumexp_gradients(network, parameters, images, again=False)
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("value", [0.0, 1.0, -300.0])
def test_blank_and_bright_images_against_torch(value):
    network, parameters = drawn((1, 28, 28), 3)
    images = torch.full((1, 16, 1, 28, 28), value)
    images[:, 8:, :, ::2] *= 2
    expected = classify(network, exactly(parameters), images.double())
    assert distance(classify(network, parameters, images), expected) < TOLERANCE


@pytest.mark.parametrize("few", [2, 15, 16])
def test_images_of_a_batch_do_not_touch_each_other(few):
    network, parameters = drawn((1, 28, 28), 3)
    images = images_of((1, 28, 28), num=40)
    alone = classify(network, parameters, images[:, :few])
    torch.testing.assert_close(classify(network, parameters, images)[:, :few], alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        pytest.param((1, 28, 28), {"width": 32}, id="a narrow network"),
        pytest.param((1, 24, 24), {}, id="no whole tiles"),
        pytest.param((1, 28, 28), {"depth": 1}, id="one block"),
        pytest.param((1, 28, 28), {"precision": "bfloat16-emulated"}, id="rounded"),
        pytest.param((14,), {"kind": "linear"}, id="records of a table"),
    ],
)
def test_where_torch_s_operations_are_kept(shape, settings):
    network = Network(input_shape=shape, num_classes=5, **{"kind": "convnet", "width": 64, "depth": 3, **settings})
    assert not embeds_wide(network, torch.zeros(1, 16, *shape))


def test_mapped_over_networks_and_differentiated_against_torch():
    """As DC computes gradients: torch.func's vmap over grad."""
    network, parameters = drawn((1, 16, 16), 2, num_networks=2)
    images = images_of((1, 16, 16), 2)

    def loss(weights: Parameters, shown: torch.Tensor) -> torch.Tensor:
        one = {name: value.unsqueeze(0) for name, value in weights.items()}
        return classify(network, one, shown.unsqueeze(0)).logsumexp(-1).mean()

    mapped = torch.func.vmap(torch.func.grad(loss))
    found, expected = mapped(parameters, images), mapped(exactly(parameters), images.double())
    for name, value in expected.items():
        if not (name.startswith("conv") and name.endswith("bias")):
            assert distance(found[name], value) < TOLERANCE_OF_GRADIENTS, name


@pytest.mark.parametrize(("shape", "depth"), CASES)
def test_gradients_of_records_against_copies(shape, depth):
    """Two runs with networks of their own: by products, and in double precision by a copy for every record."""
    network, parameters = drawn(shape, depth, num_networks=2)
    images, labels = images_of(shape, 2), torch.arange(42).view(2, 21) % 5
    of = partial(record_gradients, network=network)
    found = of(images, labels, parameters=parameters)
    expected = of(images.double(), labels, parameters=exactly(parameters))
    assert found.shape == expected.shape
    for ours, theirs in zip(found.flatten(0, 1), expected.flatten(0, 1), strict=True):
        assert distance(ours, theirs) < TOLERANCE_OF_GRADIENTS
    shared = of(images[0], labels[0], parameters={name: value[:1] for name, value in parameters.items()})
    torch.testing.assert_close(shared, found[0])


@pytest.mark.parametrize("few", [1, 2, 5, 15, 16])
@pytest.mark.parametrize(
    ("shape", "width", "depth"),
    [
        pytest.param((1, 28, 28), 64, 3, id="by products"),
        pytest.param((1, 28, 28), 16, 3, id="by copies"),
        pytest.param((1, 8, 8), 16, 3, id="by copies, 8x8"),
    ],
)
def test_gradient_of_a_record_does_not_change_with_the_others(shape, width, depth, few):
    """Clipped, as the door adds them up; blank images are those that rounding is enlarged of."""
    network = Network(kind="convnet", input_shape=shape, num_classes=5, width=width, depth=depth)
    parameters = draw_parameters(network, [np.random.default_rng(0)], torch.device("cpu"))
    images, labels = images_of(shape, num=40)[0], torch.arange(40) % 5
    for place, factor in enumerate((0.0, 1e-6, 1e-7, 1e-5)):
        images[place] *= factor
    images[4] = 0.5
    of = partial(record_gradients, network=network, parameters=parameters)
    among_all, among_few = (clip_vectors(of(images[:num], labels[:num])[:few], 0.1) for num in (40, few))
    assert torch.linalg.vector_norm(among_all - among_few, dim=1).max() < 1e-5 * 0.1
