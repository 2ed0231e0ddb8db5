"""The report of `audit worst-case`, at whichever level."""

from dataclasses import dataclass

from reports.documents import sections
from reports.documents.blocks import Block, Definitions, Details, Document, Heading, Prose, Verdict
from reports.records.worst_case import WorstCaseReport
from reports.words import attempts
from reports.words import worst_case as words
from reports.words.bounds import explain_bound, repeat_entries


@dataclass(frozen=True, kw_only=True)
class WorstCaseMaterial:
    """The record is all there is to draw from."""

    report: WorstCaseReport


def build_worst_case(material: WorstCaseMaterial) -> Document:
    """The whole report."""
    report = material.report
    return Document(**sections.framed(report), blocks=findings(report) + rest(report), source=f"{sections.SOURCE}.")


def findings(report: WorstCaseReport) -> tuple[Block, ...]:
    """What was found: the verdict, contracts and noise, the region, the attempts; or why nothing was measured."""
    if not report.epsilon.num_trials:
        return (
            Prose(text=words.seen(report), kind="lead"),
            Verdict(verdict=report.verdict, reason=report.verdict_reason),
            *_contracts(report),
            *_audited(report),
        )
    explained = f"{words.explain_estimator(report)} {explain_bound(report.epsilon)}"
    return (
        *sections.opening(report, words.seen(report), explained),
        *sections.against_claim(
            report, "Measured ε of every estimator", more=words.BARS_NOTE if report.claimed is not None else ""
        ),
        *_contracts(report),
        *_audited(report),
        *_region(report),
        *_attempts(report),
    )


def _attempts(report: WorstCaseReport) -> tuple[Block, ...]:
    if not report.attempts:
        return ()
    return (
        Heading(text="All attempts, tested against the whole trade-off curve"),
        attempts.attempts_table(report),
        Prose(text=attempts.explain_attempts(report), kind="note"),
    )


def _contracts(report: WorstCaseReport) -> tuple[Block, ...]:
    if not report.contracts:
        return ()
    note = (Prose(text=words.LEDGER_NOTE, kind="note"),) if words.names_releases(report) else ()
    return Heading(text="Contracts and noise of the mechanism"), words.contracts_table(report), *note


def rest(report: WorstCaseReport) -> tuple[Block, ...]:
    """What ran, adversary, all bounds, how to repeat it."""
    repeated = repeat_entries(report.digest, report.versions, Run_directory=report.run_directory, Seed=str(report.seed))
    return (
        *_definitions(report),
        *((Heading(text="Mechanism ledger"), words.ledger_table(report)) if report.ledger else ()),
        *sections.threat(report),
        *(sections.all_bounds(report.bounds, report.epsilon, resting="headline") if report.epsilon.num_trials else ()),
        *_outlook(report),
        *sections.limits(words.limit_entries(report)),
        *sections.repeat(report.command, repeated, report.config),
    )


def _audited(report: WorstCaseReport) -> tuple[Block, ...]:
    return Heading(text="What was audited"), Definitions(entries=words.audited_entries(report))


def _definitions(report: WorstCaseReport) -> tuple[Block, ...]:
    entries = attempts.attempt_entries(report)
    if not entries:
        return ()
    return (Details(summary="What the canaries and scores are", blocks=(Definitions(entries=entries),)),)


def _region(report: WorstCaseReport) -> tuple[Block, ...]:
    held = words.curve_of(report)
    if held is None:
        return ()
    named = (
        "What the claim allows and what the attempts reach" if report.tradeoff is not None else "ROC of the best score"
    )
    title = Heading(text=named)
    likelihood = report.level == "transcript"
    of = f"the {'likelihood ratio of all releases' if likelihood else 'projection on the canary'} on {report.method}"
    drawn = sections.curve(held, words.num_nonmembers(report), name="tradeoff", of=of, marks=words.marks_of(report))
    return title, drawn, Prose(text=words.explain_curve(report), kind="note")


def _outlook(report: WorstCaseReport) -> tuple[Block, ...]:
    if not report.outlook:
        return ()
    title, note = "What more runs could certify", Prose(text=words.explain_trials(report), kind="note")
    return Heading(text=title), words.trials_table(report), note
