"""What the score table shows: scores of members and non-members, and how exposed each record is."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from scipy.stats import norm

from reports.figures.canvas import Canvas, Plot
from reports.figures.style import BLUE, INK, ORANGE, VERMILLION
from reports.records.scores import RecordExposure, ScoreHistogram
from reports.words.roc import say_rate

_NARROW = 400.0  # below this width panels stand below each other
_HEIGHT = 76.0


def scores_plot(histogram: ScoreHistogram) -> Plot:
    """Shares of scores per bin on a linear and on a logarithmic scale."""
    return Plot(
        alt="Histogram of the scores of members and non-members, linear and logarithmic",
        height=lambda width: (_HEIGHT + 46) * (2 if width < _NARROW else 1),
        draw=partial(_draw_both, histogram=histogram),
    )


def exposure_plot(exposure: RecordExposure, marked: Sequence[float]) -> Plot:
    """How many records reach which AUC of their own, against what chance would give; `marked` are those listed."""
    beyond = int((exposure.auc > exposure.chance_maximum).sum())
    return Plot(
        alt=f"Histogram of the AUC of {exposure.auc.size} records, {beyond} beyond the chance limit",
        height=lambda width: 158.0 if width < _NARROW else 116.0,
        draw=partial(_draw_exposure, exposure=exposure, marked=marked),
    )


def _draw_both(canvas: Canvas, *, histogram: ScoreHistogram) -> None:
    narrow = canvas.width < _NARROW
    wide = canvas.width - 52 if narrow else canvas.width / 2 - 52
    for index in range(2):
        left, top = (44.0, index * (_HEIGHT + 46)) if narrow else (44 + index * canvas.width / 2, 0.0)
        draw_scores(canvas.axes(left, top + 14, wide, _HEIGHT), histogram, logarithmic=index == 1)


def draw_scores(axes: Axes, histogram: ScoreHistogram, *, logarithmic: bool) -> None:
    """Members as a hatched area, non-members as a line."""
    axes.stairs(histogram.members, histogram.edges, fill=True, color=ORANGE, alpha=0.45, linewidth=0)
    axes.stairs(histogram.members, histogram.edges, color=INK, linewidth=0.9, hatch="////", label="members", fill=False)
    axes.stairs(histogram.nonmembers, histogram.edges, color=BLUE, linewidth=1.5, label="non-members")
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(bottom=0.5 / max(histogram.num_members, histogram.num_nonmembers))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: say_rate(value)))
    axes.set_xlabel("score (higher: more likely a member)")
    axes.set_ylabel("share of scores (log)" if logarithmic else "share of scores per bin")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0.2)
    axes.set_xlim(histogram.edges[0], histogram.edges[-1])


def _draw_exposure(canvas: Canvas, *, exposure: RecordExposure, marked: Sequence[float]) -> None:
    columns = 2 if canvas.width < _NARROW else 4
    top = 14.0 * 4 / columns
    axes = canvas.axes(44, top, canvas.width - 52, 80 if canvas.width < _NARROW else 68)
    low = min(0.2, float(exposure.auc.min()) - 0.02)
    edges = np.linspace(low, 1.0, 61)
    axes.hist(exposure.auc, edges.tolist(), color=ORANGE, alpha=0.6, edgecolor=INK, linewidth=0.4, label="records")
    centres = np.linspace(low, 1, 300)
    expected = norm.pdf(centres, 0.5, exposure.chance_deviation) * exposure.auc.size * (edges[1] - edges[0])
    axes.plot(centres, expected, color=BLUE, linewidth=1.5, linestyle=(0, (4, 2)), label="expected if nothing leaked")
    look: dict[str, Any] = {
        "color": VERMILLION,
        "linewidth": 1.3,
        "linestyle": (0, (6, 1.5, 1.2, 1.5)),
        "label": "chance limit, 95%",
    }
    axes.axvline(exposure.chance_maximum, **look)
    axes.plot(marked, np.zeros(len(marked)), "v", color=INK, markersize=4.5, clip_on=False, label="listed", zorder=5)
    axes.set(xlim=(low, 1.0), xlabel="AUC of the record over the test runs", ylabel="records")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, borderaxespad=0.2, columnspacing=1.4)
