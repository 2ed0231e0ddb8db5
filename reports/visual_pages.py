"""The pages of `audit visual`: what was found, the panel of nearest records, how to repeat it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from matplotlib.axes import Axes
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from reports.figures.audits import draw_roc_logarithmic
from reports.figures.style import (
    BLUE,
    BODY,
    CAPTION,
    GREY,
    INK,
    MARGIN,
    PALE,
    SMALL_CODE,
    STRONG,
    SUBTITLE,
    TEXT_WIDTH,
    TITLE,
    VERMILLION,
    house_style,
)
from reports.files import write_atomically
from reports.layout import Column, Document, put_axes, put_line, put_text, wrap
from reports.page_closing import flatten, set_code
from reports.page_summary import set_epsilon, set_verdict
from reports.pdf import write_png
from reports.records.gallery import Pixels
from reports.records.visual import NearestReport, VisualReport
from reports.words.visual import (
    CONTROL,
    HIDDEN,
    LIMITS,
    PANEL_TITLE,
    REAL,
    SEEN,
    explain_displaced,
    explain_tests,
    num_non_members,
    panel_note,
    repeat_entries,
    roc_note,
    roc_title,
    tests_table,
    tests_title,
)
from reports.words.wording import sentence

_CAPTION_HEIGHT = 0.36
_NAMES_WIDTH = 1.2
_RANKS = 3
_WHETHER = {True: " in", False: " out", None: ""}


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Pixels of the panel: its synthetic images in order and records by number, as far as they may be shown."""

    synthetic: Pixels | None = None
    records: Mapping[int, Pixels] = field(default_factory=dict)
    note: str = ""


def write_visual_pdf(report: VisualReport, pictures: Pictures, path: Path) -> None:
    """Write the PDF to `path` and `figures/panel.png`, `figures/roc.png` beside it; equal inputs give equal bytes."""
    with house_style():
        document = draw(report, pictures)
        write_atomically(path, lambda stream: _save(stream, document, report))
        figure = Figure(figsize=(4.6, 4.4))
        axes = figure.add_axes((0.14, 0.11, 0.82, 0.86))
        draw_roc_logarithmic(axes, report, num_nonmembers=num_non_members(report))
        write_png(figure, path.parent / "figures" / "roc.png")
        write_panel(report, pictures, path.parent)


def write_panel(report: VisualReport | NearestReport, pictures: Pictures, directory: Path) -> None:
    """Write `figures/panel.png`."""
    width, height = panel_size(report, pictures)
    figure = Figure(figsize=(width * 0.8, height * 0.8))
    draw_panel(figure.add_axes((0, 0, 1, 1)), report, pictures)
    write_png(figure, directory / "figures" / "panel.png")


def draw(report: VisualReport, pictures: Pictures) -> Document:
    """All sheets, numbered."""
    document = Document()
    document.turn_page()
    put_line(document.sheet, "PRIVACY AUDIT OF A CONDENSED DATA SET", CAPTION, MARGIN, document.y)
    document.space(CAPTION.leading + 2)
    set_findings(document, report)
    set_panel(document, report, pictures)
    _set_closing(document, report)
    document.number_pages(f"{report.method} on {report.dataset}, nearest records, level set", report.digest)
    return document


def set_findings(document: Document, report: VisualReport) -> None:
    """What was found, on one page."""
    _set_title(document, report)
    set_verdict(document, report.verdict, report.verdict_reason)
    set_epsilon(document, report.epsilon, report.claimed)
    _set_tests(document, report)
    _set_roc(document, report)


def draw_panel(axes: Axes, report: VisualReport | NearestReport, pictures: Pictures) -> None:
    """Figure 5 of Dong et al.: a synthetic image on top of its nearest records by each distance."""
    width, height = panel_size(report, pictures)
    aspect = _aspect(pictures)
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axes.axis("off")
    for place, column in enumerate(report.panel):
        left, top = _NAMES_WIDTH + place, 0.0
        shown = None if pictures.synthetic is None else pictures.synthetic[place]
        _draw_cell(axes, left, top, aspect, shown, f"synthetic, {column.label}", hidden="not shown")
        top += aspect + _CAPTION_HEIGHT
        for name, matches in column.matches.items():
            for rank, match in enumerate(matches):
                if place == 0:
                    axes.text(
                        _NAMES_WIDTH - 0.1,
                        top + _CAPTION_HEIGHT + aspect / 2,
                        f"{name}\n{rank + 1}",
                        ha="right",
                        va="center",
                    )
                _draw_cell(
                    axes,
                    left,
                    top,
                    aspect,
                    pictures.records.get(match.record),
                    f"{match.distance:.3g}{_WHETHER[match.member]}",
                    hidden=f"no. {match.record}",
                    member=match.member,
                )
                top += aspect + _CAPTION_HEIGHT
            top += (_RANKS - len(matches)) * (aspect + _CAPTION_HEIGHT)


def _draw_cell(
    axes: Axes,
    left: float,
    top: float,
    aspect: float,
    image: Pixels | None,
    caption: str,
    *,
    hidden: str,
    member: bool | None = None,
) -> None:
    """A picture with its caption above; members have a heavy solid frame, non-members a dashed one."""
    top += _CAPTION_HEIGHT
    right, bottom = left + 0.9, top + 0.9 * aspect
    axes.text((left + right) / 2, top - 0.06, caption, ha="center", va="bottom", fontsize=6)
    if image is None:
        axes.text((left + right) / 2, (top + bottom) / 2, hidden, ha="center", va="center", fontsize=5.5, color=GREY)
    else:
        shown = image.repeat(3, axis=2) if image.shape[2] == 1 else image
        axes.imshow(shown, extent=(left, right, bottom, top), interpolation="none", aspect="auto", zorder=1)
    colour, line, weight = {True: (VERMILLION, "-", 1.8), False: (BLUE, (0, (2, 2)), 0.9), None: (INK, "-", 0.6)}[
        member
    ]
    axes.add_patch(
        Rectangle(
            (left, top),
            right - left,
            bottom - top,
            facecolor=PALE if image is None else "none",
            edgecolor=colour,
            linestyle=line,
            linewidth=weight,
            zorder=0 if image is None else 2,
        )
    )


def panel_size(report: VisualReport | NearestReport, pictures: Pictures) -> tuple[float, float]:
    """In widths of a picture."""
    rows = 1 + _RANKS * len(report.distances)
    return _NAMES_WIDTH + 0.05 + len(report.panel), rows * (_aspect(pictures) + _CAPTION_HEIGHT) + 0.05


def _aspect(pictures: Pictures) -> float:
    """Height over width of a picture; squares where none is shown."""
    known = [*pictures.records.values(), *(() if pictures.synthetic is None else pictures.synthetic[:1])]
    return known[0].shape[0] / known[0].shape[1] if known else 0.5


def _set_title(document: Document, report: VisualReport) -> None:
    for line in wrap(f"{report.method} on {report.dataset}", TITLE, TEXT_WIDTH)[:2]:
        put_line(document.sheet, line, TITLE, MARGIN, document.y)
        document.space(TITLE.leading)
    document.paragraph(SEEN, SUBTITLE)
    if report.game.membership_shuffled:
        document.paragraph(CONTROL, STRONG)
    document.space(4)


def _set_tests(document: Document, report: VisualReport) -> None:
    document.heading(tests_title(report))
    document.paragraph(explain_tests(report))
    table = tests_table(report)
    document.table(table.columns, table.rows)
    document.definitions([(finding.name, sentence(finding.description)) for finding in report.distances])
    document.definitions([(f"{left.name}: not computed", sentence(left.why)) for left in report.not_computed])
    if explain_displaced(report):
        document.paragraph(explain_displaced(report), CAPTION)


def _set_roc(document: Document, report: VisualReport) -> None:
    document.heading(roc_title(report), keep=186)
    axes = put_axes(document.sheet, MARGIN + 40, document.y + 4, 170, 150)
    draw_roc_logarithmic(axes, report, num_nonmembers=num_non_members(report))
    put_text(document.sheet, roc_note(report), CAPTION, MARGIN + 240, document.y + 8, TEXT_WIDTH - 240)
    document.space(190)


def set_panel(document: Document, report: VisualReport | NearestReport, pictures: Pictures) -> None:
    width, height = panel_size(report, pictures)
    scale = min(TEXT_WIDTH / width, 620 / height)
    document.turn_page()
    document.heading(PANEL_TITLE, keep=height * scale)
    if pictures.records:
        document.paragraph(REAL, replace(STRONG, colour=VERMILLION))
    else:
        document.paragraph(" ".join(part for part in (pictures.note, HIDDEN) if part), BODY)
    axes = put_axes(document.sheet, MARGIN, document.y, width * scale, height * scale)
    draw_panel(axes, report, pictures)
    document.space(height * scale + 6)
    document.paragraph(panel_note(report), CAPTION)


def _set_closing(document: Document, report: VisualReport) -> None:
    document.turn_page()
    document.heading("How to repeat this audit")
    set_code(document, report.command)
    document.definitions(repeat_entries(report))
    document.heading("Threat model and assumptions")
    assumed = [*report.threat_model, *report.epsilon.assumptions]
    document.definitions([("" if place else "Assumed", sentence(text)) for place, text in enumerate(assumed)])
    document.heading("What this audit cannot tell", keep=90)
    document.definitions(LIMITS)
    document.heading("Configuration")
    entries = flatten(
        {name: value for name, value in report.config.items() if name not in ("versions", "weights", "left_out")}
    )
    document.table(
        [Column(title="setting", share=0.4, face=SMALL_CODE), Column(title="value", share=0.6, face=SMALL_CODE)],
        [list(entry) for entry in entries],
        dense=True,
    )


def _save(stream: IO[bytes], document: Document, report: VisualReport) -> None:
    metadata = {
        "Title": f"Privacy audit: nearest records of {report.method} on {report.dataset}",
        "Subject": f"{report.verdict}; {report.finding}; digest {report.digest}",
        "Creator": "condensation-audit",
        "CreationDate": None,
    }
    with PdfPages(stream, metadata=metadata) as pages:
        for sheet in document.sheets:
            pages.savefig(sheet)
