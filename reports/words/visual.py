"""What is said of `audit visual`, tested or not."""

from reports.records.intervals import RECORDS
from reports.records.visual import NearestReport, VisualReport
from reports.words.bounds import sentence
from reports.words.rounding import count, down, measured, probability
from reports.words.table import Column, Table

SEEN = "Nearest records, level “set”: the adversary sees the synthetic set itself and looks for its models."
HIDDEN = "Real records are not shown: none enters a report unless asked for, with --show-records."
PANEL_TITLE = "Synthetic images of the first set and their nearest records"
UNTESTED = (
    "NOTHING WAS TESTED: who was in is not known here. A record may be near because it was in, or because it is like "
    "those that were. With coins that chose the members (audit coins; --members FILE) the same pictures give a p-value "
    "and a bound on ε."
)
LIMITS = (
    (
        "Nothing found",
        "This is no evidence of privacy: a set can leak who its members were without resembling any of them, and other "
        "attacks (audit lira) may detect it.",
    ),
    (
        "Members found",
        "The set depends on who was in. How much of a record an image reveals is for the reader, or for ε, to judge.",
    ),
)


def tests_title(report: VisualReport) -> str:
    return f"{report.finding}: are the records that look most alike members?"


def explain_tests(report: VisualReport) -> str:
    game = report.game
    sets = f"{count(game.num_test_runs)} synthetic sets of {count(game.num_synthetic)} images were each"
    if game.num_test_runs == 1:
        sets = f"A synthetic set of {count(game.num_synthetic)} images was"
    made = "condensed from" if report.config.get("foreign") is None else "made by somebody else of"
    return (
        f"{sets} {made} a random half of {count(game.num_records)} records. Every image guesses that the record of its "
        "class nearest to it was in, no record being guessed twice in one run. If the sets told nothing about who was "
        "in, the number of members among the guesses would be that of heads in as many tosses of a fair coin: p is the "
        "probability of as many or more, in brackets adjusted for the number of distances (Holm). ε is certified by "
        "the same guesses, each bound paying for the number of distances; beside it what they would certify had all "
        "been right."
    )


def tests_table(report: VisualReport) -> Table:
    columns = (
        Column(title="distance", share=1.3),
        Column(title="guesses", share=0.7, align="right"),
        Column(title="members", share=1.1, align="right"),
        Column(title="p (adjusted)", share=1.7, align="right"),
        Column(title="ε at least (at most shown)", share=1.3, align="right"),
        Column(title="AUC of nearness", share=1.5, align="right"),
    )
    rows = []
    for finding in report.distances:
        auc, interval = measured(finding.roc.auc, finding.roc.auc_interval)
        rows.append(
            (
                finding.name,
                count(finding.num_guesses),
                f"{count(finding.num_members)} ({finding.num_members / max(finding.num_guesses, 1):.1%})",
                f"{probability(finding.p_value)} ({probability(finding.p_value_adjusted)})",
                f"{down(finding.bound.lower)} ({down(finding.most_certifiable)})",
                f"{auc} {interval}",
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def explain_displaced(report: VisualReport) -> str:
    """Empty where every guess is of the nearest record."""
    displaced = sum(finding.num_displaced for finding in report.distances)
    if not displaced:
        return ""
    return f"{count(displaced)} guesses are not of the nearest record, since an earlier image had taken that one."


def roc_title(report: VisualReport) -> str:
    best = next(finding for finding in report.distances if finding.bound == report.epsilon)
    return f"Distance of members and non-members to the nearest image, by {best.name}"


def roc_note(report: VisualReport) -> str:
    resampled = report.roc.interval_unit
    if resampled == RECORDS:
        resampled = "the records of the one set, as if their distances were independent: no statement about another set"
    return (
        "Every record of the pool is scored by minus its distance to the nearest synthetic image of its class; band "
        f"and intervals by bootstrap over {resampled}. Few records can be models of few images: look at the left of "
        "the curve."
    )


def panel_note(report: VisualReport | NearestReport) -> str:
    whether = "" if isinstance(report, NearestReport) else ", and whether it was in (solid heavy frame) or out (dashed)"
    return (
        f"Above each record its distance{whether}. Nearest first; of the same class. Records are numbered as in the "
        "pool, sorted by class."
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
