"""The pictures: a synthetic set, and the records that the attack finds most easily."""

from dataclasses import replace

import numpy as np

from reports.figures.audits import draw_exposure
from reports.figures.mosaic import Mosaic, arrange, draw_mosaic
from reports.figures.style import CAPTION, STRONG, TEXT_WIDTH, VERMILLION
from reports.layout import Document
from reports.records.gallery import Gallery, Pixels
from reports.records.schema import Report
from reports.records.scores import RecordExposure
from reports.words.rounding import count
from reports.words.tables import Table, exposed_table
from reports.words.wording import HIDDEN_NOTE, PICKED_NOTE, REAL_NOTE, SCORES_NOTE, explain_exposure

_LARGEST_IMAGE = 62.0
_TALLEST_GRID = 340.0
_REAL_IMAGE = 42.0
_REAL_IMAGES_PER_ROW = 8


def set_synthetic(document: Document, gallery: Gallery) -> None:
    title = "Synthetic set of one run"
    if gallery.synthetic is None or gallery.synthetic_labels is None:
        document.heading(title)
        document.paragraph(gallery.note or "The synthetic set is not drawn.")
        return
    mosaic = arrange(gallery.synthetic_labels)
    num_shown = int((mosaic.cells >= 0).sum())
    rows, columns = mosaic.cells.shape
    aspect = gallery.synthetic.shape[1] / gallery.synthetic.shape[2]
    width = min(TEXT_WIDTH - 40, columns * _LARGEST_IMAGE, _TALLEST_GRID * columns / (rows * aspect))
    height = width * rows * aspect / columns
    document.heading(title, keep=height + 30)
    axes = document.axes(height, left=40, right=TEXT_WIDTH - 40 - width, top=2, bottom=18 if rows == 1 else 8)
    draw_mosaic(axes, gallery.synthetic, mosaic, naming="class")
    total = len(gallery.synthetic)
    which = f"All {count(total)} images" if num_shown == total else f"{num_shown} of {count(total)} images"
    document.paragraph(f"{which} of the first run. Pixels beyond the range of the data are cut for display.", CAPTION)


def set_exposed(document: Document, report: Report, gallery: Gallery, exposure: RecordExposure | None) -> None:
    images = 0 if gallery.exposed is None else 60 * -(-len(gallery.exposed) // _REAL_IMAGES_PER_ROW)
    document.heading("Most exposed records", keep=min(260 + images + 8 * len(report.exposed), 640))
    if exposure is not None:
        axes = document.axes(105, left=44, right=4, top=6, bottom=34)
        draw_exposure(axes, exposure, [record.auc for record in report.exposed])
        axes.legend(loc="upper left")
        beyond = int((exposure.auc > exposure.chance_maximum).sum())
        document.paragraph(explain_exposure(exposure.auc.size, beyond, exposure.chance_maximum), CAPTION)
    else:
        document.paragraph("Too few test runs held or lacked each record to say what chance alone would give it.")
    if not report.exposed:
        document.paragraph("None are listed in this report.")
        return
    document.paragraph(PICKED_NOTE)
    if gallery.exposed is None:
        document.paragraph(HIDDEN_NOTE)
    else:
        _set_real_images(document, report, gallery.exposed)
    _set_records(document, exposed_table(report))


def _set_records(document: Document, table: Table) -> None:
    """Two records to a row, the more exposed on the left."""
    cells, columns = list(table.rows), list(table.columns)
    half = -(-len(cells) // 2)
    right = cells[half:] + [("",) * len(columns)] * (2 * half - len(cells))
    both = [*columns, replace(columns[0], share=1.4), *columns[1:]]
    document.table(both, [one + other for one, other in zip(cells[:half], right, strict=True)], after=3)
    document.paragraph(SCORES_NOTE, CAPTION)


def _set_real_images(document: Document, report: Report, images: Pixels) -> None:
    """Thumbnails with their records' numbers, under a line that says what they are."""
    document.room(100)
    document.paragraph(REAL_NOTE, replace(STRONG, colour=VERMILLION))
    height = _REAL_IMAGE * images.shape[1] / images.shape[2]
    for start in range(0, len(images), _REAL_IMAGES_PER_ROW):
        row = np.arange(start, min(start + _REAL_IMAGES_PER_ROW, len(images)))
        numbers = tuple(str(report.exposed[index].record) for index in row)
        axes = document.axes(height, left=40, right=TEXT_WIDTH - 40 - _REAL_IMAGE * row.size, top=2, bottom=16)
        draw_mosaic(axes, images, Mosaic(cells=row[None], labels=numbers), naming="record")
