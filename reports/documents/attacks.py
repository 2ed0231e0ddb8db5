"""The report of `audit compare`."""

from reports.documents.blocks import Code, Curves, Definitions, Details, Document, Heading, Prose
from reports.figures.curves import MOST_CURVES, curves_plot, curves_scales
from reports.figures.roc import SCALES
from reports.records.attacks import CompareReport
from reports.words import attacks as words
from reports.words.bounds import REPEAT_NOTE, SYMBOLS_NOTE, repeat_entries, settings_table
from reports.words.comparison import describe_rates


def build_attacks(report: CompareReport) -> Document:
    """The curves, a row for each attack, how to repeat it."""
    best = sorted(report.entries, key=lambda entry: -entry.roc.auc)[:MOST_CURVES]
    curves = [(words.name_attack(entry), entry.roc) for entry in best]
    left_out = len(report.entries) - len(best)
    return Document(
        over="Privacy audits of a condensed data set",
        title=f"Attacks compared: {report.method} on {report.dataset}",
        line=f"Attacks compared, {report.method}, {report.dataset}",
        subject=f"{len(report.entries)} attacks; digest {report.digest}",
        reference=report.digest[:16],
        blocks=(
            Prose(text=words.explain_attacks(report), kind="lead"),
            Prose(text=SYMBOLS_NOTE, kind="note"),
            Heading(text="Receiver operating characteristics on the test runs"),
            Curves(
                name="roc",
                plot=curves_plot(curves, scales=SCALES),
                scales=curves_scales(curves),
                points=describe_rates(curves),
            ),
            *((Prose(text=f"{left_out} attacks with a smaller AUC are not drawn.", kind="note"),) if left_out else ()),
            Heading(text="All attacks"),
            words.attacks_table(report),
            Prose(text=words.explain_intervals_of(report), kind="note"),
            Prose(text=f"Scope: {report.scope}.", kind="note"),
            Heading(text="How to repeat this"),
            Prose(text=REPEAT_NOTE),
            Code(text=report.command),
            Definitions(entries=repeat_entries(report.digest, report.versions, Run_directory=report.run_directory)),
            Details(summary="Configuration", blocks=(settings_table(words.shared_settings(report)),)),
        ),
        source="Drawn from report.json, which holds all figures at full precision.",
    )
