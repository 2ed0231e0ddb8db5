"""Several audits side by side: an overview, then a page for each."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from reports.figures.audits import draw_roc_linear, draw_roc_logarithmic
from reports.figures.series import MOST_CURVES, curves_of
from reports.figures.style import CAPTION, CELL, FOOT, GREY, MARGIN, PAGE_HEIGHT, SERIES, SUBTITLE, TEXT_WIDTH, TITLE
from reports.layout import Document, put_axes, put_line, put_text, shorten
from reports.material import Material
from reports.page_outlook import set_epsilon_rows
from reports.page_summary import set_epsilon, set_game_and_numbers, set_verdict
from reports.records.protocols import AnyReport
from reports.records.schema import Roc
from reports.words.epsilon_rows import rows_of_reports
from reports.words.rounding import percent
from reports.words.tables import comparison_table
from reports.words.wording import BARS_NOTE, explain_comparison, explain_roc, seen_by

_ROWS_PER_FIGURE = 25


def set_overview(document: Document, reports: Sequence[AnyReport]) -> None:
    """What was found in each, ε on one scale, the curves in one figure."""
    document.turn_page()
    put_line(document.sheet, "PRIVACY AUDITS OF CONDENSED DATA SETS", CAPTION, MARGIN, document.y)
    document.space(CAPTION.leading + 2)
    put_line(document.sheet, f"{len(reports)} audits compared", TITLE, MARGIN, document.y)
    document.space(TITLE.leading + 4)
    document.paragraph(explain_comparison(reports))
    document.heading("Verdicts and figures")
    table = comparison_table(reports)
    document.table(table.columns, table.rows)
    rows = rows_of_reports(reports)
    document.heading("Certified ε against what is claimed", keep=min(19.0 * len(rows), 400) + 60)
    for start in range(0, len(rows), _ROWS_PER_FIGURE):
        set_epsilon_rows(document, rows[start : start + _ROWS_PER_FIGURE])
    document.paragraph(BARS_NOTE, CAPTION)
    _set_curves(document, reports)


def _set_curves(document: Document, reports: Sequence[AnyReport]) -> None:
    side = 236.0
    drawn = curves_of(reports)
    if not drawn:
        return
    document.heading("Receiver operating characteristics", keep=side + 40)
    top = document.y + 6
    axes = put_axes(document.sheet, MARGIN + 44, top, side, side)
    draw_curves(axes, drawn)
    text = "Numbers are those of the table. " + (
        f"Drawn are the {MOST_CURVES} curves with the largest area, of {len(reports)}."
        if len(drawn) == MOST_CURVES < len(reports)
        else ""
    )
    put_text(document.sheet, text, CAPTION, MARGIN + side + 64, top, TEXT_WIDTH - side - 64)
    document.y = top + side + 36


def draw_curves(axes: Axes, numbered: Sequence[tuple[int, AnyReport, Roc]]) -> None:
    """Curves of several audits on logarithmic axes, each with colour, dashes and marker of its own."""
    lowest = 1e-4
    axes.set(xscale="log", yscale="log", xlim=(lowest, 1), ylim=(lowest, 1))
    axes.plot([lowest, 1], [lowest, 1], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label="chance")
    for (number, report, roc), series in zip(numbered, SERIES, strict=False):
        rates = np.asarray(roc.curve["false_positive_rate"])
        keep = rates > 0
        axes.plot(
            rates[keep],
            np.asarray(roc.curve["true_positive_rate"])[keep],
            color=series.colour,
            linestyle=(0, series.dashes) if series.dashes else "-",
            marker=series.marker,
            markevery=(4 * (number % 5), 20),
            markersize=4.5,
            linewidth=1.4,
            label=shorten(f"{number}  {report.method}, {report.level}", CELL, 130),
        )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: percent(float(f"{value:.3g}"))))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True)
    axes.set_axisbelow(True)
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    for text in axes.legend(loc="lower right", frameon=True, facecolor="white", edgecolor="none").get_texts():
        text.set_parse_math(False)


def set_compact(document: Document, material: Material, number: int) -> None:
    """One audit on one page: verdict, ε, what was audited, the curve."""
    report = material.report
    document.turn_page()
    put_line(document.sheet, f"AUDIT {number}", CAPTION, MARGIN, document.y)
    document.space(CAPTION.leading + 2)
    document.paragraph(f"{report.method} on {report.dataset}", TITLE)
    seen = f"Attack {report.attack}, level “{report.level}”: the adversary sees {seen_by(report.level)}."
    document.paragraph(seen, SUBTITLE, after=8)
    set_verdict(document, report.verdict, report.verdict_reason)
    set_epsilon(document, report.epsilon, report.claimed)
    set_game_and_numbers(document, report)
    num_nonmembers, small_side = material.histogram.num_nonmembers, 100.0
    left = PAGE_HEIGHT - FOOT - document.y - 72  # below the heading, above the names of the axis
    side = min(left, 216.0) if left > 140 else 216.0
    document.heading("Receiver operating characteristic on the test runs", keep=side + 36)
    top = document.y + 6
    axes = put_axes(document.sheet, MARGIN + 44, top, side, side)
    draw_roc_logarithmic(axes, report, num_nonmembers=num_nonmembers)
    axes.minorticks_off()  # a third of the time of a page
    beside = MARGIN + TEXT_WIDTH - small_side - 10
    draw_roc_linear(
        put_axes(document.sheet, beside, top, small_side, small_side), report, num_nonmembers=num_nonmembers
    )
    text = explain_roc(num_nonmembers).replace(" Dots: the rates of the table below.", " Dots: the key rates.")
    text += f" The report of {report.run_directory} has the other pages and the command to repeat it."
    put_text(document.sheet, text, CAPTION, beside - 60, top + small_side + 36, small_side + 70)
    document.y = top + side + 30
