"""What is said of `audit lira`, `rmia` and `loss`."""

from reports.records.schema import Displacement, Report, Roc, claimed_epsilon
from reports.records.scope import describe_audited
from reports.words.bounds import explain_accountants, explain_claim, many_audits, say_trials, sentence
from reports.words.intervals import explain_intervals
from reports.words.ladder import joint_confidence
from reports.words.rounding import count, down, measured, measured_percent, percent, say_ceiling, up

RATIO_NOTE = (
    "ln(TPR/FPR), the estimate of Dong et al. (2022), has neither an interval nor a correction for the choice of the "
    "threshold. It is given for comparison with their figures and is not a bound on ε."
)
PICKED_NOTE = (
    "These records were selected because their AUCs are the largest, so the figures are biased upwards. Use them as a "
    "list of records to look at, not as estimates."
)
HIDDEN_NOTE = (
    "Real records are not shown unless you ask for them. To show them, if they are images: "
    "audit report RUN_DIR --show-records."
)
SCORES_NOTE = (
    "AUC: how well the attack separates the test runs with this record from those without it. Score in and score out: "
    "the mean score over the test runs with and without the record."
)


def ratio_note(report: Report) -> str:
    """Empty where the table has no such figure, as where the TPR is 0."""
    shown = report.paper_style_epsilon is not None or any(bound.kind == "no bound" for bound in report.bounds)
    return RATIO_NOTE if shown else ""


def explain_game(report: Report) -> tuple[tuple[str, str], ...]:
    """What was audited, entry by entry."""
    game = report.game
    runs = game.num_fit_runs + game.num_test_runs
    if report.config.get("foreign") is not None:
        return _explain_foreign(report)
    if is_own_models(report):
        return _explain_own_models(report)
    return (
        ("Method", report.method),
        ("Data set", f"{report.dataset}: {count(game.num_records)} records, {game.num_classes} classes"),
        (
            "Synthetic set",
            f"{count(game.num_synthetic)} records per run{_ratio(report)}"
            if game.num_synthetic
            else "none; the method releases a network",
        ),
        ("Attack", report.attack),
        (
            "Runs",
            f"{count(runs)} condensations: {count(game.num_fit_runs)} fit runs for the attack to learn from, "
            f"{count(game.num_test_runs)} test runs"
            if game.num_fit_runs
            else f"{count(runs)} condensations, all of them test runs: the attack needs no fit runs",
        ),
        ("Membership", _explain_coins(report)),
        ("Claimed", explain_claim(report)),
    )


def _ratio(report: Report) -> str:
    """What r is, where the verdict's scope names it."""
    if report.scope is None or report.scope.ratio is None:
        return ""
    return f"; r = {report.scope.ratio:.2g} is their number over that of the condensed records"


def _explain_coins(report: Report) -> str:
    game = report.game
    said = describe_audited(game.num_audited, game.num_records)
    whose = "each record" if said is None else f"{said}; each audited record"
    return f"{whose} is in each run with probability {game.inclusion_probability:g}, by a membership coin of its own"


def is_own_models(report: Report) -> bool:
    """Whether the auditor trained the models, so that nothing was condensed."""
    return report.config.get("scores") is not None


def _explain_own_models(report: Report) -> tuple[tuple[str, str], ...]:
    """The same of models that the auditor trained."""
    game = report.game
    classes = f", {game.num_classes} classes" if game.num_classes else ""
    fit = f"{count(game.num_fit_runs)} to fit the attack, " if game.num_fit_runs else ""
    return (
        ("Models", f"{report.dataset}: trained by the auditor; nothing was condensed"),
        ("Records", f"{count(game.num_records)}{classes}"),
        ("Attack", report.attack),
        ("Runs", f"{fit}{count(game.num_test_runs)}{' others' if fit else ''} to test it"),
        ("Membership", f"{_explain_coins(report)}, as the auditor asserts"),
        ("Claimed", explain_claim(report)),
    )


def _explain_foreign(report: Report) -> tuple[tuple[str, str], ...]:
    """The same of sets that somebody else released."""
    game = report.game
    sets = f"{count(game.num_test_runs)} set{'s' if game.num_test_runs > 1 else ''}"
    return (
        ("Released", f"{report.method}: {sets} made elsewhere, the first of {count(game.num_synthetic)} records"),
        ("Data set", f"{report.dataset}: {count(game.num_records)} records, {game.num_classes} classes"),
        ("Attack", report.attack),
        (
            "Runs",
            f"{count(game.num_fit_runs)} shadow condensations by {report.config['method']} to fit the attack; the "
            f"released {sets} to test it",
        ),
        (
            "Membership",
            f"{_explain_coins(report).replace('in each run', 'in each set')}, as stated by the auditor",
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
    utility = report.utility
    if utility is not None:
        rows.append(("Accuracy of the network", *measured_percent(utility.accuracy, utility.accuracy_interval)))
    return tuple(rows)


def explain_numbers(report: Report) -> str:
    """What the key numbers are, what their intervals are over, and how to measure what is missing."""
    text = (
        "AUC: area under the ROC curve (0.5 is chance). TPR: share of members that the attack detects when it wrongly "
        "accuses the given share of non-members, the FPR (chance: TPR = FPR). "
    )
    text += explain_intervals(
        percent(report.roc.interval_confidence),
        report.roc.interval_unit,
        report.game.public_draws,
        count(report.game.num_test_runs),
    )
    text += explain_exact(report.roc) + explain_accountants(report.claimed)
    utility = report.utility
    if is_own_models(report):
        return text
    if utility is None:
        how = (
            "audit utility measures it" if report.level == "generator" else "audit utility, or level model, measures it"
        )
        return f"{text} The accuracy of a network trained on the synthetic set was not measured: {how}."
    if utility.interval_unit != report.roc.interval_unit:
        text += f" The interval of the accuracy is over {utility.interval_unit}."
    return f"{text} {sentence(trained_network(report))} Its accuracy was measured on {utility.measured_on.rstrip('.')}."


def explain_exact(roc: Roc) -> str:
    """Which intervals are not by resampling; empty where all are."""
    if not roc.over_records:
        return ""
    names = [name if name[0].isalpha() else f"TPR at FPR {percent(float(name))}" for name in roc.over_records]
    return (
        f" For {', '.join(names)} all test runs agree, so resampling them shows no spread: there the interval is the "
        "exact binomial one (Clopper–Pearson) over the records that were scored, as if these were independent. Records "
        "of one run are not, so the uncertainty may be larger."
    )


def trained_network(report: Report) -> str:
    """What level model is about: a network trained on the set, or the one that a method releases."""
    return "The network was trained on the synthetic set" if report.game.num_synthetic else "The network is the release"


def explain_scores(num_members: int, num_nonmembers: int, folded: int) -> str:
    text = f"Scores of {count(num_members)} members and {count(num_nonmembers)} non-members; each adds up to 100%. "
    return text + (f"The {count(folded)} most extreme scores are in the first and the last bin." if folded else "")


def explain_exposure(num_records: int, num_beyond: int, chance_maximum: float) -> str:
    return (
        "AUC of each record by itself: how well the attack separates the test runs with it from those without it. If "
        f"nothing leaked, no record would exceed {chance_maximum:.2f} with probability 95%; "
        f"{count(num_beyond)} of {count(num_records)} exceed it."
    )


def explain_no_exposure(report: Report) -> str:
    """Why single records cannot be judged, and what to do about it."""
    return (
        f"{count(report.game.num_test_runs)} test runs are too few to tell an exposed record from chance. Use more of "
        "them (--shadows, --test-runs)."
    )


def explain_displacement(found: Displacement) -> str:
    """How far images moved, against how far records are apart."""
    low, high = found.quartiles
    images = f"{count(found.num_images)} synthetic images of all runs" if found.num_images > 1 else "synthetic image"
    text = (
        f"The median distance of the {images} from the record that each started from is {found.median:.1f} "
        f"(quartiles {low:.1f} and {high:.1f}; L2 distance of pixels in [−1, 1])."
    )
    if found.between_records is None:
        return text
    return f"{text} Two records of one class are {found.between_records:.1f} apart (median)."


def explain_outlook(report: Report) -> str:
    """What more runs would buy, in a few sentences."""
    first, last = report.outlook[0], report.outlook[-1]
    text = (
        "The ceiling is what an attack without a single error would certify. The last column assumes that the same "
        "share of coins is guessed, and the same share of guesses is right, as in this audit; it is an extrapolation, "
        "not a bound. "
    )
    if last.ceiling > first.ceiling:
        gain = down(last.ceiling - first.ceiling)
        text += f"With {last.num_runs // first.num_runs} times as many runs the ceiling would be {gain} higher. "
    claimed = claimed_epsilon(report.claimed)
    if claimed is None or report.verdict == "REFUTED":
        return text.rstrip()
    claim = f"the claim of ε ≤ {up(claimed)}"
    same = next((step for step in report.outlook if step.lower_at_same_rates > claimed), None)
    if same is not None:
        return f"{text}If the guesses stay as good as they are, {count(same.num_runs)} runs would refute {claim}."
    if last.ceiling <= claimed:
        return f"{text}No attack could refute {claim} with {count(last.num_runs)} runs or fewer."
    return (
        f"{text}If the guesses stay as good as they are, even {count(last.num_runs)} runs would not refute {claim}: if "
        "the claim is false, a better attack is needed to show it."
    )


def limits(report: Report) -> tuple[tuple[str, str], ...]:
    """What this audit cannot tell."""
    bound, own = report.epsilon, is_own_models(report)
    entries = [
        (
            "Upper bounds",
            "An audit certifies lower bounds only. The true ε may be anything above the figure given here. NOT REFUTED "
            "and NO CLAIM do not prove privacy, and no audit can.",
        ),
        (
            "Better attacks",
            f"Only {report.attack} was run, at level “{report.level}”. A stronger attack, or an adversary who sees "
            "more, may find more."
            if report.ladder is None
            else "One attack was run at each level. A stronger one may find more.",
        ),
        (
            "Other records",
            "Another record, or a better canary, may be far more exposed than those that were planted here."
            if report.config.get("canaries")
            else "The records are those of the data set. An outlier, or a canary made for the purpose, may be far more "
            "exposed than the average that AUC and TPR describe. To plant some: --canaries.",
        ),
        (
            "Other settings",
            "The figures hold for the configuration of this report: its data, sizes and number of steps. They do not "
            "carry over to others.",
        ),
        many_audits(bound, None if report.ladder is None else joint_confidence(report.ladder)),
        (
            "Other harms",
            "Membership is what differential privacy bounds. What the "
            f"{'models reveal' if own else 'synthetic set reveals'} about a group, or about an attribute that many "
            "records share, was not examined.",
        ),
    ]
    if say_ceiling(bound.ceiling)[0].isdigit():
        entries.insert(
            1,
            (
                "ε above the ceiling",
                f"{'With' if report.ladder is None else f'At level “{report.level}”, with'} "
                f"{say_trials(bound, num_drawn=num_coins(report))} no ε above {down(bound.ceiling)} can be "
                "certified, however large the leak.",
            ),
        )
    return tuple(entries)


def num_coins(report: Report) -> int:
    """Membership coins of the test runs: those that were tested, and those that chose the thresholds."""
    game = report.game
    return game.num_test_runs * (game.num_records if game.num_audited is None else game.num_audited)
