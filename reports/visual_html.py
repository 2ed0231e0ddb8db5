"""The sections of `audit visual` on the page, in the words and figures of its PDF."""

from reports.html_sections import definitions, found, heading, levels_table, paragraph, picture, repeat, table
from reports.records.allowed import allowed_region, explain_outside
from reports.records.visual import Column, VisualReport
from reports.svg import escape, tag
from reports.svg_bars import epsilon_figure
from reports.svg_roc import roc_figure
from reports.visual_pages import Pictures
from reports.words.epsilon_rows import rows_of_bounds
from reports.words.tables import bounds_table
from reports.words.visual import (
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
from reports.words.wording import BARS_NOTE, explain_bound, explain_claim, explain_headline, sentence, threat_entries


def visual_sections(report: VisualReport, pictures: Pictures, identity: str) -> str:
    """One audit by looking, verdict first."""
    left_out = [(f"{left.name}: not computed", sentence(left.why)) for left in report.not_computed]
    parts = [
        found(report, SEEN, explain_bound(report.epsilon), control=report.game.membership_shuffled),
        heading(tests_title(report)),
        paragraph(explain_tests(report)),
        table(tests_table(report)),
        definitions([*((each.name, sentence(each.description)) for each in report.distances), *left_out]),
        paragraph(explain_displaced(report), "note") if explain_displaced(report) else "",
        heading("Analytic against empirical ε"),
        epsilon_figure(rows_of_bounds(report), "Measured ε of every distance"),
        paragraph(f"Claimed: {explain_claim(report)}" if report.claimed else explain_claim(report)),
        paragraph(BARS_NOTE, "note"),
        _roc(report, identity),
        _panel(report, pictures),
        heading("Threat model and assumptions"),
        definitions(threat_entries(report)),
        levels_table(report.level),
        heading("Every bound that was computed"),
        table(bounds_table(report.bounds, report.paper_style_epsilon)),
        paragraph(explain_headline(report.epsilon), "note"),
        repeat(report.command, repeat_entries(report), report.config),
        heading("What this audit cannot tell"),
        definitions(LIMITS),
    ]
    return "".join(parts)


def _roc(report: VisualReport, identity: str) -> str:
    region, others = allowed_region(report), num_non_members(report)
    parts = [heading(roc_title(report)), roc_figure(report, others, f"roc-{escape(identity)}")]
    parts.append(paragraph(roc_note(report), "note"))
    if region is not None:
        parts.append(paragraph(explain_outside(report, region, others), "note"))
    return "".join(parts)


def _panel(report: VisualReport, pictures: Pictures) -> str:
    """A column of pictures for each synthetic image; what may not be shown stands as its number."""
    if pictures.records:
        note = paragraph(REAL, "alarm")
    else:
        note = paragraph(" ".join(part for part in (pictures.note, HIDDEN) if part))
    columns = "".join(_column(report, pictures, place, column) for place, column in enumerate(report.panel))
    panel = tag("div", columns, class_="panel")
    return heading(PANEL_TITLE) + note + tag("div", panel, class_="scroll") + paragraph(panel_note(report), "note")


def _column(report: VisualReport, pictures: Pictures, place: int, column: Column) -> str:
    caption = f"synthetic, {column.label}"
    shown = None if pictures.synthetic is None else picture(pictures.synthetic[place], caption)
    cells = [_cell(caption, shown, "not shown", "made")]
    for finding in report.distances:
        cells.append(tag("p", escape(finding.name), class_="by"))
        for match in column.matches.get(finding.name, ()):
            kind = "in" if match.member else "out"
            caption = f"{match.distance:.3g} {kind}"
            pixels = pictures.records.get(match.record)
            name = f"record {match.record}"
            shown = None if pixels is None else picture(pixels, f"{name}, {caption}")
            cells.append(_cell(caption, shown, f"no. {match.record}", kind))
    return tag("div", "".join(cells))


def _cell(caption: str, shown: str | None, instead: str, kind: str) -> str:
    content = tag("span", escape(instead)) if shown is None else shown
    return tag("figure", tag("figcaption", escape(caption)) + content, class_=f"cell {kind}")
