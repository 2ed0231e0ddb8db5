"""Curves of several audits or attacks in one figure, each with colour, dashes and marker of its own."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.canvas import Canvas, Plot, legend_height, save_png
from reports.figures.roc import SCALES, Scale, legend_below, panels_of, scale_of, set_rates, side_of
from reports.figures.style import GREY, SERIES, house_style
from reports.records.schema import Roc
from reports.words.roc import describe_auc

MOST_CURVES = len(SERIES)
_LOWEST = 1e-4
Curves = Sequence[tuple[str, Roc]]


def curves_plot(curves: Curves, *, scales: Sequence[str]) -> Plot:
    """At most `MOST_CURVES` of them, by name."""
    labels = ["chance", *(name for name, _ in curves)]
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


def write_curves(curves: Curves, title: str, path: Path) -> None:
    """One PNG on logarithmic axes; the better attack stands first in the legend."""
    with house_style():
        figure = Figure(figsize=(6.4, 4.4), dpi=120)
        axes = figure.add_axes((0.1, 0.11, 0.52, 0.81))
        draw_curves(axes, [(f"{name}\nAUC {roc.auc:.3f}", roc) for name, roc in curves], logarithmic=True)
        handles, labels = axes.get_legend_handles_labels()
        order = [0, *sorted(range(1, len(labels)), key=lambda index: -curves[index - 1][1].auc)]
        axes.set_title(title)
        figure.legend(
            [handles[index] for index in order],
            [labels[index] for index in order],
            loc="center left",
            bbox_to_anchor=(0.635, 0.52),
            fontsize=7.5,
        )
        save_png(figure, path)


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
            label=name,
        )


def _draw(canvas: Canvas, *, curves: Curves, scales: Sequence[str]) -> None:
    panels = panels_of(canvas, len(scales))
    for axes, scale in zip(panels, scales, strict=True):
        draw_curves(axes, curves, logarithmic=scale == "logarithmic")
    legend_below(canvas, panels[0], len(scales))
