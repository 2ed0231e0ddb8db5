"""Rows of tables as pieces of a sheet, the head repeated where a table goes on."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from matplotlib.figure import Figure as Sheet

from reports.documents.blocks import Column, Table
from reports.figures.style import INK, PALE
from reports.figures.typography import Face, text_width, wrap
from reports.render.faces import CELL, CELL_HEAD, SETTING
from reports.render.sheets import Piece, put_box, put_lines, put_rule

_SMALL = 130.0  # a block no higher than this is not parted


def row_pieces(block: Table, width: float, *, like: Table | None = None) -> list[Piece]:
    """Rows with wrapped cells, ruled but for settings; columns as wide as those of the table that it is a part of."""
    face = SETTING if block.code else CELL
    widths = column_widths(block if like is None else like, width, face)
    padding = 0.4 if block.code else 1.5
    titles = [wrap(column.title, CELL_HEAD, wide - 8) for column, wide in zip(block.columns, widths, strict=True)]
    lowest = max(map(len, titles))
    bottomed = [[""] * (lowest - len(title)) + title for title in titles]
    head = Piece(
        height=lowest * CELL_HEAD.leading + 5.5,
        draw=partial(_draw_head, cells=bottomed, columns=block.columns, widths=widths),
        before=3.0,
        glued=True,
    )
    headed = any(column.title for column in block.columns)
    pieces = []
    for index, row in enumerate(block.rows):
        own = replace(face, weight="bold") if index == block.marked else face
        cells = [wrap(cell, own, wide - 8) for cell, wide in zip(row, widths, strict=True)]
        height = max(map(len, cells)) * face.leading + 2 * padding
        draw = partial(
            _draw_row,
            cells=cells,
            columns=block.columns,
            widths=widths,
            look=(own, padding, height),
            ruled=not block.code,
            marked=index == block.marked,
        )
        pieces.append(Piece(height=height, draw=draw, head=head if headed else None))
    return [head, *keep_ends(pieces)] if headed else keep_ends(pieces)


def column_widths(block: Table, width: float, face: Face) -> list[float]:
    """By their shares, but none narrower than its longest word, so that no number is parted; where all fit so."""
    total = sum(column.share for column in block.columns)
    shared = [column.share / total * width for column in block.columns]
    needed = [
        8.5 + max(text_width(word, kind) for kind, text in _texts(block, place, face) for word in text.split(" "))
        for place in range(len(block.columns))
    ]
    missing = sum(max(need - own, 0.0) for need, own in zip(needed, shared, strict=True))
    spare = sum(max(own - need, 0.0) for need, own in zip(needed, shared, strict=True))
    if missing > spare:
        return shared
    given = missing / spare if spare else 0.0
    return [max(need, own - given * max(own - need, 0.0)) for need, own in zip(needed, shared, strict=True)]


def _texts(block: Table, place: int, face: Face) -> list[tuple[Face, str]]:
    """What stands in a column, and the type it is set in."""
    cells = [
        (replace(face, weight="bold") if index == block.marked else face, row[place])
        for index, row in enumerate(block.rows)
    ]
    return [(CELL_HEAD, block.columns[place].title), *cells]


def _draw_head(
    sheet: Sheet, x: float, y: float, *, cells: list[list[str]], columns: Sequence[Column], widths: Sequence[float]
) -> None:
    _put_cells(sheet, x, y, cells, columns, widths, CELL_HEAD)
    put_rule(sheet, x, y + len(cells[0]) * CELL_HEAD.leading + 4, sum(widths), colour=INK, weight=0.7)


def _draw_row(
    sheet: Sheet,
    x: float,
    y: float,
    *,
    cells: list[list[str]],
    columns: Sequence[Column],
    widths: Sequence[float],
    look: tuple[Face, float, float],
    ruled: bool,
    marked: bool,
) -> None:
    face, padding, height = look
    if marked:
        put_box(sheet, x, y, sum(widths), height, fill=PALE, edge="none")
    _put_cells(sheet, x, y + padding, cells, columns, widths, face)
    if ruled:
        put_rule(sheet, x, y + height, sum(widths))


def _put_cells(
    sheet: Sheet,
    x: float,
    y: float,
    cells: list[list[str]],
    columns: Sequence[Column],
    widths: Sequence[float],
    face: Face,
) -> None:
    for column, lines, wide in zip(columns, cells, widths, strict=True):
        put_lines(sheet, lines, face, x if column.align == "left" else x + wide - 8, y, align=column.align)
        x += wide


def keep_ends(pieces: list[Piece]) -> list[Piece]:
    """Small blocks stay whole; of larger ones the first and the last two pieces stay together."""
    last = len(pieces) - 1
    small = sum(piece.before + piece.height for piece in pieces) <= _SMALL
    return [
        replace(piece, glued=index < last and (small or index == 0 or index == last - 1))
        for index, piece in enumerate(pieces)
    ]
