"""What is said of bounds, claims and adversaries, for every kind of audit.

Written for a reader who knows what differential privacy is, but not this program.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from reports.records.kinds import AuditRecord
from reports.records.schema import Claim, EpsilonBound, Report, claimed_epsilon
from reports.records.visual import VisualReport
from reports.records.worst_case import WorstCaseReport
from reports.words.rounding import count, decimals_apart, down, percent, small, up
from reports.words.table import Column, Table

LEVELS = {
    "model": "a trained network, and may query it. It sees neither a synthetic set nor the algorithm's internal state.",
    "set": "the synthetic set itself: what gets released.",
    "generator": "the released generator that the set was sampled from, weights and all.",
    "transcript": "every privatised quantity that the algorithm drew from the data: what a DP theorem covers.",
}
LEVELS_NOTE = (
    "Each level sees all that the one before it does, and more: an ε certified at one level is also a lower bound for "
    "those that follow; a guarantee proved for the transcript holds for all."
)
BARS_NOTE = (
    "Filled: certified. Pale: up to the ceiling, which is what an attack without a single error would have certified. "
    "Mark: what is proved or claimed; a filled bar that passes it refutes it. Hatched: NO BOUND."
)
REAL_NOTE = (
    "THESE ARE REAL RECORDS OF THE PRIVATE DATA, shown because --show-records was given. "
    "Handle this file as you handle the data."
)
CONTROL_NOTE = (
    "CONTROL: membership was shuffled. The attack was given labels independent of membership; it must find nothing."
)
REPEAT_NOTE = "The same command, version and seed give the same report:"
CHECKSUM_SHOWN = 16  # characters; report.json has all of them
NOT_SETTINGS = ("versions", "weights", "left_out", "audited_records")  # said elsewhere in the report


def headline(bound: EpsilonBound, claim: Claim | None) -> str:
    sign = "≈" if bound.kind == "no bound" else "≥"
    lower = "0" if bound.lower <= 0 else down(bound.lower, decimals_apart(bound.lower, claimed_epsilon(claim)))
    return f"ε {sign} {lower}"


def explain_bound(bound: EpsilonBound) -> str:
    """The sentences beside the headline figure."""
    share = percent(bound.confidence)
    where = f"at {say_delta(bound.delta)}, from {count(bound.num_trials)} {say_unit(bound.unit)}"
    match bound.kind:
        case "bound" if bound.lower <= 0:
            what = (
                f"No positive ε could be certified with {share} confidence {where}: no evidence of a leak, which is no "
                "evidence of privacy."
            )
        case "bound":
            what = f"Certified with {share} confidence {where}."
        case "credible":
            what = f"A {share} credible bound {where}; it rests on a prior."
        case _:
            what = f"A point estimate {where}: no bound, nothing is certified."
    return f"{what} {explain_ceiling(bound)}"


def explain_ceiling(bound: EpsilonBound) -> str:
    if math.isinf(bound.ceiling):
        return "This estimator has no ceiling."
    return (
        f"An attack without a single error would have certified {down(bound.ceiling)}: no larger ε can be certified "
        "with this many trials."
    )


def explain_claim(report: AuditRecord) -> str:
    claim = report.claimed
    if claim is None:
        return "Nothing: no ε is claimed for this method, so there is nothing to refute."
    decimals = decimals_apart(report.epsilon.lower, claimed_epsilon(claim))
    text = f"{_figures(claim, decimals)}. Source: {claim.source.rstrip('.')}."
    proved = report.proved if isinstance(report, Report | VisualReport) else None
    if proved is not None and proved != claim:
        text += f" The {proved.source} proves {_figures(proved, 2)}."
    if claim.delta != report.epsilon.delta:
        text += f" The measured bound is for another δ: {say_delta(report.epsilon.delta)}."
    strictest = claimed_epsilon(claim)
    if strictest is not None and strictest >= report.epsilon.ceiling:
        text += (
            " The claim lies above the ceiling: this audit had too few trials to refute it, whatever the method does."
        )
    return text


def _figures(claim: Claim, decimals: int) -> str:
    """ε by every accountant that states one, rounded up, and δ."""
    figures = [
        f"ε\u00a0=\u00a0{up(value, decimals)}" for value in (claim.epsilon_rdp, claim.epsilon_pld) if value is not None
    ]
    if len(figures) == 2:
        figures = [f"{figures[0]} by RDP", f"{figures[1]} by PLD"]
    return f"{' and '.join(figures) or 'no figure'} at {say_delta(claim.delta)}"


def explain_headline(bound: EpsilonBound, *, resting: str = "verdict") -> str:
    """How the figure that the verdict, or what else, rests on was computed."""
    text = f"The {resting} rests on one figure, by “{bound.estimator}”."
    if bound.threshold_choice:
        text += f" Thresholds: {bound.threshold_choice.rstrip('.')}."
    if bound.counts:
        counted = [f"{name.replace('_', ' ')} {count(value)}" for name, value in sorted(bound.counts.items())]
        text += f" Counted: {', '.join(counted)}."
    if bound.num_tries > 1:
        text += f" The error probability is shared among {bound.num_tries} tries."
    return text


def describe_kind(bound: EpsilonBound) -> str:
    return {"bound": "lower bound", "credible": "credible", "no bound": "NO BOUND"}.get(bound.kind, bound.kind)


def threat_entries(report: AuditRecord) -> tuple[tuple[str, str], ...]:
    """Who the adversary is and what the bound rests on: a term for the first entry of each kind."""
    kinds = (("The adversary", report.threat_model), ("The bound assumes", report.epsilon.assumptions))
    entries = [("" if index else term, sentence(text)) for term, texts in kinds for index, text in enumerate(texts)]
    relation = report.epsilon.adjacency.replace("-", " ")
    return (*entries, ("Adjacency", f"Neighbouring data sets differ by: {relation} record."))


def explain_levels(audited: str) -> str:
    """What the adversary of each level sees, and which of them was audited."""
    seen = "; ".join(
        f"{level}{' (audited here)' if level == audited else ''}: {what.split(',')[0].split(':')[0].rstrip('.')}"
        for level, what in LEVELS.items()
    )
    return f"What the adversary sees, by level. {sentence(seen)} {LEVELS_NOTE}"


def seen_by(level: str) -> str:
    """What the adversary of a level sees, in a few words."""
    return LEVELS.get(level, "what the threat model below says.").split(":")[0].split(",")[0].rstrip(".")


def title_of(report: AuditRecord) -> str:
    """What a page about it is headed with."""
    worst_case = isinstance(report, WorstCaseReport)
    return f"{report.method}, worst case" if worst_case else f"{report.method} on {report.dataset}"


def line_of(report: AuditRecord) -> str:
    """What a list of audits calls it."""
    attack = "" if isinstance(report, WorstCaseReport) else f", attack {report.attack}"
    return f"{title_of(report)}{attack}, level {report.level}"


def many_audits(bound: EpsilonBound) -> tuple[str, str]:
    """The limit that every kind of audit has."""
    return (
        "Many audits",
        f"The confidence of {percent(bound.confidence)} is that of one audit. If you run several audits, correct for "
        "multiple testing.",
    )


def settings_table(config: Mapping[str, Any]) -> Table:
    """Every setting, but for what is said elsewhere and, at level set, those of victims, which were not trained."""
    unused = ("victim_config", "queries") if config.get("level") == "set" else ()
    entries = flatten({name: value for name, value in config.items() if name not in (*NOT_SETTINGS, *unused)})
    columns = (Column(title="setting", share=0.55), Column(title="value", share=0.45))
    return Table(columns=columns, rows=tuple(entries), narrow=True, code=True)


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings as (dotted name, value), sorted by name."""
    for name, value in sorted(settings.items()):
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            shown = list(value) if isinstance(value, tuple) else value  # as it is read back
            text = "none" if value is None else str(shown)
            yield f"{prefix}{name}", f"{text[:CHECKSUM_SHOWN]}…" if name.endswith("checksum") else text


def repeat_entries(digest: str, versions: Mapping[str, str], **others: str) -> tuple[tuple[str, str], ...]:
    """What identifies a result; names of `others` with underscores for spaces."""
    return (
        ("Digest", f"{digest}, over everything that determines the result"),
        *((name.replace("_", " "), value) for name, value in others.items()),
        ("Versions", ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))),
    )


def sentence(text: str) -> str:
    """With a capital first and a full stop last."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def say_delta(delta: float) -> str:
    return f"δ\u00a0=\u00a0{small(delta)}"


def say_unit(unit: str) -> str:
    return {
        "run": "independent runs",
        "record": "membership coins (records × test runs)",
    }.get(unit, f"trials of unit {unit}")
