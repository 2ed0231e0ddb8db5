"""Panels side by side, as many as there is room for, with a legend below each of them or one below all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from reports.figures.canvas import Canvas, Plot, legend_columns, legend_height

_ABOVE, _ASIDE, _AFTER = 18.0, 12.0, 4.0
_PHONE, _WHOLE = 300.0, 480.0  # widths of figures


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What is drawn into its axes, and the labels of what is drawn."""

    draw: Callable[[Axes], None]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Of every panel, in points: `least` is how wide one must be, `left` and `below` the room for labels of its axes.

    A figure that is set smaller than it could be is also less high.
    """

    height: float = 112.0
    least: float = 220.0
    left: float = 36.0
    below: float = 36.0

    def high(self, width: float) -> float:
        """The height of the axes in a figure of this width; that of a phone has its panels one below the other."""
        return self.height if width < _PHONE else self.height * min(1.0, width / _WHOLE)


def panels_plot(panels: Sequence[Panel], alt: str, *, shape: Shape | None = None, shared: bool = False) -> Plot:
    """A figure of panels; where the legend is `shared`, all panels have the labels of the first."""
    given = Shape() if shape is None else shape
    common = panels[0].labels if shared else ()

    def lines(width: float) -> tuple[float, list[tuple[float, Sequence[Panel]]]]:
        most = max(1, min(len(panels), int(width // given.least)))
        wide = width / most
        rows = [panels[start : start + most] for start in range(0, len(panels), most)]
        bare = _ABOVE + given.high(width) + given.below
        own = [0.0 if shared else max(_legend(wide - _ASIDE, panel.labels) for panel in row) for row in rows]
        return wide, [(bare + more, row) for more, row in zip(own, rows, strict=True)]

    def draw(canvas: Canvas) -> None:
        wide, rows = lines(canvas.width)
        high_axes = given.high(canvas.width)
        top, first = 0.0, None
        for high, row in rows:
            for place, panel in enumerate(row):
                part = Canvas(
                    sheet=canvas.sheet,
                    left=canvas.left + place * wide,
                    top=canvas.top + top,
                    width=wide - _ASIDE,
                )
                axes = part.axes(given.left, _ABOVE, part.width - given.left, high_axes)
                panel.draw(axes)
                if panel.labels and not shared:
                    columns = legend_columns(part.width, panel.labels)
                    part.legend(axes, _ABOVE + high_axes + given.below, columns)
                first = first or axes
            top += high
        if common and first is not None:
            canvas.legend(first, top, legend_columns(canvas.width, common))

    def height(width: float) -> float:
        return sum(high for high, _ in lines(width)[1]) + _legend(width, common)

    return Plot(alt=alt, height=height, draw=draw)


def _legend(width: float, labels: Sequence[str]) -> float:
    return legend_height(width, labels) + _AFTER if labels else 0.0
