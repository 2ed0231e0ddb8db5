"""Accuracy against size, a panel for each network; with private methods a row, with a second panel against ε.

A method keeps its colour and its marker in both panels; what else differs, ε in the first and size in the second, is
told by dashes and by how the marker is filled, so that a black and white print loses nothing.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reports.figures.style import GREY, INK, SERIES, house_style
from reports.words.rounding import count

PANEL = (3.9, 2.6)  # inches, without the legend
LEGEND_LINE = 0.2
MOST_COLUMNS = 3
ASIDE = 1.05  # factor by which series stand apart, so that bars do not hide each other
VARIANTS = (("full", ()), ("none", (5, 2)), ("left", (2, 1.5)), ("bottom", (7, 2, 1.5, 2)))
BARS = "bars: 95% interval of the mean over seeds"
Rows = list[dict[str, Any]]
Points = list[tuple[float, dict[str, Any]]]


def write_utility_figure(rows: Rows, names: dict[str, str], path: Path) -> None:
    """`rows` as in `audit utility --json`, `names` of the networks."""
    architectures = list(dict.fromkeys(row["architecture"] for row in rows))
    private = any(row["epsilon"] is not None for row in rows)
    columns = 2 if private else min(MOST_COLUMNS, len(architectures))
    lines = len(architectures) if private else -(-len(architectures) // columns)
    series = len({(row["set"], row["epsilon"], row["images"] if private else 0) for row in rows}) + 2
    height = PANEL[1] + LEGEND_LINE * -(-series // 2)
    with house_style():
        figure = Figure(figsize=(PANEL[0] * columns, height * lines), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
        methods = list(dict.fromkeys(row["set"] for row in rows))
        for architecture in architectures:
            of_network = [row for row in rows if row["architecture"] == architecture]
            draw_size(panels.pop(0), of_network, methods, names[architecture])
            if private:
                told = [row for row in of_network if row["epsilon"] is not None]
                draw_epsilon(panels.pop(0), told, methods, names[architecture])
        for unused in panels:
            unused.remove()
        figure.savefig(path, format="png", dpi=130, metadata={"Software": None})


def draw_size(axes: Axes, rows: Rows, methods: Sequence[str], title: str) -> None:
    """Accuracy against the number of images; bars are 95% intervals of the mean."""
    pairs = list(dict.fromkeys((row["set"], row["epsilon"]) for row in rows))
    measured = [row["random_subset"] for row in rows if row["random_subset"] is not None]
    sizes = sorted({row["images"] for row in rows} | {found["images"] for found in measured})
    subsets = {found["images"]: found for found in measured}
    total = len(pairs) + 1
    for position, (name, epsilon) in enumerate(pairs):
        mine = sorted(
            (row for row in rows if (row["set"], row["epsilon"]) == (name, epsilon)), key=lambda row: row["images"]
        )
        label = name if epsilon is None else f"{name}, ε = {epsilon:.3g}"
        points = [(row["images"] * _aside(position, total, sizes), row["accuracy"]) for row in mine]
        variant = sorted({each for own, each in pairs if own == name}, key=_order).index(epsilon)
        _line(axes, points, methods.index(name), variant, label)
    if subsets:
        _reference(axes, [(size * _aside(total - 1, total, sizes), found) for size, found in sorted(subsets.items())])
    _ceiling(axes, rows)
    _finish(axes, sizes, "images in the set (log scale)", title)


def draw_epsilon(axes: Axes, rows: Rows, methods: Sequence[str], title: str) -> None:
    """Accuracy against ε, a line for each method and size."""
    pairs = list(dict.fromkeys((row["set"], row["images"]) for row in rows))
    epsilons = sorted({row["epsilon"] for row in rows})
    for position, (name, images) in enumerate(pairs):
        mine = sorted(
            (row for row in rows if (row["set"], row["images"]) == (name, images)), key=lambda row: row["epsilon"]
        )
        points = [(row["epsilon"] * _aside(position, len(pairs), epsilons), row["accuracy"]) for row in mine]
        variant = sorted({each for own, each in pairs if own == name}).index(images)
        _line(axes, points, methods.index(name), variant, f"{name}, {count(images)} images")
    _ceiling(axes, rows)
    if rows:
        _finish(axes, epsilons, "ε (log scale)", title)


def _order(epsilon: float | None) -> float:
    return float("inf") if epsilon is None else epsilon


def _aside(position: int, total: int, places: Sequence[float]) -> float:
    """A step to the side, around the true place; smaller where places lie closer together."""
    closest = min((after / before for before, after in pairwise(places)), default=10.0)
    step = min(ASIDE, closest ** (0.5 / total))
    return step ** (position - (total - 1) / 2)


def _finish(axes: Axes, places: Sequence[float], name: str, title: str) -> None:
    axes.set(xscale="log", xlabel=name, ylabel="accuracy", title=title)
    axes.xaxis.set_major_locator(FixedLocator(list(places)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}" if value < 1e3 else count(int(value))))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))
    axes.set_xlim(min(places) / 1.35, max(places) * 1.35)
    low = min([axes.get_ylim()[0], *axes.dataLim.intervaly])
    axes.set_ylim(max(low - 0.02, -0.01), 1.01)
    axes.grid(visible=True, axis="y")
    axes.set_axisbelow(True)
    legend = axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=2, title=BARS, title_fontsize=7)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _line(axes: Axes, points: Points, method: int, variant: int, label: str) -> None:
    series = SERIES[method % len(SERIES)]
    fill, dashes = VARIANTS[variant % len(VARIANTS)]
    _bars(
        axes,
        points,
        label,
        color=series.colour,
        marker=series.marker,
        fillstyle=fill,
        linestyle=(0, dashes) if dashes else "-",
        linewidth=1.2,
    )


def _reference(axes: Axes, points: Points) -> None:
    _bars(axes, points, "random subset", color=GREY, marker="x", linestyle=(0, (1, 1.6)), linewidth=1.0)


def _bars(axes: Axes, points: Points, label: str, **look: Any) -> None:
    """Means with their intervals."""
    means = [found["mean"] for _, found in points]
    ends = [found["interval"] or (found["mean"], found["mean"]) for _, found in points]
    reach = [
        [mean - low for mean, (low, _) in zip(means, ends, strict=True)],
        [high - mean for mean, (_, high) in zip(means, ends, strict=True)],
    ]
    axes.errorbar(
        [x for x, _ in points], means, yerr=reach, markersize=5, capsize=2.5, elinewidth=0.9, label=label, **look
    )


def _ceiling(axes: Axes, rows: Rows) -> None:
    full = next((row["full"] for row in rows if row["full"] is not None), None)
    if full is not None:
        axes.axhline(full["mean"], color=INK, linewidth=0.9, linestyle=(0, (6, 2, 1, 2)), label="all records")
