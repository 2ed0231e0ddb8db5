"""What is said of `audit lira`, `rmia` and `loss`."""

import math

from reports.records.schema import Report, claimed_epsilon
from reports.records.scope import describe_audited
from reports.words.bounds import explain_claim, many_audits, say_unit
from reports.words.intervals import explain_intervals
from reports.words.rounding import count, down, measured, measured_percent, percent, up

RATIO_NOTE = (
    "ln(TPR/FPR), as Dong et al. (2022) report it, has neither an interval nor a correction for the choice of the "
    "threshold: a figure to compare with theirs, NO BOUND on ε."
)
PICKED_NOTE = (
    "The records below were picked because their figures are the largest, so the figures flatter the attack: read "
    "them as a list of records to look at, not as estimates."
)
HIDDEN_NOTE = (
    "Real records are not shown: none enters a report unless asked for. To show them, where they are images: "
    "audit report RUN_DIR --show-records."
)
NO_EXPOSURE_NOTE = "Too few test runs held or lacked each record to say what chance alone would give it."
SCORES_NOTE = "Score in, score out: the mean over the test runs with the record and without it."
GROUPS_NOTE = "Canaries are records made or picked to be exposed; what holds for them need not hold for ordinary ones."


def explain_game(report: Report) -> tuple[tuple[str, str], ...]:
    """What was audited, entry by entry."""
    game = report.game
    runs = game.num_fit_runs + game.num_test_runs
    if report.config.get("foreign") is not None:
        return _explain_foreign(report)
    return (
        ("Method", report.method),
        ("Data set", f"{report.dataset}: {count(game.num_records)} records, {game.num_classes} classes"),
        ("Synthetic set", f"{count(game.num_synthetic)} records per run" if game.num_synthetic else "none: a network"),
        ("Attack", report.attack),
        (
            "Runs",
            f"{count(runs)} condensations: {count(game.num_fit_runs)} to fit the attack, "
            f"{count(game.num_test_runs)} others to test it",
        ),
        ("Membership", _explain_coins(report)),
        ("Claimed", explain_claim(report)),
    )


def _explain_coins(report: Report) -> str:
    game = report.game
    said = describe_audited(game.num_audited, game.num_records)
    whose = "each record" if said is None else f"{said}; each audited record"
    return f"{whose} in each run with probability {game.inclusion_probability:g}, by its own coin"


def _explain_foreign(report: Report) -> tuple[tuple[str, str], ...]:
    """The same of sets that somebody else released."""
    game = report.game
    sets = f"{count(game.num_test_runs)} set{'s' if game.num_test_runs > 1 else ''}"
    return (
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
            f"{_explain_coins(report).replace('in each run', 'in each set')}, as the auditor asserts",
        ),
        ("Claimed", explain_claim(report)),
    )


def key_numbers(report: Report) -> tuple[tuple[str, str, str], ...]:
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
    return tuple(rows)


def explain_numbers(report: Report) -> str:
    text = explain_intervals(
        percent(report.roc.interval_confidence),
        report.roc.interval_unit,
        report.game.public_draws,
        count(report.game.num_test_runs),
    )
    if report.utility is not None and report.utility.interval_unit != report.roc.interval_unit:
        text += f" That of the accuracy is over {report.utility.interval_unit}."
    text += " Chance: AUC ½, TPR = FPR."
    if report.utility is not None:
        text += f" {trained_network(report)} was measured on {report.utility.measured_on.rstrip('.')}."
    return text


def trained_network(report: Report) -> str:
    """What level model is about: f_S, or the network itself where a method releases one."""
    return "f_S, a network trained on the synthetic set," if report.game.num_synthetic else "The released network"


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
    if last.ceiling > first.ceiling:
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


def limits(report: Report) -> tuple[tuple[str, str], ...]:
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
            "The figures hold for the configuration listed in this report, with its data, sizes and number of steps. "
            "They do not carry over to another.",
        ),
        many_audits(bound),
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
                f"With {count(bound.num_trials)} {say_unit(bound.unit)} no ε above {down(bound.ceiling)} can be "
                "certified, however bad the leak.",
            ),
        )
    return tuple(entries)
