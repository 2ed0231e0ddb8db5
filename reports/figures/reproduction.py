"""Figures of a reproduction: curves as printed and as measured, and maps of synthetic images."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from reports.figures.canvas import Canvas, Plot, legend_columns, legend_height
from reports.figures.style import POINTS_PER_INCH, SERIES
from reports.figures.typography import Face, text_width
from reports.records.reproduction import EmbeddingMap, ReproducedRow, ReproductionReport
from reports.words.reproduction import name_axis, name_labels
from reports.words.rounding import count

_HEIGHT, _MARGIN, _BELOW = 150.0, 46.0, 40.0
_TICK, _APART = Face(size=8, leading=10), 4.0


def curve_plot(report: ReproductionReport, by: str = "") -> Plot:
    """The values of an item along its axis, which `by` names: ours with intervals, printed ones as open markers."""
    by = by or name_axis(report.axis)
    curves = _curves(report)
    labels = [text for name in curves for text in (name, f"{name}, published")]
    return Plot(
        alt=f"{report.title} ({report.unit}) by {by}, as printed and as measured; the table has the numbers.",
        height=lambda width: _HEIGHT + _BELOW + 8 + legend_height(width, labels),
        draw=partial(_draw_curves, report=report, curves=curves, labels=labels, by=by),
    )


def _curves(report: ReproductionReport) -> dict[str, list[ReproducedRow]]:
    """Rows by what else they are labelled with."""
    found: dict[str, list[ReproducedRow]] = {}
    for row in report.rows:
        rest = name_labels((name, value) for name, value in row.labels if name != report.axis)
        if row.label(report.axis) is not None:
            found.setdefault(rest, []).append(row)
    return found


def _place(row: ReproducedRow, axis: str) -> float:
    return float(row.label(axis) or "nan")


def _draw_curves(
    canvas: Canvas, *, report: ReproductionReport, curves: dict[str, list[ReproducedRow]], labels: list[str], by: str
) -> None:
    axes = canvas.axes(_MARGIN, 8, canvas.width - _MARGIN - 8, _HEIGHT)
    places: set[float] = set()
    for number, (name, rows) in enumerate(curves.items()):
        series = SERIES[number % len(SERIES)]
        measured = sorted(
            ((_place(row, report.axis), row) for row in rows if row.ours is not None), key=lambda pair: pair[0]
        )
        places |= {_place(row, report.axis) for row in rows}
        if measured:
            middle = np.array([row.ours for _, row in measured], dtype=float)
            ends = np.array([row.interval or (row.ours, row.ours) for _, row in measured], dtype=float)
            axes.errorbar(
                [x for x, _ in measured],
                middle,
                np.abs(ends.T - middle),
                color=series.colour,
                marker=series.marker,
                markersize=4,
                linestyle=(0, series.dashes) if series.dashes else "-",
                label=name,
            )
        printed = sorted((_place(row, report.axis), row.published) for row in rows if row.published is not None)
        if printed:
            axes.plot(
                [x for x, _ in printed],
                [value for _, value in printed],
                color=series.colour,
                marker=series.marker,
                markersize=6,
                fillstyle="none",
                linestyle="",
                label=f"{name}, published",
            )
    if len(places) > 1 and min(places) > 0 and max(places) / min(places) > 10:
        axes.set_xscale("log")
    axes.set_xticks(sorted(places), _tick_labels(axes, sorted(places)))
    axes.minorticks_off()
    axes.set(xlabel=by, ylabel=report.unit)
    axes.grid(axis="y")
    canvas.legend(axes, _HEIGHT + _BELOW, legend_columns(canvas.width, labels))


def _tick_labels(axes: Axes, places: Sequence[float]) -> list[str]:
    """A label for each place, empty where it would touch the one before it."""
    labels: list[str] = []
    end = -np.inf
    scale = POINTS_PER_INCH / axes.figure.dpi
    for place in places:
        label = count(int(place)) if place.is_integer() else f"{place:g}"
        middle, half = scale * axes.transData.transform((place, 0))[0], text_width(label, _TICK) / 2
        fits = middle - half > end + _APART
        labels.append(label if fits else "")
        end = middle + half if fits else end
    return labels


def map_plot(found: EmbeddingMap) -> Plot:
    """Every synthetic image as a point, a colour and a marker for each set."""
    labels = list(found.points)
    return Plot(
        alt=f"Map of synthetic images by {found.kind}: {', '.join(labels)}.",
        height=lambda width: 1.5 * _HEIGHT + 24 + legend_height(width, labels),
        draw=partial(_draw_map, found=found, labels=labels),
    )


def _draw_map(canvas: Canvas, *, found: EmbeddingMap, labels: list[str]) -> None:
    axes = canvas.axes(8, 8, canvas.width - 16, 1.5 * _HEIGHT)
    for number, (name, points) in enumerate(found.points.items()):
        series = SERIES[number % len(SERIES)]
        x, y = zip(*points, strict=True)
        axes.plot(x, y, color=series.colour, marker=series.marker, markersize=3.5, linestyle="", label=name)
    axes.set(xticks=[], yticks=[])
    canvas.legend(axes, 1.5 * _HEIGHT + 16, legend_columns(canvas.width, labels))
