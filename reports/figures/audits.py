"""The figures of a report, each drawn into axes that are given."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter
from numpy.typing import NDArray
from scipy.stats import norm

from reports.figures.style import ALLOWED, BLUE, GREY, INK, ORANGE, PALE, VERMILLION
from reports.records.allowed import FEWEST, allowed_at, allowed_region, lies_outside
from reports.records.schema import Claim, EpsilonBound, HasCurve
from reports.records.scores import Floats, RecordExposure, ScoreHistogram
from reports.words.epsilon_rows import EpsilonRow, right_end
from reports.words.rounding import decimals_apart, down, percent, up
from reports.words.wording import claimed_epsilon, headline

_EVERY = 4  # so that marks stay apart
_DASHED = (0, (4, 2))
_DASH_DOT = (0, (6, 1.5, 1.2, 1.5))


def draw_epsilon(axes: Axes, bound: EpsilonBound, claim: Claim | None) -> None:
    """A bar from 0 to the ceiling, filled up to the bound, with a mark where the claim stands."""
    claimed = claimed_epsilon(claim)
    marks = [value for value in (bound.lower, bound.ceiling, claimed) if value is not None and math.isfinite(value)]
    right = 1.06 * max([*marks, 0.5])
    lower, ceiling = min(bound.lower, right), min(bound.ceiling, right)
    axes.barh(0, ceiling, height=1, color=PALE, edgecolor=GREY, linewidth=0.7)
    axes.barh(0, lower, height=1, color=BLUE, edgecolor=INK, linewidth=0.7)
    axes.plot([lower, lower], [-0.5, 0.8], color=BLUE, linewidth=1.6, clip_on=False)
    left_of_mark = lower > 0.25 * right and not (claimed is not None and claimed < lower)
    _mark(axes, lower, 0.95, f"measured {headline(bound, claim)}", BLUE, "right" if left_of_mark else "left")
    if math.isinf(bound.ceiling):
        _mark(axes, right, -1.45, "no ceiling →", GREY, "right")
    else:
        axes.plot([ceiling, ceiling], [-0.8, 0.5], color=GREY, linewidth=1.0, clip_on=False)
        _mark(
            axes, ceiling, -1.45, f"ceiling {down(bound.ceiling)}", GREY, "right" if ceiling > 0.25 * right else "left"
        )
    if claimed is not None and math.isfinite(claimed):
        axes.plot([claimed] * 2, [-0.5, 1.7], color=VERMILLION, linewidth=1.6, linestyle=_DASHED, clip_on=False)
        text = f"claimed ε ≤ {up(claimed, decimals_apart(bound.lower, claimed))}"
        _mark(axes, claimed, 1.85, text, VERMILLION, "right" if claimed > 0.5 * right else "left")
    _mark(axes, 0, -1.45, "0", GREY, "left")
    axes.set(xlim=(0, right), ylim=(-0.5, 0.5), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def draw_epsilon_rows(axes: Axes, rows: Sequence[EpsilonRow], labels: Sequence[str]) -> None:
    """A bar per row, the first on top: certified, ceiling, claim."""
    right = right_end(rows)
    for place, row in enumerate(rows):
        lower, ceiling = min(max(row.lower, 0.0), right), min(row.ceiling, right)
        axes.barh(place, ceiling, height=0.56, color=PALE, edgecolor=GREY, linewidth=0.6)
        colour, hatch = (BLUE, None) if row.certified else ("white", "////")
        axes.barh(place, lower, height=0.56, facecolor=colour, hatch=hatch, edgecolor=INK, linewidth=0.6)
        if row.claimed is not None and row.claimed <= right:
            axes.plot([row.claimed] * 2, [place - 0.42, place + 0.42], color=VERMILLION, linewidth=2, linestyle="-")
            axes.plot(row.claimed, place - 0.42, "v", color=VERMILLION, markersize=4.5, clip_on=False)
        _beside(axes, place, row.figure, 6, INK, "bold")
        _beside(axes, place, row.claim, 50, VERMILLION, "normal")
    _beside(axes, -0.75, "measured", 6, INK, "normal")
    if any(row.claim for row in rows):
        _beside(axes, -0.75, "claimed", 50, VERMILLION, "normal")
    axes.set(xlim=(0, right), ylim=(len(rows) - 0.5, -0.6), xlabel="ε")
    axes.set_yticks(range(len(rows)), labels, parse_math=False)
    axes.tick_params(axis="y", length=0, labelsize=7.5)
    axes.spines["left"].set_visible(False)


def draw_roc_logarithmic(axes: Axes, report: HasCurve, *, num_nonmembers: int) -> None:
    """TPR against FPR on logarithmic axes, down to the rates that the number of non-members resolves."""
    roc = report.roc
    rates = np.asarray(roc.curve["false_positive_rate"])
    lowest = lowest_rate(rates, num_nonmembers)
    axes.set(xscale="log", yscale="log", xlim=(lowest, 1), ylim=(lowest, 1))
    _draw_roc(axes, report, np.logspace(math.log10(lowest), 0, 400), num_nonmembers, keep=rates > 0)
    for key, rate in sorted(roc.tpr_at_fpr.items()):
        low, high = roc.tpr_at_fpr_interval[key]
        axes.errorbar(
            float(key),
            max(rate, lowest),
            yerr=[[max(rate - max(low, lowest), 0)], [max(high - max(rate, lowest), 0)]],
            color=INK,
            marker="o",
            markersize=3.5,
            linewidth=0.9,
            capsize=2.5,
            zorder=5,
        )
    few = FEWEST / num_nonmembers
    if few > lowest:
        axes.axvspan(lowest, few, facecolor="none", edgecolor="#C8C8C8", hatch="\\\\\\\\", linewidth=0, zorder=0.6)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: percent(float(f"{value:.3g}"))))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True)
    axes.set_axisbelow(True)
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.legend(loc="lower right", frameon=True, facecolor="white", edgecolor="none", framealpha=0.9)


def lowest_rate(rates: Floats, num_nonmembers: int) -> float:
    """The power of ten at which logarithmic axes begin."""
    return float(10.0 ** math.floor(math.log10(max(rates[rates > 0].min(), 1 / num_nonmembers)) + 1e-9))


def draw_roc_linear(axes: Axes, report: HasCurve, *, num_nonmembers: int) -> None:
    rates = np.asarray(report.roc.curve["false_positive_rate"])
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="false positive rate", ylabel="true positive rate")
    _draw_roc(axes, report, np.linspace(0, 1, 400), num_nonmembers, keep=np.ones(rates.size, dtype=bool))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=2))
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(visible=True)
    axes.set_axisbelow(True)


def _draw_roc(axes: Axes, report: HasCurve, grid: Floats, num_nonmembers: int, *, keep: NDArray[np.bool_]) -> None:
    """The curve in the area that the guarantee allows: shaded; the forbidden area is hatched."""
    roc = report.roc
    curve = {name: np.asarray(values)[keep] for name, values in roc.curve.items()}
    rates = curve["false_positive_rate"]
    region = allowed_region(report)
    if region is not None:
        allowed = allowed_at(region, grid)
        axes.fill_between(
            grid, 0, allowed, facecolor=ALLOWED, linewidth=0, label="allowed by the guarantee", zorder=0.3
        )
        axes.plot(grid, allowed, color=VERMILLION, linestyle=_DASH_DOT, linewidth=1.3)
        axes.fill_between(
            grid,
            allowed,
            1,
            facecolor="none",
            edgecolor=VERMILLION,
            hatch="///",
            linewidth=0,
            alpha=0.45,
            label="not allowed",
            zorder=0.4,
        )
    axes.plot(grid, grid, color=GREY, linestyle=_DASHED, linewidth=1, label="chance")
    share = percent(roc.interval_confidence)
    axes.fill_between(
        rates,
        curve["lower"],
        curve["upper"],
        color=BLUE,
        alpha=0.25,
        linewidth=0,
        label=f"{share} interval over {roc.interval_unit}s",
    )
    axes.plot(rates, curve["true_positive_rate"], color=BLUE, linewidth=1.7, label="this attack")
    if region is None:
        return
    outside = np.flatnonzero(lies_outside(report, region, num_nonmembers)[keep])[::_EVERY]
    if outside.size:
        axes.plot(
            rates[outside],
            curve["true_positive_rate"][outside],
            "X",
            color=INK,
            markeredgecolor="white",
            markersize=5.5,
            markeredgewidth=0.6,
            label="outside, whole interval",
            zorder=5,
        )


def draw_scores(axes: Axes, histogram: ScoreHistogram, *, logarithmic: bool) -> None:
    """Shares of scores per bin: members as a hatched area, non-members as a line."""
    axes.stairs(histogram.members, histogram.edges, fill=True, color=ORANGE, alpha=0.45, linewidth=0)
    axes.stairs(histogram.members, histogram.edges, color=INK, linewidth=0.9, hatch="////", label="members", fill=False)
    axes.stairs(histogram.nonmembers, histogram.edges, color=BLUE, linewidth=1.5, label="non-members")
    if logarithmic:
        smallest = 0.5 / max(histogram.num_members, histogram.num_nonmembers)
        axes.set_yscale("log")
        axes.set_ylim(bottom=smallest)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(float(f"{value:.3g}"))))
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(float(f"{value:.3g}"))))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_xlabel("score (higher: more likely a member)")
    axes.set_ylabel("the same, logarithmic" if logarithmic else "share of scores per bin")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0.2)
    axes.set_xlim(histogram.edges[0], histogram.edges[-1])


def draw_exposure(axes: Axes, exposure: RecordExposure, marked: Sequence[float]) -> None:
    """How many records reach which AUC of their own, against what chance would give."""
    low = min(0.2, float(exposure.auc.min()) - 0.02)
    edges = np.linspace(low, 1.0, 61)
    axes.hist(exposure.auc, edges.tolist(), color=ORANGE, alpha=0.6, edgecolor=INK, linewidth=0.4, label="records")
    centres = np.linspace(low, 1, 300)
    expected = norm.pdf(centres, 0.5, exposure.chance_deviation) * exposure.auc.size * (edges[1] - edges[0])
    axes.plot(centres, expected, color=BLUE, linewidth=1.5, linestyle=_DASHED, label="expected if nothing leaked")
    axes.axvline(
        exposure.chance_maximum, color=VERMILLION, linewidth=1.3, linestyle=_DASH_DOT, label="chance limit, 95%"
    )
    axes.plot(
        marked, np.zeros(len(marked)), "v", color=INK, markersize=4.5, clip_on=False, label="listed below", zorder=5
    )
    axes.set(xlim=(low, 1.0), xlabel="AUC of the record over the test runs", ylabel="records")


def _beside(axes: Axes, y: float, text: str, points: float, colour: str, weight: str) -> None:
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
        fontweight=weight,
        parse_math=False,
    )


def _mark(axes: Axes, x: float, y: float, text: str, colour: str, align: str) -> None:
    axes.text(
        x,
        y,
        text,
        color=colour,
        ha=align,
        va="center",
        fontsize=8.2,
        fontweight="bold",
        parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2},
        zorder=6,
    )
