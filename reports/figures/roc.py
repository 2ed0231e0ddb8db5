"""Operating characteristics over the region that the guarantee allows, on logarithmic and on linear axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from reports.figures.canvas import Canvas, Plot, legend_columns, legend_height
from reports.figures.labels import place_labels
from reports.figures.style import ALLOWED, BLUE, FEW, GREY, INK, PAPER, POINTS_PER_INCH, VERMILLION
from reports.records.allowed import FEWEST, allowed_at, allowed_region, lies_outside
from reports.records.kinds import HasCurve
from reports.records.scores import Floats
from reports.records.worst_case import Corner
from reports.words.roc import describe_auc, say_rate
from reports.words.rounding import measured, percent

SCALES = ("logarithmic", "linear")
SCREEN_WIDTH = 236.0  # small, so that type stays legible on a phone
_EVERY = 4  # so that marks stay apart
_DASHED = (0, (4, 2))
_DASH_DOT = (0, (6, 1.5, 1.2, 1.5))
_LEFT, _TOP, _BOTTOM, _RIGHT = 44.0, 6.0, 36.0, 10.0
_LARGEST_OF_SEVERAL = 168.0
_LARGEST = 270.0
_CHANCE, _THIS, _FEW = "chance", "this attack", "fewer than 10 false positives"
_ALLOWED_REGION, _FORBIDDEN, _OUTSIDE = "allowed by the claim", "not allowed", "outside with its whole interval"
_CORNERS = ((True, "s", VERMILLION, "attempt that refutes"), (False, "D", PAPER, "attempt"))
Marks = Sequence[tuple[str, Corner]]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A figure of one kind of axes, and where in it, at `width`, the points of its curves are."""

    name: str
    plot: Plot
    width: float
    top: float
    bottom: float
    x: tuple[float, ...]
    y: tuple[tuple[float, ...], ...]


def roc_plot(report: HasCurve, num_nonmembers: int, *, of: str, scales: Sequence[str], marks: Marks = ()) -> Plot:
    """The curve on as many axes side by side; `of` whom it is."""
    labels = _labels(report, num_nonmembers, marks)
    return Plot(
        alt=f"Operating characteristic of {of}: {describe_auc(report.roc)} ({' and '.join(scales)} axes)",
        height=lambda width: _TOP + side_of(width, len(scales)) + _BOTTOM + legend_height(width, labels),
        draw=partial(_draw, report=report, num_nonmembers=num_nonmembers, scales=scales, marks=marks),
    )


def roc_scales(report: HasCurve, num_nonmembers: int, *, of: str, marks: Marks = ()) -> tuple[Scale, ...]:
    """One figure for each kind of axes, with the places of the curve's points; that on which marks are named first."""
    rates, true = _array(report, "false_positive_rate"), _array(report, "true_positive_rate")
    lowest = lowest_rate(rates, num_nonmembers)
    return tuple(
        scale_of(name, roc_plot(report, num_nonmembers, of=of, scales=(name,), marks=marks), rates, [true], lowest)
        for name in (SCALES[::-1] if marks else SCALES)
    )


def scale_of(name: str, plot: Plot, rates: Floats, curves: Sequence[Floats], lowest: float) -> Scale:
    """The places of curves that were drawn by `plot` in a single square."""
    side = side_of(SCREEN_WIDTH, 1)

    def part(values: Floats) -> Floats:
        if name == "linear":
            return np.clip(values, 0, 1)
        return np.log(np.clip(values, lowest, 1) / lowest) / math.log(1 / lowest)

    def rounded(values: Floats) -> tuple[float, ...]:
        return tuple(round(float(value), 1) for value in values)

    return Scale(
        name=name,
        plot=plot,
        width=SCREEN_WIDTH,
        top=_TOP,
        bottom=_TOP + side,
        x=rounded(_LEFT + side * part(rates)),
        y=tuple(rounded(_TOP + side * (1 - part(curve))) for curve in curves),
    )


def side_of(width: float, panels: int) -> float:
    """Of the square plotting areas."""
    return min((width - panels * (_LEFT + _RIGHT)) / panels, _LARGEST if panels == 1 else _LARGEST_OF_SEVERAL)


def panels_of(canvas: Canvas, count: int) -> list[Axes]:
    """So many squares side by side."""
    side = side_of(canvas.width, count)
    return [canvas.axes(_LEFT + index * (canvas.width / count), _TOP, side, side) for index in range(count)]


def legend_below(canvas: Canvas, axes: Axes, panels: int) -> None:
    labels = axes.get_legend_handles_labels()[1]
    canvas.legend(axes, _TOP + side_of(canvas.width, panels) + _BOTTOM, legend_columns(canvas.width, labels))


def set_rates(axes: Axes, *, lowest: float, logarithmic: bool) -> None:
    """Axes of rates in per cent."""
    low = lowest if logarithmic else 0
    if logarithmic:
        axes.set(xscale="log", yscale="log")
    axes.set(xlim=(low, 1), ylim=(low, 1), xlabel="false positive rate", ylabel="true positive rate")
    for axis in (axes.xaxis, axes.yaxis):
        if not logarithmic:
            axis.set_major_locator(MaxNLocator(nbins=5))
        axis.set_major_formatter(FuncFormatter(lambda value, _: say_rate(value)))
        axis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.grid(visible=True)
    axes.set_axisbelow(True)


def lowest_rate(rates: Floats, num_nonmembers: int) -> float:
    """The power of ten at which logarithmic axes begin."""
    return float(10.0 ** math.floor(math.log10(max(rates[rates > 0].min(), 1 / num_nonmembers)) + 1e-9))


def _draw(canvas: Canvas, *, report: HasCurve, num_nonmembers: int, scales: Sequence[str], marks: Marks) -> None:
    panels = panels_of(canvas, len(scales))
    for axes, scale in zip(panels, scales, strict=True):
        draw_roc(axes, report, num_nonmembers=num_nonmembers, logarithmic=scale == "logarithmic")
        mark_corners(axes, marks, named=scale == "linear")
    legend_below(canvas, panels[0], len(scales))


def _labels(report: HasCurve, num_nonmembers: int, marks: Marks) -> list[str]:
    """What the legend says at most."""
    region = allowed_region(report)
    labels = [_CHANCE, _THIS, _interval(report)]
    if FEWEST / num_nonmembers > lowest_rate(_array(report, "false_positive_rate"), num_nonmembers):
        labels.append(_FEW)
    if region is not None:
        labels += [_ALLOWED_REGION, _FORBIDDEN]
        labels += [_OUTSIDE] if lies_outside(report, region, num_nonmembers).any() else []
    return labels + [label for outside, *_, label in _CORNERS if any(corner.outside is outside for _, corner in marks)]


def draw_roc(axes: Axes, report: HasCurve, *, num_nonmembers: int, logarithmic: bool) -> None:
    """The curve in the area that the guarantee allows: shaded; the forbidden area is hatched."""
    rates = _array(report, "false_positive_rate")
    lowest, region = lowest_rate(rates, num_nonmembers), allowed_region(report)
    set_rates(axes, lowest=lowest, logarithmic=logarithmic)
    grid = np.geomspace(lowest, 1, 400) if logarithmic else np.linspace(0, 1, 400)
    axes.plot(grid, grid, color=GREY, linestyle=_DASHED, linewidth=1, label=_CHANCE)
    keep = rates > 0 if logarithmic else rates >= 0
    true, lower, upper = (_array(report, name)[keep] for name in ("true_positive_rate", "lower", "upper"))
    axes.plot(rates[keep], true, color=BLUE, linewidth=1.7, label=_THIS)
    axes.fill_between(rates[keep], lower, upper, color=BLUE, alpha=0.25, linewidth=0, label=_interval(report))
    _write_area(axes, report)
    if logarithmic:
        _draw_rates(axes, report, lowest)
    if logarithmic and FEWEST / num_nonmembers > lowest:
        look: dict[str, Any] = {
            "facecolor": "none",
            "edgecolor": FEW,
            "hatch": "\\\\\\\\",
            "linewidth": 0,
            "zorder": 0.6,
        }
        axes.axvspan(lowest, FEWEST / num_nonmembers, label=_FEW, **look)
    if region is None:
        return
    allowed = allowed_at(region, grid)
    axes.fill_between(grid, 0, allowed, facecolor=ALLOWED, linewidth=0, label=_ALLOWED_REGION, zorder=0.3)
    axes.plot(grid, allowed, color=VERMILLION, linestyle=_DASH_DOT, linewidth=1.3)
    look = {"facecolor": "none", "edgecolor": VERMILLION, "hatch": "///", "linewidth": 0, "alpha": 0.45, "zorder": 0.4}
    axes.fill_between(grid, allowed, 1, label=_FORBIDDEN, **look)
    outside = np.flatnonzero(lies_outside(report, region, num_nonmembers)[keep])[::_EVERY]
    if outside.size:
        look = {"color": INK, "markeredgecolor": PAPER, "markersize": 5.5, "markeredgewidth": 0.6, "zorder": 5}
        axes.plot(rates[keep][outside], true[outside], "X", label=_OUTSIDE, **look)


def _write_area(axes: Axes, report: HasCurve) -> None:
    """The area and its interval, in the corner that a curve above the diagonal leaves free."""
    figure, interval = measured(report.roc.auc, report.roc.auc_interval)
    axes.text(
        0.98,
        0.03,
        f"AUC {figure}\n{interval}",
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=7.5,
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.5, "alpha": 0.85},
        zorder=6,
        parse_math=False,
    )


def _draw_rates(axes: Axes, report: HasCurve, lowest: float) -> None:
    """The key rates with their intervals."""
    for key, rate in sorted(report.roc.tpr_at_fpr.items()):
        low, high = report.roc.tpr_at_fpr_interval[key]
        place = max(rate, lowest)
        reach = [[max(rate - max(low, lowest), 0)], [max(high - place, 0)]]
        axes.errorbar(
            float(key), place, yerr=reach, color=INK, marker="o", markersize=3.5, linewidth=0.9, capsize=2.5, zorder=5
        )


def mark_corners(axes: Axes, marks: Marks, *, named: bool) -> None:
    """A mark for each place: filled squares refute, open diamonds do not.

    They are `named` with their numbers of the table where there is room: on linear axes, for on logarithmic ones most
    of them lie in one corner.
    """
    low_x, low_y = axes.get_xlim()[0], axes.get_ylim()[0]
    places = [(max(corner.false_positive_rate, low_x), max(corner.true_positive_rate, low_y)) for _, corner in marks]
    for outside, shape, fill, label in _CORNERS:
        chosen = [place for place, (_, corner) in zip(places, marks, strict=True) if corner.outside is outside]
        if chosen:
            look: dict[str, Any] = {
                "markersize": 5,
                "markerfacecolor": fill,
                "markeredgecolor": INK,
                "markeredgewidth": 1.0,
                "zorder": 7,
            }
            axes.plot(*zip(*chosen, strict=True), linestyle="none", marker=shape, label=label, clip_on=False, **look)
    if not named:
        return
    scale = POINTS_PER_INCH / axes.figure.dpi
    on_paper = [tuple(scale * axes.transData.transform(place)) for place in places]
    offsets = place_labels(on_paper, [name for name, _ in marks], size=7)
    for place, offset, (name, _) in zip(places, offsets, marks, strict=True):
        axes.annotate(
            name,
            place,
            xytext=offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=7,
            fontweight="bold",
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.3, "alpha": 0.75},
            zorder=8,
        )


def _interval(report: HasCurve) -> str:
    return f"{percent(report.roc.interval_confidence)} interval"


def _array(report: HasCurve, name: str) -> Floats:
    return np.asarray(report.roc.curve[name], dtype=np.float64)
