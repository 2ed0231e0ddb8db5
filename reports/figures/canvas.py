"""A figure is drawn into a box of any width: on a sheet of the PDF, alone as PNG, or alone as SVG for the screen.

Lengths are points; `y` runs downwards. Equal figures give equal bytes.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reports.figures.style import PAPER, POINTS_PER_INCH, house_style
from reports.figures.theme import adapt_to_screen
from reports.files import write_atomically

LEGEND_LINE = 11.0
MARGIN = 0.12  # inches around a picture that stands by itself


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """A box on a sheet."""

    sheet: Figure
    left: float
    top: float
    width: float

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes whose plotting area is this box, seen from the canvas's upper left corner."""
        x, y = self.place(left, top + height)
        wide, high = self.sheet.get_size_inches() * POINTS_PER_INCH
        return self.sheet.add_axes((x, y, width / wide, height / high))

    def place(self, x: float, y: float) -> tuple[float, float]:
        """A point of the canvas in fractions of the sheet."""
        wide, high = self.sheet.get_size_inches() * POINTS_PER_INCH
        return (self.left + x) / wide, 1 - (self.top + y) / high

    def legend(self, axes: Axes, top: float, columns: int) -> None:
        """What is in the axes, below them in rows; their own legend goes."""
        handles, labels = axes.get_legend_handles_labels()
        drawn = self.sheet.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=self.place(0, top),
            ncols=columns,
            borderaxespad=0,
            borderpad=0,
            columnspacing=1.4,
            labelspacing=0.35,
            handlelength=3.6,  # long enough to tell dashes apart
        )
        for text in drawn.get_texts():
            text.set_parse_math(False)


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A figure at any width: how high it then is, how it is drawn, and what it shows, for readers who cannot see it."""

    alt: str
    height: Callable[[float], float]
    draw: Callable[[Canvas], None]


def svg_of(plot: Plot, width: float) -> bytes:
    """The figure by itself for a page: type as outlines, colours by the reader's preference for light or dark."""
    stream = io.BytesIO()
    nothing: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with house_style():
        _alone(plot, width).savefig(stream, format="svg", metadata=nothing)
    return adapt_to_screen(stream.getvalue().decode()).encode()


def write_png(plot: Plot, width: float, path: Path) -> None:
    with house_style():
        save_png(_alone(plot, width), path)


def save_png(figure: Figure, path: Path) -> None:
    FigureCanvasAgg(figure)
    around: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": MARGIN}
    write_atomically(path, lambda stream: figure.savefig(stream, format="png", metadata={"Software": None}, **around))


def legend_columns(width: float, labels: Sequence[str]) -> int:
    """As many as there is room for."""
    longest = max(map(len, labels), default=0)
    return max(1, min(len(labels), int(width // (44 + 3.9 * longest))))


def legend_height(width: float, labels: Sequence[str]) -> float:
    columns = legend_columns(width, labels)
    return LEGEND_LINE * -(-len(labels) // columns)


def _alone(plot: Plot, width: float) -> Figure:
    height = plot.height(width)
    sheet = Figure(figsize=(width / POINTS_PER_INCH, height / POINTS_PER_INCH), facecolor=PAPER)
    plot.draw(Canvas(sheet=sheet, left=0.0, top=0.0, width=width))
    return sheet
