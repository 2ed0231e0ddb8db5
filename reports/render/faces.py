"""The type of a sheet; sizes in points."""

from dataclasses import replace

from reports.figures.style import GREY
from reports.figures.typography import Face

TITLE = Face(size=19, leading=25, weight="bold")
HEADING = Face(size=11.5, leading=16, weight="bold")
SUMMARY = Face(size=9.2, leading=13, weight="bold")
BODY = Face(size=8.6, leading=12.4)
STRONG = replace(BODY, weight="bold")
QUIET = replace(BODY, colour=GREY)
CAPTION = Face(size=7.6, leading=10.8, colour=GREY)
CELL = Face(size=7.8, leading=10.8)
CELL_HEAD = Face(size=7.4, leading=10.0, weight="bold")
CODE = Face(size=7.8, leading=11.4, family="DejaVu Sans Mono")
SETTING = Face(size=6.6, leading=8.8, family="DejaVu Sans Mono")
LARGE = Face(size=25, leading=30, weight="bold")
SEAL = Face(size=14.5, leading=19, weight="bold", colour="#FFFFFF")
