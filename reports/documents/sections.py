"""Sections that several kinds of audit have."""

from collections.abc import Mapping, Sequence
from typing import Any

from reports.documents.blocks import (
    Block,
    Code,
    Curves,
    Definitions,
    Details,
    Entry,
    Figure,
    Heading,
    KeyFigure,
    Prose,
    Verdict,
)
from reports.figures.epsilon import epsilon_plot
from reports.figures.roc import SCALES, Marks, roc_plot, roc_scales
from reports.records.kinds import AuditRecord, HasCurve, Measurement
from reports.records.schema import EpsilonBound
from reports.words.bounds import (
    CONTROL_NOTE,
    REPEAT_NOTE,
    SYMBOLS_NOTE,
    explain_headline,
    explain_levels,
    headline,
    line_of,
    repeat_entries,
    settings_table,
    threat_entries,
    title_of,
)
from reports.words.epsilon_rows import explain_bars, rows_of_bounds
from reports.words.roc import describe_points
from reports.words.tables import bounds_table

OVER = "Privacy audit of a condensed data set"
OVER_MODELS = "Privacy audit of trained models"
SOURCE = "Drawn from report.json, which holds all figures at full precision"
REST = "Full report of this audit"
LIMITS = "What this audit does not show"
LIMITS_OF_MEASUREMENT = "What this does not show"


def opening(
    report: AuditRecord, seen: str, explained: str, *, figure: str = "", control: bool = False
) -> tuple[Block, ...]:
    """Who attacks, the verdict, and the figure that was certified: that of the record, or another `figure`."""
    return (
        Prose(text=seen, kind="lead"),
        *((Prose(text=CONTROL_NOTE, kind="alarm"),) if control else ()),
        Verdict(verdict=report.verdict, reason=report.verdict_reason),
        KeyFigure(figure=figure or headline(report.epsilon, report.claimed), text=explained),
        Prose(text=SYMBOLS_NOTE, kind="note"),
    )


def against_claim(report: AuditRecord, what: str, claim: str = "", more: str = "") -> tuple[Block, ...]:
    """A bar per bound, with what is claimed; `more` is added to what is said below."""
    rows = rows_of_bounds(report)
    return (
        Heading(text="Certified ε" if report.claimed is None else "Certified ε and the claim"),
        Figure(plot=epsilon_plot(rows, what)),
        *((Prose(text=claim),) if claim else ()),
        Prose(text=f"{explain_bars(rows)} {more}".rstrip(), kind="note"),
    )


def curve(report: HasCurve, num_nonmembers: int, *, name: str, of: str, marks: Marks = ()) -> Curves:
    """The operating characteristic on both kinds of axes."""
    return Curves(
        name=name,
        plot=roc_plot(report, num_nonmembers, of=of, scales=SCALES, marks=marks),
        scales=roc_scales(report, num_nonmembers, of=of, marks=marks),
        points=describe_points(report, num_nonmembers),
    )


def threat(report: AuditRecord) -> tuple[Block, ...]:
    return (
        Heading(text="Threat model and assumptions"),
        Definitions(entries=threat_entries(report)),
        Prose(text=explain_levels(report.level), kind="note"),
    )


def all_bounds(
    bounds: Sequence[EpsilonBound],
    first: EpsilonBound,
    *,
    ratio: float | None = None,
    resting: str = "verdict",
    note: str = "",
) -> tuple[Block, ...]:
    said = explain_headline(first, resting=resting)
    return (
        Heading(text="All bounds"),
        bounds_table(bounds, ratio),
        Prose(text=f"{said} {note}".rstrip(), kind="note"),
    )


def repeat(command: str, entries: tuple[tuple[str, str], ...], config: Mapping[str, Any]) -> tuple[Block, ...]:
    """The command, what identifies the result, and every setting."""
    return (
        Heading(text="How to repeat this audit"),
        Prose(text=REPEAT_NOTE),
        Code(text=command),
        Definitions(entries=entries),
        Details(summary="Configuration", blocks=(settings_table(config),)),
    )


def repeated(report: Measurement) -> tuple[Block, ...]:
    """The same for a measurement."""
    return (
        Heading(text="How to repeat this"),
        Prose(text=REPEAT_NOTE),
        Code(text=report.command),
        Definitions(entries=repeat_entries(report.digest, report.versions)),
        Details(summary="Specification", blocks=(settings_table(report.config),)),
    )


def measured(over: str, about: str, kind: str, digest: str) -> dict[str, Any]:
    """What a document about a measurement is called."""
    return {
        "over": over,
        "title": about,
        "line": f"{kind}, {about}",
        "subject": f"{over}; digest {digest}",
        "reference": digest[:16],
    }


def limits(entries: tuple[tuple[str, str], ...], title: str = LIMITS) -> tuple[Block, ...]:
    return Heading(text=title), Definitions(entries=entries)


def entry_of(report: AuditRecord, number: int) -> Entry:
    """How a comparison lists it."""
    certified = f"{headline(report.epsilon, report.claimed)}, " if report.epsilon.num_trials else ""
    return Entry(
        label=f"{number}  {line_of(report)}: {certified}{report.verdict}",
        subject=f"{report.method} on {report.dataset}",
        level=report.level,
    )


def framed(report: AuditRecord) -> dict[str, Any]:
    """What a document about it is called."""
    return {
        "over": OVER,
        "title": title_of(report),
        "line": line_of(report),
        "subject": f"{report.verdict}; attack {report.attack} at level {report.level}; digest {report.digest}",
        "reference": report.digest[:16],
    }
