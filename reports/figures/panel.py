"""Synthetic images above their nearest records by each distance: Figure 5 of Dong et al., arXiv:2206.00240."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from reports.figures.canvas import Canvas, Plot
from reports.figures.style import BLUE, GREY, INK, PALE, VERMILLION
from reports.records.gallery import Pictures, Pixels
from reports.records.visual import Column

# In widths of a picture.
_CAPTION = 0.36
_NAMES = 1.2
_RANKS = 3
_NARROWEST, _TALLEST = 42.0, 600.0  # points
_WHETHER = {True: " in", False: " out", None: ""}
_FRAMES = {True: (VERMILLION, "-", 1.8), False: (BLUE, (0, (2, 2)), 0.9), None: (INK, "-", 0.6)}


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """Columns of pictures, so many to a line; lengths in widths of a picture, and how many points that is."""

    per_line: int
    column_height: float
    point: float


def panel_plot(columns: Sequence[Column], pictures: Pictures) -> Plot:
    """A column per synthetic image; what may not be shown stands as its number."""
    aspect = _aspect(pictures)
    rows = 1 + _RANKS * max((len(column.matches) for column in columns), default=0)
    high = rows * (aspect + _CAPTION) + 0.1

    def grid(width: float) -> _Grid:
        per_line = max(1, min(len(columns), int(width / _NARROWEST - _NAMES)))
        lines = -(-len(columns) // per_line)
        point = min(width / (_NAMES + 0.05 + per_line), 1.4 * _NARROWEST, _TALLEST / high)
        return _Grid(per_line=per_line, column_height=high, point=point if lines else 1.0)

    def height(width: float) -> float:
        of = grid(width)
        return -(-len(columns) // of.per_line) * of.column_height * of.point

    def draw(canvas: Canvas) -> None:
        of = grid(canvas.width)
        for line, start in enumerate(range(0, len(columns), of.per_line)):
            part = columns[start : start + of.per_line]
            wide, tall = _NAMES + 0.05 + of.per_line, of.column_height
            axes = canvas.axes(0, line * tall * of.point, wide * of.point, tall * of.point)
            axes.set(xlim=(0, wide), ylim=(tall, 0), aspect="equal")
            axes.axis("off")
            for place, column in enumerate(part):
                shown = None if pictures.synthetic is None else pictures.synthetic[start + place]
                _draw_column(axes, column, shown, pictures, _NAMES + place, aspect, named=place == 0)

    return Plot(alt=_describe(columns), height=height, draw=draw)


def _describe(columns: Sequence[Column]) -> str:
    """The panel for who cannot see it."""
    parts = []
    for column in columns:
        for name, matches in column.matches.items():
            near = ", ".join(f"{match.record} at {match.distance:.3g}{_WHETHER[match.member]}" for match in matches)
            parts.append(f"image {column.image} of class {column.label}, nearest records by {name}: {near}")
    return "; ".join(parts)


def _draw_column(
    axes: Axes, column: Column, shown: Pixels | None, pictures: Pictures, left: float, aspect: float, *, named: bool
) -> None:
    _draw_cell(axes, left, 0.0, aspect, shown, f"synthetic, {column.label}", hidden="not shown")
    top = aspect + _CAPTION
    for name, matches in column.matches.items():
        for rank, match in enumerate(matches):
            if named:
                middle = top + _CAPTION + aspect / 2
                axes.text(_NAMES - 0.1, middle, f"{name}\n{rank + 1}", ha="right", va="center")
            image, caption = pictures.records.get(match.record), f"{match.distance:.3g}{_WHETHER[match.member]}"
            _draw_cell(axes, left, top, aspect, image, caption, hidden=f"no. {match.record}", member=match.member)
            top += aspect + _CAPTION
        top += (_RANKS - len(matches)) * (aspect + _CAPTION)


def _draw_cell(
    axes: Axes,
    left: float,
    top: float,
    aspect: float,
    image: Pixels | None,
    caption: str,
    *,
    hidden: str,
    member: bool | None = None,
) -> None:
    """A picture with its caption above; members have a heavy solid frame, non-members a dashed one."""
    top += _CAPTION
    right, bottom = left + 0.9, top + 0.9 * aspect
    axes.text((left + right) / 2, top - 0.06, caption, ha="center", va="bottom", fontsize=6)
    if image is None:
        axes.text((left + right) / 2, (top + bottom) / 2, hidden, ha="center", va="center", fontsize=5.5, color=GREY)
    else:
        shown = image.repeat(3, axis=2) if image.shape[2] == 1 else image
        axes.imshow(shown, extent=(left, right, bottom, top), interpolation="none", aspect="auto", zorder=1)
    colour, line, weight = _FRAMES[member]
    axes.add_patch(
        Rectangle(
            (left, top),
            right - left,
            bottom - top,
            facecolor=PALE if image is None else "none",
            edgecolor=colour,
            linestyle=line,
            linewidth=weight,
            zorder=0 if image is None else 2,
        )
    )


def _aspect(pictures: Pictures) -> float:
    """Height over width of a picture; flat boxes where none is shown."""
    known = [*pictures.records.values(), *(() if pictures.synthetic is None else pictures.synthetic[:1])]
    return known[0].shape[0] / known[0].shape[1] if known else 0.5
