"""Kernel ridge regression from synthetic images onto records: the loss of KIP and its gradient, many runs at once.

    L(S) = 1/(2nC) ‖Y_T − K_TS (K_SS + λI)⁻¹ Y_S‖²,  λ = ridge·tr(K_SS)/m          (Eq. (3) of arXiv:2206.00240; the
                                                                              official code's λ and mean over nC)

Two ways to the same gradient. For the network with one hidden layer, as in Nguyen et al., the kernel of a run's own
images with its records is one matrix product of unit vectors followed by a few passes in place, and its derivative is
written out by hand; autograd's passes over fresh memory would take several times as long. What is small, K_SS and all
that follows from it, is done for all runs together. Any other kernel goes run by run, its entries computed in pieces of
bounded memory, and once more for the gradient, which autograd finds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, pi

import torch
from torch import Tensor

from condensers.ntk import B_VARIANCE, SMALLEST_SINE, W_VARIANCE, Kernel

ENTRIES_AT_ONCE = 1 << 16  # 512 KiB a tensor: what the passes go over should stay in the cache


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The records of one run `[n, *shape]` and their labels `[n, classes]`."""

    images: Tensor
    labels: Tensor

    @cached_property
    def unit_vectors(self) -> tuple[Tensor, Tensor]:
        return _unit_vectors(self.images.flatten(1))


def ridge_gradient(
    kernel: Kernel, images: Tensor, labels: Tensor, targets: Iterable[Targets], *, ridge: float
) -> Tensor:
    """∂L/∂S of every run, `[runs, m, *shape]`; `labels` of the images are `[m, classes]`, the same in every run."""
    if kernel == Kernel(kind="fc", depth=1):
        return _shallow_gradient(images.flatten(2), labels, targets, ridge).view_as(images)
    one_by_one = [
        _one_run_gradient(kernel, own, labels, theirs, ridge) for own, theirs in zip(images, targets, strict=True)
    ]
    return torch.stack(one_by_one)


def solve_ridge(kernel: Tensor, labels: Tensor, ridge: float) -> Tensor:
    """(K + λI)⁻¹ Y of `[…, m, m]` and `[m, classes]`."""
    size = kernel.shape[-1]
    scale = ridge * kernel.diagonal(dim1=-2, dim2=-1).mean(-1)
    eye = torch.eye(size, dtype=kernel.dtype, device=kernel.device)
    return torch.linalg.solve(kernel + scale[..., None, None] * eye, labels.expand(*kernel.shape[:-2], *labels.shape))


def _shallow_gradient(images: Tensor, labels: Tensor, targets: Iterable[Targets], ridge: float) -> Tensor:
    """One hidden layer: Θ = W²/2π · pr·(s + 2(π − θ)c) + b², with c = cos θ = ⟨u, v⟩, s = sin θ and norms p, r.

    u and v are the images with the bias appended, (W/√d · x, b), divided by their norms p and r.
    """
    leaf = images.detach().requires_grad_()
    weights = solve_ridge(Kernel(kind="fc", depth=1)(leaf, leaf), labels, ridge)
    units, norms = _unit_vectors(leaf)
    with torch.no_grad():
        sums = [_shallow_sums(*own) for own in zip(units, norms, weights, targets, strict=True)]
    gradients = [torch.stack(part) for part in zip(*sums, strict=True)]
    (found,) = torch.autograd.grad((units, norms, weights), leaf, gradients)
    return found


def _shallow_sums(units: Tensor, norms: Tensor, weights: Tensor, targets: Targets) -> tuple[Tensor, Tensor, Tensor]:
    """∂L/∂v, ∂L/∂r and ∂L/∂A of one run, A = `weights`, summed over its records."""
    rows, row_norms = targets.unit_vectors
    factor, share = W_VARIANCE / (2 * pi), 1 / max(targets.labels.numel(), 1)
    scaled = factor * norms.unsqueeze(-1) * weights
    offset = B_VARIANCE * weights.sum(0).unsqueeze(-1)
    grad_units, grad_scaled, grad_offset = torch.zeros_like(units), torch.zeros_like(weights), torch.zeros_like(offset)
    one = torch.ones((), dtype=units.dtype, device=units.device)
    size = max(1, ENTRIES_AT_ONCE // len(units))
    for start in range(0, len(rows), size):
        piece = slice(start, start + size)
        seen, lengths = rows[piece], row_norms[piece]
        cosine = (units @ seen.mT).neg_().clamp_(-1, 1)  # cos(π − θ) = −c
        sine = torch.addcmul(one, cosine, cosine, value=-1).sqrt_()
        turn = torch.acos(cosine)
        value = torch.addcmul(sine, turn, cosine, value=-2)
        error = (scaled.mT @ value).mul_(lengths).add_(offset).sub_(targets.labels[piece].mT).mul_(share)
        grad_offset += error.sum(-1, keepdim=True)
        error.mul_(lengths)
        grad_scaled.addmm_(value, error.mT)
        # On the CPU a look is cheaper than the pass that it mostly saves; on a device the host would wait for it.
        if sine.device.type != "cpu" or bool(sine.min() <= SMALLEST_SINE):
            sine.masked_fill_(sine <= SMALLEST_SINE, inf)
        # ∂(s + 2(π − θ)c)/∂c = c/s + 2(π − θ)
        slope = cosine.div_(sine).add_(turn, alpha=-2).mul_(scaled @ error)
        grad_units.addmm_(slope, seen, alpha=-1)
    grad_norms = factor * (grad_scaled * weights).sum(-1)
    return grad_units, grad_norms, factor * norms.unsqueeze(-1) * grad_scaled + B_VARIANCE * grad_offset.mT


def _unit_vectors(images: Tensor) -> tuple[Tensor, Tensor]:
    """u `[…, d + 1]` and p `[…]` of flat images `[…, d]`."""
    bias = images.new_full((*images.shape[:-1], 1), B_VARIANCE**0.5)
    vectors = torch.cat([images * (W_VARIANCE / images.shape[-1]) ** 0.5, bias], -1)
    norms = vectors.norm(dim=-1)
    return vectors / norms.unsqueeze(-1), norms


def _one_run_gradient(kernel: Kernel, images: Tensor, labels: Tensor, targets: Targets, ridge: float) -> Tensor:
    """Any kernel, one run: K first, then the derivative of the loss by K, then that of K, each in pieces."""
    own = kernel_in_pieces(kernel, images, images).requires_grad_()
    weights = solve_ridge(own, labels, ridge)
    fixed = weights.detach()
    cross = kernel_in_pieces(kernel, targets.images, images)
    error = (cross @ fixed - targets.labels) / targets.labels.numel()
    (grad_own,) = torch.autograd.grad(weights, own, cross.mT @ error)
    by_records = pull_back(kernel, targets.images, images, error @ fixed.mT, both=False)
    return by_records + pull_back(kernel, images, images, grad_own, both=True)


def kernel_in_pieces(kernel: Kernel, left: Tensor, right: Tensor) -> Tensor:
    """Θ `[n, m]`, no more pairs at once than memory allows."""
    found = left.new_empty(len(left), len(right))
    with torch.no_grad():
        for rows, columns in _pieces(kernel, left, right):
            found[rows, columns] = kernel(left[rows], right[columns])
    return found


def pull_back(kernel: Kernel, left: Tensor, right: Tensor, gradient: Tensor, *, both: bool) -> Tensor:
    """Derivative by `right` of ⟨gradient, Θ⟩; with `both`, where left and right are the same images, by both."""
    found = torch.zeros_like(right)
    for rows, columns in _pieces(kernel, left, right):
        first = left[rows].detach().requires_grad_(both)
        second = right[columns].detach().requires_grad_()
        sides = (second, first) if both else (second,)
        parts = torch.autograd.grad(kernel(first, second), sides, gradient[rows, columns])
        found[columns] += parts[0]
        if both:
            found[rows] += parts[1]
    return found


def _pieces(kernel: Kernel, left: Tensor, right: Tensor) -> Iterator[tuple[slice, slice]]:
    pairs = kernel.pairs_at_once(tuple(right.shape[1:]))
    width = min(len(right), max(1, int(pairs**0.5)))
    height = max(1, pairs // width)
    for column in range(0, len(right), width):
        for row in range(0, len(left), height):
            yield slice(row, row + height), slice(column, column + width)
