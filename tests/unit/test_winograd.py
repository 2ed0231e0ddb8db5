"""Convolutions by transformed tiles against torch's direct ones, in double precision."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from condensers import winograd
from condensers.networks import Network, classify, draw_parameters

# Measured at most 8e-5 of the results' deviation over several draws (docs/performance.md); a wrong entry of a transform
# changes results by their own size.
TOLERANCE = 5e-4


def operands(height: int, width: int, num: int = 16, channels: int = 64, outputs: int = 96) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(height + width)
    shapes = (num, channels, height, width), (outputs, channels, 3, 3), (outputs,)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def direct(*of: torch.Tensor) -> torch.Tensor:
    return F.conv2d(*(each.double() for each in of), padding=1)


def assert_near(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert ((found - expected).abs().max() / expected.std()).item() < TOLERANCE


@pytest.mark.parametrize(("height", "width"), [(16, 16), (8, 8), (4, 4), (8, 16)])
def test_results_and_gradients_against_direct(height, width):
    of = operands(height, width)
    found, expected = winograd.convolve(*of), direct(*of)
    assert_near(found, expected)
    weights = torch.randn_like(found)
    for ours, theirs in zip(
        torch.autograd.grad(found, of, weights), torch.autograd.grad(expected, of, weights.double()), strict=True
    ):
        assert_near(ours, theirs)


def test_gradients_of_gradients_against_direct():
    """What gradient matching needs: the gradient of a function of the gradients at weights and images."""
    of = operands(8, 8)

    def second(results: torch.Tensor) -> tuple[torch.Tensor, ...]:
        at = torch.autograd.grad(results.pow(3).mean(), of, create_graph=True)
        return torch.autograd.grad(sum(each.square().sum() for each in at), of)

    for ours, theirs in zip(second(winograd.convolve(*of)), second(direct(*of)), strict=True):
        assert_near(ours, theirs)


def test_images_of_a_batch_do_not_touch_each_other():
    images, weight, bias = (each.detach() for each in operands(8, 8, num=24))
    together = winograd.convolve(images, weight, bias)
    torch.testing.assert_close(together[:16], winograd.convolve(images[:16], weight, bias), rtol=0, atol=1e-4)


@pytest.mark.parametrize("num_networks", [1, 3])
def test_a_wide_network_against_direct(num_networks, monkeypatch):
    network = Network(kind="convnet", input_shape=(1, 28, 28), num_classes=10, width=64, depth=3)
    generators = [np.random.default_rng(seed) for seed in range(num_networks)]
    parameters = draw_parameters(network, generators, torch.device("cpu"))
    images = torch.randn(num_networks, 16, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    used = []
    convolve = winograd.convolve
    monkeypatch.setattr(winograd, "convolve", lambda *of: used.append(1) or convolve(*of))
    found = classify(network, parameters, images)
    assert len(used) == 2 * num_networks  # the second and third blocks
    monkeypatch.setattr(winograd, "saves_time", lambda *_: False)
    torch.testing.assert_close(found, classify(network, parameters, images), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("images", "weight"),
    [
        pytest.param(torch.zeros(16, 64, 16, 16, dtype=torch.float64), torch.zeros(64, 64, 3, 3), id="double"),
        pytest.param(torch.zeros(16, 64, 14, 14), torch.zeros(64, 64, 3, 3), id="no whole tiles"),
        pytest.param(torch.zeros(16, 64, 32, 32), torch.zeros(64, 64, 3, 3), id="many pixels"),
        pytest.param(torch.zeros(2, 64, 16, 16), torch.zeros(64, 64, 3, 3), id="few images"),
        pytest.param(torch.zeros(16, 32, 16, 16), torch.zeros(64, 32, 3, 3), id="few channels"),
    ],
)
def test_where_a_direct_convolution_is_kept(images, weight):
    assert not winograd.saves_time(images, weight)


def test_mapped_over_networks_and_differentiated_against_direct(monkeypatch):
    """As DC computes gradients: torch.func's vmap over grad."""
    network = Network(kind="convnet", input_shape=(1, 16, 16), num_classes=3, width=64, depth=2)
    parameters = draw_parameters(network, [np.random.default_rng(seed) for seed in range(2)], torch.device("cpu"))
    images = torch.randn(2, 16, 1, 16, 16, generator=torch.Generator().manual_seed(0))

    def loss(weights: dict[str, torch.Tensor], shown: torch.Tensor) -> torch.Tensor:
        one = {name: value.unsqueeze(0) for name, value in weights.items()}
        return classify(network, one, shown.unsqueeze(0)).logsumexp(-1).mean()

    found = torch.func.vmap(torch.func.grad(loss))(parameters, images)
    monkeypatch.setattr(winograd, "saves_time", lambda *_: False)
    expected = torch.func.vmap(torch.func.grad(loss))(parameters, images)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-4 * float(value.abs().max()) + 1e-6)
