"""What is said of `audit visual`, tested or not."""

from reports.records.intervals import RECORDS
from reports.records.visual import NearestReport, VisualReport
from reports.words.bounds import sentence
from reports.words.rounding import count, down, measured, probability, say_ceiling, with_interval
from reports.words.table import Column, Table

SEEN = (
    "Nearest records, level “set”: the adversary sees the released synthetic set and compares every image with the "
    "records."
)
HIDDEN = "Real records are not shown unless you ask for them: audit report RUN_DIR --show-records."
HIDDEN_TOO = "The same holds for the real records."
PANEL_TITLE = "Synthetic images of the first set and their nearest records"
UNTESTED = (
    "NOTHING WAS TESTED, because it is not known which records are members. A record may be near because it is a "
    "member, or because it resembles the members. If the members are chosen by coins (audit coins, then --members "
    "FILE), the same comparison gives a p-value and a bound on ε."
)
LIMITS = (
    (
        "NOTHING FOUND",
        "This is no evidence of privacy: a set can leak membership without resembling any member, and other attacks "
        "(audit lira) may detect it.",
    ),
    (
        "MEMBERS FOUND",
        "The set depends on its members. How much of a record an image reveals is for the reader to judge, or for ε.",
    ),
)


def limit_entries(report: VisualReport) -> tuple[tuple[str, str], ...]:
    """What the finding does not show; that of the other finding is of no use here."""
    return tuple(entry for entry in LIMITS if entry[0] == report.finding)


def tests_title(report: VisualReport) -> str:
    return f"Are the nearest records members? {report.finding}"


def explain_tests(report: VisualReport) -> str:
    game = report.game
    sets = f"{count(game.num_test_runs)} synthetic sets of {count(game.num_synthetic)} images were each"
    if game.num_test_runs == 1:
        sets = f"A synthetic set of {count(game.num_synthetic)} images was"
    made = "condensed from" if report.config.get("foreign") is None else "made elsewhere from"
    return (
        f"{sets} {made} a random half of {count(game.num_records)} records. For every image, the nearest record of its "
        "class is guessed to be a member; no record is guessed twice in one run. If the sets revealed nothing about "
        "membership, the number of members among the guesses would be that of heads in as many tosses of a fair coin. "
        "p is the probability of as many or more; the adjusted p is corrected for the number of distances (Holm). The "
        "same guesses certify ε, corrected for the number of distances; the ceiling is what they would certify if all "
        "of them were right."
    )


def tests_table(report: VisualReport) -> Table:
    columns = (
        Column(title="distance", share=1.2),
        Column(title="certified ε", share=0.9, align="right"),
        Column(title="ceiling", share=0.7, align="right"),
        Column(title="guesses", share=0.7, align="right"),
        Column(title="members", share=1.1, align="right"),
        Column(title="p", share=0.9, align="right"),
        Column(title="adjusted p", share=0.9, align="right"),
        Column(title="AUC of nearness", share=1.6, align="right"),
    )
    rows = []
    for finding in report.distances:
        auc, interval = measured(finding.roc.auc, finding.roc.auc_interval)
        rows.append(
            (
                finding.name,
                f"≥ {down(max(finding.bound.lower, 0))}",
                say_ceiling(finding.most_certifiable),
                count(finding.num_guesses),
                f"{count(finding.num_members)} ({finding.num_members / max(finding.num_guesses, 1):.1%})",
                probability(finding.p_value),
                probability(finding.p_value_adjusted),
                with_interval(auc, interval),
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def explain_displaced(report: VisualReport) -> str:
    """Empty where every guess is of the nearest record."""
    displaced = sum(finding.num_displaced for finding in report.distances)
    if not displaced:
        return ""
    return (
        f"{count(displaced)} guesses are not of the nearest record, because an earlier image had already guessed that "
        "one."
    )


def roc_title(report: VisualReport) -> str:
    best = next(finding for finding in report.distances if finding.bound == report.epsilon)
    return f"ROC of the distance to the nearest image, by {best.name}"


def roc_note(report: VisualReport) -> str:
    resampled = report.roc.interval_unit
    if resampled == RECORDS:
        resampled = (
            "the records of the only set, as if their distances were independent, which does not say what another set "
            "would show"
        )
    return (
        "True positive rate (TPR) against false positive rate (FPR) if every record of the pool is scored by minus "
        "its distance to the nearest synthetic image of its class; AUC is the area under the curve, and 0.5 is "
        f"chance. Band and intervals are by bootstrap over {resampled}. Few images can resemble few records only, so "
        "look at the left end of the curve."
    )


def panel_note(report: VisualReport | NearestReport) -> str:
    whether = (
        ""
        if isinstance(report, NearestReport)
        else ", and whether it is a member (“in”, heavy solid frame) or not (“out”, dashed)"
    )
    return (
        "One column per synthetic image, which stands at the top where it may be shown. Below it are the nearest "
        f"records of its class, the nearest first. Above each record is its distance{whether}. Records are numbered as "
        "in the pool, sorted by class."
    )


def num_nonmembers(report: VisualReport) -> int:
    return max(1, report.game.num_records * report.game.num_test_runs // 2)


def distance_entries(report: VisualReport | NearestReport) -> tuple[tuple[str, str], ...]:
    """What the distances are, and which were left out."""
    return (
        *((one.name, sentence(one.description)) for one in report.distances),
        *((f"{left.name}: not computed", sentence(left.why)) for left in report.not_computed),
    )


def distances_table(report: NearestReport) -> Table:
    """How far the images are from their nearest records."""
    titles = ("images", "equal to a record", "smallest", "median", "largest")
    columns = (Column(title="distance", share=1.3), *(Column(title=each, share=1, align="right") for each in titles))
    rows = tuple(
        (
            one.name,
            count(one.num_images),
            "–" if one.num_copies is None else count(one.num_copies),
            *(f"{value:.3g}" for value in (one.smallest, one.median, one.largest)),
        )
        for one in report.distances
    )
    return Table(columns=columns, rows=rows)
