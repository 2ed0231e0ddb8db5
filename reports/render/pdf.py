"""Writes a document as a PDF, and its named figures as PNG files beside it.

Equal documents give equal bytes: no clock, no random name and no path of the machine enters a file. A file appears
whole or not at all.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure as Sheet

from reports.documents.blocks import Block, Columns, Curves, Details, Document, Figure, Prose
from reports.figures.canvas import write_png
from reports.figures.style import house_style
from reports.files import write_atomically
from reports.render.pieces import flow, title_pieces
from reports.render.sheets import TEXT_WIDTH, fill_sheets, number_sheets


def write_pdf(document: Document, path: Path) -> None:
    """Parts of a document begin on a sheet of their own and are written one at a time."""
    with house_style():
        write_atomically(path, lambda stream: _save(stream, document))


def write_figures(document: Document, folder: Path) -> None:
    """The document's named figures; those that it withholds are removed."""
    for name, block in _named(document.blocks):
        write_png(block.plot, TEXT_WIDTH, folder / f"{name}.png")
    for name in document.withheld:
        (folder / f"{name}.png").unlink(missing_ok=True)


def lay_out(document: Document) -> list[Sheet]:
    """The sheets of a document without its parts, not yet numbered."""
    source = (Prose(text=document.closing, kind="note"),) if document.closing else ()
    pieces = [*title_pieces(document.over, document.title, TEXT_WIDTH), *flow((*document.blocks, *source), TEXT_WIDTH)]
    return fill_sheets(pieces)


def _save(stream: IO[bytes], document: Document) -> None:
    metadata = {
        "Title": f"{document.over}: {document.line}" if document.subject else document.line,
        "Subject": document.subject,
        "Creator": "condensation-audit",
        "CreationDate": None,
    }
    with PdfPages(stream, metadata={name: value for name, value in metadata.items() if value != ""}) as pages:
        sheets = lay_out(document)
        number_sheets(sheets, document.line, document.reference, first=1 if document.entries else None)
        page = 1 + _save_sheets(pages, sheets)
        for part in document.parts:
            sheets = lay_out(part)
            number_sheets(sheets, part.line, part.reference, first=page)
            page += _save_sheets(pages, sheets)


def _save_sheets(pages: PdfPages, sheets: Sequence[Sheet]) -> int:
    """How many were written; they are emptied, so that nothing of them is kept."""
    for sheet in sheets:
        pages.savefig(sheet)
        sheet.clear()
    return len(sheets)


def _named(blocks: Sequence[Block]) -> Iterator[tuple[str, Figure | Curves]]:
    for block in blocks:
        match block:
            case Figure() if block.name:
                yield block.name, block
            case Curves() if block.saved:
                yield block.name, block
            case Columns():
                yield from _named(block.left + block.right)
            case Details():
                yield from _named(block.blocks)
