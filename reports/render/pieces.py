"""Blocks as pieces of a sheet, wrapped by the measured width of the type."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from matplotlib.figure import Figure as Sheet

from reports.documents.blocks import (
    Block,
    Code,
    Columns,
    Curves,
    Definitions,
    Details,
    Figure,
    Heading,
    KeyFigure,
    KeyNumbers,
    Prose,
    Table,
    Thumbnails,
    Verdict,
)
from reports.figures.canvas import Canvas, Plot
from reports.figures.mosaic import row_plot
from reports.figures.style import GREY, INK, PALE, RED_INK, VERDICT_COLOURS
from reports.figures.typography import Face, break_word, printable, shorten, text_width, wrap
from reports.render.faces import BODY, CAPTION, CODE, HEADING, LARGE, QUIET, SEAL, STRONG, SUMMARY, TITLE
from reports.render.rows import keep_ends, row_pieces
from reports.render.sheets import (
    FOOT,
    MARGIN,
    PAGE_HEIGHT,
    Piece,
    beside,
    put_box,
    put_line,
    put_lines,
    put_rule,
    stack,
)

_PROSE = {
    "lead": Face(size=10.5, leading=15, colour=GREY),
    "body": BODY,
    "strong": STRONG,
    "note": CAPTION,
    "alarm": replace(STRONG, colour=RED_INK),
}
_LEFT_SHARE, _GUTTER = 0.56, 18.0
_ROWS_ABREAST = 16  # of a narrow table: so many stay on one sheet
_TERM, _SHORT_TERM = 112.0, 72.0
_MOST_LINES = 24  # of one piece
_PAGE = PAGE_HEIGHT - MARGIN - FOOT
_THUMBNAIL = 56.0
_SMALLEST = 0.62
_TITLE_LINES = 5


def title_pieces(over: str, title: str, width: float) -> list[Piece]:
    """What a document begins with."""
    lines = _most_lines(wrap(title, TITLE, width), TITLE, width)
    height = CAPTION.leading + 2 + len(lines) * TITLE.leading

    def draw(sheet: Sheet, x: float, y: float) -> None:
        put_line(sheet, over.upper(), CAPTION, x, y)
        put_lines(sheet, lines, TITLE, x, y + CAPTION.leading + 2)

    return [Piece(height=height, draw=draw, glued=True)]


def _most_lines(lines: list[str], face: Face, width: float) -> list[str]:
    """The lines of a title; of one that is too long the first, with an ellipsis."""
    if len(lines) <= _TITLE_LINES:
        return lines
    return [*lines[: _TITLE_LINES - 1], shorten(" ".join(lines[_TITLE_LINES - 1 :]), face, width)]


def flow(blocks: Sequence[Block], width: float) -> list[Piece]:
    """All pieces in order: headings stay with what follows, notes with what they belong to."""
    pieces: list[Piece] = []
    before: Block | None = None
    for block in blocks:
        new = pieces_of(block, width)
        if new and pieces and _belong_together(before, block):
            pieces[-1] = replace(pieces[-1], glued=True)
        pieces += new
        before = block if new else before
    return pieces


def _belong_together(before: Block | None, block: Block) -> bool:
    if isinstance(before, Heading) or (isinstance(block, Prose) and block.kind == "note"):
        return True
    return isinstance(before, Prose) and isinstance(block, Table | Figure | Curves | Thumbnails | Code)


def pieces_of(block: Block, width: float) -> list[Piece]:
    match block:
        case Heading():
            return [_heading(block.text, width)]
        case Prose():
            return _prose(block, width)
        case Verdict():
            return [_verdict(block, width)]
        case KeyFigure():
            return [_key_figure(block, width)]
        case KeyNumbers():
            return [_key_numbers(block, width)]
        case Definitions():
            return _definitions(block, width)
        case Code():
            return _code(block, width)
        case Table():
            return _table(block, width)
        case Figure() | Curves():
            return [_plot(block.plot, width)]
        case Thumbnails():
            return _thumbnails(block, width)
        case Columns():
            return _columns(block, width)
        case Details():
            return _details(block, width)


def wrap_command(command: str, face: Face, width: float) -> list[str]:
    """Lines of a shell command, an option kept with its value where they fit; joined by the shell they are the command.

    A line parted between words ends in a space and a backslash, one parted within a word in the backslash alone.
    """
    room = width - text_width(" \\", face)
    lines: list[str] = []
    line = ""
    for unit in _options_with_values(printable(command, face).split(" ")):
        candidate = f"{line} {unit}" if line else unit
        if text_width(candidate, face) <= room:
            line = candidate
            continue
        if line:
            lines.append(f"{line} \\")
        *full, line = break_word(unit, face, room)
        lines.extend(f"{piece}\\" for piece in full)
    return [*lines, line]


def _options_with_values(words: Sequence[str]) -> list[str]:
    units: list[str] = []
    for word in words:
        last = units[-1] if units else ""
        if last.startswith("-") and " " not in last and not word.startswith("-"):
            units[-1] = f"{last} {word}"
        else:
            units.append(word)
    return units


def _heading(text: str, width: float) -> Piece:
    lines = wrap(text, HEADING, width)
    height = len(lines) * HEADING.leading

    def draw(sheet: Sheet, x: float, y: float) -> None:
        put_lines(sheet, lines, HEADING, x, y)
        put_rule(sheet, x, y + height + 2, width, colour=INK, weight=0.8)

    return Piece(height=height + 7, draw=draw, before=8)


def _prose(block: Prose, width: float) -> list[Piece]:
    face = _PROSE[block.kind]
    before = 5.0 if block.kind == "lead" else 3.0
    return _lines(wrap(block.text, face, width), face, before=before)


def _lines(lines: Sequence[str], face: Face, *, before: float) -> list[Piece]:
    parts = [lines[start : start + _MOST_LINES] for start in range(0, len(lines), _MOST_LINES)]
    return [
        Piece(
            height=len(part) * face.leading,
            draw=partial(_draw_lines, lines=part, face=face),
            before=0.0 if index else before,
        )
        for index, part in enumerate(parts)
    ]


def _draw_lines(sheet: Sheet, x: float, y: float, *, lines: Sequence[str], face: Face) -> None:
    put_lines(sheet, lines, face, x, y)


def _verdict(block: Verdict, width: float) -> Piece:
    label = max(text_width("NOT REFUTED", SEAL), text_width(block.verdict, SEAL)) + 28
    lines = wrap(block.reason, BODY, width - label - 24)
    height = max(len(lines) * BODY.leading + 16, 40)
    colour = VERDICT_COLOURS[block.verdict]

    def draw(sheet: Sheet, x: float, y: float) -> None:
        put_box(sheet, x, y, width, height, fill="white", edge=colour)
        put_box(sheet, x, y, label, height, fill=colour, edge=colour)
        middle = y + height / 2
        put_line(sheet, block.verdict, SEAL, x + label / 2, middle - SEAL.leading / 2, align="center")
        put_lines(sheet, lines, BODY, x + label + 12, middle - len(lines) * BODY.leading / 2)

    return Piece(height=height, draw=draw, before=8)


def _key_figure(block: KeyFigure, width: float) -> Piece:
    left = text_width(block.figure, LARGE) + 18
    lines = wrap(block.text, BODY, width - left)
    height = max(LARGE.leading, len(lines) * BODY.leading)

    def draw(sheet: Sheet, x: float, y: float) -> None:
        put_line(sheet, block.figure, LARGE, x, y + (height - LARGE.leading) / 2)
        put_lines(sheet, lines, BODY, x + left, y + (height - len(lines) * BODY.leading) / 2)

    return Piece(height=height, draw=draw, before=8)


def _key_numbers(block: KeyNumbers, width: float) -> Piece:
    tall = BODY.leading + CAPTION.leading - 1
    heights = [tall if interval else BODY.leading + 2 for _, _, interval in block.rows]

    def draw(sheet: Sheet, x: float, y: float) -> None:
        for (name, figure, interval), height in zip(block.rows, heights, strict=True):
            put_line(sheet, name, QUIET, x, y)
            put_line(sheet, figure, STRONG, x + width, y, align="right")
            if interval:
                put_line(sheet, interval, CAPTION, x + width, y + BODY.leading - 2, align="right")
            y += height

    return Piece(height=sum(heights), draw=draw)


def _definitions(block: Definitions, width: float) -> list[Piece]:
    short = width < 300
    term_width, term_face = (_SHORT_TERM, QUIET) if short else (_TERM, STRONG)
    pieces: list[Piece] = []
    for term, text in block.entries:
        terms, lines = wrap(term, term_face, term_width - 6), wrap(text, BODY, width - term_width)
        for start in range(0, max(len(lines), len(terms)), _MOST_LINES):
            shown = (terms[start : start + _MOST_LINES], lines[start : start + _MOST_LINES])
            draw = partial(_draw_definition, shown=shown, faces=(term_face, BODY), left=term_width)
            height = max(map(len, shown)) * BODY.leading
            pieces.append(Piece(height=height, draw=draw, before=0.0 if start else 2.5))
    return keep_ends(pieces)


def _draw_definition(
    sheet: Sheet, x: float, y: float, *, shown: tuple[list[str], list[str]], faces: tuple[Face, Face], left: float
) -> None:
    put_lines(sheet, shown[0], faces[0], x, y)
    put_lines(sheet, shown[1], faces[1], x + left, y)


def _code(block: Code, width: float) -> list[Piece]:
    lines = wrap_command(block.text, CODE, width - 20)
    parts = [lines[start : start + _MOST_LINES] for start in range(0, len(lines), _MOST_LINES)]
    return [
        Piece(
            height=len(part) * CODE.leading + 10,
            draw=partial(_draw_code, lines=part, width=width),
            before=0.0 if index else 3.0,
        )
        for index, part in enumerate(parts)
    ] + [Piece(height=4, draw=lambda *_: None)]


def _draw_code(sheet: Sheet, x: float, y: float, *, lines: Sequence[str], width: float) -> None:
    put_box(sheet, x, y, width, len(lines) * CODE.leading + 10, fill=PALE, edge="none")
    put_lines(sheet, lines, CODE, x + 10, y + 5)


def _table(block: Table, width: float) -> list[Piece]:
    """Rows with wrapped cells, ruled but for settings; a narrow table in two columns, in parts that may be parted."""
    if not (block.narrow and width > 300 and len(block.rows) > 3):
        return row_pieces(block, width)
    parts = [block.rows[start : start + _ROWS_ABREAST] for start in range(0, len(block.rows), _ROWS_ABREAST)]
    return [_abreast(replace(block, rows=part), block, width, headed=not index) for index, part in enumerate(parts)]


def _abreast(block: Table, whole: Table, width: float, *, headed: bool) -> Piece:
    """The two halves of a part of a narrow table side by side, columns as wide as in the whole."""
    half, wide = -(-len(block.rows) // 2), (width - _GUTTER) / 2
    columns = block.columns if headed else tuple(replace(column, title="") for column in block.columns)
    halves = (block.rows[:half], block.rows[half:])
    left, right = (stack(row_pieces(replace(block, rows=part, columns=columns), wide, like=whole)) for part in halves)
    return beside(left, right, distance=wide + _GUTTER)


def _plot(plot: Plot, width: float) -> Piece:
    def draw(sheet: Sheet, x: float, y: float) -> None:
        plot.draw(Canvas(sheet=sheet, left=x, top=y, width=width))

    return Piece(height=plot.height(width), draw=draw, before=3, smaller=partial(_smaller, plot, width))


def _smaller(plot: Plot, width: float, height: float) -> Piece | None:
    """The figure drawn for a narrower box, down to `_SMALLEST` of its width."""
    for step in range(1, 21):
        narrower = width * (1 - (1 - _SMALLEST) * step / 20)
        if plot.height(narrower) <= height:
            return replace(_plot(plot, narrower), smaller=partial(_smaller, plot, width))
    return None


def _thumbnails(block: Thumbnails, width: float) -> list[Piece]:
    each = int(width // _THUMBNAIL)
    starts = range(0, len(block.images), each)
    rows = [(block.images[start : start + each], block.captions[start : start + each]) for start in starts]
    return [_plot(row_plot(images, captions, size=_THUMBNAIL), width) for images, captions in rows]


def _columns(block: Columns, width: float) -> list[Piece]:
    wide = _LEFT_SHARE * (width - _GUTTER)
    left, right = flow(block.left, wide), flow(block.right, width - _GUTTER - wide)
    both = beside(stack(left), stack(right), distance=wide + _GUTTER)
    return [both] if both.height <= _PAGE else flow(block.left + block.right, width)


def _details(block: Details, width: float) -> list[Piece]:
    if not block.printed:
        return []
    title = Piece(
        height=SUMMARY.leading + 2, before=6, glued=True, draw=partial(_draw_lines, lines=[block.summary], face=SUMMARY)
    )
    return [title, *flow(block.blocks, width)]
