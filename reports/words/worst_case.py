"""What is said of `audit worst-case`: words, tables and marks."""

from reports.records.kinds import Curve
from reports.records.schema import claimed_epsilon
from reports.records.worst_case import Attempt, Corner, WorstCaseReport, corners_of
from reports.words.bounds import explain_claim, many_audits, sentence
from reports.words.rounding import count, down, percent, small, up, up_percent
from reports.words.table import Column, Table

_SEES = {
    "transcript": "every noisy sum that the method draws from the records, and what it releases",
    "set": "the released set",
    "model": "a network that was released, or trained on the released set",
}
NO_CURVE = (
    "There is no curve to draw: nothing is claimed, nothing was measured, or the record is of an earlier version."
)
SHOWN = 14  # attempts of learned scores in the table, those with the smallest p
BARS_NOTE = (
    "Filled: certified. Pale: up to the ceiling, cut at the edge where that lies beyond. Mark: ε that PLD proves for "
    "what ran. “clopper-pearson” assumes nothing of the mechanism; “gaussian” and “family” grant the claim its family "
    "of mechanisms and are bounds only if it is of that family, so a bar of theirs beyond the mark by itself refutes "
    "nothing: the verdict is that of the test against the whole curve."
)
DESIGNS = {
    "alone": "no other record is a member",
    "opposed": "one record that points the other way, half as long, is a member in every run: it shows a sum that is "
    "clipped as a whole",
    "ordinary": "a few short records are members in every run: it shows noise that depends on the records",
    "replaced": "in runs without the canary its antipode stands in its place, since the guarantee speaks of replacing",
    "identical": "a few copies of one record are members in every run, and the canary is one bright surface: without "
    "it a class has no variance",
    "blank": "a few ordinary records are members in every run, and the canary is a record of zeros: it shows what "
    "depends on how many there are",
    "natural": "records of a data set are members in every run",
}
SCORES = {
    "likelihood": "log-likelihood ratio of all releases under the claimed mechanism, the best score there is if the "
    "claim is true",
    "spread": "largest minus smallest projection on the canary over the steps, which noise used twice cannot hide",
    "reference": "largest gap to a run known to hold no records, which noise shared by runs cannot hide",
    "energy": "largest squared length at right angles to the canary, which shows noise of another size than claimed",
    "size": "sum of the sizes of all samples, where the method tells them",
    "seed search": "in how many releases the canary and one of the few seeds of the noise explain the transcript",
}


LEARNED = {
    "projection": "mean projection on the canary of the items of its class; not fitted",
    "nearest": "minus the distance of the item that is nearest to the canary; not fitted",
    "linear discriminant": "of the mean, first and last items, coordinate by coordinate",
    "boosted trees": "on all columns of all families",
    "distance to the canary": "discriminant of distances, projections and equal coordinates",
    "moments and spread": "discriminant of mean, deviation, skewness, kurtosis, extremes and lengths",
    "differences": "discriminant of differences between items, steps and classes, and of cosines",
    "energy beside the canary": "discriminant of squared lengths at right angles to the canary",
    "labels and sizes": "discriminant of labels and of how many images there are",
    "logits": "discriminant of the network's logits at the canary and other records",
    "weights": "discriminant of norms, means and extremes of the network's parameters",
}


def seen(report: WorstCaseReport) -> str:
    """Who attacks, in a sentence."""
    sees = _SEES.get(report.level, report.level)
    return f"Worst case, level “{report.level}”: the adversary chooses the neighbouring pools and sees {sees}."


def contracts_table(report: WorstCaseReport) -> Table:
    """The contracts of a method that uses the door, and the test of its noise."""
    columns = (Column(title="what", share=0.2), Column(title="outcome", share=0.16), Column(title="found", share=0.64))
    outcomes = {True: "held", False: "NOT HELD", None: "not checked"}
    rows = [(f"contract {check.name}", outcomes[check.held], check.sentence) for check in report.contracts]
    if report.noise is not None:
        noise = report.noise
        rows.append(
            (
                "law of the noise",
                f"p = {probability(noise.p_value)}",
                f"Goodness of fit of {count(noise.num_values)} numbers of runs without records; worst in {noise.worst}."
                " No ε is read off it.",
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def curve_of(report: WorstCaseReport) -> Curve | None:
    if report.roc is None or report.tradeoff is None:
        return None
    return Curve(roc=report.roc, claimed=report.claimed, tradeoff=report.tradeoff)


def num_nonmembers(report: WorstCaseReport) -> int:
    """Runs without the canary behind the curve."""
    return report.num_trials // 2


def marks_of(report: WorstCaseReport) -> tuple[tuple[str, Corner], ...]:
    """Corners to draw, with their numbers in the table; those of one place, to a per cent, share a mark."""
    places: dict[tuple[float, float, bool], list[Corner]] = {}
    shown = {number for number, _ in shown_attempts(report)}
    for corner in corners_of(report):
        if corner.number not in shown:
            continue
        place = (round(corner.false_positive_rate, 2), round(corner.true_positive_rate, 2), corner.outside)
        places.setdefault(place, []).append(corner)
    groups = sorted(places.values(), key=lambda group: group[0].false_positive_rate)
    return tuple((", ".join(str(each.number) for each in group), group[0]) for group in groups)


def explain_curve(report: WorstCaseReport) -> str:
    refuting = [corner.number for corner in corners_of(report) if corner.outside]
    outside = (
        f"Outside, so refuting: {_listed(refuting)}."
        if refuting
        else "Here none lies outside: nothing is refuted, which proves nothing either."
    )
    return (
        "Shaded: what the guarantee allows at every false-positive rate (trade-off curve of what ran, by its privacy "
        "loss distribution). Numbered marks: the attempts of the table, each at the corner of its confidence region, "
        "the largest FPR and the smallest TPR that its errors leave after correction for all attempts; a corner "
        f"outside of the region refutes the guarantee. {outside} Line and band: the likelihood ratio over all runs, "
        "whose interval holds at one FPR decided upon beforehand; no verdict rests on it."
    )


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def attempts_table(report: WorstCaseReport) -> Table:
    """Every score of every design, tested against the curve."""
    columns = (
        Column(title="", share=14, align="right"),
        Column(title="score", share=74),
        Column(title="canary", share=44),
        Column(title="runs tested", share=42, align="right"),
        Column(title="false positives", share=52, align="right"),
        Column(title="false negatives", share=54, align="right"),
        Column(title="FPR at most", share=42, align="right"),
        Column(title="TPR at least", share=42, align="right"),
        Column(title="TPR allowed", share=48, align="right"),
        Column(title="p", share=56, align="right"),
        Column(title="outcome", share=50),
    )
    rows = [_attempt_row(number, attempt) for number, attempt in shown_attempts(report)]
    return Table(columns=columns, rows=tuple(rows))


def shown_attempts(report: WorstCaseReport) -> tuple[tuple[int, Attempt], ...]:
    """With their numbers: all scores that were written down beforehand, and of the learned ones those of smallest p."""
    numbered = list(enumerate(report.attempts, start=1))
    learned = sorted((each for each in numbered if each[1].score not in SCORES), key=lambda each: each[1].test.p_value)
    kept = {number for number, _ in learned[:SHOWN]}
    return tuple(each for each in numbered if each[1].score in SCORES or each[0] in kept)


def _attempt_row(number: int, attempt: Attempt) -> tuple[str, ...]:
    test = attempt.test
    members = test.counts["true_positives"] + test.counts["false_negatives"]
    others = test.counts["false_positives"] + test.counts["true_negatives"]
    return (
        str(number),
        attempt.score,
        attempt.design,
        count(members + others),
        count(test.counts["false_positives"]),
        count(test.counts["false_negatives"]),
        up_percent(test.false_positive_upper),
        f"{down(100 * (1 - test.false_negative_upper), 1)}%",
        up_percent(1 - test.allowed_false_negative_rate),
        probability(test.p_value),
        "outside" if test.refuted else "within",
    )


def probability(value: float) -> str:
    if value <= 1.0001e-30:
        return "< 10⁻³⁰"
    return small(float(f"{value:.2g}"))


def explain_attempts(report: WorstCaseReport) -> str:
    if not report.attempts:
        return "No claim was held against a curve."
    test = report.attempts[0].test
    left = len(report.attempts) - len(shown_attempts(report))
    others = f" {count(left)} other learned scores, with no smaller p, are in report.json." if left else ""
    return (
        f"p is the smallest error at which the claim would have been refuted, corrected for all {test.num_tries} "
        f"attempts: with a true claim, one of them falls below {percent(1 - test.confidence)} in fewer than "
        f"{percent(1 - test.confidence)} of such audits. Thresholds: {test.threshold_choice}. “TPR allowed” is the "
        f"most that the guarantee leaves at that FPR. Half of the runs tested had the canary.{others}"
    )


def attempt_entries(report: WorstCaseReport) -> tuple[tuple[str, str], ...]:
    """What the designs and scores of the table are."""
    designs = dict.fromkeys(attempt.design for attempt in report.attempts)
    scores = dict.fromkeys(attempt.score for attempt in report.attempts)
    return (
        *((f"canary {name}", sentence(DESIGNS.get(name, name))) for name in designs),
        *((f"score {name}", sentence(SCORES[name])) for name in scores if name in SCORES),
        *(
            (f"learned: {name}", sentence(text))
            for name, text in LEARNED.items()
            if any(score.startswith(f"{name} (") for score in scores)
        ),
    )


def explain_tightness(report: WorstCaseReport) -> str:
    if report.tightness is None:
        return f"None: {report.tightness_reason.rstrip('.')}. The verdict does not need it."
    return (
        f"{down(report.tightness, 3)}: the family bound is that part of the ε that PLD proves. At 1 no stronger attack "
        "and no sharper accounting is left to find; the rest is the price of a finite number of runs."
    )


def audited_entries(report: WorstCaseReport) -> tuple[tuple[str, str], ...]:
    """What was audited, entry by entry."""
    left = (("Not examined", sentence("; ".join(report.not_examined))),) if report.not_examined else ()
    return (
        ("Claimed", explain_claim(report) if report.claimed else "Nothing."),
        *left,
        ("Tightness", explain_tightness(report)),
        (
            "Runs",
            f"{count(report.num_trials)} of the real code with the canary alone, half of them with this one record "
            "more (other designs take a quarter as many)",
        ),
        (
            "Canary",
            f"Chosen by the adversary; its vectors reach {percent(report.canary_typical_length, 1)} of the clipping "
            f"norm (root mean square), {down(100 * report.canary_length, 1)}% in the release where they are shortest",
        ),
    )


def ledger_table(report: WorstCaseReport) -> Table:
    """The mechanism ledger: every release, with its sample and its noise."""
    columns = (
        Column(title="releases", share=0.12, align="right"),
        Column(title="of", share=0.18),
        Column(title="sample", share=0.26),
        Column(title="noise multiplier", share=0.16, align="right"),
        Column(title="noise scaled by", share=0.16),
        Column(title="accounted", share=0.12),
    )
    rows = tuple(
        (
            count(entry["count"]),
            "everybody" if entry["group"] is None else f"class {entry['group']}",
            _sample(entry["sampling"]),
            f"{entry['noise_multiplier']:.4g}",
            "clipping norm" if entry["noise_by"] == "clip" else str(entry["noise_by"]),
            "yes" if entry["accounted"] else "NO",
        )
        for entry in report.ledger
    )
    return Table(columns=columns, rows=rows)


def _sample(sampling: dict[str, float]) -> str:
    if "rate" in sampling:
        return f"Poisson, rate {sampling['rate']:.4g}"
    return ", ".join(f"{name} {value:g}" for name, value in sorted(sampling.items()))


def trials_table(report: WorstCaseReport) -> Table:
    columns = (
        Column(title="trials", share=0.2, align="right"),
        Column(title="of them tested", share=0.22, align="right"),
        Column(title="ceiling: no error", share=0.26, align="right"),
        Column(title="error rates as now", share=0.26, align="right"),
    )
    rows = tuple(
        (
            count(step.num_runs),
            count(step.num_test_runs),
            f"ε ≥ {down(step.ceiling)}",
            f"ε ≥ {down(step.lower_at_same_rates)}",
        )
        for step in report.outlook
    )
    return Table(columns=columns, rows=rows)


def explain_trials(report: WorstCaseReport) -> str:
    """What more trials would buy, in a few sentences."""
    text = (
        "By the Clopper–Pearson bound, which assumes nothing of the mechanism. The ceiling is what an attack without "
        "a single error would certify; “error rates as now” is an extrapolation, no bound. "
    )
    claimed, last = claimed_epsilon(report.claimed), report.outlook[-1]
    if claimed is None or report.verdict == "REFUTED":
        return text.rstrip()
    if last.ceiling <= claimed:
        return (
            f"{text}The claim of ε ≤ {up(claimed)} lies above every ceiling of the table: only the whole curve, or a "
            "granted family, can speak of it."
        )
    return text.rstrip()


def limit_entries(report: WorstCaseReport) -> tuple[tuple[str, str], ...]:
    """What this audit cannot tell."""
    return (
        (
            "An upper bound",
            "An audit certifies from below. NOT REFUTED is no proof of privacy: it says that these scores, with so "
            "many runs, found no contradiction.",
        ),
        (
            "Another fault",
            f"{count(len(report.attempts))} scores were tried, with no particular fault in view. A leak that none of "
            "them sees in so many runs stays unseen.",
        ),
        (
            "Real data",
            "The pools were made to expose, not drawn from data: an ordinary adversary against ordinary records sees "
            "far less. For that see audit lira at the levels model and set.",
        ),
        (
            "Other settings",
            "The small configuration listed in this report was audited, with its own ledger. The code is the same at "
            "full size; its ε is not.",
        ),
        many_audits(report.epsilon),
    )
