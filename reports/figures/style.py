"""How figures look.

Colours are those of Okabe and Ito ("Color Universal Design", 2008), told apart with every common form of colour
blindness; every pair that a figure contrasts also differs in line style, fill or hatching, so that a black and
white print loses nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib

POINTS_PER_INCH = 72.0

BLUE = "#0072B2"
VERMILLION = "#D55E00"
ORANGE = "#E69F00"
SKY = "#56B4E9"
PAPER = "#FFFFFF"
INK = "#1A1A1A"
GREY = "#5A5A5A"
RULE = "#BDBDBD"
PALE = "#F1F1F1"
ALLOWED = "#E3F0F8"
GRID = "#DDDDDD"
FEW = "#C8C8C8"
RED_INK = "#B54A00"  # vermillion for type, which needs more contrast than lines

GREEN = "#009E73"
PURPLE = "#CC79A7"

VERDICT_COLOURS = {
    "REFUTED": RED_INK,
    "CONTRACT BROKEN": RED_INK,
    "NOISE NOT AS CLAIMED": RED_INK,
    "NOT REFUTED": BLUE,
    "NO CLAIM": GREY,
    "NOTHING TESTED": GREY,
}


@dataclass(frozen=True, kw_only=True)
class Series:
    """How one of several curves is told from the others, in colour or without."""

    colour: str
    dashes: tuple[float, ...]
    marker: str


SERIES = (
    Series(colour=BLUE, dashes=(), marker="o"),
    Series(colour=VERMILLION, dashes=(6, 2), marker="s"),
    Series(colour=GREEN, dashes=(2, 1.5), marker="^"),
    Series(colour=INK, dashes=(7, 2, 1.5, 2), marker="D"),
    Series(colour=ORANGE, dashes=(10, 3), marker="v"),
    Series(colour=PURPLE, dashes=(4, 1.5, 1.2, 1.5, 1.2, 1.5), marker="P"),
    Series(colour=SKY, dashes=(1.2, 1.2), marker="X"),
    Series(colour=GREY, dashes=(12, 2, 2, 2), marker="*"),
)


SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "text.color": INK,
    "pdf.fonttype": 42,
    "pdf.compression": 6,
    "axes.linewidth": 0.7,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.45,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "condensation-audit",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's own defaults plus ours, whatever the person's matplotlibrc says; restored afterwards."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in SETTINGS.items():
            matplotlib.rcParams[name] = value
        yield
