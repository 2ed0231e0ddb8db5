"""How a report looks: the sheet, the type and the colours.

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
PAGE_WIDTH, PAGE_HEIGHT = 595.28, 841.89
MARGIN = 54.0
FOOT = 62.0
TEXT_WIDTH = PAGE_WIDTH - 2 * MARGIN

BLUE = "#0072B2"
VERMILLION = "#D55E00"
ORANGE = "#E69F00"
SKY = "#56B4E9"
INK = "#1A1A1A"
GREY = "#5A5A5A"
RULE = "#BDBDBD"
PALE = "#F1F1F1"
ALLOWED = "#E3F0F8"

GREEN = "#009E73"
PURPLE = "#CC79A7"

VERDICT_COLOURS = {"REFUTED": VERMILLION, "NOT REFUTED": BLUE, "NO CLAIM": GREY}


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


@dataclass(frozen=True, kw_only=True)
class Face:
    """One way to set type; sizes in points."""

    size: float
    leading: float
    family: str = "DejaVu Sans"
    weight: str = "normal"
    colour: str = INK


TITLE = Face(size=19, leading=25, weight="bold")
SUBTITLE = Face(size=10.5, leading=15, colour=GREY)
HEADING = Face(size=11.5, leading=16, weight="bold")
BODY = Face(size=8.6, leading=12.4)
STRONG = Face(size=8.6, leading=12.4, weight="bold")
QUIET = Face(size=8.6, leading=12.4, colour=GREY)
CAPTION = Face(size=7.6, leading=10.8, colour=GREY)
CELL = Face(size=7.8, leading=10.8)
CELL_HEAD = Face(size=7.4, leading=10.0, weight="bold")
CODE = Face(size=7.8, leading=11.4, family="DejaVu Sans Mono")
SMALL_CODE = Face(size=6.9, leading=9.6, family="DejaVu Sans Mono")
FOOTER = Face(size=7, leading=9, colour=GREY)
EPSILON = Face(size=25, leading=30, weight="bold")
VERDICT = Face(size=14.5, leading=19, weight="bold", colour="#FFFFFF")

SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
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
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.45,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "savefig.dpi": 200,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's own defaults plus ours, whatever the person's matplotlibrc says; restored afterwards."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in SETTINGS.items():
            matplotlib.rcParams[name] = value
        yield
