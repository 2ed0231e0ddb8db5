"""Several attacks on one log-log ROC."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from reports.figures.style import GREY, SERIES, house_style
from reports.pdf import write_png
from reports.records.schema import Roc

LEAST = 1e-4


def draw_compared(curves: Sequence[tuple[str, Roc]], title: str, path: Path) -> None:
    """One line each, told apart by dashes as well as by colour; the better attack stands first in the legend."""
    with house_style():
        figure = Figure(figsize=(6.4, 4.4), dpi=120)
        axes = figure.add_axes((0.1, 0.11, 0.52, 0.81))
        axes.plot([LEAST, 1], [LEAST, 1], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label="chance")
        order = sorted(range(len(curves)), key=lambda index: -curves[index][1].auc)
        for index in order:
            label, roc = curves[index]
            series = SERIES[index % len(SERIES)]
            rates = zip(roc.curve["false_positive_rate"], roc.curve["true_positive_rate"], strict=True)
            points = [(fpr, tpr) for fpr, tpr in rates if fpr >= LEAST and tpr >= LEAST]
            axes.plot(
                *zip(*points, strict=True),
                color=series.colour,
                linewidth=1.5,
                linestyle=(0, series.dashes) if series.dashes else "-",
                label=f"{label}\nAUC {roc.auc:.3f}",
            )
        axes.set(xscale="log", yscale="log", xlim=(LEAST, 1), ylim=(LEAST, 1), title=title)
        axes.set(xlabel="false positive rate", ylabel="true positive rate")
        figure.legend(loc="center left", bbox_to_anchor=(0.635, 0.52), frameon=False, fontsize=7.5)
        write_png(figure, path)
