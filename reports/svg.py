"""Markup that no name or path in a record can break out of, and the few shapes that the figures are made of.

Numbers have a fixed number of decimals, so that equal records give equal bytes. Looks are in the style sheet; here are
only places and classes.
"""

import html
import json
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.records.scores import Floats
from reports.words.rounding import percent

_UNSAFE = ("Cc", "Cf", "Cs", "Co", "Cn")  # control, direction, surrogate, private and unassigned characters


def escape(text: Any) -> str:
    """Text for content and for quoted attributes; what could turn or hide other text becomes �."""
    spaced = "".join(" " if letter in "\t\n\r" else letter for letter in str(text))
    shown = "".join("\ufffd" if unicodedata.category(letter) in _UNSAFE else letter for letter in spaced)
    return html.escape(shown, quote=True)


def embed_json(value: Any) -> str:
    """JSON that may stand in a script element: no character in it can end the element or start a comment."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """An element around finished markup; `_` at the end of an attribute's name is dropped, within it is a hyphen."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>"


def text_at(x: float, y: float, text: str, **attributes: Any) -> str:
    return tag("text", escape(text), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Any) -> str:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def box(x: float, y: float, width: float, height: float, **attributes: Any) -> str:
    return tag("rect", x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), **attributes)


def curve(xs: Floats, ys: Floats, *, closed: bool = False, **attributes: Any) -> str:
    points = "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys, strict=True))
    return tag("path", d=f"M{points}{'Z' if closed else ''}", **attributes)


def area(xs: Floats, lower: Floats, upper: Floats, **attributes: Any) -> str:
    """The band between two curves."""
    return curve(np.concatenate([xs, xs[::-1]]), np.concatenate([upper, lower[::-1]]), closed=True, **attributes)


def drawing(content: str, width: float, height: float, label: str, **attributes: Any) -> str:
    """A picture with its text alternative."""
    return tag("svg", content, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label, **attributes)


def marker(shape: str, x: float, y: float, **attributes: Any) -> str:
    """One of the markers of a series, named as in the PDF."""
    r = 4.0
    paths = {
        "s": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        "^": [(0, -1.3), (1.2, 1), (-1.2, 1)],
        "v": [(0, 1.3), (1.2, -1), (-1.2, -1)],
        "D": [(0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)],
        "P": [(-0.5, -1.3), (0.5, -1.3), (0.5, -0.5), (1.3, -0.5), (1.3, 0.5), (0.5, 0.5), (0.5, 1.3), (-0.5, 1.3),
              (-0.5, 0.5), (-1.3, 0.5), (-1.3, -0.5), (-0.5, -0.5)],
        "X": [(-1.2, -0.7), (-0.7, -1.2), (0, -0.5), (0.7, -1.2), (1.2, -0.7), (0.5, 0), (1.2, 0.7), (0.7, 1.2),
              (0, 0.5), (-0.7, 1.2), (-1.2, 0.7), (-0.5, 0)],
        "*": [(0, -1.5), (0.4, -0.45), (1.5, -0.4), (0.6, 0.3), (0.95, 1.4), (0, 0.75), (-0.95, 1.4), (-0.6, 0.3),
              (-1.5, -0.4), (-0.4, -0.45)],
    }  # fmt: skip
    if shape not in paths:
        return tag("circle", cx=x, cy=y, r=r, **attributes)
    points = np.array(paths[shape]) * r + (x, y)
    return curve(points[:, 0], points[:, 1], closed=True, **attributes)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """From values to places; values beyond the ends are drawn at them."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, values: Any) -> Floats:
        clipped = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        part = ((np.log(clipped) if self.logarithmic else clipped) - low) / (high - low)
        return self.start + part * (self.end - self.start)

    def at(self, value: float) -> float:
        return float(self(value))

    def decades(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**exponent for exponent in range(first, last + 1)]


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most so many multiples of 1, 2 or 5 times a power of ten."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(index * step, 10) for index in range(first, math.floor(high / step + 1e-9) + 1)]


def frame(x: Axis, y: Axis, *, x_ticks: Sequence[float], y_ticks: Sequence[float], x_name: str, y_name: str,
          percents: str = "xy") -> str:  # fmt: skip
    """Grid, tick labels and names; `percents` says which axes hold rates."""
    parts = [line(x.at(value), y.start, x.at(value), y.end, class_="grid") for value in x_ticks]
    parts += [line(x.start, y.at(value), x.end, y.at(value), class_="grid") for value in y_ticks]
    parts += [
        text_at(x.at(value), y.start + 17, _tick(value, "x" in percents), class_="tick", text_anchor="middle")
        for value in x_ticks
    ]
    parts += [
        text_at(x.start - 7, y.at(value) + 4, _tick(value, "y" in percents), class_="tick", text_anchor="end")
        for value in y_ticks
    ]
    parts.append(line(x.start, y.start, x.end, y.start, class_="axis"))
    parts.append(line(x.start, y.start, x.start, y.end, class_="axis"))
    parts.append(text_at((x.start + x.end) / 2, y.start + 36, x_name, class_="name", text_anchor="middle"))
    middle = (y.start + y.end) / 2
    turned = f"rotate(-90 {x.start - 52:.1f} {middle:.1f})"
    parts.append(text_at(x.start - 52, middle, y_name, class_="name", text_anchor="middle", transform=turned))
    return "".join(parts)


def _tick(value: float, rate: bool) -> str:
    return percent(float(f"{value:.3g}")) if rate else f"{value:g}".replace("-", "−")


def _number(value: Any) -> Any:
    return f"{value:.1f}" if isinstance(value, float | np.floating) else value
