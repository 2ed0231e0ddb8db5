"""Figures of grids: a field of adversaries, and a panel for each axis of a sweep."""

from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from scipy.stats import norm

from reports.figures.canvas import Canvas, Plot, legend_columns, legend_height
from reports.figures.style import BLUE, GREY, SERIES
from reports.records.grid import GridCell, GridReport
from reports.words.grid import AXIS_NAMES, DOUBT_NAMES, RANDOMNESS_NAMES, name_cell
from reports.words.rounding import count, down

_ROW, _PANEL, _GAP, _MARGIN = 34.0, 96.0, 46.0, 46.0
_NARROW = 400.0  # below this width levels stand below each other
_MEASURED, _CEILING, _LAW = "measured", "ceiling (ε)", "fitted law"
_PALEST, _DARKEST = 0.05, 0.5  # opacity of a field, light enough for its text


def adversaries_plot(report: GridReport) -> Plot:
    """A field for each level: rows who is in doubt, columns what is known of the randomness."""
    said = "; ".join(f"{name_cell(cell)}, {cell.level}: ε ≥ {down(cell.epsilon.lower)}" for cell in report.cells)
    rows = len({cell.axes["doubt"] for cell in report.cells})
    levels = len({cell.level for cell in report.cells})
    return Plot(
        alt=f"Certified ε by adversary. {said}",
        height=lambda width: (levels if width < _NARROW else 1) * _height(rows),
        draw=partial(_draw_adversaries, report=report),
    )


def _height(rows: int) -> float:
    """Of one level: its title, its rows and two lines of names."""
    return 54 + _ROW * rows


def _draw_adversaries(canvas: Canvas, *, report: GridReport) -> None:
    levels = list(dict.fromkeys(cell.level for cell in report.cells))
    doubts = [name for name in DOUBT_NAMES if any(cell.axes["doubt"] == name for cell in report.cells)]
    columns = [name for name in RANDOMNESS_NAMES if any(cell.randomness == name for cell in report.cells)]
    left, narrow = 92.0, canvas.width < _NARROW
    wide = canvas.width - left if narrow else (canvas.width - left - 12.0 * (len(levels) - 1)) / len(levels)
    for place, level in enumerate(levels):
        x, y = (0.0, place * _height(len(doubts))) if narrow else (place * (wide + 12), 0.0)
        axes = canvas.axes(left + x, y + 18, wide, _ROW * len(doubts))
        for cell in report.cells:
            if cell.level == level:
                _field(axes, cell, columns.index(cell.randomness), doubts.index(cell.axes["doubt"]))
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(doubts) - 0.5, -0.5))
        axes.set_title(f"level {level}")
        axes.set_xticks(range(len(columns)), [RANDOMNESS_NAMES[name].replace(" ", "\n") for name in columns])
        names = [f"{DOUBT_NAMES[name]}\nin doubt" for name in doubts]
        axes.set_yticks(range(len(doubts)), names if place == 0 or narrow else [""] * len(doubts))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)


def _field(axes: Axes, cell: GridCell, column: int, row: int) -> None:
    share = min(1.0, max(0.0, cell.epsilon.lower) / max(cell.epsilon.ceiling, 1e-9))
    shade = (BLUE, _PALEST + (_DARKEST - _PALEST) * share)
    box = Rectangle((column - 0.48, row - 0.47), 0.96, 0.94, facecolor=shade, edgecolor=GREY, linewidth=0.6)
    axes.add_patch(box)
    axes.text(column, row - 0.12, f"ε ≥ {down(cell.epsilon.lower)}", ha="center", va="center", fontweight="bold")
    axes.text(column, row + 0.22, f"AUC {cell.auc:.3f}", ha="center", va="center", fontsize=7)


def sweep_plot(report: GridReport) -> Plot:
    """ε and AUC along every axis, with the law."""
    axes, labels = _axes_of(report), [_MEASURED, _CEILING, *([] if report.law is None else [_LAW])]
    said = "; ".join(f"{name_cell(cell)}: ε ≥ {down(cell.epsilon.lower)}, AUC {cell.auc:.3f}" for cell in report.cells)
    return Plot(
        alt=f"Certified ε and AUC by size. {said}",
        height=lambda width: 8 + len(_lines(axes, width)) * (2 * _PANEL + _GAP + 22) + legend_height(width, labels),
        draw=partial(_draw_sweep, report=report),
    )


def _axes_of(report: GridReport) -> list[str]:
    return [name for name in AXIS_NAMES if any(name in cell.axes for cell in report.cells)]


def _lines(names: list[str], width: float) -> list[list[str]]:
    """As many panels side by side as there is room for."""
    most = max(1, int(width // 150))
    return [names[start : start + most] for start in range(0, len(names), most)]


def _draw_sweep(canvas: Canvas, *, report: GridReport) -> None:
    lines = _lines(_axes_of(report), canvas.width)
    top, last = 8.0, None
    for line in lines:
        wide = (canvas.width - _MARGIN) / len(lines[0])
        for place, name in enumerate(line):
            left = _MARGIN + place * wide
            upper = canvas.axes(left, top, wide - 34, _PANEL)
            lower = canvas.axes(left, top + _PANEL + 14, wide - 34, _PANEL)
            _draw_axis(upper, lower, report, name)
            if place == 0:
                upper.set_ylabel("certified ε")
                lower.set_ylabel("AUC")
            last = lower
        top += 2 * _PANEL + _GAP + 22
    if last is not None:
        canvas.legend(last, top - 8, legend_columns(canvas.width, last.get_legend_handles_labels()[1]))


def _draw_axis(upper: Axes, lower: Axes, report: GridReport, name: str) -> None:
    cells = sorted((cell for cell in report.cells if name in cell.axes), key=lambda cell: cell.size(name))
    sizes = np.array([cell.size(name) for cell in cells])
    first, second = SERIES[0], SERIES[1]
    upper.plot(sizes, [cell.epsilon.lower for cell in cells], color=first.colour, marker=first.marker, markersize=4)
    ceilings = [cell.epsilon.ceiling for cell in cells]
    upper.plot(sizes, ceilings, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    middle = np.array([cell.auc for cell in cells])
    reach = np.abs(np.array([cell.auc_interval for cell in cells]).T - middle)
    lower.errorbar(sizes, middle, reach, color=first.colour, marker=first.marker, markersize=4, label=_MEASURED)
    lower.plot([], [], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label=_CEILING)
    if report.law is not None:
        law = report.law
        known = [sum(law.exponents[axis] * np.log(cell.size(axis)) for axis in law.exponents) for cell in cells]
        heights = norm.cdf(np.exp(law.constant + np.array(known)) / np.sqrt(2))
        lower.plot(sizes, heights, color=second.colour, linestyle=(0, second.dashes), label=_LAW)
    for axes in (upper, lower):
        axes.set_xscale("log")
        axes.set_xticks(
            sizes, [count(int(size)) for size in sizes] if axes is lower else [""] * len(sizes), rotation=30
        )
        axes.minorticks_off()
        axes.grid(axis="y")
    upper.set_ylim(bottom=0)
    lower.set_xlabel(AXIS_NAMES[name])
