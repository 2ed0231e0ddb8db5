"""The sections of `audit worst-case` on the page, in the words and figures of its PDF."""

from reports.html_sections import definitions, found, heading, levels_table, paragraph, repeat, table
from reports.records.worst_case import WorstCaseReport
from reports.svg import escape, tag
from reports.svg_bars import epsilon_figure
from reports.svg_roc import roc_figure
from reports.words.epsilon_rows import rows_of_bounds
from reports.words.tables import bounds_table
from reports.words.wording import explain_bound, explain_headline, threat_entries
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
    trials_table,
)


def worst_case_sections(report: WorstCaseReport, identity: str) -> str:
    """One audit at the door, verdict first."""
    parts = [
        found(report, SEEN, f"By the {report.epsilon.estimator} bound. {explain_bound(report.epsilon)}"),
        heading("Analytic against empirical ε"),
        epsilon_figure(rows_of_bounds(report), "Measured ε of every estimator"),
        paragraph(BARS_NOTE, "note"),
        heading("What was audited"),
        definitions(audited_entries(report)),
        _region(report, identity),
        heading("Every attempt, held against the whole curve"),
        table(attempts_table(report)),
        paragraph(explain_attempts(report), "note"),
        tag("details", tag("summary", "What the canaries and scores are") + definitions(attempt_entries(report))),
        heading("Threat model and assumptions"),
        definitions(threat_entries(report)),
        levels_table(report.level),
        heading("What touched the records"),
        table(ledger_table(report)),
        heading("Every bound that was computed"),
        table(bounds_table(report.bounds)),
        paragraph(explain_headline(report.epsilon, resting="headline"), "note"),
        _outlook(report),
        repeat(report.command, repeat_entries(report), report.config),
        heading("What this audit cannot tell"),
        definitions(limit_entries(report)),
    ]
    return "".join(parts)


def _region(report: WorstCaseReport, identity: str) -> str:
    title, curve = heading("What the guarantee allows, and what was reached"), curve_of(report)
    if curve is None:
        return title + paragraph(NO_CURVE)
    figure = roc_figure(curve, num_nonmembers(report), f"roc-{escape(identity)}", marks_of(report))
    return title + figure + paragraph(explain_curve(report), "note")


def _outlook(report: WorstCaseReport) -> str:
    if not report.outlook:
        return ""
    title = heading("Ceilings, and what more trials would buy")
    return title + table(trials_table(report)) + paragraph(explain_trials(report), "note")
