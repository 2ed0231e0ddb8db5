"""Sets text, tables and axes on A4 sheets, wrapped by the measured width of the type.

All lengths are points; `y` runs downwards from the top edge of the sheet. Text is never read as mathematics, so a
dollar sign in a command stays one, and a character that the fonts lack is shown as �.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from reports.figures.style import (
    BODY,
    CELL,
    CELL_HEAD,
    FOOT,
    FOOTER,
    HEADING,
    INK,
    MARGIN,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    POINTS_PER_INCH,
    RULE,
    STRONG,
    TEXT_WIDTH,
    Face,
)

_BREAK_AFTER = "/\\-_,.=:;"


def new_sheet() -> Figure:
    return Figure(figsize=(PAGE_WIDTH / POINTS_PER_INCH, PAGE_HEIGHT / POINTS_PER_INCH), facecolor="white")


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


def put_line(sheet: Figure, text: str, face: Face, x: float, y: float, *, align: str = "left") -> None:
    """One line whose line box starts at `y`."""
    baseline = y + face.leading / 2 + 0.36 * face.size
    sheet.text(
        x / PAGE_WIDTH,
        1 - baseline / PAGE_HEIGHT,
        printable(text, face),
        fontfamily=face.family,
        fontsize=face.size,
        fontweight=face.weight,
        color=face.colour,
        ha=align,
        va="baseline",
        parse_math=False,
    )


def put_text(sheet: Figure, text: str, face: Face, x: float, y: float, width: float) -> float:
    """A wrapped paragraph; returns its height."""
    lines = wrap(text, face, width)
    for index, line in enumerate(lines):
        put_line(sheet, line, face, x, y + index * face.leading)
    return len(lines) * face.leading


def put_box(sheet: Figure, x: float, y: float, width: float, height: float, *, fill: str, edge: str) -> None:
    corner = (x / PAGE_WIDTH, 1 - (y + height) / PAGE_HEIGHT)
    sheet.add_artist(
        Rectangle(
            corner, width / PAGE_WIDTH, height / PAGE_HEIGHT, facecolor=fill, edgecolor=edge, linewidth=1.0, zorder=-1
        )
    )


def put_rule(sheet: Figure, x: float, y: float, width: float, *, colour: str = RULE, weight: float = 0.5) -> None:
    height = 1 - y / PAGE_HEIGHT
    sheet.add_artist(
        Line2D([x / PAGE_WIDTH, (x + width) / PAGE_WIDTH], [height, height], color=colour, linewidth=weight)
    )


def put_axes(sheet: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Axes whose plotting area is the given box."""
    return sheet.add_axes((x / PAGE_WIDTH, 1 - (y + height) / PAGE_HEIGHT, width / PAGE_WIDTH, height / PAGE_HEIGHT))


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table: its share of the width, relative to the others', and where its cells stand."""

    title: str
    share: float
    align: str = "left"
    face: Face = CELL


@dataclass(kw_only=True)
class Document:
    """Sheets filled from the top; what does not fit goes to a new one."""

    sheets: list[Figure] = field(default_factory=list)
    y: float = PAGE_HEIGHT

    @property
    def sheet(self) -> Figure:
        return self.sheets[-1]

    def turn_page(self) -> None:
        self.sheets.append(new_sheet())
        self.y = MARGIN

    def room(self, height: float) -> None:
        """Turn the page unless `height` still fits on this one."""
        if not self.sheets or self.y + height > PAGE_HEIGHT - FOOT:
            self.turn_page()

    def space(self, height: float) -> None:
        self.y += height

    def heading(self, text: str, *, keep: float = 60) -> None:
        """A section's name over a rule, never parted from the first `keep` points of what follows."""
        self.room(10 + HEADING.leading + 8 + keep)
        self.y += 10 if self.y > MARGIN else 0
        put_line(self.sheet, text, HEADING, MARGIN, self.y)
        self.y += HEADING.leading + 2
        put_rule(self.sheet, MARGIN, self.y, TEXT_WIDTH, colour=INK, weight=0.8)
        self.y += 6

    def paragraph(self, text: str, face: Face = BODY, *, after: float = 4) -> None:
        """Wrapped to the full width and kept on one page, unless it is longer than half of one."""
        lines = wrap(text, face, TEXT_WIDTH)
        self.room(min(len(lines) * face.leading, PAGE_HEIGHT / 2))
        self.lines(lines, face)
        self.y += after

    def lines(self, lines: Sequence[str], face: Face, *, x: float = MARGIN) -> None:
        for line in lines:
            self.room(face.leading)
            put_line(self.sheet, line, face, x, self.y)
            self.y += face.leading

    def definitions(
        self, entries: Sequence[tuple[str, str]], *, term_width: float = 112, face: Face = BODY, after: float = 2.5
    ) -> None:
        """Terms in a bold left column, what they are on the right; an entry is parted only if longer than a page."""
        for term, text in entries:
            terms = wrap(term, STRONG, term_width - 8)
            lines = wrap(text, face, TEXT_WIDTH - term_width)
            self.room(min(max(len(terms), len(lines)) * face.leading, PAGE_HEIGHT / 2))
            for index, line in enumerate(terms):
                put_line(self.sheet, line, STRONG, MARGIN, self.y + index * face.leading)
            top, before = self.y, len(self.sheets)
            self.lines(lines, face, x=MARGIN + term_width)
            if len(self.sheets) == before:
                self.y = max(self.y, top + len(terms) * face.leading)
            self.y += after

    def table(
        self, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, after: float = 6, dense: bool = False
    ) -> None:
        """Rows with wrapped cells, ruled unless `dense`; a table longer than half a page may be parted."""
        whole = sum(column.share for column in columns)
        columns = [replace(column, share=column.share / whole) for column in columns]
        heads = [wrap(column.title, CELL_HEAD, _inner(column)) for column in columns]
        head_height = max(map(len, heads)) * CELL_HEAD.leading + 4
        wrapped = [
            [wrap(cell, column.face, _inner(column)) for column, cell in zip(columns, row, strict=True)] for row in rows
        ]
        padding = 0.5 if dense else 2.0
        total = head_height + sum(_row_height(columns, cells, padding) for cells in wrapped)
        self.room(total if total < PAGE_HEIGHT / 2 else head_height + 60)
        self._head(columns, heads, head_height)
        for cells in wrapped:
            height = _row_height(columns, cells, padding)
            if self.y + height > PAGE_HEIGHT - FOOT:
                self.turn_page()
                self._head(columns, heads, head_height)
            self._cells(columns, cells, [column.face for column in columns], self.y + padding)
            self.y += height
            if not dense:
                put_rule(self.sheet, MARGIN, self.y, TEXT_WIDTH)
        self.y += after

    def axes(self, height: float, *, left: float, right: float = 0, top: float = 0, bottom: float = 0) -> Axes:
        """Full-width axes with room around the plotting area for its labels."""
        self.room(top + height + bottom)
        axes = put_axes(self.sheet, MARGIN + left, self.y + top, TEXT_WIDTH - left - right, height)
        self.y += top + height + bottom
        return axes

    def number_pages(self, title: str, reference: str, *, first: int | None = None) -> None:
        """The foot of every sheet; called once, when all are set. `first` numbers a part of something longer."""
        y = PAGE_HEIGHT - MARGIN + 8
        whole = f" of {len(self.sheets)}" if first is None else ""
        for number, sheet in enumerate(self.sheets, start=first or 1):
            put_rule(sheet, MARGIN, y - 5, TEXT_WIDTH)
            page = f"{reference}  ·  page {number}{whole}"
            room = TEXT_WIDTH - text_width(page, FOOTER) - 16
            put_line(sheet, shorten(title, FOOTER, room), FOOTER, MARGIN, y)
            put_line(sheet, page, FOOTER, PAGE_WIDTH - MARGIN, y, align="right")

    def _head(self, columns: Sequence[Column], heads: Sequence[Sequence[str]], height: float) -> None:
        lowest = max(map(len, heads))
        bottomed = [[""] * (lowest - len(head)) + list(head) for head in heads]
        self._cells(columns, bottomed, [CELL_HEAD] * len(columns), self.y)
        self.y += height
        put_rule(self.sheet, MARGIN, self.y, TEXT_WIDTH, colour=INK, weight=0.7)
        self.y += 1.5

    def _cells(
        self, columns: Sequence[Column], cells: Sequence[Sequence[str]], faces: Sequence[Face], y: float
    ) -> None:
        x = MARGIN
        for column, lines, face in zip(columns, cells, faces, strict=True):
            anchor = x if column.align == "left" else x + _inner(column)
            for index, line in enumerate(lines):
                if line:
                    put_line(self.sheet, line, face, anchor, y + index * face.leading, align=column.align)
            x += column.share * TEXT_WIDTH


def _inner(column: Column) -> float:
    return column.share * TEXT_WIDTH - 8


def _row_height(columns: Sequence[Column], cells: Sequence[Sequence[str]], padding: float) -> float:
    tallest = max(len(lines) * column.face.leading for column, lines in zip(columns, cells, strict=True))
    return tallest + 2 * padding


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
