"""The kinds of audit, told apart in one place: which page, which section and which files each has."""

from dataclasses import dataclass

from reports.figures.style import CAPTION, MARGIN
from reports.html_sections import audit_sections
from reports.layout import Document, put_line
from reports.material import Material
from reports.page_comparison import set_compact
from reports.records.reading import parse_object, read_record
from reports.records.schema import Report, load
from reports.records.visual import NEAREST_SCHEMA, VISUAL_SCHEMA, VisualReport
from reports.records.worst_case import ATTACK, WorstCaseReport, load_worst_case
from reports.visual_html import visual_sections
from reports.visual_pages import Pictures, set_findings
from reports.words.wording import title_of
from reports.words.worst_case import title as worst_case_title
from reports.worst_case_html import worst_case_sections
from reports.worst_case_pages import set_compact as set_worst_case


@dataclass(frozen=True, kw_only=True)
class VisualMaterial:
    """An audit by looking, and the pictures that may be shown."""

    report: VisualReport
    pictures: Pictures


@dataclass(frozen=True, kw_only=True)
class WorstCaseMaterial:
    """An audit at the door: its record is all there is."""

    report: WorstCaseReport


KnownReport = Report | VisualReport | WorstCaseReport
KnownMaterial = Material | VisualMaterial | WorstCaseMaterial


def load_any(text: str) -> KnownReport:
    """Read any `report.json`; raises ValueError with one line when it is none that this version writes."""
    raw = parse_object(text)
    if raw.get("schema") == VISUAL_SCHEMA:
        return read_record(VisualReport, raw)
    if raw.get("schema") == NEAREST_SCHEMA:
        raise ValueError("a run of `audit visual` without coins has one page only; run its command again to redraw it")
    return load_worst_case(text) if raw.get("attack") == ATTACK else load(text)


def name_of(report: KnownReport) -> str:
    """What a page about it is headed with."""
    return worst_case_title(report) if isinstance(report, WorstCaseReport) else f"{report.method} on {report.dataset}"


def line_of(report: KnownReport) -> str:
    """What a list of audits calls it."""
    return (
        f"{worst_case_title(report)}, level {report.level}" if isinstance(report, WorstCaseReport) else title_of(report)
    )


def sections_of(material: KnownMaterial, identity: str) -> str:
    """All of one audit for the screen."""
    match material:
        case VisualMaterial():
            return visual_sections(material.report, material.pictures, identity)
        case WorstCaseMaterial():
            return worst_case_sections(material.report, identity)
        case _:
            return audit_sections(material, identity)


def set_page(document: Document, material: KnownMaterial, number: int) -> None:
    """One audit on a page of a comparison."""
    if isinstance(material, Material):
        set_compact(document, material, number)
        return
    document.turn_page()
    put_line(document.sheet, f"AUDIT {number}", CAPTION, MARGIN, document.y)
    document.space(CAPTION.leading + 2)
    if isinstance(material, VisualMaterial):
        set_findings(document, material.report)
    else:
        set_worst_case(document, material.report)
