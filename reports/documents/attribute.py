"""The report of `audit attribute`."""

from dataclasses import dataclass

from reports.documents import sections
from reports.documents.blocks import Block, Columns, Definitions, Document, Heading, Prose
from reports.records.attribute import AttributeReport
from reports.words import attribute as words
from reports.words.bounds import explain_bound, repeat_entries
from reports.words.intervals import noted
from reports.words.rounding import measured


@dataclass(frozen=True, kw_only=True)
class AttributeMaterial:
    """An audit of attributes; its pages show no pictures."""

    report: AttributeReport


def build_attribute(material: AttributeMaterial) -> Document:
    """The whole report."""
    report = material.report
    return Document(
        **sections.framed(report),
        blocks=findings(report) + rest(report),
        source=f"{sections.SOURCE}, and scores.parquet.",
    )


def findings(report: AttributeReport) -> tuple[Block, ...]:
    """What was found, on one page."""
    explained = explain_bound(report.epsilon, num_drawn=words.num_coins(report))
    return (
        *sections.opening(report, words.SEEN, explained, control=report.game.membership_shuffled),
        Prose(text=words.explain_finding(report), kind="strong"),
        Heading(text=words.ERRORS_TITLE),
        words.errors_table(report),
        Prose(text=f"{words.ERRORS_NOTE} {noted(report.interval_unit)}", kind="note"),
        Columns(
            left=(Heading(text="What was audited"), Definitions(entries=words.game_entries(report))),
            right=(
                Heading(text="The gain as a score of membership"),
                Definitions(entries=(("AUC", " ".join(measured(report.roc.auc, report.roc.auc_interval))),)),
                Prose(text=words.ROC_NOTE, kind="note"),
            ),
        ),
    )


def rest(report: AttributeReport) -> tuple[Block, ...]:
    """The curve, bounds, adversary, limits, how to repeat it."""
    repeated = repeat_entries(
        report.digest,
        report.versions,
        Run_directory=report.run_directory,
        Public_randomness=f"{report.game.public_randomness}; seed {report.game.seed}",
    )
    of = f"the gain of a record on {report.method}"
    return (
        Heading(text="Receiver operating characteristic of the gain"),
        sections.curve(report, words.num_nonmembers(report), name="roc", of=of),
        Prose(text=words.explain_curve(report), kind="note"),
        *sections.against_claim(report, "Measured ε of every estimator"),
        *sections.all_bounds(report.bounds, report.epsilon),
        *sections.threat(report),
        *sections.limits(words.LIMITS),
        *sections.repeat(report.command, repeated, report.config),
    )
