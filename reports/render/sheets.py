"""A4 sheets, filled from the top with pieces that are not parted; what does not fit begins a new sheet.

All lengths are points; `y` runs downwards from the top edge of the sheet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from reports.figures.style import GREY, POINTS_PER_INCH, RULE
from reports.figures.typography import Face, printable, shorten, text_width

PAGE_WIDTH, PAGE_HEIGHT = 595.28, 841.89
MARGIN = 48.0
FOOT = 55.0
TEXT_WIDTH = PAGE_WIDTH - 2 * MARGIN
_FILLED = 0.7  # of a sheet's height: a last sheet that ends above it is rather empty
_SHARES = (0.9, 0.8, 0.7)  # of their height, at which figures are tried then
FOOTER = Face(size=7, leading=9, colour=GREY)


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Something that stays whole: so high, drawn on a sheet with its upper left corner at (x, y).

    `before` is left free above it, unless it begins a sheet. A `glued` piece stays with the next. Where a piece begins
    a sheet in the middle of its block, `head` is set above it again. `smaller` gives the same at most so high, or None,
    so that a figure need not leave a sheet half empty.
    """

    height: float
    draw: Callable[[Figure, float, float], None]
    before: float = 0.0
    glued: bool = False
    head: "Piece | None" = None
    smaller: "Callable[[float], Piece | None] | None" = None


def fill_sheets(pieces: Sequence[Piece]) -> list[Figure]:
    """Chains of glued pieces stay together, unless they are higher than a sheet.

    Where the last sheet would be rather empty, figures are drawn smaller if that saves a sheet.
    """
    placed, reduced = _place(pieces), list(pieces)
    for share in _SHARES:
        if len(placed) == 1 or _end(placed[-1]) > _FILLED * PAGE_HEIGHT:
            break
        reduced = [_at_share(piece, share, old) for piece, old in zip(pieces, reduced, strict=True)]
        tried = _place(reduced)
        if len(tried) < len(placed):
            placed = tried
    return [_draw(sheet) for sheet in placed]


def _place(pieces: Sequence[Piece]) -> list[list[tuple[Piece, float]]]:
    """What stands on each sheet, and how far from its upper edge."""
    sheets: list[list[tuple[Piece, float]]] = [[]]
    y, bottom = MARGIN, PAGE_HEIGHT - FOOT
    for chain in _chains(pieces):
        missing = y + _height(chain, at_top=y == MARGIN) - bottom
        if missing > 0:
            fitted = _shrink(chain, missing)
            if fitted is None and y > MARGIN and _height(chain) <= bottom - MARGIN:
                sheets.append([])
                y = MARGIN
            chain = fitted or chain
        for index, piece in enumerate(chain):
            if y > MARGIN and y + piece.before + piece.height > bottom:
                sheets.append([])
                y = MARGIN
            begins = y == MARGIN
            if begins and piece.head is not None and (index or len(sheets) > 1):
                sheets[-1].append((piece.head, y))
                y += piece.head.height
            y += 0 if begins else piece.before
            sheets[-1].append((piece, y))
            y += piece.height
    return sheets


def _end(placed: Sequence[tuple[Piece, float]]) -> float:
    return max((y + piece.height for piece, y in placed), default=MARGIN)


def _at_share(piece: Piece, share: float, otherwise: Piece) -> Piece:
    """A figure at a share of its height, where it can be drawn so."""
    smaller = None if piece.smaller is None else piece.smaller(share * piece.height)
    return otherwise if smaller is None else replace(smaller, before=piece.before, glued=piece.glued)


def _draw(placed: Sequence[tuple[Piece, float]]) -> Figure:
    sheet = new_sheet()
    for piece, y in placed:
        piece.draw(sheet, MARGIN, y)
    return sheet


def stack(pieces: Sequence[Piece]) -> Piece:
    """One piece of several, one below the other."""

    def draw(sheet: Figure, x: float, y: float) -> None:
        for index, piece in enumerate(pieces):
            y += piece.before if index else 0
            piece.draw(sheet, x, y)
            y += piece.height

    return Piece(height=_height(pieces), before=pieces[0].before if pieces else 0.0, draw=draw)


def beside(left: Piece, right: Piece, distance: float) -> Piece:
    """Two pieces side by side, the right one so far from the left edge."""

    def draw(sheet: Figure, x: float, y: float) -> None:
        left.draw(sheet, x, y)
        right.draw(sheet, x + distance, y)

    return Piece(height=max(left.height, right.height), before=max(left.before, right.before), draw=draw)


def number_sheets(sheets: Sequence[Figure], title: str, reference: str, *, first: int | None = None) -> None:
    """The foot of every sheet. `first` numbers a part of something longer."""
    y = PAGE_HEIGHT - MARGIN + 8
    whole = f" of {len(sheets)}" if first is None else ""
    for number, sheet in enumerate(sheets, start=first or 1):
        put_rule(sheet, MARGIN, y - 5, TEXT_WIDTH)
        page = f"{reference}  ·  page {number}{whole}"
        room = TEXT_WIDTH - text_width(page, FOOTER) - 16
        put_line(sheet, shorten(title, FOOTER, room), FOOTER, MARGIN, y)
        put_line(sheet, page, FOOTER, PAGE_WIDTH - MARGIN, y, align="right")


def new_sheet() -> Figure:
    return Figure(figsize=(PAGE_WIDTH / POINTS_PER_INCH, PAGE_HEIGHT / POINTS_PER_INCH), facecolor="white")


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


def put_lines(sheet: Figure, lines: Sequence[str], face: Face, x: float, y: float, *, align: str = "left") -> None:
    for index, line in enumerate(lines):
        if line:
            put_line(sheet, line, face, x, y + index * face.leading, align=align)


def put_box(sheet: Figure, x: float, y: float, width: float, height: float, *, fill: str, edge: str) -> None:
    corner = (x / PAGE_WIDTH, 1 - (y + height) / PAGE_HEIGHT)
    size = (width / PAGE_WIDTH, height / PAGE_HEIGHT)
    sheet.add_artist(Rectangle(corner, *size, facecolor=fill, edgecolor=edge, linewidth=1.0, zorder=-1))


def put_rule(sheet: Figure, x: float, y: float, width: float, *, colour: str = RULE, weight: float = 0.5) -> None:
    height = 1 - y / PAGE_HEIGHT
    ends = [x / PAGE_WIDTH, (x + width) / PAGE_WIDTH]
    sheet.add_artist(Line2D(ends, [height, height], color=colour, linewidth=weight))


def _height(pieces: Sequence[Piece], *, at_top: bool = True) -> float:
    whole = sum(piece.before + piece.height for piece in pieces)
    return whole - (pieces[0].before if at_top and pieces else 0)


def _shrink(chain: Sequence[Piece], by: float) -> list[Piece] | None:
    """The chain with its first figure that can be so much smaller."""
    for index, piece in enumerate(chain):
        fitted = _at_share(piece, 1 - by / piece.height, piece)
        if fitted is not piece:
            return [*chain[:index], fitted, *chain[index + 1 :]]
    return None


def _chains(pieces: Sequence[Piece]) -> list[list[Piece]]:
    chains: list[list[Piece]] = [[]]
    for piece in pieces:
        chains[-1].append(piece)
        if not piece.glued:
            chains.append([])
    return [chain for chain in chains if chain]
