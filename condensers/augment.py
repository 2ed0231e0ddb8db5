"""Differentiable siamese augmentation (Zhao & Bilen, arXiv:2102.08259), with explicit random numbers.

One operation is drawn per call and applied to the whole batch; its numbers are shared by all images of the batch
(siamese, for condensing) or drawn per image (for training). Ranges are those of the official code; unlike it,
nothing is written in place and no generator is reseeded.
"""

from dataclasses import dataclass
from math import pi

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.errors import BadConfig
from condensers.randomness import to_device

OPERATIONS = ("color", "crop", "cutout", "flip", "scale", "rotate")
BRIGHTNESS, SATURATION, CONTRAST = 1.0, 2.0, 0.5
CROP, CUTOUT, SCALE, ROTATE_DEGREES = 0.125, 0.5, 1.2, 15.0
NUMBERS_PER_IMAGE = 3


@dataclass(frozen=True)
class Augmentation:
    """One drawn operation and its uniform numbers, `[images or 1, 3]`."""

    operation: str
    numbers: np.ndarray


def parse_strategy(strategy: str, others: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The operations of "color_crop_cutout"; "none" is none. `others` are what the caller takes instead of them."""
    if strategy == "none":
        return ()
    operations = tuple(strategy.split("_"))
    for operation in operations:
        if operation not in OPERATIONS:
            alone = " or ".join(("none", *others))
            raise BadConfig(
                f"augmentation {strategy!r}: {operation!r} is not one of {', '.join(OPERATIONS)} (or {alone})"
            )
    return operations


def draw_augmentation(operations: tuple[str, ...], generator: np.random.Generator, num_images: int = 1) -> Augmentation:
    """Draw one of the operations; `num_images=1` gives siamese numbers."""
    operation = operations[int(generator.integers(len(operations)))]
    return Augmentation(operation, generator.random((num_images, NUMBERS_PER_IMAGE), dtype=np.float32))


def augment(images: Tensor, drawn: Augmentation) -> Tensor:
    """Apply one operation to `[images, channels, height, width]`."""
    numbers = to_device(drawn.numbers, images.device).to(images.dtype).expand(images.shape[0], NUMBERS_PER_IMAGE)
    match drawn.operation:
        case "color":
            return _color(images, numbers)
        case "crop":
            return _crop(images, numbers)
        case "cutout":
            return _cutout(images, numbers)
        case "flip":
            mirrored = (numbers[:, 0] < 0.5).view(-1, 1, 1, 1)
            return torch.where(mirrored, images.flip(3), images)
        case "scale":
            stretch = numbers[:, :2] * (SCALE - 1 / SCALE) + 1 / SCALE
            zero = torch.zeros_like(stretch[:, 0])
            return _affine(images, stretch[:, 0], zero, zero, stretch[:, 1])
        case "rotate":
            angle = (2 * numbers[:, 0] - 1) * (ROTATE_DEGREES / 180 * pi)
            return _affine(images, angle.cos(), -angle.sin(), angle.sin(), angle.cos())
    raise BadConfig(f"augmentation {drawn.operation!r} is not one of {', '.join(OPERATIONS)}")


def _color(images: Tensor, numbers: Tensor) -> Tensor:
    brightness, saturation, contrast = (numbers[:, i].view(-1, 1, 1, 1) for i in range(3))
    images = images + (brightness - 0.5) * BRIGHTNESS
    grey = images.mean(dim=1, keepdim=True)
    images = (images - grey) * (saturation * SATURATION) + grey
    mean = images.mean(dim=(1, 2, 3), keepdim=True)
    return (images - mean) * (contrast + CONTRAST) + mean


def _crop(images: Tensor, numbers: Tensor) -> Tensor:
    """Shift by whole pixels, zeros beyond the border."""
    for axis in (2, 3):
        size = images.shape[axis]
        reach = int(size * CROP + 0.5)
        shift = (numbers[:, axis - 2] * (2 * reach + 1)).floor().long() - reach
        images = gather_lines(images, torch.arange(size, device=images.device) + shift.unsqueeze(1), axis)
    return images


def gather_lines(images: Tensor, source: Tensor, axis: int) -> Tensor:
    """Rows (axis 2) or columns (axis 3) `source` `[images, size]` of each image; zeros where there is none."""
    shape = (-1, 1, source.shape[1], 1) if axis == 2 else (-1, 1, 1, source.shape[1])
    inside = (source >= 0) & (source < images.shape[axis])
    index = source.clamp(0, images.shape[axis] - 1).view(shape).expand_as(images)
    return images.gather(axis, index) * inside.view(shape)


def _cutout(images: Tensor, numbers: Tensor) -> Tensor:
    """Black out (zero) a square of half the side, its centre anywhere."""
    kept = torch.zeros(images.shape[0], 1, 1, 1, dtype=torch.bool, device=images.device)
    for axis in (2, 3):
        size = images.shape[axis]
        side = int(size * CUTOUT + 0.5)
        centre = (numbers[:, axis - 2] * (size + 1 - side % 2)).floor().long().unsqueeze(1)
        position = torch.arange(size, device=images.device)
        outside = (position < centre - side // 2) | (position >= centre - side // 2 + side)
        kept = kept | outside.view((-1, 1, size, 1) if axis == 2 else (-1, 1, 1, size))
    return images * kept


def _affine(images: Tensor, xx: Tensor, xy: Tensor, yx: Tensor, yy: Tensor) -> Tensor:
    zero = torch.zeros_like(xx)
    theta = torch.stack([torch.stack([xx, xy, zero], 1), torch.stack([yx, yy, zero], 1)], 1)
    grid = F.affine_grid(theta, list(images.shape), align_corners=True)
    return F.grid_sample(images, grid, align_corners=True, padding_mode="zeros", mode="bilinear")
