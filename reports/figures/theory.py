"""The figures of `audit theory`: barycentres that meet (Figure 7 of arXiv:2206.00240), what the images look like
(Figure 6), and one record's pull on them against the bound (35)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reports.figures.style import BLUE, GREY, INK, ORANGE, SERIES, house_style
from reports.records.gallery import pixels

LINES = {"real": "-", "random": (0, (4, 2))}
DOTS_PER_INCH = 160


def draw_distances(path: Path, curves: Mapping[str, Mapping[tuple[str, int], Sequence[float]]]) -> None:
    """One panel per extractor: ‖T̄ − S̄‖ against the step, by where the images start and how many there are."""
    with house_style():
        figure = Figure(figsize=(2.6 * len(curves) + 0.4, 3.1), layout="constrained")
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for axes, (extractor, lines) in zip(panels, curves.items(), strict=True):
            sizes = sorted({ipc for _, ipc in lines})
            for (init, ipc), values in lines.items():
                axes.plot(
                    np.maximum(values, np.finfo(np.float32).tiny),
                    color=SERIES[sizes.index(ipc) % len(SERIES)].colour,
                    marker=SERIES[sizes.index(ipc) % len(SERIES)].marker,
                    markevery=0.2,
                    markersize=4,
                    linestyle=LINES[init],
                    linewidth=1.3,
                    label=f"{ipc} per class, {init}",
                )
            axes.set(title=extractor, xlabel="step", yscale="log")
            axes.grid(axis="y")
        panels[0].set_ylabel("distance between the barycentres of S and T")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        figure.savefig(path, format="png", dpi=DOTS_PER_INCH)


def draw_leave_one_out(path: Path, groups: Mapping[str, Sequence[tuple[str, float, float, float]]]) -> None:
    """Per extractor: the largest shift of an image, the closed form and the bound 2B/|T|, by what is left out."""
    with house_style():
        figure = Figure(figsize=(2.6 * len(groups) + 0.4, 3.3), layout="constrained")
        panels = figure.subplots(1, len(groups), squeeze=False, sharey=True)[0]
        for axes, (extractor, rows) in zip(panels, groups.items(), strict=True):
            places = np.arange(len(rows))
            names, shifts, exact, bounds = zip(*rows, strict=True)
            axes.plot(places, shifts, color=BLUE, marker="o", linestyle="", markersize=6, label="measured, largest")
            axes.plot(places, exact, color=INK, marker="x", linestyle="", markersize=5, label="closed form of (35)")
            axes.plot(places, bounds, color=ORANGE, marker="_", linestyle="", markersize=18, label="2B/|T|")
            axes.set(title=extractor, yscale="log", xticks=places)
            axes.set_xticklabels(names, rotation=40, ha="right", fontsize=6.5)
            axes.grid(axis="y")
        panels[0].set_ylabel("shift of an image when one record is left out")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.savefig(path, format="png", dpi=DOTS_PER_INCH)


def draw_images(path: Path, panels: Mapping[str, NDArray[np.floating]], num_classes: int) -> None:
    """Grids of synthetic images, a row per class, a panel per way to make them."""
    with house_style():
        figure = Figure(figsize=(1.5 * len(panels) + 0.4, 3.6), layout="constrained")
        for axes, (title, images) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            shown = pixels(images)
            columns = len(shown) // num_classes
            rows = shown.reshape(num_classes, columns, *shown.shape[1:])
            framed = np.pad(rows, ((0, 0), (0, 0), (0, 1), (0, 1), (0, 0)), constant_values=1)
            height, width, channels = framed.shape[2:]
            sheet = framed.transpose(0, 2, 1, 3, 4).reshape(num_classes * height, columns * width, channels)
            axes.imshow(np.broadcast_to(sheet, (*sheet.shape[:2], 3)), interpolation="none")
            axes.set_title(title, fontsize=7)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_color(GREY)
        figure.savefig(path, format="png", dpi=DOTS_PER_INCH)
