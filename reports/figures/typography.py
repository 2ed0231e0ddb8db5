"""Type whose width is measured: lines are wrapped, shortened and broken by it.

Text is never read as mathematics, so a dollar sign in a command stays one, and a character that the fonts lack is shown
as �.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import text_to_path

from reports.figures.style import INK

_BREAK_AFTER = "/\\-_,.=:;"


@dataclass(frozen=True, kw_only=True)
class Face:
    """One way to set type; sizes in points."""

    size: float
    leading: float
    family: str = "DejaVu Sans"
    weight: str = "normal"
    colour: str = INK


def printable(text: str, face: Face) -> str:
    """One line of characters the face has; anything else becomes �, white space of any kind a space."""
    known = _characters(face)
    spaced = "".join(" " if letter in "\t\n\r\v\f" else letter for letter in text)
    return "".join(letter if ord(letter) in known else "\ufffd" for letter in spaced)


def text_width(text: str, face: Face) -> float:
    return _width(text, face.family, face.weight, face.size)


def wrap(text: str, face: Face, width: float) -> list[str]:
    """Lines no wider than `width`; a word that is too long by itself is broken, after punctuation if it can be.

    Only plain spaces part words: a no-break space keeps a figure with its name.
    """
    lines: list[str] = []
    line = ""
    for word in printable(text, face).split(" "):
        candidate = f"{line} {word}" if line else word
        if text_width(candidate, face) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        *full, line = break_word(word, face, width)
        lines.extend(full)
    return [*lines, line]


def shorten(text: str, face: Face, width: float) -> str:
    """The text, or as much of it as fits followed by an ellipsis."""
    text = printable(text, face)
    if text_width(text, face) <= width:
        return text
    return text[: _fitting_prefix(text, face, width - text_width("…", face))] + "…"


def break_word(word: str, face: Face, width: float) -> list[str]:
    pieces: list[str] = []
    while len(word) > 1 and text_width(word, face) > width:
        length = max(1, _fitting_prefix(word, face, width))
        breaks = [at + 1 for at in range(length // 2, length) if word[at] in _BREAK_AFTER]
        length = breaks[-1] if breaks else length
        pieces.append(word[:length])
        word = word[length:]
    return [*pieces, word]


def _fitting_prefix(word: str, face: Face, width: float) -> int:
    low, high = 0, len(word)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text_width(word[:middle], face) <= width else (low, middle - 1)
    return low


@cache
def _characters(face: Face) -> frozenset[int]:
    return frozenset(get_font(findfont(_properties(face.family, face.weight, face.size))).get_charmap())


@cache
def _properties(family: str, weight: str, size: float) -> FontProperties:
    return FontProperties(family=family, weight=weight, size=size)


@lru_cache(maxsize=50_000)
def _width(text: str, family: str, weight: str, size: float) -> float:
    if not text:
        return 0.0
    return text_to_path.get_text_width_height_descent(text, _properties(family, weight, size), ismath=False)[0]
