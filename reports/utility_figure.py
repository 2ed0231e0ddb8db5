"""Accuracy against size and, for private methods, against ε: one row of panels for each network."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from reports.style import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, house_style

MARKS = (("o", BLUE), ("s", VERMILLION), ("^", ORANGE), ("D", SKY), ("v", INK))
PANEL = (3.4, 2.5)  # inches
ASIDE = 1.03  # factor by which each series stands to the right of the one before, so that bars do not hide each other
Rows = list[dict[str, Any]]


def write_utility_figure(rows: Rows, names: dict[str, str], path: Path) -> None:
    """`rows` as in `audit utility --json`, `names` of the networks."""
    architectures = list(dict.fromkeys(row["architecture"] for row in rows))
    private = any(row["epsilon"] is not None for row in rows)
    columns = 2 if private else 1
    with house_style():
        figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * len(architectures)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(architectures), columns, squeeze=False)
        for line, architecture in enumerate(architectures):
            of_network = [row for row in rows if row["architecture"] == architecture]
            draw_size(axes[line][0], of_network, names[architecture])
            if private:
                draw_epsilon(axes[line][1], [row for row in of_network if row["epsilon"] is not None])
        figure.savefig(path, format="png", dpi=130)


def draw_size(axes: Axes, rows: Rows, title: str) -> None:
    """Accuracy against the number of images; bars are 95% intervals of the mean."""
    for position, (name, epsilon) in enumerate(dict.fromkeys((row["set"], row["epsilon"]) for row in rows)):
        mine = sorted(
            (row for row in rows if (row["set"], row["epsilon"]) == (name, epsilon)), key=lambda row: row["images"]
        )
        label = name if epsilon is None else f"{name}, ε = {epsilon:.3g}"
        aside = ASIDE ** (position + 1)
        points = [(row["images"] * aside, row["accuracy"]) for row in mine]
        _line(axes, points, MARKS[position % len(MARKS)], label)
    subsets = {row["random_subset"]["images"]: row["random_subset"] for row in rows}
    _line(axes, sorted(subsets.items()), ("x", GREY), "random subset", dashed=True)
    _ceiling(axes, rows)
    axes.set(xscale="log", xlabel="images", ylabel="accuracy", title=title)
    axes.legend()


def draw_epsilon(axes: Axes, rows: Rows) -> None:
    """Accuracy against ε, a line for each method and size."""
    for position, (name, images) in enumerate(dict.fromkeys((row["set"], row["images"]) for row in rows)):
        mine = sorted(
            (row for row in rows if (row["set"], row["images"]) == (name, images)), key=lambda row: row["epsilon"]
        )
        mark = MARKS[position % len(MARKS)]
        _line(axes, [(row["epsilon"], row["accuracy"]) for row in mine], mark, f"{name}, {images} images")
    _ceiling(axes, rows)
    axes.set(xscale="log", xlabel="ε", ylabel="accuracy")
    if rows:
        axes.legend()


def _line(
    axes: Axes, points: list[tuple[float, dict[str, Any]]], mark: tuple[str, str], label: str, *, dashed: bool = False
) -> None:
    means = [found["mean"] for _, found in points]
    ends = [found["interval"] or (found["mean"], found["mean"]) for _, found in points]
    reach = [[mean - low for mean, (low, _) in zip(means, ends, strict=True)],
             [high - mean for mean, (_, high) in zip(means, ends, strict=True)]]  # fmt: skip
    axes.errorbar(
        [x for x, _ in points],
        means,
        yerr=reach,
        marker=mark[0],
        color=mark[1],
        linestyle="--" if dashed else "-",
        linewidth=1.0,
        markersize=4,
        capsize=2,
        label=label,
    )


def _ceiling(axes: Axes, rows: Rows) -> None:
    full = next((row["full"] for row in rows if row["full"] is not None), None)
    if full is not None:
        axes.axhline(full["mean"], color=INK, linewidth=0.8, linestyle=":", label="all records")
