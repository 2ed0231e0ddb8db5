"""The evidence: operating characteristic, rates, scores, every bound, published protocols."""

from reports.figures.audits import draw_roc_linear, draw_roc_logarithmic, draw_scores
from reports.figures.style import CAPTION, MARGIN, TEXT_WIDTH
from reports.layout import Document, put_axes, put_text
from reports.records.allowed import allowed_region, explain_outside
from reports.records.schema import Report
from reports.records.scores import ScoreHistogram
from reports.words.tables import bounds_table, protocols_table, rates_table
from reports.words.wording import RATIO_NOTE, explain_headline, explain_roc, explain_scores


def set_roc(document: Document, report: Report, *, num_nonmembers: int) -> None:
    side, small_side = 280.0, 108.0
    document.heading("Receiver operating characteristic on the test runs", keep=side + 70)
    sheet, top = document.sheet, document.y + 8
    axes = put_axes(sheet, MARGIN + 44, top, side, side)
    draw_roc_logarithmic(axes, report, num_nonmembers=num_nonmembers)
    beside = MARGIN + TEXT_WIDTH - small_side - 10
    draw_roc_linear(put_axes(sheet, beside, top, small_side, small_side), report, num_nonmembers=num_nonmembers)
    text = f"{explain_roc(num_nonmembers)} Above: the same on linear axes."
    put_text(sheet, text, CAPTION, beside - 22, top + small_side + 42, small_side + 32)
    document.y = top + side + 30
    region = allowed_region(report)
    if region is not None:
        document.paragraph(explain_outside(report, region, num_nonmembers), CAPTION)
    document.heading("True positive rates at low false positive rates")
    table = rates_table(report, num_nonmembers)
    document.table(table.columns, table.rows)


def set_scores(document: Document, histogram: ScoreHistogram) -> None:
    height = 138.0
    document.heading("Scores of members and non-members", keep=height + 66)
    width, top = (TEXT_WIDTH - 100) / 2, document.y + 14
    for index in range(2):
        axes = put_axes(document.sheet, MARGIN + 44 + index * (width + 56), top, width, height)
        draw_scores(axes, histogram, logarithmic=index == 1)
    document.y = top + height + 30
    text = explain_scores(histogram.num_members, histogram.num_nonmembers, histogram.folded)
    document.paragraph(text, CAPTION)


def set_bounds(document: Document, report: Report) -> None:
    document.heading("Every bound that was computed")
    table = bounds_table(report.bounds, report.paper_style_epsilon)
    document.table(table.columns, table.rows, after=3)
    document.paragraph(f"{explain_headline(report.epsilon)} {RATIO_NOTE}", CAPTION)
    if report.protocols:
        document.heading("Published protocols, run as published")
        table = protocols_table(report)
        document.table(table.columns, table.rows)
