"""The page of `audit visual --synthetic` without coins: nearest records and distances, and why nothing is tested."""

from pathlib import Path
from typing import IO

from matplotlib.backends.backend_pdf import PdfPages

from reports.figures.style import CAPTION, MARGIN, STRONG, SUBTITLE, TEXT_WIDTH, TITLE, house_style
from reports.files import write_atomically
from reports.layout import Column, Document, put_line, wrap
from reports.page_closing import set_code
from reports.records.visual import NearestReport
from reports.visual_pages import Pictures, set_panel, write_panel
from reports.words.rounding import count
from reports.words.wording import sentence

UNTESTED = (
    "NOTHING WAS TESTED: who was in is not known here. A record may be near because it was in, or because it is like "
    "those that were. With coins that chose the members (audit coins; --members FILE) the same pictures give a p-value "
    "and a bound on ε."
)


def write_nearest_pdf(report: NearestReport, pictures: Pictures, path: Path) -> None:
    """Write the PDF to `path` and `figures/panel.png` beside it; equal inputs give equal bytes."""
    metadata = {
        "Title": f"Nearest records of {report.method} on {report.dataset}",
        "Subject": f"nothing tested; digest {report.digest}",
        "Creator": "condensation-audit",
        "CreationDate": None,
    }
    with house_style():
        document = draw(report, pictures)

        def save(stream: IO[bytes]) -> None:
            with PdfPages(stream, metadata=metadata) as pages:
                for sheet in document.sheets:
                    pages.savefig(sheet)

        write_atomically(path, save)
        write_panel(report, pictures, path.parent)


def draw(report: NearestReport, pictures: Pictures) -> Document:
    """All sheets, numbered."""
    document = Document()
    document.turn_page()
    put_line(document.sheet, "NEAREST RECORDS OF A RELEASED SET", CAPTION, MARGIN, document.y)
    document.space(CAPTION.leading + 2)
    for line in wrap(f"{report.method} on {report.dataset}", TITLE, TEXT_WIDTH)[:2]:
        put_line(document.sheet, line, TITLE, MARGIN, document.y)
        document.space(TITLE.leading)
    document.paragraph("For every synthetic image the records of its class nearest to it.", SUBTITLE)
    document.paragraph(UNTESTED, STRONG)
    columns = [
        Column(title="distance", share=1.3),
        *(Column(title=title, share=1, align="right") for title in ("images", "equal to a record", "smallest")),
        *(Column(title=title, share=1, align="right") for title in ("median", "largest")),
    ]
    rows = [
        [one.name, count(one.num_images), "–" if one.num_copies is None else count(one.num_copies)]
        + [f"{value:.3g}" for value in (one.smallest, one.median, one.largest)]
        for one in report.distances
    ]
    document.table(columns, rows)
    document.definitions([(one.name, sentence(one.description)) for one in report.distances])
    document.definitions([(f"{left.name}: not computed", sentence(left.why)) for left in report.not_computed])
    set_panel(document, report, pictures)
    document.heading("How to repeat this")
    set_code(document, report.command)
    document.number_pages(f"{report.method} on {report.dataset}, nearest records", report.digest)
    return document
