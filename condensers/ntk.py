"""Neural tangent kernels in closed form (Jacot et al., arXiv:1806.07572), float64, differentiable in the images.

ReLU networks in NTK parametrisation: a layer is W_std/√fan_in · W h + b_std · b with standard normal W and b. Two
architectures, both with one dense read-out:

- `fc_ntk`: hidden dense layers, ReLU after each (the FC kernels of Nguyen et al., arXiv:2011.00050);
- `conv_ntk`: blocks of 3×3 convolution, ReLU and 2×2 average pooling, then flattened: the three-layer ConvNet of Dong
  et al. (arXiv:2206.00240) without its instance norm, as Nguyen et al. (arXiv:2107.13034) take kernels; public
  reimplementations of the latter put one more convolution in front. The recursion over pairs of pixels is the CNTK of
  Arora et al. (arXiv:1904.11955). All convolutions pad by 1, also where our ConvNet pads 28×28 to 32×32.

A layer maps the pair (Σ, Θ) of covariance and tangent kernel: a linear one to (W²·A[Σ] + b², W²·A[Σ + Θ] + b²), where A
averages over what the layer sums over, ReLU to (E[φ(u)φ(v)], Θ·E[φ′(u)φ′(v)]) with (u, v) ~ N(0, Σ), which are the
arc-cosine kernels of Cho & Saul (2009), and pooling averages both.

Cost. `fc_ntk` takes about 25 floating-point passes over the `[runs, records, images]` entries. `conv_ntk` needs the
covariance of every pixel of one image with every pixel of the other: pixels² numbers per pair in the first block,
1/16 of that in the next: 4096 on 8×8 images, 150 times as many on 28×28. Callers bound the memory by the number of
pairs at a time, `Kernel.pairs_at_once`.
"""

from dataclasses import dataclass
from math import pi, prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from condensers.errors import BadConfig

W_VARIANCE = 2.0  # W_std = √2, b_std = 0.1: the settings of Nguyen et al.
B_VARIANCE = 0.01
# Inputs at a smaller angle count as parallel, and the derivative of the angle there as 0, its mean over all directions:
# θ has a cusp where two inputs point the same way, as on the diagonal of K_SS, and where images start from records.
SMALLEST_SINE = 1e-7
VALUES_AT_ONCE = 1 << 19


class _Relu(torch.autograd.Function):
    """(Σ, q, q′) → (T, Ṫ): E[φ(u)φ(v)] and E[φ′(u)φ′(v)] for (u, v) normal with variances q, q′ and covariance Σ.

    T = (√(qq′ − Σ²) + (π − θ)Σ) / 2π and Ṫ = (π − θ)/2π with cos θ = Σ/√(qq′) (Cho & Saul 2009, Eqs. (3)–(6)).
    q and q′ have the shape of Σ, with ones where they do not vary.
    """

    @staticmethod
    def forward(ctx: Any, covariance: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        product = left * right
        root = torch.addcmul(product, covariance, covariance, value=-1)
        root = root.masked_fill_(root <= SMALLEST_SINE**2 * product, 0).sqrt_()
        slope = torch.atan2(root, -covariance).div_(2 * pi)
        ctx.save_for_backward(covariance, left, right, root, slope)
        ctx.set_materialize_grads(False)
        return torch.addcmul(root.div(2 * pi), slope, covariance), slope

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_value: Tensor | None, grad_slope: Tensor | None) -> tuple[Tensor | None, ...]:
        covariance, left, right, root, slope = ctx.saved_tensors
        grad_covariance = torch.zeros_like(covariance) if grad_value is None else grad_value * slope  # ∂T/∂Σ = Ṫ
        shared = torch.zeros_like(covariance) if grad_value is None else grad_value * root  # 4πq·∂T/∂q = √(qq′ − Σ²)
        if grad_slope is not None:
            # 2π·∂Ṫ/∂Σ = 1/√(qq′ − Σ²) and 4πq·∂Ṫ/∂q = −Σ/√(qq′ − Σ²)
            steep = (grad_slope / root).masked_fill_(root == 0, 0)
            grad_covariance = grad_covariance.add_(steep, alpha=1 / (2 * pi))
            shared = torch.addcmul(shared, steep, covariance, value=-1)
        shared = shared.div_(4 * pi)
        grad_left = shared.sum_to_size(left.shape) / left if ctx.needs_input_grad[1] else None
        grad_right = shared.sum_to_size(right.shape) / right if ctx.needs_input_grad[2] else None
        return grad_covariance, grad_left, grad_right


class _SumDiagonally(torch.autograd.Function):
    """Σ_{|i|≤1, |j|≤1} K[(h+i, w+j), (h′+i, w′+j)] over `[…, h, w, h′, w′]`, nothing beyond the border.

    What a 3×3 convolution with padding 1 does to a covariance. A shift's adjoint is the opposite shift, which is in
    the sum as well: the map is its own adjoint.
    """

    @staticmethod
    def forward(ctx: Any, kernel: Tensor) -> Tensor:  # noqa: ARG004
        return _sum_diagonally(kernel)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # noqa: ARG004
        return _sum_diagonally(grad)


def _sum_diagonally(kernel: Tensor) -> Tensor:
    for first, second in ((-4, -2), (-3, -1)):
        size = kernel.shape[first]
        summed = kernel.clone()
        for source, target in ((0, 1), (1, 0)):
            from_ = kernel.narrow(first, source, size - 1).narrow(second, source, size - 1)
            summed.narrow(first, target, size - 1).narrow(second, target, size - 1).add_(from_)
        kernel = summed
    return kernel


def fc_ntk(left: Tensor, right: Tensor, *, hidden_layers: int) -> Tensor:
    """Θ `[…, n, m]` of images `[…, n, …]` and `[…, m, …]` given flat, `[…, n, d]` and `[…, m, d]`."""
    size = left.shape[-1]
    covariance = (left @ right.transpose(-1, -2)).mul(W_VARIANCE / size).add(B_VARIANCE)
    left_variance = left.square().sum(-1).mul(W_VARIANCE / size).add(B_VARIANCE).unsqueeze(-1)
    right_variance = right.square().sum(-1).mul(W_VARIANCE / size).add(B_VARIANCE).unsqueeze(-2)
    tangent = covariance
    for _ in range(hidden_layers):
        value, slope = _Relu.apply(covariance, left_variance, right_variance)
        covariance = value.mul(W_VARIANCE).add_(B_VARIANCE)
        tangent = torch.addcmul(covariance, tangent, slope, value=W_VARIANCE)
        # E[φ(u)²] = q/2
        left_variance = left_variance * (W_VARIANCE / 2) + B_VARIANCE
        right_variance = right_variance * (W_VARIANCE / 2) + B_VARIANCE
    return tangent


def conv_ntk(left: Tensor, right: Tensor, *, blocks: int) -> Tensor:
    """Θ `[…, n, m]` of images `[…, n, channels, height, width]` and `[…, m, channels, height, width]`."""
    check_blocks(tuple(left.shape[-3:]), blocks)
    left_variances, right_variances = _pixel_variances(left, blocks), _pixel_variances(right, blocks)
    covariance = torch.einsum("...nchw,...mcij->...nmhwij", left, right) / left.shape[-3]
    tangent = torch.zeros_like(covariance)
    for block in range(blocks):
        mixed = _SumDiagonally.apply(covariance).mul(W_VARIANCE / 9).add(B_VARIANCE)
        if block:
            tangent = _SumDiagonally.apply(tangent).mul(W_VARIANCE / 9).add(mixed)
        else:
            tangent = mixed
        left_variance = left_variances[block][..., :, None, :, :, None, None]
        right_variance = right_variances[block][..., None, :, None, None, :, :]
        value, slope = _Relu.apply(mixed, left_variance, right_variance)
        covariance, tangent = _pool(value), _pool(tangent * slope)
    return _diagonal_mean(covariance + tangent) * W_VARIANCE + B_VARIANCE


def _pixel_variances(images: Tensor, blocks: int) -> list[Tensor]:
    """Σ[(p, p)] `[…, n, height, width]` of each image with itself before each block's ReLU."""
    covariance = torch.einsum("...chw,...cij->...hwij", images, images) / images.shape[-3]
    variances = []
    for block in range(blocks):
        covariance = _SumDiagonally.apply(covariance).mul(W_VARIANCE / 9).add(B_VARIANCE)
        variance = _diagonal(covariance)
        variances.append(variance)
        if block + 1 < blocks:
            covariance = _pool(_Relu.apply(covariance, variance[..., None, None], variance[..., None, None, :, :])[0])
    return variances


def _diagonal(kernel: Tensor) -> Tensor:
    """K[(p, p)] of `[…, h, w, h′, w′]`, as `[…, h, w]`."""
    height, width = kernel.shape[-2:]
    return kernel.flatten(-4, -3).flatten(-2, -1).diagonal(dim1=-2, dim2=-1).unflatten(-1, (height, width))


def _diagonal_mean(kernel: Tensor) -> Tensor:
    return _diagonal(kernel).mean((-2, -1))


def _pool(kernel: Tensor) -> Tensor:
    """2×2 average pooling on both sides of `[…, h, w, h′, w′]`; a last odd row or column is left out."""
    height, width = (size // 2 for size in kernel.shape[-2:])
    cut = kernel[..., : 2 * height, : 2 * width, : 2 * height, : 2 * width]
    split = (
        cut.unflatten(-1, (width, 2)).unflatten(-3, (height, 2)).unflatten(-5, (width, 2)).unflatten(-7, (height, 2))
    )
    return split.mean((-1, -3, -5, -7))


def check_blocks(shape: tuple[int, ...], blocks: int) -> None:
    """Refuse tables, and more halvings than there are pixels."""
    if len(shape) != 3:
        raise BadConfig("kernel=conv needs images; for tables choose kernel=fc")
    if min(shape[1:]) >> blocks < 1:
        raise BadConfig(f"blocks={blocks}: they halve {shape[1]}×{shape[2]} pixels to nothing; choose fewer")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """One of the kernels: `depth` hidden layers if `kind` is "fc", as many blocks if it is "conv"."""

    kind: str
    depth: int

    def __call__(self, left: Tensor, right: Tensor) -> Tensor:
        """Θ `[…, n, m]` of images `[…, n, *shape]` and `[…, m, *shape]`, for "fc" flat ones."""
        if self.kind == "conv":
            return conv_ntk(left, right, blocks=self.depth)
        return fc_ntk(left, right, hidden_layers=self.depth)

    def pairs_at_once(self, shape: tuple[int, ...]) -> int:
        """Pairs of images whose kernel and gradient stay within about 100 MiB."""
        return max(1, VALUES_AT_ONCE // (prod(shape[-2:]) ** 2 if self.kind == "conv" else 1))
