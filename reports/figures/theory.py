"""The figures of `audit theory`: barycentres that meet (Figure 7 of arXiv:2206.00240), what the images look like
(Figure 6), and one record's pull on them against the bound (35)."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from reports.figures.canvas import Plot
from reports.figures.mosaic import MOST_ROWS, Mosaic, draw_mosaic
from reports.figures.panels import Panel, Shape, panels_plot
from reports.figures.style import BLUE, GRID, INK, ORANGE, SERIES
from reports.records.gallery import Pixels
from reports.records.theory import Condensation, TheoryReport
from reports.words.rounding import rough
from reports.words.theory import STARTS, extractors, of_extractor

_LINES = {"real": "-", "random": (0, (4, 2))}
_SHAPE = Shape(height=120.0, least=160.0, left=36.0)
_PICTURES = Shape(height=170.0, least=130.0, left=16.0, below=6.0)
_SHIFTS = ("measured, largest", "closed form of (35)", "bound 2B/|T|")


def distances_plot(report: TheoryReport) -> Plot:
    """One panel per extractor: ‖T̄ − S̄‖ against the step, by where the images start and how many there are."""
    panels = [
        Panel(draw=partial(_distances, title=name, entries=entries), labels=tuple(map(_name, entries)))
        for name, entries in _by_extractor(report).items()
    ]
    said = "; ".join(
        f"{entry.extractor}, {_name(entry)}: {rough(entry.distances[0])} to {rough(entry.distances[-1])}"
        for entry in report.condensations
    )
    alt = f"Distance between the barycentres of S and T before and after condensing. {said}"
    return panels_plot(panels, alt, shape=_SHAPE, shared=True)


def _by_extractor(report: TheoryReport) -> dict[str, list[Condensation]]:
    return {name: of_extractor(report, name) for name in extractors(report)}


def _name(entry: Condensation) -> str:
    return f"{entry.ipc} per class, from {STARTS[entry.init]}"


def _distances(axes: Axes, *, title: str, entries: Sequence[Condensation]) -> None:
    sizes = sorted({entry.ipc for entry in entries})
    for entry in entries:
        series = SERIES[sizes.index(entry.ipc) % len(SERIES)]
        axes.plot(
            np.maximum(entry.distances, np.finfo(np.float32).tiny),
            color=series.colour,
            marker=series.marker,
            markevery=0.2,
            markersize=4,
            linestyle=_LINES[entry.init],
            linewidth=1.3,
            label=_name(entry),
        )
    axes.set(title=title, xlabel="step", yscale="log")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    _label_powers(axes)


def shifts_plot(report: TheoryReport) -> Plot:
    """Per extractor: the largest shift of an image, the closed form and the bound 2B/|T|, by what is left out."""
    panels = [
        Panel(draw=partial(_shifts, title=name, entries=entries), labels=_SHIFTS)
        for name, entries in _by_extractor(report).items()
    ]
    said = "; ".join(
        f"{entry.extractor}, {_name(entry)}, {one.left_out} record: {rough(one.largest_shift)}, bound "
        f"{rough(one.bound)}"
        for entry in report.condensations
        for one in entry.leave_one_out
    )
    return panels_plot(panels, f"Shift of an image when one record is left out. {said}", shape=_SHAPE, shared=True)


def _shifts(axes: Axes, *, title: str, entries: Sequence[Condensation]) -> None:
    """A group for each size: from noise, from records; in each of these by what is left out."""
    ordered = sorted(entries, key=lambda entry: (entry.ipc, entry.init))
    sizes = sorted({entry.ipc for entry in entries})
    found = [one for entry in ordered for one in entry.leave_one_out]
    places = np.arange(len(found))
    shifts, exact, bounds = zip(*((one.largest_shift, one.closed_form, one.bound) for one in found), strict=True)
    measured, closed, bound = _SHIFTS
    axes.plot(places, shifts, color=BLUE, marker="o", linestyle="", markersize=5, label=measured)
    axes.plot(places, exact, color=INK, marker="x", linestyle="", markersize=5, label=closed)
    axes.plot(places, bounds, color=ORANGE, marker="_", linestyle="", markersize=9, markeredgewidth=2, label=bound)
    each = len(found) / len(sizes)
    for place in range(1, len(sizes)):
        axes.axvline(place * each - 0.5, color=GRID, linewidth=0.8)
    axes.set(title=title, yscale="log", xlabel="images per class")
    axes.set_xticks([(place + 0.5) * each - 0.5 for place in range(len(sizes))], list(map(str, sizes)))
    _label_powers(axes)


def _label_powers(axes: Axes) -> None:
    """Labels of a logarithmic axis in plain numbers, more of them where it spans little."""
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0), numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: rough(value)))
    axes.grid(axis="y")


def images_plot(pictures: Mapping[str, Pixels], num_classes: int) -> Plot:
    """Grids of synthetic images, a row per class, a panel per way to make them."""
    panels = [
        Panel(draw=partial(_images, title=name, images=images, num_classes=num_classes))
        for name, images in pictures.items()
    ]
    return panels_plot(panels, f"Synthetic images of each class: {'; '.join(pictures)}", shape=_PICTURES)


def _images(axes: Axes, *, title: str, images: Pixels, num_classes: int) -> None:
    cells = np.arange(len(images)).reshape(num_classes, -1)[:MOST_ROWS]
    draw_mosaic(axes, images, Mosaic(cells=cells, labels=tuple(map(str, range(len(cells))))), naming="")
    axes.set_title(title, fontsize=7.5)
