"""What a report says in words: for a reader who knows what differential privacy is, but not this program."""

import math
from collections.abc import Sequence

from reports.records.protocols import AnyReport
from reports.records.schema import Claim, EpsilonBound, Report
from reports.words.rounding import count, decimals_apart, down, measured, measured_percent, percent, small, up

LADDER = {
    "model": "a trained network, and may query it. Neither a synthetic set nor the algorithm's inside.",
    "set": "the synthetic set itself: what gets released.",
    "transcript": "every privatised quantity that the algorithm drew from the data: what a DP theorem covers.",
}

LADDER_NOTE = (
    "Each level sees all that the one above it in this list does, and more: an ε certified at one level is also a "
    "lower bound for those that follow; a guarantee proved for the transcript holds for all three."
)
BARS_NOTE = (
    "Filled: certified. Pale: up to the ceiling, where an attack without a single error would have come. Mark: what is "
    "proved or claimed; a filled bar that passes it refutes it. Hatched: NO BOUND."
)
RATIO_NOTE = (
    "ln(TPR/FPR), as Dong et al. (2022) report it, has neither an interval nor a correction for the choice of the "
    "threshold: a figure to compare with theirs, NO BOUND on ε."
)
PICKED_NOTE = (
    "The records below were picked because their figures are the largest, so the figures flatter the attack: read "
    "them as a list of whom to look at, not as estimates."
)
HIDDEN_NOTE = (
    "Real records are not shown: none enters a report unless asked for. To show them, where they are images: "
    "audit report RUN_DIR --show-records."
)
REAL_NOTE = (
    "THESE ARE REAL RECORDS OF THE PRIVATE DATA, shown because --show-records was given. "
    "Handle this file as you handle the data."
)
CURVE_NOTE = (
    " At the transcript the verdict is that of a test against the whole trade-off curve; its headline may be a bound "
    "that grants the claim its family of mechanisms."
)
SCORES_NOTE = "Score in, score out: the mean over the test runs with the record and without it."
GROUPS_NOTE = "Canaries are records made or picked to be exposed; what holds for them need not hold for ordinary ones."
CONTROL_NOTE = "CONTROL: membership was shuffled. The attack was told coins that decided nothing; it must find nothing."


def claimed_epsilon(claim: Claim | None) -> float | None:
    """The strictest ε that is claimed."""
    if claim is None:
        return None
    stated = [value for value in (claim.epsilon_rdp, claim.epsilon_pld) if value is not None]
    return min(stated, default=None)


def headline(bound: EpsilonBound, claim: Claim | None) -> str:
    sign = "≈" if bound.kind == "no bound" else "≥"
    return f"ε {sign} {_lower(bound, claim)}"


def explain_bound(bound: EpsilonBound) -> str:
    """The sentences beside the headline figure."""
    share = percent(bound.confidence)
    trials = f"{count(bound.num_trials)} {_units(bound.unit)}"
    where = f"at {_delta(bound.delta)}, from {trials}"
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
        f"An attack without a single error would have certified {down(bound.ceiling)} with as many trials: "
        "a larger ε cannot show here."
    )


def explain_claim(report: AnyReport) -> str:
    claim = report.claimed
    if claim is None:
        return "Nothing: no ε is claimed for this method, so there is nothing to refute."
    decimals = decimals_apart(report.epsilon.lower, claimed_epsilon(claim))
    figures = [
        f"ε\u00a0=\u00a0{up(value, decimals)}" for value in (claim.epsilon_rdp, claim.epsilon_pld) if value is not None
    ]
    if len(figures) == 2:
        figures = [f"{figures[0]} by RDP", f"{figures[1]} by PLD"]
    text = f"{' and '.join(figures) or 'no figure'} at {_delta(claim.delta)}. Source: {claim.source.rstrip('.')}."
    if claim.delta != report.epsilon.delta:
        text += f" The measured bound stands at another: {_delta(report.epsilon.delta)}."
    strictest = claimed_epsilon(claim)
    if strictest is not None and strictest >= report.epsilon.ceiling:
        text += (
            " The claim lies above the ceiling: this audit had too few trials to refute it, whatever the method does."
        )
    return text


def explain_game(report: Report) -> list[tuple[str, str]]:
    """What was audited, entry by entry."""
    game = report.game
    runs = game.num_fit_runs + game.num_test_runs
    if report.config.get("foreign") is not None:
        return _explain_foreign(report)
    return [
        ("Method", report.method),
        ("Data set", f"{report.dataset}: {count(game.num_records)} records, {game.num_classes} classes"),
        ("Synthetic set", f"{count(game.num_synthetic)} records per run" if game.num_synthetic else "none: a network"),
        ("Attack", report.attack),
        (
            "Runs",
            f"{count(runs)} condensations: {count(game.num_fit_runs)} to fit the attack, "
            f"{count(game.num_test_runs)} others to test it",
        ),
        ("Membership", f"each record in each run with probability {game.inclusion_probability:g}, by its own coin"),
        ("Claimed", explain_claim(report)),
    ]


def _explain_foreign(report: Report) -> list[tuple[str, str]]:
    """The same of sets that somebody else released."""
    game = report.game
    sets = f"{count(game.num_test_runs)} set{'s' if game.num_test_runs > 1 else ''}"
    return [
        ("Released", f"{report.method}: {sets} by somebody else, the first of {count(game.num_synthetic)} records"),
        ("Data set", f"{report.dataset}: {count(game.num_records)} records, {game.num_classes} classes"),
        ("Attack", report.attack),
        (
            "Runs",
            f"{count(game.num_fit_runs)} shadow condensations by {report.config['method']} to fit the attack; the "
            f"released {sets} to test it",
        ),
        (
            "Membership",
            f"each record in each set with probability {game.inclusion_probability:g}, by its own coin, as the auditor "
            "asserts",
        ),
        ("Claimed", explain_claim(report)),
    ]


def key_numbers(report: Report) -> list[tuple[str, str, str]]:
    """Name, figure, interval."""
    roc = report.roc
    rows = [("AUC", *measured(roc.auc, roc.auc_interval))]
    for key in sorted(roc.tpr_at_fpr, key=float):
        interval = roc.tpr_at_fpr_interval[key]
        rows.append((f"TPR at FPR {percent(float(key))}", *measured_percent(roc.tpr_at_fpr[key], interval)))
    rows.append(("Balanced accuracy", *measured_percent(roc.balanced_accuracy, roc.balanced_accuracy_interval)))
    if report.utility is None:
        rows.append(("Accuracy of f_S", "not measured", ""))
    else:
        utility = report.utility
        rows.append(("Accuracy of f_S", *measured_percent(utility.accuracy, utility.accuracy_interval)))
    return rows


def explain_numbers(report: Report) -> str:
    share = percent(report.roc.interval_confidence)
    if report.roc.interval_unit == "record":
        text = (
            f"Brackets: {share} intervals by bootstrap over the records of the one test run, as if their scores were "
            "independent: no statement about another run. Chance: AUC ½, TPR = FPR."
        )
    else:
        text = (
            f"Brackets: {share} intervals over runs; those of the attack by bootstrap "
            f"over the {count(report.game.num_test_runs)} test runs. Chance: AUC ½, TPR = FPR."
        )
    if report.utility is not None:
        text += f" {trained_network(report)} was measured on {report.utility.measured_on.rstrip('.')}."
    return text


def trained_network(report: Report) -> str:
    """What level model is about: f_S, or the network itself where a method releases one."""
    return "f_S, a network trained on the synthetic set," if report.game.num_synthetic else "The released network"


def explain_roc(num_nonmembers: int) -> str:
    few = percent(float(f"{10 / num_nonmembers:.2g}"))
    return (
        f"Every record of every test run gives one score; {count(num_nonmembers)} are of non-members. Left of FPR "
        f"{few} (grey hatching) fewer than ten false positives carry the curve. Dots: the rates of the table below."
    )


def explain_scores(num_members: int, num_nonmembers: int, folded: int) -> str:
    text = (
        f"{count(num_members)} scores of members and {count(num_nonmembers)} of non-members, each kind adding up to "
        "100%. "
    )
    return text + (f"{count(folded)} outermost scores are counted in the first and last bin." if folded else "")


def explain_exposure(num_records: int, num_beyond: int, chance_maximum: float) -> str:
    return (
        "How well the attack tells, for each record by itself, the test runs with it from those without. If "
        f"nothing leaked, with probability 95% not one record would pass {chance_maximum:.2f}; "
        f"{count(num_beyond)} of {count(num_records)} do."
    )


def explain_outlook(report: Report) -> str:
    """What more runs would buy, in a few sentences."""
    first, last = report.outlook[0], report.outlook[-1]
    text = (
        "The ceiling is what an attack without a single error would certify. “Guesses as good as now”: as large a "
        "share of the coins guessed, and guessed rightly, as in this audit; an extrapolation, no bound. "
    )
    gain = down(last.ceiling - first.ceiling)
    text += f"{last.num_runs // first.num_runs} times as many runs would raise the ceiling by {gain}. "
    claimed = claimed_epsilon(report.claimed)
    if claimed is None or report.verdict == "REFUTED":
        return text.rstrip()
    claim = f"the claim of ε ≤ {up(claimed)}"
    same = next((step for step in report.outlook if step.lower_at_same_rates > claimed), None)
    if same is not None:
        return f"{text}With guesses as good as now, {count(same.num_runs)} runs would refute {claim}."
    if last.ceiling <= claimed:
        return f"{text}No attack could refute {claim} with {count(last.num_runs)} runs or fewer."
    return (
        f"{text}With guesses as good as now not even {count(last.num_runs)} runs would refute {claim}: if it is false, "
        "a better attack is needed to show it."
    )


def explain_comparison(reports: Sequence[AnyReport]) -> str:
    """What the reader of several audits must not forget."""
    confidences = {report.epsilon.confidence for report in reports}
    share = percent(confidences.pop()) if len(confidences) == 1 else "its own confidence"
    error = min(1.0, sum(1 - report.epsilon.confidence for report in reports))
    return (
        f"{count(len(reports))} audits. Each bound holds with {share} by itself; the probability that any of them is "
        f"too high may be up to {up(100 * error, 0)}%, so the most striking is not to be picked out. Audits of other "
        "data, sizes, levels or δ are not on one scale."
    ) + (CURVE_NOTE if any(report.level == "transcript" for report in reports) else "")


def threat_entries(report: AnyReport) -> list[tuple[str, str]]:
    """Who the adversary is and what the bound rests on: a term for the first entry of each kind."""
    entries = [
        ("The adversary" if index == 0 else "", text) for index, text in enumerate(map(sentence, report.threat_model))
    ]
    entries += [
        ("The bound assumes" if index == 0 else "", text)
        for index, text in enumerate(map(sentence, report.epsilon.assumptions))
    ]
    entries.append(("ε speaks of", f"Neighbouring data sets by {report.epsilon.adjacency.replace('-', ' ')} record."))
    return entries


def title_of(report: AnyReport) -> str:
    return f"{report.method} on {report.dataset}, attack {report.attack}, level {report.level}"


def seen_by(level: str) -> str:
    """What the adversary of a level sees, in a few words."""
    return LADDER.get(level, "what the threat model below says.").split(":")[0].split(",")[0].rstrip(".")


def limits(report: Report) -> list[tuple[str, str]]:
    """What this audit cannot tell."""
    bound = report.epsilon
    entries = [
        (
            "An upper bound",
            "An audit certifies from below. The true ε may be anything above the figure given here; NOT REFUTED and "
            "NO CLAIM are no proof of privacy, and no audit can give one.",
        ),
        (
            "A better attack",
            f"Only {report.attack} was tried, at the level “{report.level}”. A stronger attack, or an adversary "
            "who sees more, may find more.",
        ),
        (
            "Other records",
            "Another record, or a better canary, may be exposed far more than those that were planted here."
            if report.groups
            else "The records are those of the data set as it is. An outlier or a canary made for the purpose may be "
            "exposed far more than the average that AUC and TPR describe.",
        ),
        (
            "Other settings",
            "The figures hold for the configuration on this page, with its data, sizes and number of steps. They do "
            "not carry over to another.",
        ),
        (
            "Many audits",
            f"The {percent(bound.confidence)} are those of one audit. Who runs several and reports the most striking "
            "must divide the error among them.",
        ),
        (
            "Other harms",
            "Membership is what differential privacy bounds. What the synthetic set says about a group, or about an "
            "attribute shared by many, was not examined.",
        ),
    ]
    if math.isfinite(bound.ceiling):
        entries.insert(
            1,
            (
                "Beyond the ceiling",
                f"With {count(bound.num_trials)} {_units(bound.unit)} no ε above {down(bound.ceiling)} can be "
                "certified, however bad the leak.",
            ),
        )
    return entries


def explain_headline(bound: EpsilonBound, *, resting: str = "verdict") -> str:
    """Whence the figure that the verdict, or what else, rests on."""
    text = f"The {resting} rests on one figure, by “{bound.estimator}”."
    if bound.threshold_choice:
        text += f" Thresholds: {bound.threshold_choice.rstrip('.')}."
    if bound.counts:
        counted = [f"{name.replace('_', ' ')} {count(value)}" for name, value in sorted(bound.counts.items())]
        text += f" Counted: {', '.join(counted)}."
    if bound.num_tries > 1:
        text += f" The confidence is shared among {bound.num_tries} tries."
    return text


def describe_kind(bound: EpsilonBound) -> str:
    return {"bound": "lower bound", "credible": "credible", "no bound": "NO BOUND"}.get(bound.kind, bound.kind)


def sentence(text: str) -> str:
    """With a capital first and a full stop last."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _lower(bound: EpsilonBound, claim: Claim | None) -> str:
    if bound.lower <= 0:
        return "0"
    return down(bound.lower, decimals_apart(bound.lower, claimed_epsilon(claim)))


def _delta(delta: float) -> str:
    return f"δ\u00a0=\u00a0{small(delta)}"


def _units(unit: str) -> str:
    return {
        "run": "independent runs",
        "record": "membership coins (records × test runs)",
    }.get(unit, f"trials of unit {unit}")
