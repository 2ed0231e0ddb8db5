"""Curves of several audits or attacks in one figure, each with colour, dashes and marker of its own."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from reports.figures.canvas import Canvas, Plot, legend_height
from reports.figures.roc import SCALES, Scale, legend_below, panels_of, scale_of, set_rates, side_of
from reports.figures.style import GREY, SERIES
from reports.records.schema import Roc
from reports.words.roc import describe_auc

MOST_CURVES = len(SERIES)
_LOWEST = 1e-4
Curves = Sequence[tuple[str, Roc]]


def curves_plot(curves: Curves, *, scales: Sequence[str]) -> Plot:
    """At most `MOST_CURVES` of them, by name."""
    labels = ["chance", *(_label(name, roc) for name, roc in curves)]
    said = "; ".join(f"{name}: {describe_auc(roc)}" for name, roc in curves)
    return Plot(
        alt=f"Operating characteristics of {len(curves)} audits ({' and '.join(scales)} axes): {said}",
        height=lambda width: 6 + side_of(width, len(scales)) + 36 + legend_height(width, labels),
        draw=partial(_draw, curves=curves, scales=scales),
    )


def curves_scales(curves: Curves) -> tuple[Scale, ...]:
    """One figure for each kind of axes, with the places of all curves at the rates of the first."""
    rates = np.asarray(curves[0][1].curve["false_positive_rate"], dtype=np.float64)
    heights = [np.interp(rates, roc.curve["false_positive_rate"], roc.curve["true_positive_rate"]) for _, roc in curves]
    return tuple(scale_of(name, curves_plot(curves, scales=(name,)), rates, heights, _LOWEST) for name in SCALES)


def draw_curves(axes: Axes, curves: Curves, *, logarithmic: bool) -> None:
    set_rates(axes, lowest=_LOWEST, logarithmic=logarithmic)
    axes.plot([_LOWEST, 1], [_LOWEST, 1], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label="chance")
    for place, (name, roc) in enumerate(curves):
        series = SERIES[place % MOST_CURVES]
        rates = np.asarray(roc.curve["false_positive_rate"])
        keep = rates > 0 if logarithmic else rates >= 0
        axes.plot(
            rates[keep],
            np.asarray(roc.curve["true_positive_rate"])[keep],
            color=series.colour,
            linestyle=(0, series.dashes) if series.dashes else "-",
            marker=series.marker,
            markevery=(4 * (place % 5), 20),
            markersize=4.5,
            linewidth=1.4,
            label=_label(name, roc),
        )


def _label(name: str, roc: Roc) -> str:
    return f"{name}, AUC {roc.auc:.3f}"


def _draw(canvas: Canvas, *, curves: Curves, scales: Sequence[str]) -> None:
    panels = panels_of(canvas, len(scales))
    for axes, scale in zip(panels, scales, strict=True):
        draw_curves(axes, curves, logarithmic=scale == "logarithmic")
    legend_below(canvas, panels[0], len(scales))
