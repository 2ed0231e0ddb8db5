"""ε on one scale, a bar per row: certified, ceiling, claim."""

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes

from reports.figures.canvas import Canvas, Plot
from reports.figures.style import BLUE, GREY, INK, PALE, PAPER, RED_INK, VERMILLION
from reports.figures.typography import Face, shorten, wrap
from reports.words.epsilon_rows import EpsilonRow, right_end

_LABEL = Face(size=7, leading=9)
_NARROW = 400.0  # below this width a row's label stands above its bar
_LABELS = 150.0
_COLUMN = 44.0
_TITLES = ("measured", "claimed", "ceiling")  # the last has no room on a phone, where the pale bar tells it


def epsilon_plot(rows: Sequence[EpsilonRow], what: str) -> Plot:
    """`what` is measured, in a few words."""
    said = "; ".join(f"{row.label}: ε {row.figure}" + (f", claimed {row.claim}" if row.claim else "") for row in rows)
    return Plot(
        alt=f"{what}. {said}", height=lambda width: 40 + _row(width) * len(rows), draw=partial(_draw, rows=rows)
    )


def _row(width: float) -> float:
    return 30.0 if width < _NARROW else 20.0


def _draw(canvas: Canvas, *, rows: Sequence[EpsilonRow]) -> None:
    narrow, right = canvas.width < _NARROW, right_end(rows)
    left = 6.0 if narrow else _LABELS
    claims = any(row.claim for row in rows)
    shown = [title for title in _TITLES if (title != "claimed" or claims) and not (narrow and title == "ceiling")]
    wide = canvas.width - left - _COLUMN * len(shown) - 6
    axes = canvas.axes(left, 12, wide, _row(canvas.width) * len(rows))
    thick = 0.36 if narrow else 0.56
    for place, row in enumerate(rows):
        middle = place + (0.2 if narrow else 0)
        _bar(axes, row, middle, thick, right, above=not narrow)
        for column, title in enumerate(shown):
            text, colour = {
                "measured": (row.figure, INK),
                "claimed": (row.claim, RED_INK),
                "ceiling": (row.most, GREY),
            }[title]
            _beside(axes, middle, text, 6 + _COLUMN * column, colour, bold=title == "measured")
        if narrow:
            label = shorten(row.label, _LABEL, canvas.width - left)
            axes.text(0, middle - 0.32, label, va="center", fontsize=7, parse_math=False)
    for column, title in enumerate(shown):
        colour = RED_INK if title == "claimed" else INK
        _beside(axes, -0.5 - 6 / _row(canvas.width), title, 6 + _COLUMN * column, colour)
    axes.set(xlim=(0, right), ylim=(len(rows) - 0.5, -0.5), xlabel="ε")
    if narrow:
        axes.set_yticks([])
    else:
        labels = [_two_lines(row.label, left - 8) for row in rows]
        axes.set_yticks(range(len(rows)), labels, parse_math=False)
    axes.tick_params(axis="y", length=0, labelsize=7)
    axes.spines["left"].set_visible(False)


def _two_lines(text: str, width: float) -> str:
    first, *others = wrap(text, _LABEL, width)
    return "\n".join([first, *([shorten(" ".join(others), _LABEL, width)] if others else [])])


def _bar(axes: Axes, row: EpsilonRow, place: float, thick: float, right: float, *, above: bool) -> None:
    """The arrow of the claim stands `above` its bar, or below it where the label is above."""
    lower, ceiling = min(max(row.lower, 0.0), right), min(row.ceiling, right)
    if row.certified:
        axes.barh(place, ceiling, height=thick, color=PALE, edgecolor=GREY, linewidth=0.6)
    colour, hatch = (BLUE, None) if row.certified else (PAPER, "////")
    axes.barh(place, lower, height=thick, facecolor=colour, hatch=hatch, edgecolor=INK, linewidth=0.6)
    if row.claimed is not None and row.claimed <= right:
        reach = -0.75 * thick if above else 0.75 * thick
        tip, end = place + reach, place - (reach if above else 0.5 * thick)
        axes.plot([row.claimed] * 2, [tip, end], color=VERMILLION, linewidth=2, linestyle="-")
        axes.plot(row.claimed, tip, "v" if above else "^", color=VERMILLION, markersize=4.5, clip_on=False)


def _beside(axes: Axes, y: float, text: str, points: float, colour: str, *, bold: bool = False) -> None:
    """Text so many points to the right of the axes."""
    axes.annotate(
        text,
        (1, y),
        xycoords=("axes fraction", "data"),
        xytext=(points, 0),
        textcoords="offset points",
        va="center",
        fontsize=7.5,
        color=colour,
        fontweight="bold" if bold else "normal",
        parse_math=False,
        annotation_clip=False,
    )
