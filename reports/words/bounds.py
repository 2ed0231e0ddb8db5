"""What is said of bounds, claims and adversaries, for every kind of audit.

Written for a reader who knows what differential privacy is, but not this program.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from reports.records.attribute import AttributeReport
from reports.records.kinds import AuditRecord
from reports.records.schema import Claim, EpsilonBound, Report, claimed_epsilon
from reports.records.visual import VisualReport
from reports.records.worst_case import WorstCaseReport
from reports.words.rounding import count, decimals_apart, down, percent, say_ceiling, say_delta, small, up
from reports.words.table import Column, Table

LEVELS = {
    "model": "a network trained on the synthetic set, or released by the method, which it may query",
    "set": "the released synthetic set",
    "generator": "the released generator that the set was sampled from, with its weights",
    "transcript": "every privatised quantity that the algorithm computed from the data, which is what a DP theorem "
    "covers",
}
LEVELS_NOTE = (
    "The adversary of each level sees everything that the one before it sees, and more. An ε certified at one level is "
    "therefore also a lower bound for the levels after it, and a guarantee proved for the transcript holds at all "
    "levels."
)
SYMBOLS_NOTE = (
    "ε and δ are the parameters of differential privacy: whatever an adversary may observe is at most e^ε times as "
    "likely with one record as without it, up to an added probability δ. ε ≥ x means that the method satisfies no ε "
    "below x."
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
# Said elsewhere in the report, or listed among the settings of the method.
NOT_SETTINGS = ("versions", "weights", "left_out", "audited_records", "enumerated", "changes")
_OF_VICTIMS = ("victim_config", "queries")
_OF_RELEASED = ("synthetic", "index", "normalisation")
_ESTIMATORS = {
    "one-run-dp": "the one-run bound of Mahloujifar et al. (2024), computed for (ε, δ)-differential privacy",
    "one-run": "the one-run bound of Steinke et al. (2023)",
    "clopper-pearson": "Clopper–Pearson limits of both error rates, without an assumption about the mechanism",
    "family": "the claimed mechanism with an unknown noise multiplier is assumed",
    "gaussian": "a Gaussian mechanism is assumed",
}
_NAMES = {"paper-style": "ln(TPR/FPR)"}


def headline(bound: EpsilonBound, claim: Claim | None) -> str:
    sign = "≈" if bound.kind == "no bound" else "≥"
    lower = "0" if bound.lower <= 0 else down(bound.lower, decimals_apart(bound.lower, claimed_epsilon(claim)))
    return f"ε {sign} {lower}"


def explain_bound(bound: EpsilonBound, *, num_drawn: int | None = None) -> str:
    """The sentences beside the headline figure. `num_drawn` trials were made, of which some may have been spent on the
    choice of thresholds."""
    share = percent(bound.confidence)
    where = f"at {say_delta(bound.delta)}, from {say_trials(bound, num_drawn=num_drawn)}"
    match bound.kind:
        case "bound" if bound.lower <= 0:
            what = (
                f"No positive ε could be certified with {share} confidence {where}. This is no evidence of a leak, and "
                "no evidence of privacy either."
            )
        case "bound":
            what = f"Certified with {share} confidence {where}."
        case "credible":
            what = f"A {share} credible bound {where}; it depends on a prior."
        case _:
            what = f"A point estimate {where}. It is not a bound, and nothing is certified."
    return f"{what} {explain_ceiling(bound)}"


def say_trials(bound: EpsilonBound, *, num_drawn: int | None = None) -> str:
    """How many trials of which kind were tested, and what became of the others."""
    if bound.unit == "run":
        return f"{count(bound.num_trials)} independent runs"
    if bound.unit != "record":
        return f"{count(bound.num_trials)} trials of unit {bound.unit}"
    tested = f"{count(bound.num_trials)} membership coins"
    if num_drawn is None or num_drawn <= bound.num_trials:
        return f"{tested} (one per record and test run)"
    spent = count(num_drawn - bound.num_trials)
    return f"{tested} (one per record and test run; the other {spent} coins were used to choose the thresholds)"


def explain_ceiling(bound: EpsilonBound) -> str:
    """What a perfect attack would have certified, where that is a limit."""
    if math.isinf(bound.ceiling):
        return "This estimator has no ceiling."
    said = say_ceiling(bound.ceiling)
    if said.startswith(">"):
        return (
            f"The ceiling of this estimator, which is what an attack without a single error would certify, is above "
            f"{said.removeprefix('> ')} and limits nothing."
        )
    return (
        f"The ceiling is {said}: an attack without a single error would have certified that much, and no larger ε can "
        "be certified with this many trials."
    )


def explain_claim(report: AuditRecord) -> str:
    claim = report.claimed
    if claim is None:
        return "Nothing: no ε is claimed for this method, so there is nothing to refute. To test a value, add --claim."
    decimals = decimals_apart(report.epsilon.lower, claimed_epsilon(claim))
    text = claim_in_words(claim, decimals)
    proved = report.proved if isinstance(report, Report | VisualReport | AttributeReport) else None
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


def claim_in_words(claim: Claim, decimals: int = 2) -> str:
    """What is claimed, and by whom."""
    return f"{_figures(claim, decimals)}. Source: {claim.source.rstrip('.')}."


def _figures(claim: Claim, decimals: int) -> str:
    """ε by every accountant that states one, rounded up, and δ."""
    figures = [
        f"ε\u00a0=\u00a0{up(value, decimals)}" for value in (claim.epsilon_rdp, claim.epsilon_pld) if value is not None
    ]
    if len(figures) == 2:
        figures = [f"{figures[0]} by RDP", f"{figures[1]} by PLD"]
    return f"{' and '.join(figures) or 'no figure'} at {say_delta(claim.delta)}"


def explain_accountants(claim: Claim | None) -> str:
    """What the abbreviations of the two accountants mean, where both are named."""
    if claim is None or claim.epsilon_rdp is None or claim.epsilon_pld is None:
        return ""
    return " RDP and PLD: privacy accounting by Rényi differential privacy and by the privacy loss distribution."


def explain_headline(bound: EpsilonBound, *, resting: str = "verdict") -> str:
    """How the figure that the verdict, or what else, rests on was computed."""
    known = _ESTIMATORS.get(bound.estimator)
    text = f"The {resting} rests on one figure, computed by “{bound.estimator}”{f': {known}' if known else ''}."
    if bound.threshold_choice:
        text += f" Thresholds: {bound.threshold_choice.rstrip('.')}."
    if bound.counts:
        text += f" {_say_counts(bound.counts)}"
    if bound.num_tries > 1:
        text += f" The error probability is divided among {bound.num_tries} tests."
    return text


def _say_counts(counts: Mapping[str, int]) -> str:
    """Guesses about coins, or errors of runs, in a sentence."""
    said = {name: count(value) for name, value in counts.items()}
    match said:
        case {"coins": coins, "guesses": guesses, "correct": correct, "positive_guesses": yes, "negative_guesses": no}:
            return (
                f"The attack guessed {guesses} of {coins} coins, {yes} as members and {no} as non-members, and "
                f"{correct} of these guesses were right."
            )
        case {"coins": coins, "guesses": guesses, "correct": correct}:
            return f"The attack guessed {guesses} of {coins} coins, and {correct} of these guesses were right."
        case {"true_positives": detected, "false_negatives": _, "false_positives": flagged, "true_negatives": _}:
            members = count(counts["true_positives"] + counts["false_negatives"])
            others = count(counts["false_positives"] + counts["true_negatives"])
            return (
                f"At the threshold of the bound, {detected} of {members} runs with the canary were detected and "
                f"{flagged} of {others} runs without it were wrongly flagged."
            )
    return f"Counts: {', '.join(f'{value} {name}' for name, value in sorted(said.items()))}."


def name_estimator(bound: EpsilonBound) -> str:
    """As tables and figures call it."""
    return _NAMES.get(bound.estimator, bound.estimator)


def describe_kind(bound: EpsilonBound) -> str:
    return {"bound": "lower bound", "credible": "credible", "no bound": "NO BOUND"}.get(bound.kind, bound.kind)


def threat_entries(report: AuditRecord) -> tuple[tuple[str, str], ...]:
    """Who the adversary is and what the bound rests on: a term for the first entry of each kind."""
    assumed = report.epsilon.assumptions if report.epsilon.num_trials else ()
    kinds = (("The adversary", report.threat_model), ("The bound assumes", assumed))
    entries = [("" if index else term, sentence(text)) for term, texts in kinds for index, text in enumerate(texts)]
    relation = {
        "add-or-remove-one": "one record is added or removed",
        "replace-one": "one record is replaced by another",
    }.get(report.epsilon.adjacency, report.epsilon.adjacency.replace("-", " "))
    return (*entries, ("Adjacency", f"Neighbouring data sets: {relation}."))


def explain_levels(audited: str) -> str:
    """What the adversary of each level sees, and which of them was audited."""
    seen = "; ".join(
        f"{level}{' (audited here)' if level == audited else ''}: {what}" for level, what in LEVELS.items()
    )
    return f"What the adversary sees, by level. {sentence(seen)} {LEVELS_NOTE}"


def seen_by(level: str) -> str:
    """What the adversary of a level sees, in a few words."""
    return LEVELS.get(level, "what the threat model says")


def title_of(report: AuditRecord) -> str:
    """What a page about it is headed with."""
    worst_case = isinstance(report, WorstCaseReport)
    if isinstance(report, Report) and report.config.get("scores") is not None:
        return f"{report.dataset}: {report.method}"
    return f"{report.method}, worst case" if worst_case else f"{report.method} on {report.dataset}"


def line_of(report: AuditRecord) -> str:
    """What a list of audits calls it."""
    attack = "" if isinstance(report, WorstCaseReport) else f", attack {report.attack}"
    return f"{title_of(report)}{attack}, level {report.level}"


def many_audits(bound: EpsilonBound, together: float | None = None) -> tuple[str, str]:
    """The limit that every kind of audit has. `together` is the confidence of all levels of a ladder."""
    alone = f"The confidence of {percent(bound.confidence)} is that of "
    alone += (
        "this audit alone."
        if together is None
        else f"one level, and {percent(together)} is that of all levels together."
    )
    return "Several audits", f"{alone} If you run several audits, correct for multiple testing."


def settings_table(config: Mapping[str, Any]) -> Table:
    """Every setting, but for what is said elsewhere, and those of victims or released sets where there were none."""
    unused: tuple[str, ...] = _OF_VICTIMS if config.get("level") in ("set", "generator") else ()
    if "synthetic" in config and not config["synthetic"]:
        unused += _OF_RELEASED
    entries = flatten({name: value for name, value in config.items() if name not in (*NOT_SETTINGS, *unused)})
    columns = (Column(title="setting", share=0.55), Column(title="value", share=0.45))
    return Table(columns=columns, rows=tuple(entries), narrow=True, code=True)


def flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings as (dotted name, value), sorted by name."""
    for name, value in sorted(settings.items()):
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            text = _setting(value)
            yield f"{prefix}{name}", f"{text[:CHECKSUM_SHOWN]}…" if name.endswith("checksum") else text


def _setting(value: Any) -> str:
    """As people write it; the same of a tuple and of the list that it is read back as."""
    match value:
        case None | "" | [] | ():
            return "none"
        case bool():
            return "true" if value else "false"
        case float():
            return small(value)
        case list() | tuple():
            return ", ".join(map(_setting, value))
    return str(value)


def repeat_entries(digest: str, versions: Mapping[str, str], **others: str) -> tuple[tuple[str, str], ...]:
    """What identifies a result; names of `others` with underscores for spaces."""
    return (
        ("Digest", f"{digest}, computed from everything that determines the result"),
        *((name.replace("_", " "), value) for name, value in others.items()),
        ("Versions", ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))),
    )


def sentence(text: str) -> str:
    """With a capital first and a full stop last."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
