"""Beside the evidence: the ladder of adversaries, groups of records, what more runs would buy, visual matches."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reports.figures.audits import draw_epsilon_rows
from reports.figures.mosaic import Mosaic, draw_mosaic
from reports.figures.style import CAPTION, CELL, STRONG, TEXT_WIDTH, VERMILLION
from reports.layout import Document, shorten
from reports.records.gallery import Panel
from reports.records.schema import Ladder, Report
from reports.words.epsilon_rows import EpsilonRow, rows_of_ladder
from reports.words.tables import groups_of, groups_table, ladder_table, outlook_table
from reports.words.wording import BARS_NOTE, GROUPS_NOTE, LADDER_NOTE, REAL_NOTE, explain_outlook

_ROW = 19.0
_LABEL = 150.0
_FIGURES = 92.0
_PANEL_IMAGE = 44.0


def set_ladder(document: Document, ladder: Ladder) -> None:
    """Model, set and transcript: a bar each, and the table."""
    document.heading("The ladder of adversaries", keep=60 + _ROW * len(ladder.rows))
    set_epsilon_rows(document, rows_of_ladder(ladder))
    table = ladder_table(ladder)
    document.table(table.columns, table.rows, after=3)
    document.paragraph(f"{BARS_NOTE} {LADDER_NOTE}", CAPTION)


def set_epsilon_rows(document: Document, rows: Sequence[EpsilonRow]) -> None:
    axes = document.axes(_ROW * len(rows), left=_LABEL, right=_FIGURES, top=12, bottom=32)
    draw_epsilon_rows(axes, rows, [shorten(row.label, CELL, _LABEL - 8) for row in rows])


def set_groups(document: Document, report: Report) -> None:
    groups = groups_of(report)
    if not groups:
        return
    document.heading("Ordinary records and canaries")
    table = groups_table(groups)
    document.table(table.columns, table.rows, after=3)
    document.paragraph(GROUPS_NOTE, CAPTION)


def set_outlook(document: Document, report: Report) -> None:
    if not report.outlook:
        return
    document.heading("What more runs would buy", keep=130)
    table = outlook_table(report.outlook)
    document.table(table.columns, table.rows, after=3)
    document.paragraph(explain_outlook(report), CAPTION)


def set_matches(document: Document, panels: Sequence[Panel]) -> None:
    """A row per panel, a caption under each of its images."""
    if not panels:
        return
    document.heading("Visual matches", keep=100)
    document.paragraph(REAL_NOTE, replace(STRONG, colour=VERMILLION))
    for panel in panels:
        number = len(panel.images)
        size = min(_PANEL_IMAGE * 2, (TEXT_WIDTH - 40) / number)
        height = size * panel.images.shape[1] / panel.images.shape[2]
        axes = document.axes(height, left=40, right=TEXT_WIDTH - 40 - size * number, top=2, bottom=16)
        draw_mosaic(axes, panel.images, Mosaic(cells=np.arange(number)[None], labels=panel.captions), naming="")
