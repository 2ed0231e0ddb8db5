"""What is said of the attempts of a worst-case audit: scores, designs of neighbouring pools, and their tests."""

from reports.records.worst_case import Attempt, WorstCaseReport
from reports.words.bounds import sentence
from reports.words.rounding import count, down, percent, round_up, small, up_percent
from reports.words.table import Column, Table

SHOWN = 14  # attempts of learned scores in the table, those with the smallest p
DESIGNS = {
    "alone": "no other record is a member",
    "opposed": "one record that points in the opposite direction, half as long, is a member in every run; this detects "
    "a sum that is clipped as a whole",
    "ordinary": "a few short records are members in every run; this detects noise that depends on the records",
    "replaced": "in runs without the canary its antipode takes its place, because the guarantee is about replacing one "
    "record",
    "identical": "a few copies of one record are members in every run, and the canary is a uniformly bright image: "
    "without it a class has no variance",
    "blank": "a few ordinary records are members in every run, and the canary is a record of zeros; this detects what "
    "depends on the number of records",
    "natural": "records of a data set are members in every run",
}
SCORES = {
    "likelihood": "log-likelihood ratio of all releases under the claimed mechanism, which is the optimal score if the "
    "claim is true",
    "spread": "difference between the largest and the smallest projection onto the canary over the steps; detects "
    "noise that is used twice",
    "reference": "largest difference to a run known to contain no records; detects noise that runs share",
    "energy": "largest squared length orthogonal to the canary; detects noise of another size than claimed",
    "size": "sum of the sizes of all samples, where the method reveals them",
    "seed search": "number of releases in which the canary and one of the few seeds of the noise explain the "
    "transcript",
}


LEARNED = {
    "projection": "mean projection onto the canary of the items of its class; not fitted",
    "nearest": "minus the distance from the canary to the nearest item; not fitted",
    "linear discriminant": "of the mean, first and last items, coordinate by coordinate",
    "boosted trees": "on all columns of all families",
    "distance to the canary": "discriminant of distances, projections and equal coordinates",
    "moments and spread": "discriminant of mean, standard deviation, skewness, kurtosis, extremes and lengths",
    "differences": "discriminant of differences between items, steps and classes, and of cosines",
    "energy beside the canary": "discriminant of squared lengths orthogonal to the canary",
    "labels and sizes": "discriminant of the labels and of the number of images",
    "logits": "discriminant of the network's logits at the canary and other records",
    "weights": "discriminant of norms, means and extremes of the network's parameters",
}


def attempts_table(report: WorstCaseReport) -> Table:
    """Every score of every design, tested against the curve."""
    columns = (
        Column(title="", share=22, align="right"),
        Column(title="score", share=110),
        Column(title="outcome", share=44),
        Column(title="p", share=44, align="right"),
        Column(title="canary", share=46),
        Column(title="runs tested", share=40, align="right"),
        Column(title="false positives", share=48, align="right"),
        Column(title="false negatives", share=50, align="right"),
        Column(title="FPR at most", share=42, align="right"),
        Column(title="TPR at least", share=42, align="right"),
        Column(title="TPR allowed", share=44, align="right"),
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
        "outside" if test.refuted else "within",
        probability(test.p_value),
        attempt.design,
        count(members + others),
        count(test.counts["false_positives"]),
        count(test.counts["false_negatives"]),
        up_percent(test.false_positive_upper),
        f"{down(100 * (1 - test.false_negative_upper), 1)}%",
        up_percent(1 - test.allowed_false_negative_rate),
    )


def probability(value: float) -> str:
    if value <= 1.0001e-30:
        return "< 10⁻³⁰"
    return small(round_up(value))


def explain_attempts(report: WorstCaseReport) -> str:
    """What the columns of the table are."""
    test = report.attempts[0].test
    left = len(report.attempts) - len(shown_attempts(report))
    others = f" The other {count(left)} learned scores, whose p is not smaller, are in report.json." if left else ""
    share = percent(1 - test.confidence)
    return (
        "An attempt is one score of one design of neighbouring pools. p is the smallest error probability at which it "
        f"would refute the claim, multiplied by {count(test.num_tries)} to correct for all tests and for the bound on "
        f"ε: if the claim is true, any of them falls below {share} in at most {share} of such audits. Thresholds: "
        f"{test.threshold_choice}. “TPR allowed” is the largest TPR that the claim allows at that FPR. Half of the "
        f"runs tested contained the canary.{others}"
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
