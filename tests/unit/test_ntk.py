"""The tangent kernels against three independent computations: quadrature of the Gaussian expectations, the empirical
kernel of finite networks, and neural-tangents where it is installed."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.special import ndtr

from condensers.errors import BadConfig
from condensers.ntk import B_VARIANCE, W_VARIANCE, Kernel, conv_ntk, fc_ntk
from condensers.randomness import stream


def draw(*shape, key="images"):
    return torch.from_numpy(stream(0, "ntk", key, *shape).standard_normal(shape))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


def half_line(of, variance):
    """∫₀^∞ of(u) N(u; 0, variance) du by Gauss–Legendre nodes on 12 standard deviations."""
    u = 6 * math.sqrt(variance) * (NODES + 1)
    density = np.exp(-(u**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    return float(6 * math.sqrt(variance) * (WEIGHTS * density * of(u)).sum())


def relu_expectations(covariance, left, right):
    """E[φ(u)φ(v)] and E[φ′(u)φ′(v)] by quadrature over u > 0; given u, v is normal and its part is in closed form."""
    slope, spread = covariance / left, math.sqrt(right - covariance**2 / left)

    def rectified_mean(u):
        z = slope * u / spread
        return spread * (z * ndtr(z) + np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))

    value = half_line(lambda u: u * rectified_mean(u), left)
    return value, half_line(lambda u: ndtr(slope * u / spread), left)


def fc_by_quadrature(x, y, hidden_layers):
    left, right, sigma = ((W_VARIANCE * float(a @ b) / len(a) + B_VARIANCE) for a, b in ((x, x), (y, y), (x, y)))
    theta = sigma
    for _ in range(hidden_layers):
        value, slope = relu_expectations(sigma, left, right)
        left, right = (W_VARIANCE * half_line(np.square, q) + B_VARIANCE for q in (left, right))
        sigma = W_VARIANCE * value + B_VARIANCE
        theta = sigma + W_VARIANCE * theta * slope
    return theta


@pytest.mark.parametrize("hidden_layers", [1, 2, 4])
def test_fully_connected_kernel_against_quadrature(hidden_layers):
    left, right = draw(3, 20), draw(2, 20, key="others")
    right[1] = -0.7 * left[0] + 0.1 * right[1]
    found = fc_ntk(left, right, hidden_layers=hidden_layers)
    expected = [[fc_by_quadrature(x, y, hidden_layers) for y in right.numpy()] for x in left.numpy()]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-8)


def conv_by_quadrature(x, y, blocks):
    """The CNTK pixel by pixel, in loops: Σ and Θ of (x, y), and Σ of each image with itself for the variances."""

    def shifted_mean(kernel, size):
        found = np.zeros_like(kernel)
        for h, w, i, j in np.ndindex(kernel.shape):
            for a in (-1, 0, 1):
                for b in (-1, 0, 1):
                    if 0 <= h + a < size and 0 <= i + a < size and 0 <= w + b < size and 0 <= j + b < size:
                        found[h, w, i, j] += kernel[h + a, w + b, i + a, j + b] / 9
        return found

    def pooled(kernel):
        half = kernel.shape[0] // 2
        cells = ((h, w, i, j) for h, w, i, j in np.ndindex(half, half, half, half))
        found = np.zeros((half,) * 4)
        for h, w, i, j in cells:
            found[h, w, i, j] = kernel[
                2 * h : 2 * h + 2, 2 * w : 2 * w + 2, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2
            ].mean()
        return found

    pairs = {"xx": (x, x), "yy": (y, y), "xy": (x, y)}
    sigma = {name: np.einsum("chw,cij->hwij", a, b) / len(a) for name, (a, b) in pairs.items()}
    theta = np.zeros_like(sigma["xy"])
    for _ in range(blocks):
        size = len(theta)
        mixed = {name: W_VARIANCE * shifted_mean(kernel, size) + B_VARIANCE for name, kernel in sigma.items()}
        theta = W_VARIANCE * shifted_mean(theta, size) + mixed["xy"]
        for name, kernel in mixed.items():
            value, slope = np.zeros_like(kernel), np.zeros_like(kernel)
            for h, w, i, j in np.ndindex(kernel.shape):
                left, right = mixed[name[0] * 2][h, w, h, w], mixed[name[1] * 2][i, j, i, j]
                if name != "xy" and (h, w) == (i, j):
                    value[h, w, i, j] = left / 2
                else:
                    value[h, w, i, j], slope[h, w, i, j] = relu_expectations(kernel[h, w, i, j], left, right)
            sigma[name] = pooled(value)
            if name == "xy":
                theta = pooled(theta * slope)
    diagonal = [(h, w, h, w) for h, w in np.ndindex(theta.shape[:2])]
    return W_VARIANCE * np.mean([theta[at] + sigma["xy"][at] for at in diagonal]) + B_VARIANCE


def test_convolutional_kernel_against_quadrature_pixel_by_pixel():
    left, right = draw(1, 2, 4, 4), draw(1, 2, 4, 4, key="others")
    expected = conv_by_quadrature(left[0].numpy(), right[0].numpy(), 2)
    assert float(conv_ntk(left, right, blocks=2)) == pytest.approx(expected, rel=1e-7)


def finite_fc(parameters, image):
    hidden = image.flatten()
    for number, (weight, bias) in enumerate(parameters):
        hidden = math.sqrt(W_VARIANCE / weight.shape[1]) * weight @ hidden + math.sqrt(B_VARIANCE) * bias
        if number + 1 < len(parameters):
            hidden = hidden.relu()
    return hidden[0]


def finite_conv(parameters, image):
    hidden = image[None]
    for weight, bias in parameters[:-1]:
        scale = math.sqrt(W_VARIANCE / weight[0].numel())
        hidden = F.conv2d(hidden, scale * weight, math.sqrt(B_VARIANCE) * bias, padding=1).relu()
        hidden = F.avg_pool2d(hidden, 2)
    weight, bias = parameters[-1]
    return (math.sqrt(W_VARIANCE / weight.shape[1]) * weight @ hidden.flatten() + math.sqrt(B_VARIANCE) * bias)[0]


def empirical_kernel(network, shapes, images, draws, key):
    """Mean over draws of ⟨∂f(x)/∂θ, ∂f(y)/∂θ⟩, and the spread of one draw."""
    found = []
    for number in range(draws):
        generator = stream(0, key, number)
        parameters = [
            (torch.from_numpy(generator.standard_normal(s)), torch.from_numpy(generator.standard_normal(s[0])))
            for s in shapes
        ]
        rows = []
        for image in images:
            jacobian = torch.func.grad(network)(parameters, image)
            rows.append(torch.cat([part.flatten() for pair in jacobian for part in pair]))
        rows = torch.stack(rows)
        found.append(rows @ rows.T)
    found = torch.stack(found)
    return found.mean(0), found.std(0)


def fc_shapes(width):
    return [(width, 12), (width, width), (1, width)]


def conv_shapes(width):
    return [(width, 2, 3, 3), (width, width, 3, 3), (1, 4 * width)]


@pytest.mark.parametrize(
    ("network", "shapes", "kernel", "shape"),
    [
        pytest.param(finite_fc, fc_shapes, Kernel(kind="fc", depth=2), (12,), id="fc"),
        pytest.param(finite_conv, conv_shapes, Kernel(kind="conv", depth=2), (2, 8, 8), id="conv"),
    ],
)
def test_kernel_against_finite_networks_as_width_grows(network, shapes, kernel, shape):
    """One draw's error falls like 1/√width, and the mean over draws agrees within its own error."""
    images = draw(3, *shape)
    expected = kernel(images, images)
    widths, draws = (16, 64, 256), 24
    spreads = []
    for width in widths:
        mean, spread = empirical_kernel(network, shapes(width), images, draws, f"finite {width}")
        spreads.append(float((spread / expected).mean()))
        bias = 1.0 / width  # the mean is off by O(1/width) (Hanin & Nica, arXiv:1909.05989)
        assert bool(((mean - expected).abs() <= 5 * spread / math.sqrt(draws) + bias * expected).all()), width
    exponent = np.polyfit(np.log(widths), np.log(spreads), 1)[0]
    assert -0.65 < exponent < -0.35


@pytest.mark.parametrize(
    ("kind", "depth"), [("fc", 1), ("fc", 3), ("conv", 1), ("conv", 2), ("conv", 3)], ids=lambda value: str(value)
)
@pytest.mark.filterwarnings("ignore")
def test_kernel_against_neural_tangents(kind, depth):
    reason = "neural-tangents, the outside library, is missing, or its jax is newer than it bears (0.4.30 works)"
    jax = pytest.importorskip("jax", reason=reason)
    stax = pytest.importorskip("neural_tangents", reason=reason, exc_type=ImportError).stax
    settings = {"W_std": math.sqrt(W_VARIANCE), "b_std": math.sqrt(B_VARIANCE)}
    if kind == "fc":
        layers = [stax.Flatten(), *[stax.Dense(1, **settings), stax.Relu()] * depth]
    else:
        block = [stax.Conv(1, (3, 3), padding="SAME", **settings), stax.Relu(), stax.AvgPool((2, 2), strides=(2, 2))]
        layers = [*block * depth, stax.Flatten()]
    left, right = draw(4, 2, 8, 8), draw(3, 2, 8, 8, key="others")
    with jax.experimental.enable_x64():
        theirs = stax.serial(*layers, stax.Dense(1, **settings))[2]
        expected = np.asarray(theirs(*(image.permute(0, 2, 3, 1).numpy() for image in (left, right)), "ntk"))
    if kind == "fc":
        left, right = left.flatten(1), right.flatten(1)
    np.testing.assert_allclose(Kernel(kind=kind, depth=depth)(left, right).numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", [Kernel(kind="fc", depth=2), Kernel(kind="conv", depth=2)], ids=lambda k: k.kind)
def test_gradients_against_finite_differences(kernel):
    shape = (1, 4, 4) if kernel.kind == "conv" else (7,)
    images, others = draw(3, *shape).requires_grad_(), draw(2, *shape, key="others")
    assert torch.autograd.gradcheck(lambda s: kernel(others, s), images)
    # The rounding of the angle 0 on the diagonal limits finite differences there.
    assert torch.autograd.gradcheck(lambda s: kernel(s, s), images, atol=1e-4)


@pytest.mark.parametrize("kernel", [Kernel(kind="fc", depth=3), Kernel(kind="conv", depth=2)], ids=lambda k: k.kind)
def test_kernel_is_positive_and_batches_against_single_pairs(kernel):
    shape = (3, 5, 6) if kernel.kind == "conv" else (9,)
    left, right = draw(2, 4, *shape), draw(2, 3, *shape, key="others")
    together = kernel(left, right)
    for run in range(2):
        for i in range(4):
            for j in range(3):
                alone = kernel(left[run, i : i + 1], right[run, j : j + 1])
                torch.testing.assert_close(alone[0, 0], together[run, i, j], rtol=1e-12, atol=0)
    assert float(torch.linalg.eigvalsh(kernel(left[0], left[0])).min()) > 0


def test_parallel_images_have_finite_gradients():
    images = draw(2, 6).repeat(2, 1).requires_grad_()
    fc_ntk(images, images, hidden_layers=2).sum().backward()
    assert bool(images.grad.isfinite().all())


def test_too_many_blocks_and_tables_are_refused():
    with pytest.raises(BadConfig, match="halve 8×8 pixels to nothing"):
        conv_ntk(draw(1, 1, 8, 8), draw(1, 1, 8, 8), blocks=4)
