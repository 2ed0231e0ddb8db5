"""Synthetic images above their nearest records by each distance: Figure 5 of Dong et al., arXiv:2206.00240."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from reports.figures.canvas import Canvas, Plot
from reports.figures.style import BLUE, INK, PALE, VERMILLION
from reports.records.gallery import Pictures, Pixels
from reports.records.visual import Column

# In widths of a picture.
_CAPTION = 0.4
_NAMES = 1.35
_FLAT = 0.42  # height of what stands for a record that is not shown
_RANKS = 3
_NARROWEST, _TALLEST, _PHONE = 42.0, 540.0, 300.0  # points
_WHETHER = {True: " in", False: " out", None: ""}
_FRAMES = {True: (VERMILLION, "-", 1.8), False: (BLUE, (0, (2, 2)), 0.9), None: (INK, "-", 0.6)}


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """Columns of pictures, so many to a line, and how many points the width of a picture is."""

    per_line: int
    num_lines: int
    point: float


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """Heights over widths: of a synthetic image, 0 where none may be shown, of a record, and of a whole column."""

    synthetic: float
    record: float
    column: float


def panel_plot(columns: Sequence[Column], pictures: Pictures) -> Plot:
    """A column per synthetic image; a record that may not be shown stands as its number."""
    shape = _shape(columns, pictures)

    def grid(width: float) -> _Grid:
        most = max(1, min(len(columns), int(width / _NARROWEST - _NAMES)))
        num_lines = max(1, -(-len(columns) // most))
        per_line = max(1, -(-len(columns) // num_lines))
        point = min(width / (_NAMES + 0.05 + per_line), 1.4 * _NARROWEST)
        if width > _PHONE:
            point = min(point, _TALLEST / (shape.column * num_lines))
        return _Grid(per_line=per_line, num_lines=num_lines, point=point)

    def height(width: float) -> float:
        of = grid(width)
        return of.num_lines * shape.column * of.point if columns else 0.0

    def draw(canvas: Canvas) -> None:
        of = grid(canvas.width)
        for line, start in enumerate(range(0, len(columns), of.per_line)):
            part = columns[start : start + of.per_line]
            wide, tall = _NAMES + 0.05 + of.per_line, shape.column
            axes = canvas.axes(0, line * tall * of.point, wide * of.point, tall * of.point)
            axes.set(xlim=(0, wide), ylim=(tall, 0), aspect="equal")
            axes.axis("off")
            for place, column in enumerate(part):
                shown = None if pictures.synthetic is None else pictures.synthetic[start + place]
                _draw_column(axes, column, shown, pictures, _NAMES + place, shape, named=place == 0)

    return Plot(alt=_describe(columns), height=height, draw=draw)


def _describe(columns: Sequence[Column]) -> str:
    """The panel for readers who cannot see it."""
    parts = []
    for column in columns:
        for name, matches in column.matches.items():
            near = ", ".join(f"{match.record} at {match.distance:.3g}{_WHETHER[match.member]}" for match in matches)
            parts.append(f"image {column.image} of class {column.label}, nearest records by {name}: {near}")
    return "; ".join(parts)


def _draw_column(
    axes: Axes, column: Column, shown: Pixels | None, pictures: Pictures, left: float, shape: _Shape, *, named: bool
) -> None:
    axes.text(left + 0.45, _CAPTION - 0.06, f"class {column.label}", ha="center", va="bottom", fontsize=7)
    if shown is not None:
        _draw_image(axes, shown, left, _CAPTION, shape.synthetic)
        _frame(axes, left, _CAPTION, shape.synthetic, None)
        if named:
            _name(axes, "synthetic", _CAPTION + shape.synthetic / 2)
    top = shape.synthetic + _CAPTION
    for name, matches in column.matches.items():
        for rank, match in enumerate(matches):
            if named:
                _name(axes, f"{name}, {rank + 1}.", top + _CAPTION + shape.record / 2)
            caption = f"{say_distance(match.distance)}{_WHETHER[match.member]}"
            axes.text(left + 0.45, top + _CAPTION - 0.06, caption, ha="center", va="bottom", fontsize=7)
            image = pictures.records.get(match.record)
            if image is None:
                middle = top + _CAPTION + 0.45 * shape.record
                axes.text(left + 0.45, middle, f"no. {match.record}", ha="center", va="center", fontsize=7)
            else:
                _draw_image(axes, image, left, top + _CAPTION, shape.record)
            _frame(axes, left, top + _CAPTION, shape.record, match.member, filled=image is None)
            top += shape.record + _CAPTION
        top += (_RANKS - len(matches)) * (shape.record + _CAPTION)


def say_distance(distance: float) -> str:
    """Short enough for a column; what rounding leaves of none is none."""
    if distance < 1e-4:
        return "≈ 0"
    return f"{distance:#.2g}".rstrip(".") if distance < 99.5 else f"{distance:.0f}"


def _name(axes: Axes, text: str, middle: float) -> None:
    axes.text(_NAMES - 0.12, middle, text, ha="right", va="center", fontsize=7)


def _draw_image(axes: Axes, image: Pixels, left: float, top: float, aspect: float) -> None:
    shown = image.repeat(3, axis=2) if image.shape[2] == 1 else image
    extent = (left, left + 0.9, top + 0.9 * aspect, top)
    axes.imshow(shown, extent=extent, interpolation="none", aspect="auto", zorder=1)


def _frame(axes: Axes, left: float, top: float, aspect: float, member: bool | None, *, filled: bool = False) -> None:
    """Members have a heavy solid frame, non-members a dashed one."""
    colour, line, weight = _FRAMES[member]
    axes.add_patch(
        Rectangle(
            (left, top),
            0.9,
            0.9 * aspect,
            facecolor=PALE if filled else "none",
            edgecolor=colour,
            linestyle=line,
            linewidth=weight,
            zorder=0 if filled else 2,
        )
    )


def _shape(columns: Sequence[Column], pictures: Pictures) -> _Shape:
    known = next(iter(pictures.records.values()), None)
    synthetic = 0.0
    if pictures.synthetic is not None and len(pictures.synthetic):
        synthetic = pictures.synthetic.shape[1] / pictures.synthetic.shape[2]
    record = _FLAT if known is None else known.shape[0] / known.shape[1]
    rows = _RANKS * max((len(column.matches) for column in columns), default=0)
    return _Shape(synthetic=synthetic, record=record, column=synthetic + _CAPTION + rows * (record + _CAPTION) + 0.1)
