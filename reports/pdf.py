"""Writes a report as a PDF and its main figures as PNG, drawn from the record and the score table alone.

Equal inputs give equal bytes: no clock, no random name and no path of the machine enters a file. A file appears
whole or not at all.
"""

from datetime import datetime
from pathlib import Path
from typing import IO

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from reports.figures.audits import draw_roc_logarithmic, draw_scores
from reports.figures.mosaic import arrange, draw_mosaic
from reports.figures.style import house_style
from reports.files import write_atomically
from reports.layout import Document
from reports.material import Material, gather
from reports.page_closing import set_limits, set_reproduction
from reports.page_evidence import set_bounds, set_roc, set_scores
from reports.page_outlook import set_groups, set_ladder, set_matches, set_outlook
from reports.page_records import set_exposed, set_synthetic
from reports.page_summary import set_summary
from reports.records.gallery import Gallery
from reports.records.schema import Report
from reports.words.wording import title_of


def write_pdf(
    report: Report, *, scores: pd.DataFrame, gallery: Gallery, path: Path, created: datetime | None = None
) -> None:
    """Write the PDF to `path` and `figures/*.png` beside it; raises ValueError where the inputs do not fit together.

    `scores` has the columns run, record, member and score of the test runs. `created` is the date written into the
    file; none by default, so that redrawing changes no byte.
    """
    material = gather(report, scores=scores, gallery=gallery)
    with house_style():
        document = draw(material)
        write_atomically(path, lambda stream: _save_sheets(stream, document, report, created))
        _write_figures(material, path.parent / "figures")


def draw(material: Material) -> Document:
    """All sheets of a report, numbered."""
    report, histogram, gallery = material.report, material.histogram, material.gallery
    document = Document()
    set_summary(document, report)
    set_roc(document, report, num_nonmembers=histogram.num_nonmembers)
    set_scores(document, histogram)
    set_bounds(document, report)
    if report.ladder is not None:
        set_ladder(document, report.ladder)
    set_outlook(document, report)
    set_synthetic(document, gallery)
    set_exposed(document, report, gallery, material.exposure)
    set_groups(document, report)
    set_matches(document, gallery.matches)
    set_reproduction(document, report)
    set_limits(document, report)
    document.number_pages(title_of(report), report.digest[:16])
    return document


def _save_sheets(stream: IO[bytes], document: Document, report: Report, created: datetime | None) -> None:
    metadata = {
        "Title": f"Privacy audit: {report.method} on {report.dataset}",
        "Subject": f"{report.verdict}; attack {report.attack} at level {report.level}; digest {report.digest}",
        "Creator": "condensation-audit",
        "CreationDate": created,
    }
    with PdfPages(stream, metadata=metadata) as pages:
        for sheet in document.sheets:
            pages.savefig(sheet)


def _write_figures(material: Material, directory: Path) -> None:
    """roc.png, scores.png and synthetic.png; the last is removed where it may not be shown."""
    report, histogram, gallery = material.report, material.histogram, material.gallery
    directory.mkdir(parents=True, exist_ok=True)
    roc = Figure(figsize=(4.6, 4.4))
    axes = roc.add_axes((0.14, 0.11, 0.82, 0.86))
    draw_roc_logarithmic(axes, report, num_nonmembers=histogram.num_nonmembers)
    write_png(roc, directory / "roc.png")

    spread = Figure(figsize=(6.8, 2.7))
    for index in range(2):
        draw_scores(spread.add_axes((0.08 + 0.51 * index, 0.16, 0.4, 0.75)), histogram, logarithmic=index == 1)
    write_png(spread, directory / "scores.png")

    if gallery.synthetic is None or gallery.synthetic_labels is None:
        (directory / "synthetic.png").unlink(missing_ok=True)
        return
    mosaic = arrange(gallery.synthetic_labels)
    rows, columns = mosaic.cells.shape
    width = min(6.0, 0.8 * columns)
    height = width * rows * gallery.synthetic.shape[1] / (columns * gallery.synthetic.shape[2])
    whole = (width + 0.8, height + 0.3)
    grid = Figure(figsize=whole)
    axes = grid.add_axes((0.7 / whole[0], 0.25 / whole[1], width / whole[0], height / whole[1]))
    draw_mosaic(axes, gallery.synthetic, mosaic, naming="class")
    write_png(grid, directory / "synthetic.png")


def write_png(figure: Figure, path: Path) -> None:
    FigureCanvasAgg(figure)
    write_atomically(path, lambda stream: figure.savefig(stream, format="png", metadata={"Software": None}))
