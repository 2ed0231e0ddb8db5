"""Pictures side by side, as one array: a page with hundreds of them stays one image in the file."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from reports.figures.canvas import Canvas, Plot
from reports.figures.style import GREY, INK
from reports.records.gallery import Pixels

MOST_ROWS, MOST_COLUMNS = 16, 16
_FINEST = 1000
_FRAME = 0.55
_LARGEST_IMAGE, _PHONE = 40.0, 300.0  # points
_TALLEST = 0.5  # of the width


@dataclass(frozen=True, kw_only=True)
class Mosaic:
    """Which image stands in which cell (−1: none); a label for every row, or for every image of a single row."""

    cells: NDArray[np.int64]
    labels: tuple[str, ...]


def arrange(labels: NDArray[np.int64]) -> Mosaic:
    """A row per class where there are several images of each; otherwise rows of images in the order of their class."""
    classes, counts = np.unique(labels, return_counts=True)
    if counts.max() == 1 or classes.size > MOST_ROWS:
        order = np.argsort(labels, kind="stable")[: MOST_ROWS * MOST_COLUMNS]
        columns = min(order.size, 10 if order.size <= 100 else MOST_COLUMNS)
        cells = np.full((-(-order.size // columns), columns), -1)
        cells.flat[: order.size] = order
        if len(cells) == 1:
            return Mosaic(cells=cells, labels=tuple(str(labels[index]) for index in order))
        ends = [(labels[row[0]], labels[row[row >= 0][-1]]) for row in cells]
        return Mosaic(cells=cells, labels=tuple(str(a) if a == b else f"{a}–{b}" for a, b in ends))
    columns = int(min(counts.max(), MOST_COLUMNS))
    cells = np.full((classes.size, columns), -1)
    for row, label in enumerate(classes):
        members = np.flatnonzero(labels == label)[:columns]
        cells[row, : members.size] = members
    return Mosaic(cells=cells, labels=tuple(map(str, classes)))


def compose(images: Pixels, cells: NDArray[np.int64]) -> Pixels:
    """One picture `[height, width, channels]` of framed cells on white, pixels enlarged to stay sharp."""
    return _compose(images, cells)[0]


def _compose(images: Pixels, cells: NDArray[np.int64]) -> tuple[Pixels, NDArray[np.bool_]]:
    """The picture, and where in it cells and their frames are."""
    height, width, channels = images.shape[1:]
    rows, columns = cells.shape
    scale = max(1, _FINEST // (max(rows * height, columns * width)))
    gap = max(4, scale * width // 12)
    frame, high, wide = max(1, gap // 6), height * scale, width * scale
    sheet = np.ones((rows * (high + gap), columns * (wide + gap), channels), np.float32)
    covered = np.zeros(sheet.shape[:2], dtype=bool)
    for row, column in zip(*np.nonzero(cells >= 0), strict=True):
        top, left = row * (high + gap) + gap // 2, column * (wide + gap) + gap // 2
        framed = slice(top - frame, top + high + frame), slice(left - frame, left + wide + frame)
        sheet[framed], covered[framed] = _FRAME, True
        enlarged = images[cells[row, column]].repeat(scale, axis=0).repeat(scale, axis=1)
        sheet[top : top + high, left : left + wide] = enlarged
    return sheet, covered


def set_plot(images: Pixels, mosaic: Mosaic) -> Plot:
    """A synthetic set, a row per class where there are several images of each."""
    rows, columns = mosaic.cells.shape
    alt = f"{int((mosaic.cells >= 0).sum())} synthetic images in {rows} rows of up to {columns}"
    named = f"; labels of the {'images' if rows == 1 else 'rows'}: {', '.join(mosaic.labels)}"

    def size(width: float) -> tuple[float, float]:
        high = rows * images.shape[1] / (columns * images.shape[2])
        tallest = width if width < _PHONE else _TALLEST * width
        wide = min(width - 40, columns * _LARGEST_IMAGE, tallest / high)
        return wide, wide * high

    def draw(canvas: Canvas) -> None:
        axes = canvas.axes(40, 2, *size(canvas.width))
        draw_mosaic(axes, images, mosaic, naming="class")

    return Plot(alt=alt + named, height=lambda width: size(width)[1] + (18 if rows == 1 else 8), draw=draw)


def row_plot(images: Pixels, captions: Sequence[str], *, size: float) -> Plot:
    """Images side by side, a caption under each."""
    number = len(images)
    high = size * images.shape[1] / images.shape[2]
    mosaic = Mosaic(cells=np.arange(number)[None], labels=tuple(captions))
    return Plot(
        alt=", ".join(captions),
        height=lambda _: high + 18,
        draw=partial(_draw_row, images=images, mosaic=mosaic, size=(size * number, high)),
    )


def _draw_row(canvas: Canvas, *, images: Pixels, mosaic: Mosaic, size: tuple[float, float]) -> None:
    draw_mosaic(canvas.axes(0, 2, *size), images, mosaic, naming="")


def draw_mosaic(axes: Axes, images: Pixels, mosaic: Mosaic, *, naming: str) -> None:
    """The picture, transparent between its cells; what the labels name stands on the axis."""
    picture, covered = _compose(images, mosaic.cells)
    opaque = np.concatenate([np.broadcast_to(picture, (*picture.shape[:2], 3)), covered[..., None]], axis=2)
    colours = np.round(255 * opaque).astype(np.uint8)
    axes.imshow(colours, interpolation="none", aspect="equal")
    axes.set(xticks=[], yticks=[])
    rows, columns = mosaic.cells.shape
    single = rows == 1
    axis, num_cells, length = (
        (axes.xaxis, columns, picture.shape[1]) if single else (axes.yaxis, rows, picture.shape[0])
    )
    axis.set_ticks(_centres(num_cells, length)[: len(mosaic.labels)], mosaic.labels, parse_math=False)
    axes.tick_params(length=0, labelsize=7.5, labelcolor=INK)
    axes.set_ylabel(naming, color=GREY, labelpad=8)
    axes.spines[:].set_visible(False)


def _centres(num_cells: int, length: int) -> list[float]:
    """Middles of cells that fill `length` pixels."""
    return [(index + 0.5) * length / num_cells for index in range(num_cells)]
