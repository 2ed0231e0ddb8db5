"""Writes the comparison of several audits as one PDF, page by page: its memory does not grow with their number."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from matplotlib.backends.backend_pdf import PdfPages

from reports.figures.style import house_style
from reports.files import write_atomically
from reports.kinds import KnownMaterial, KnownReport, line_of, set_page
from reports.layout import Document
from reports.page_comparison import set_overview


def write_comparison_pdf(reports: Sequence[KnownReport], materials: Iterable[KnownMaterial], path: Path) -> None:
    """`materials` are those of the reports in their order; each is asked for when its page is drawn."""
    with house_style():
        write_atomically(path, lambda stream: _save_pages(stream, reports, materials))


def _save_pages(stream: IO[bytes], reports: Sequence[KnownReport], materials: Iterable[KnownMaterial]) -> None:
    metadata = {"Title": f"{len(reports)} privacy audits", "Creator": "condensation-audit", "CreationDate": None}
    with PdfPages(stream, metadata=metadata) as pages:
        overview = Document()
        set_overview(overview, reports)
        overview.number_pages(f"{len(reports)} audits compared", "comparison", first=1)
        page = 1 + _save(pages, overview)
        for number, material in enumerate(materials, start=1):
            document = Document()
            set_page(document, material, number)
            title = f"{number}: {line_of(material.report)}"
            document.number_pages(title, material.report.digest[:16], first=page)
            page += _save(pages, document)


def _save(pages: PdfPages, document: Document) -> int:
    """How many sheets were written; they are emptied, so that nothing of them is kept."""
    for sheet in document.sheets:
        pages.savefig(sheet)
        sheet.clear()
    return len(document.sheets)
