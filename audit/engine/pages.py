"""Where the files of a document go."""

from collections.abc import Callable, Sequence
from typing import Any

from audit.engine.store import RunDirectory, explain_failure, write_text
from reports.documents.blocks import Document
from reports.records import schema
from reports.render.html import write_html
from reports.render.pdf import write_figures, write_pdf


def write_pages(document: Document, directory: RunDirectory, formats: Sequence[str] = ("pdf", "html")) -> None:
    """Write the report of one run into its directory, and with the PDF its figures."""
    if "pdf" in formats:
        write_pdf(document, directory.pdf)
        write_figures(document, directory.path / "figures")
    if "html" in formats:
        write_html(document, directory.html)


def keep_record(record: Any, document: Document, directory: RunDirectory, say: Callable[[str], None]) -> None:
    """Write report.json, then the pages that are drawn from it, into a directory that the caller holds."""
    write_text(directory.report, schema.dump(record))
    say("drawing the report")
    with explain_failure(directory.pdf):
        write_pages(document, directory)
