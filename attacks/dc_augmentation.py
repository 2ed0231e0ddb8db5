"""The augmentation with which the code of DC evaluates sets of MNIST, and that of PSG those of FashionMNIST, too.

VICO-UoE/DatasetCondensation at 53f63a6, utils.py, and DingfanChen/Private-Set at 8277ee2, utils/augmentation.py and
utils/misc.py, `augment` and `get_daparam`: every image has one of three operations of its own. It is shifted by up to
four pixels, which the mean of the batch fills; or stretched by up to a fifth along each axis to the nearest pixel,
zeros around it; or rotated by up to 45 degrees, the mean around it.

Differs from the official code: rotations interpolate by cubic convolution instead of splines, and turn about the centre
of the image; nothing is written in place.
"""

from math import pi

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.augment import gather_lines
from condensers.randomness import to_device

NAME = "dc"
CROP_PIXELS, SCALE, ROTATE_DEGREES = 4, 0.2, 45
OPERATIONS = ("crop", "scale", "rotate")


def augment_each(images: Tensor, generator: np.random.Generator) -> Tensor:
    """Images `[n, channels, height, width]` of one batch, one operation per image."""
    num, height = len(images), images.shape[2]
    operations = generator.integers(len(OPERATIONS), size=num)
    # np.random.permutation(crop * 2)[0]: 0 to 7, of an image that starts at 4.
    shifts = generator.integers(2 * CROP_PIXELS, size=(2, num)) - CROP_PIXELS
    # Both sizes are of the height, as in the code.
    sizes = (generator.uniform(1 - SCALE, 1 + SCALE, size=(2, num)) * height).astype(np.int64)
    degrees = generator.integers(-ROTATE_DEGREES, ROTATE_DEGREES, size=num)
    mean = images.mean(dim=(0, 2, 3), keepdim=True)
    chosen = [to_device(np.flatnonzero(operations == number), images.device) for number in range(len(OPERATIONS))]
    crop, scale, rotate = chosen
    result = torch.empty_like(images)
    result[crop] = _shift(images[crop] - mean, to_device(shifts, images.device)[:, crop]) + mean
    result[scale] = _stretch(images[scale], to_device(sizes, images.device)[:, scale])
    # One number for all channels: cval=np.mean(mean).
    result[rotate] = _rotate(images[rotate] - mean.mean(), to_device(degrees, images.device)[rotate]) + mean.mean()
    return result


def _shift(images: Tensor, shifts: Tensor) -> Tensor:
    for axis, shift in zip((2, 3), shifts, strict=True):
        source = torch.arange(images.shape[axis], device=images.device) + shift.unsqueeze(1)
        images = gather_lines(images, source, axis)
    return images


def _stretch(images: Tensor, sizes: Tensor) -> Tensor:
    """To `sizes` by the nearest pixel, then the central part, or all of it between zeros."""
    size, other = images.shape[2:]
    largest = sizes.amax(0).clamp(min=max(size, other))
    for axis, wanted in zip((2, 3), sizes, strict=True):
        own = images.shape[axis]
        place = torch.arange(own, device=images.device) + ((largest - own) // 2 - (largest - wanted) // 2).unsqueeze(1)
        outside = (place < 0) | (place >= wanted.unsqueeze(1))
        source = torch.where(outside, -1, place * own // wanted.unsqueeze(1))
        images = gather_lines(images, source, axis)
    return images


def _rotate(images: Tensor, degrees: Tensor) -> Tensor:
    if not len(images):
        return images
    angle = degrees.to(images.dtype) * (pi / 180)
    zero = torch.zeros_like(angle)
    rows = [torch.stack([angle.cos(), -angle.sin(), zero], 1), torch.stack([angle.sin(), angle.cos(), zero], 1)]
    grid = F.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=True)
    return F.grid_sample(images, grid, align_corners=True, padding_mode="zeros", mode="bicubic")
