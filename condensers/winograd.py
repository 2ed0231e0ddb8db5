"""3×3 convolutions with a quarter of the multiplications: F(4×4, 3×3) of Lavin & Gray, arXiv:1509.09308, section 4.3.

torch has no such kernel for a CPU. Here every stage is a matrix product: tiles of 6×6 pixels are cut out and
transformed along the rows, then along the columns; each of the 36 transformed pixels is a product over the channels;
the 4×4 results of a tile are transformed back in the same way. Zeros around the image are part of the matrices.

The products need no copies if pixels come before images and channels, `[height, width, images, channels]`
(`convolve_pixels_first`, which condensers/wide.py is built from). `convolve` is for torch's order of axes.

Results differ from a direct convolution by rounding: 6·10⁻⁵ of their standard deviation at most, where a direct
one is off by 10⁻⁵ (docs/performance.md). All operations are plain ones of torch, which differentiates them any number
of times and maps them over further axes.
"""

from functools import cache

import numpy as np
import torch
from torch import Tensor

TILE, RESULTS = 6, 4  # pixels that a tile spans along an axis, and results that it has
# Where the transforms cost less than they save (docs/performance.md).
FEWEST_CHANNELS, FEWEST_IMAGES, MOST_PIXELS = 64, 16, 16

# Bᵀ, G and Aᵀ of F(4×4, 3×3), arXiv:1509.09308: the transforms of pixels, of weights, and of products to results.
_PIXELS = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
)
_WEIGHTS = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24
_RESULTS = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])


def saves_time(images: Tensor, weight: Tensor) -> bool:
    """Whether `convolve` takes images `[n, channels, height, width]` and is faster than torch."""
    return (
        images.device.type == "cpu"
        and images.dtype == torch.float32
        and not torch.compiler.is_compiling()
        and all(side % RESULTS == 0 and side <= MOST_PIXELS for side in images.shape[-2:])
        and min(weight.shape[:2]) >= FEWEST_CHANNELS
        and len(images) >= FEWEST_IMAGES
    )


def convolve(images: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.conv2d(images, weight, bias, padding=1)` with a weight of 3×3 pixels, up to rounding."""
    num, channels, height, width = images.shape
    pixels = images.reshape(num * channels, height * width).t().contiguous().view(height, width, num, channels)
    results = convolve_pixels_first(pixels, weight).view(height * width, -1)
    found = results.t().contiguous().view(num, -1, height, width)
    return found if bias is None else found.add_(bias.view(-1, 1, 1))


def convolve_pixels_first(pixels: Tensor, weight: Tensor) -> Tensor:
    """The same of pixels `[height, width, n, channels]`: results in that order of axes."""
    height, width, num, channels = pixels.shape
    outputs = weight.shape[0]
    transformed = (_kernel() @ weight.transpose(0, 1).reshape(-1, 9).t()).view(TILE * TILE, channels, outputs)
    cut, join_columns, join_rows = _cut(width, rows=False), _join(width, rows=False), _join(RESULTS, rows=True)
    rows = _cut(height, rows=True) @ pixels.reshape(height, width * num * channels)
    parts = []
    # A row of tiles at a time, so that what is transformed stays in cache.
    for row in rows.view(height // RESULTS, TILE, width, num * channels).unbind():
        # [36, across · n, channels] times [36, channels, outputs]
        products = torch.bmm((cut @ row).view(TILE * TILE, -1, channels), transformed)
        columns = join_columns @ products.view(TILE, -1, num * outputs)
        parts.append(join_rows @ columns.view(TILE, width * num * outputs))
    return torch.cat(parts).view(height, width, num, outputs)


@cache
def _cut(size: int, *, rows: bool) -> Tensor:
    """From `size` pixels to the transformed ones of their tiles, `[tiles · 6, size]`, columns `[6 · tiles, size]`."""
    matrix = np.zeros((size // RESULTS, TILE, size + 2))
    for place, tile in enumerate(matrix):
        tile[:, place * RESULTS : place * RESULTS + TILE] = _PIXELS
    return _constant(matrix[:, :, 1:-1] if rows else matrix[:, :, 1:-1].swapaxes(0, 1), (-1, size))


@cache
def _join(size: int, *, rows: bool) -> Tensor:
    """From products to the `size` results of all tiles, in the order that `_cut` has."""
    matrix = np.einsum("st,ri->srti", np.eye(size // RESULTS), _RESULTS)
    return _constant(matrix if rows else matrix.swapaxes(2, 3), (size, -1))


@cache
def _kernel() -> Tensor:
    """From the 9 weights of a kernel to its 36 transformed ones."""
    return _constant(np.kron(_WEIGHTS, _WEIGHTS), (TILE * TILE, 9))


def _constant(matrix: np.ndarray, shape: tuple[int, int]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(matrix.reshape(shape), dtype=np.float32))
