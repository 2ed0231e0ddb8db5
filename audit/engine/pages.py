"""Where the files of a document go."""

from collections.abc import Sequence

from audit.engine.store import RunDirectory
from reports.documents.blocks import Document
from reports.render.html import write_html
from reports.render.pdf import write_figures, write_pdf


def write_pages(document: Document, directory: RunDirectory, formats: Sequence[str] = ("pdf", "html")) -> None:
    """Write the report of one run into its directory, and with the PDF its figures."""
    if "pdf" in formats:
        write_pdf(document, directory.pdf)
        write_figures(document, directory.path / "figures")
    if "html" in formats:
        write_html(document, directory.html)
