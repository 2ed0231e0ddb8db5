"""The pages of `audit worst-case`: verdict, analytic against empirical ε, region and attempts, how to repeat."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from matplotlib.axes import Axes
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from reports.figures.audits import draw_roc_linear, draw_roc_logarithmic
from reports.figures.labels import place_labels
from reports.figures.style import (
    BODY,
    CAPTION,
    EPSILON,
    INK,
    MARGIN,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    POINTS_PER_INCH,
    SMALL_CODE,
    SUBTITLE,
    TEXT_WIDTH,
    TITLE,
    VERMILLION,
    house_style,
)
from reports.files import write_atomically
from reports.layout import Column, Document, put_axes, put_line, put_text, text_width, wrap
from reports.page_closing import flatten, set_code
from reports.page_outlook import set_epsilon_rows
from reports.page_summary import set_verdict
from reports.pdf import write_png
from reports.records.protocols import Corner
from reports.records.worst_case import WorstCaseReport
from reports.words.epsilon_rows import rows_of_bounds
from reports.words.tables import Table, bounds_table
from reports.words.wording import explain_bound, explain_headline, headline, threat_entries
from reports.words.worst_case import (
    BARS_NOTE,
    NO_CURVE,
    SEEN,
    attempt_entries,
    attempts_table,
    audited_entries,
    curve_of,
    explain_attempts,
    explain_curve,
    explain_trials,
    ledger_table,
    limit_entries,
    marks_of,
    num_nonmembers,
    repeat_entries,
    title,
    trials_table,
)


def write_worst_case_pdf(report: WorstCaseReport, path: Path) -> None:
    """Write the PDF to `path` and `figures/tradeoff.png` beside it; equal records give equal bytes."""
    with house_style():
        document = draw(report)
        write_atomically(path, lambda stream: _save(stream, document, report))
        curve = curve_of(report)
        if curve is not None:
            figure = Figure(figsize=(4.8, 4.6))
            axes = figure.add_axes((0.14, 0.11, 0.82, 0.86))
            draw_roc_linear(axes, curve, num_nonmembers=num_nonmembers(report))
            mark_corners(axes, marks_of(report))
            axes.legend(loc="lower right", frameon=True, facecolor="white", edgecolor="none", framealpha=0.9)
            write_png(figure, path.parent / "figures" / "tradeoff.png")


def draw(report: WorstCaseReport) -> Document:
    """All sheets, numbered."""
    document = Document()
    document.turn_page()
    put_line(document.sheet, "PRIVACY AUDIT OF A CONDENSED DATA SET", CAPTION, MARGIN, document.y)
    document.space(CAPTION.leading + 2)
    set_findings(document, report)
    _set_audited(document, report)
    document.turn_page()
    _set_region(document, report, side=196.0)
    _set_attempts(document, report)
    document.definitions(attempt_entries(report), after=1.5)
    document.heading("Threat model and assumptions", keep=40)
    document.definitions(threat_entries(report))
    _set_bounds(document, report)
    _set_repeat(document, report)
    document.number_pages(f"{title(report)}, level transcript", report.digest[:16])
    return document


def set_compact(document: Document, report: WorstCaseReport) -> None:
    """One audit on one page of a comparison, without the notes."""
    set_findings(document, report, noted=False)
    _set_region(document, report, side=150.0, noted=False)
    _set_attempts(document, report, noted=False)


def set_findings(document: Document, report: WorstCaseReport, *, noted: bool = True) -> None:
    """Verdict first, then ε of every estimator against the analytic one."""
    for line in wrap(title(report), TITLE, TEXT_WIDTH)[:2]:
        put_line(document.sheet, line, TITLE, MARGIN, document.y)
        document.space(TITLE.leading)
    document.paragraph(SEEN, SUBTITLE, after=8)
    set_verdict(document, report.verdict, report.verdict_reason)
    _set_headline(document, report)
    document.heading("Analytic against empirical ε", keep=120)
    set_epsilon_rows(document, rows_of_bounds(report))
    if noted:
        document.paragraph(BARS_NOTE, CAPTION)


def _set_headline(document: Document, report: WorstCaseReport) -> None:
    figure, text = headline(report.epsilon, report.claimed), explain_bound(report.epsilon)
    text = f"By the {report.epsilon.estimator} bound. {text}"
    width = text_width(figure, EPSILON) + 18
    height = max(EPSILON.leading, len(wrap(text, BODY, TEXT_WIDTH - width)) * BODY.leading)
    document.room(height)
    put_line(document.sheet, figure, EPSILON, MARGIN, document.y + (height - EPSILON.leading) / 2)
    put_text(document.sheet, text, BODY, MARGIN + width, document.y, TEXT_WIDTH - width)
    document.space(height + 4)


def _set_audited(document: Document, report: WorstCaseReport) -> None:
    document.heading("What was audited")
    document.definitions(audited_entries(report))
    document.heading("What touched the records", keep=60)
    _set_table(document, ledger_table(report))


def _set_region(document: Document, report: WorstCaseReport, *, side: float, noted: bool = True) -> None:
    curve = curve_of(report)
    document.heading("What the guarantee allows, and what was reached", keep=40 if curve is None else side + 100)
    if curve is None:
        document.paragraph(NO_CURVE)
        return
    top, gap = document.y + 6, 56.0
    for place, draw_roc in enumerate((draw_roc_linear, draw_roc_logarithmic)):
        axes = put_axes(document.sheet, MARGIN + 40 + place * (side + gap), top, side, side)
        draw_roc(axes, curve, num_nonmembers=num_nonmembers(report))
        axes.minorticks_off()
        mark_corners(axes, marks_of(report))
        own = axes.get_legend()
        if own is not None:
            own.remove()
    draw_legend(document.sheet, axes, MARGIN, top + side + 28)
    document.y = top + side + 58
    if noted:
        document.paragraph(explain_curve(report), CAPTION)


def draw_legend(sheet: Figure, axes: Axes, x: float, y: float) -> None:
    """What is in the figure, below it in rows."""
    handles, labels = axes.get_legend_handles_labels()
    sheet.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(x / PAGE_WIDTH, 1 - y / PAGE_HEIGHT),
        ncols=4,
        borderaxespad=0,
        columnspacing=1.4,
    )


def mark_corners(axes: Axes, marks: Sequence[tuple[str, Corner]]) -> None:
    """A mark for each place: filled squares refute, open diamonds do not; with their numbers of the table."""
    low_x, low_y = axes.get_xlim()[0], axes.get_ylim()[0]
    places = [(max(c.false_positive_rate, low_x), max(c.true_positive_rate, low_y)) for _, c in marks]
    for outside, shape, fill, label in (
        (True, "s", VERMILLION, "attempt that refutes"),
        (False, "D", "white", "attempt"),
    ):
        chosen = [place for place, (_, corner) in zip(places, marks, strict=True) if corner.outside is outside]
        if chosen:
            axes.plot(
                *zip(*chosen, strict=True),
                linestyle="none",
                marker=shape,
                markersize=5,
                markerfacecolor=fill,
                markeredgecolor=INK,
                markeredgewidth=1.0,
                label=label,
                zorder=7,
                clip_on=False,
            )
    scale = POINTS_PER_INCH / axes.figure.dpi
    on_paper = [tuple(scale * axes.transData.transform(place)) for place in places]
    offsets = place_labels(on_paper, [name for name, _ in marks], size=7)
    for place, offset, (name, _) in zip(places, offsets, marks, strict=True):
        axes.annotate(
            name,
            place,
            xytext=offset,
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=7,
            fontweight="bold",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.75},
            zorder=8,
        )


def _set_attempts(document: Document, report: WorstCaseReport, *, noted: bool = True) -> None:
    document.heading("Every attempt, held against the whole curve", keep=100)
    _set_table(document, attempts_table(report))
    if noted:
        document.paragraph(explain_attempts(report), CAPTION)


def _set_bounds(document: Document, report: WorstCaseReport) -> None:
    document.heading("Every bound that was computed")
    _set_table(document, bounds_table(report.bounds))
    document.paragraph(explain_headline(report.epsilon, resting="headline"), CAPTION)
    if report.outlook:
        document.heading("Ceilings, and what more trials would buy", keep=110)
        _set_table(document, trials_table(report))
        document.paragraph(explain_trials(report), CAPTION)


def _set_repeat(document: Document, report: WorstCaseReport) -> None:
    document.heading("How to repeat this audit", keep=110)
    document.paragraph("The same command, version and seed give the same report:")
    set_code(document, report.command)
    document.definitions(repeat_entries(report))
    document.heading("Configuration")
    entries = list(flatten(report.config))
    half = -(-len(entries) // 2)
    right = entries[half:] + [("", "")] * (2 * half - len(entries))
    faces = [Column(title=name, share=0.25, face=SMALL_CODE) for name in ("setting", "value") * 2]
    document.table(faces, [[*a, *b] for a, b in zip(entries[:half], right, strict=True)], dense=True)
    document.heading("What this audit cannot tell", keep=100)
    document.definitions(limit_entries(report))
    document.paragraph("Drawn from report.json, which holds every figure of these pages in full.", CAPTION)


def _set_table(document: Document, table: Table) -> None:
    document.table(table.columns, table.rows, after=4)


def _save(stream: IO[bytes], document: Document, report: WorstCaseReport) -> None:
    metadata = {
        "Title": f"Privacy audit: {title(report)}",
        "Subject": f"{report.verdict}; attack {report.attack} at level {report.level}; digest {report.digest}",
        "Creator": "condensation-audit",
        "CreationDate": None,
    }
    with PdfPages(stream, metadata=metadata) as pages:
        for sheet in document.sheets:
            pages.savefig(sheet)
