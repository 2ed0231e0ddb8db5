"""Accuracy against size, a panel for each network, with private methods also against ε; and accuracy by stage.

A method keeps its colour and its marker in both panels; what else differs, ε in the first and size in the second, is
told by dashes and by how the marker is filled, so that a black and white print loses nothing.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from reports.figures.canvas import Plot
from reports.figures.panels import Panel, panels_plot
from reports.figures.style import BLUE, GREY, INK, SERIES
from reports.records.utility import Accuracy, ContinualReport, UtilityReport, UtilityRow
from reports.words.rounding import count
from reports.words.utility import with_its_interval

ASIDE = 1.05  # factor by which series stand apart, so that bars do not hide each other
VARIANTS = (("full", ()), ("none", (5, 2)), ("left", (2, 1.5)), ("bottom", (7, 2, 1.5, 2)))
SUBSET, ALL, GUESSING = "random subset", "all records", "guessing"
Points = list[tuple[float, Accuracy]]


def utility_plot(report: UtilityReport) -> Plot:
    """A panel for each network, and a second one where a set is private."""
    methods = list(dict.fromkeys(row.set for row in report.rows))
    panels = []
    for architecture in dict.fromkeys(row.architecture for row in report.rows):
        rows = [row for row in report.rows if row.architecture == architecture]
        title = report.names[architecture]
        size = partial(draw_size, rows=rows, methods=methods, title=title)
        panels.append(Panel(draw=size, labels=_size_labels(rows)))
        private = [row for row in rows if row.epsilon is not None]
        if private:
            against = partial(draw_epsilon, rows=private, methods=methods, title=title)
            panels.append(Panel(draw=against, labels=_epsilon_labels(private)))
    said = "; ".join(
        f"{report.names[row.architecture]} on {_series(row)}, {count(row.images)} images: "
        f"{with_its_interval(row.accuracy)}"
        for row in report.rows
    )
    return panels_plot(panels, f"Accuracy by size of the set. {said}")


def _series(row: UtilityRow) -> str:
    return row.set if row.epsilon is None else f"{row.set}, ε = {row.epsilon:.3g}"


def _size_labels(rows: Sequence[UtilityRow]) -> tuple[str, ...]:
    subset = (SUBSET,) if any(row.random_subset is not None for row in rows) else ()
    return (*dict.fromkeys(map(_series, rows)), *subset, *_all_label(rows))


def _epsilon_labels(rows: Sequence[UtilityRow]) -> tuple[str, ...]:
    return (*dict.fromkeys(f"{row.set}, {count(row.images)} images" for row in rows), *_all_label(rows))


def _all_label(rows: Sequence[UtilityRow]) -> tuple[str, ...]:
    return (ALL,) if any(row.full is not None for row in rows) else ()


def draw_size(axes: Axes, rows: Sequence[UtilityRow], methods: Sequence[str], title: str) -> None:
    """Accuracy against the number of images; bars are 95% intervals of the mean."""
    pairs = list(dict.fromkeys((row.set, row.epsilon) for row in rows))
    measured = [row.random_subset for row in rows if row.random_subset is not None]
    sizes = sorted({row.images for row in rows} | {found.images for found in measured})
    subsets = {found.images: found for found in measured}
    total = len(pairs) + 1
    for position, (name, epsilon) in enumerate(pairs):
        mine = sorted((row for row in rows if (row.set, row.epsilon) == (name, epsilon)), key=lambda row: row.images)
        points = [(row.images * _aside(position, total, sizes), row.accuracy) for row in mine]
        variant = sorted({each for own, each in pairs if own == name}, key=_order).index(epsilon)
        _line(axes, points, methods.index(name), variant, _series(mine[0]))
    if subsets:
        _reference(axes, [(size * _aside(total - 1, total, sizes), found) for size, found in sorted(subsets.items())])
    _ceiling(axes, rows)
    _finish(axes, sizes, "images in the set (log scale)", title)


def draw_epsilon(axes: Axes, rows: Sequence[UtilityRow], methods: Sequence[str], title: str) -> None:
    """Accuracy against ε, a line for each method and size."""
    pairs = list(dict.fromkeys((row.set, row.images) for row in rows))
    epsilons = sorted({_order(row.epsilon) for row in rows})
    for position, (name, images) in enumerate(pairs):
        own = [row for row in rows if (row.set, row.images) == (name, images)]
        mine = sorted(((_order(row.epsilon), row) for row in own), key=lambda pair: pair[0])
        points = [(epsilon * _aside(position, len(pairs), epsilons), row.accuracy) for epsilon, row in mine]
        variant = sorted({each for own, each in pairs if own == name}).index(images)
        _line(axes, points, methods.index(name), variant, f"{name}, {count(images)} images")
    _ceiling(axes, rows)
    _finish(axes, epsilons, "ε (log scale)", title)


def _order(epsilon: float | None) -> float:
    return float("inf") if epsilon is None else epsilon


def _aside(position: int, total: int, places: Sequence[float]) -> float:
    """A step to the side, around the true place; smaller where places lie closer together."""
    closest = min((after / before for before, after in pairwise(places)), default=10.0)
    step = min(ASIDE, closest ** (0.5 / total))
    return step ** (position - (total - 1) / 2)


def _finish(axes: Axes, places: Sequence[float], name: str, title: str) -> None:
    axes.set(xscale="log", xlabel=name, title=f"{title}: accuracy")
    axes.xaxis.set_major_locator(FixedLocator(list(places)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}" if value < 1e3 else count(int(value))))
    _percent(axes)
    axes.set_xlim(min(places) / 1.35, max(places) * 1.35)
    low = min([axes.get_ylim()[0], *axes.dataLim.intervaly])
    axes.set_ylim(max(low - 0.02, -0.01), 1.01)
    axes.grid(visible=True, axis="y")
    axes.set_axisbelow(True)


def _percent(axes: Axes) -> None:
    axes.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))


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
    _bars(axes, points, SUBSET, color=GREY, marker="x", linestyle=(0, (1, 1.6)), linewidth=1.0)


def _bars(axes: Axes, points: Points, label: str, **look: Any) -> None:
    """Means with their intervals."""
    means = [found.mean for _, found in points]
    ends = [found.interval or (found.mean, found.mean) for _, found in points]
    reach = [
        [mean - low for mean, (low, _) in zip(means, ends, strict=True)],
        [high - mean for mean, (_, high) in zip(means, ends, strict=True)],
    ]
    axes.errorbar(
        [x for x, _ in points], means, yerr=reach, markersize=5, capsize=2.5, elinewidth=0.9, label=label, **look
    )


def _ceiling(axes: Axes, rows: Sequence[UtilityRow]) -> None:
    full = next((row.full for row in rows if row.full is not None), None)
    if full is not None:
        axes.axhline(full.mean, color=INK, linewidth=0.9, linestyle=(0, (6, 2, 1, 2)), label=ALL)


def stages_plot(report: ContinualReport) -> Plot:
    """Accuracy against the number of classes seen so far, with that of guessing."""
    said = "; ".join(f"{len(stage.classes)} classes: {with_its_interval(stage.accuracy)}" for stage in report.stages)
    panel = Panel(draw=partial(_draw_stages, report=report), labels=(report.method, GUESSING))
    return panels_plot([panel], f"Accuracy after each stage. {said}")


def _draw_stages(axes: Axes, *, report: ContinualReport) -> None:
    points: Points = [(len(stage.classes), stage.accuracy) for stage in report.stages]
    places = [x for x, _ in points]
    _bars(axes, points, report.method, color=BLUE, marker="o", linewidth=1.2)
    axes.plot(places, [1 / x for x in places], color=GREY, linestyle=(0, (1, 1.6)), marker="x", label=GUESSING)
    axes.set(xlabel="classes seen so far", title="accuracy", ylim=(0, 1.02))
    axes.set_xticks(places, list(map(str, places)))
    _percent(axes)
    axes.grid(axis="y")
