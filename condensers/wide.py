"""The features of one wide ConvNet on a CPU, with half of the passes over memory that torch's operations take.

A block is a 3×3 convolution, instance norm, ReLU and 2×2 average pooling (condensers/networks.py). Its first block, of
few channels at many pixels, is bound by memory, and so are all norms. Here:

- Activations are `[height, width, images, channels]`, the order in which convolutions by tiles (condensers/winograd.py)
  need no copies and in which sums over pixels and over pairs of pixels are sums of rows.
- The first convolution is a product of patches with weights. Its norm is part of the weights, image by image: the
  variance of w·p over the patches p of an image is wᵀΣw with their covariance Σ. What is left is one product, ReLU and
  a sum, a few images at a time so that they stay in cache; backwards they are computed again instead of being kept.
- The norm of other blocks, ReLU and pooling are one operation with a gradient written by hand.

The bias of a convolution has no effect before an instance norm; its gradient is zero.

Where a gradient is itself differentiated (gradient matching), autograd goes through the same formulas in plain
operations instead of the gradients written here.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from condensers import winograd

SMALLEST_VARIANCE = 1e-5  # torch's eps of group_norm
POOLED = 4  # pixels of a mean
VALUES_AT_ONCE = 1 << 18  # a megabyte, of which a few fit into the cache of a core

Parameters = dict[str, Tensor]


def saves_time(images: Tensor, *, width: int, depth: int, padding: int) -> bool:
    """Whether `embed_wide` takes images `[n, channels, height, width]` and, but for a few, is faster than torch.

    Their number has no say in it: what a private method computes of a record, and the result of a run in a
    group, must not change with how many others there are.
    """
    sides = [side + 2 * (padding - 1) for side in images.shape[-2:]]
    return (
        images.device.type == "cpu"
        and images.dtype == torch.float32
        and not torch.compiler.is_compiling()
        and width >= winograd.FEWEST_CHANNELS
        and depth > 1
        # Every convolution after the first one has whole tiles.
        and all(side % (2 ** (depth - 1) * winograd.RESULTS) == 0 for side in sides)
    )


def embed_wide(parameters: Parameters, images: Tensor, *, depth: int, padding: int) -> Tensor:
    """Features `[n, channels · height · width]` of images under one network, as `networks.embed` orders them."""
    return embed_with_convolutions(parameters, images, depth=depth, padding=padding)[0]


def embed_with_convolutions(
    parameters: Parameters, images: Tensor, *, depth: int, padding: int
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """The features, and what went into and came out of every convolution after the first, pixels first.

    The norms and the first convolution may have a leading axis of images: weights of its own for each.
    """
    x = _first_block(images, *_of_block(parameters, 0), padding)
    convolutions = []
    for block in range(1, depth):
        weight, scale, shift = _of_block(parameters, block)
        results = winograd.convolve_pixels_first(x, weight)
        convolutions.append((x, results))
        x = _NormReluPool.apply(results, *(_by_column(each, len(images)) for each in (scale, shift)))
    return x.flatten(0, 1).permute(1, 2, 0).reshape(len(images), -1), convolutions


def _of_block(parameters: Parameters, block: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of the convolution, and scale and shift of the norm; the bias takes part with a factor of zero."""
    shift = parameters[f"norm{block}.bias"] + 0 * parameters[f"conv{block}.bias"]
    return parameters[f"conv{block}.weight"], parameters[f"norm{block}.weight"], shift


def _first_block(images: Tensor, weight: Tensor, scale: Tensor, shift: Tensor, padding: int) -> Tensor:
    """`[height / 2, width / 2, n, outputs]`."""
    height, width = (side + 2 * (padding - 1) for side in images.shape[-2:])
    shape = len(images), -1, height // 2, 2, width // 2, 2
    # [n, 9 · channels, pixels], the four pixels of a mean first
    patches = F.unfold(images, 3, padding=padding).view(shape).permute(0, 1, 3, 5, 2, 4).flatten(2)
    patches = patches - patches.mean(2, keepdim=True)
    rows = weight.flatten(-3).transpose(-1, -2)
    covariance = torch.bmm(patches, patches.transpose(1, 2)) / (height * width)
    variance = (torch.matmul(covariance, rows) * rows).sum(1).clamp(min=0)  # below 0 by rounding only
    weights = rows * (scale * (variance + SMALLEST_VARIANCE).rsqrt() / POOLED).unsqueeze(1)
    # The shift is the weight of a patch's last value, a one.
    weights = torch.cat([weights, (shift / POOLED).expand(len(images), -1).unsqueeze(1)], 1)
    patches = torch.cat([patches, torch.ones_like(patches[:, :1])], 1)
    pooled = _ProductReluPool.apply(patches, weights)
    return pooled.view(height // 2, width // 2, len(images), -1)


def _product_relu_pool(patches: Tensor, weights: Tensor) -> Tensor:
    """Patches `[n, values, 4 · pixels]` and weights `[n, values, outputs]`: sums of four, `[pixels, n, outputs]`."""
    results = torch.bmm(patches.transpose(1, 2), weights).relu_()
    return results.unflatten(1, (POOLED, -1)).sum(1).transpose(0, 1)


class _ProductReluPool(torch.autograd.Function):
    """`_product_relu_pool`, a few images at a time."""

    generate_vmap_rule = True

    @staticmethod
    def forward(patches: Tensor, weights: Tensor) -> Tensor:
        size = _images_at_once(patches.shape[2] * weights.shape[2])
        parts = zip(patches.split(size), weights.split(size), strict=True)
        return torch.cat([_product_relu_pool(*part) for part in parts], 1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        patches, weights = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _gradients(_product_relu_pool, (patches, weights), gradient, ctx.needs_input_grad)
        size = _images_at_once(patches.shape[2] * weights.shape[2])
        at_patches, at_weights = [], []
        for start in range(0, len(patches), size):
            part = slice(start, start + size)
            results = torch.bmm(patches[part].transpose(1, 2), weights[part]).unflatten(1, (POOLED, -1))
            above = gradient[:, part].transpose(0, 1).unsqueeze(1)
            at_results = _where_positive(above, results).flatten(1, 2)
            if ctx.needs_input_grad[0]:
                at_patches.append(torch.bmm(weights[part], at_results.transpose(1, 2)))
            if ctx.needs_input_grad[1]:
                at_weights.append(torch.bmm(patches[part], at_results))
        return torch.cat(at_patches) if at_patches else None, torch.cat(at_weights) if at_weights else None


def _norm_relu_pool(pixels: Tensor, scales: Tensor, shifts: Tensor) -> Tensor:
    """Instance norm, ReLU and means of 2×2 pixels of `[height, width, n, channels]`; scales by image and channel."""
    centred, inverse = _centred(pixels)
    return _pool(torch.addcmul(shifts, centred, scales * inverse).relu_(), pixels.shape)


class _NormReluPool(torch.autograd.Function):
    """`_norm_relu_pool`, a few images at a time, with a gradient of few passes over memory."""

    generate_vmap_rule = True

    @staticmethod
    def forward(pixels: Tensor, scales: Tensor, shifts: Tensor) -> Tensor:
        return torch.cat([_norm_relu_pool(*part) for part in _parts_of_norm(pixels, scales, shifts)], 2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ARG004
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            return _gradients(_norm_relu_pool, ctx.saved_tensors, gradient, ctx.needs_input_grad)
        parts = _parts_of_norm(*ctx.saved_tensors)
        above = gradient.split(parts[0][0].shape[2], 2)
        found = [_norm_gradients(*part, above=each) for part, each in zip(parts, above, strict=True)]
        at_pixels, at_scales, at_shifts = zip(*found, strict=True)
        return torch.cat(at_pixels, 2), torch.cat(at_scales), torch.cat(at_shifts)


def _norm_gradients(pixels: Tensor, scales: Tensor, shifts: Tensor, *, above: Tensor) -> tuple[Tensor, ...]:
    """Of `_norm_relu_pool`: Ioffe & Szegedy, arXiv:1502.03167, section 3, for the pixels of an image and channel."""
    height, width = pixels.shape[:2]
    centred, inverse = _centred(pixels)
    results = torch.addcmul(shifts, centred, scales * inverse).view(height // 2, 2, width // 2, 2, -1)
    at_results = _where_positive(above.reshape(height // 2, 1, width // 2, 1, -1), results).view_as(centred)
    at_shifts = at_results.sum(0)
    at_scales = (at_results * centred).sum(0) * inverse
    at_results.sub_(at_shifts / len(centred)).addcmul_(centred, at_scales * inverse / -len(centred))
    return at_results.mul_(scales * inverse).view(pixels.shape), at_scales, at_shifts


def _parts_of_norm(pixels: Tensor, scales: Tensor, shifts: Tensor) -> list[tuple[Tensor, ...]]:
    """A few images at a time."""
    channels = pixels.shape[3]
    size = _images_at_once(pixels[:, :, 0].numel())
    parts = pixels.split(size, 2), scales.split(size * channels), shifts.split(size * channels)
    return list(zip(*parts, strict=True))


def _images_at_once(values: int) -> int:
    """Of so many values each."""
    return max(1, VALUES_AT_ONCE // values)


def _where_positive(gradient: Tensor, results: Tensor) -> Tensor:
    """The gradient of ReLU; torch.where takes fifteen times as long on a CPU."""
    return torch.ops.aten.threshold_backward(gradient.expand_as(results), results, 0)


def _centred(pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Columns `[pixels, n · channels]` of mean 0, and the inverse of the deviation of each."""
    flat = pixels.flatten(2).flatten(0, 1)
    centred = flat - flat.mean(0)
    return centred, ((centred * centred).mean(0) + SMALLEST_VARIANCE).rsqrt()


def _by_column(value: Tensor, num: int) -> Tensor:
    """A quarter of it, for the mean of four pixels, for every image and channel: `[n · channels]`."""
    return (value / POOLED).expand(num, value.shape[-1]).reshape(-1)


def _pool(flat: Tensor, shape: torch.Size) -> Tensor:
    """Sums of 2×2 pixels, `[height / 2, width / 2, n, channels]`; pairs of rows, then of columns."""
    height, width, num, channels = shape
    rows = flat.view(height // 2, 2, -1).sum(1)
    return rows.view(height * width // 4, 2, -1).sum(1).view(height // 2, width // 2, num, channels)


def _gradients(function: Any, inputs: tuple[Tensor, ...], gradient: Tensor, wanted: Any) -> tuple[Tensor | None, ...]:
    """Of the plain operations, to be differentiated again."""
    of = [each for each, asked in zip(inputs, wanted, strict=True) if asked]
    found = iter(torch.autograd.grad(function(*inputs), of, gradient, create_graph=True))
    return tuple(next(found) if asked else None for asked in wanted)
