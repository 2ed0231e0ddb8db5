"""Figures on dark screens: every colour of an SVG becomes a variable, which the reader's preference decides.

Paper and PNG files have the colours of `style`. An SVG that stands in a page has two sets of them, so that text and
lines stay legible on the page's dark background.
"""

import re

from reports.figures.style import (
    ALLOWED,
    BLUE,
    FEW,
    GREEN,
    GREY,
    GRID,
    INK,
    ORANGE,
    PALE,
    PAPER,
    PURPLE,
    RED_INK,
    RULE,
    SKY,
    VERMILLION,
)

# The same names as in assets/page.css, which has the first six of them as well.
DARK = {
    PAPER: "#14171A",
    INK: "#E6E6E6",
    GREY: "#A9AEB4",
    RULE: "#4A5158",
    PALE: "#23282D",
    RED_INK: "#FF8F4A",
    GRID: "#2C3238",
    FEW: "#4A5057",
    ALLOWED: "#16303F",
    BLUE: "#5DB1EA",
    VERMILLION: "#FF8F4A",
    ORANGE: "#F2B33D",
    SKY: "#A5DBFF",
    GREEN: "#2CC79B",
    PURPLE: "#E6A3C8",
}
_COLOUR = re.compile(r"(?<=: )#[0-9a-f]{6}\b")
_BARE = re.compile(r'fill="(#[0-9a-f]{6})"')  # of the ground of a hatching, the one colour outside of a style
_ROOT = re.compile(r"<svg [^>]*>")


def adapt_to_screen(svg: str) -> str:
    """The same drawing, dark where the reader's screen is. Colours that `DARK` does not name stay as they are."""
    svg = _BARE.sub(r'style="fill: \1"', svg)
    names = {colour.lower(): f"--c{place}" for place, colour in enumerate(DARK)}
    used = {found for found in _COLOUR.findall(svg) if found in names}
    drawn = _COLOUR.sub(lambda found: f"var({names[found[0]]})" if found[0] in names else found[0], svg)
    dark = {colour.lower(): value for colour, value in DARK.items()}
    rules = [
        ";".join(f"{names[colour]}:{values[colour]}" for colour in sorted(used))
        for values in ({colour: colour for colour in used}, dark)
    ]
    style = f"<style>:root{{{rules[0]}}}@media screen and (prefers-color-scheme: dark){{:root{{{rules[1]}}}}}</style>"
    return _ROOT.sub(lambda found: found[0] + style, drawn, count=1)
