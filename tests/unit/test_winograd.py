"""Convolutions by transformed tiles against torch's direct ones, in double precision."""

import pytest
import torch
import torch.nn.functional as F

from condensers import winograd

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
