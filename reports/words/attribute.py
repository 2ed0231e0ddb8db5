"""What is said of `audit attribute`."""

from reports.records.allowed import allowed_region
from reports.records.attribute import EASIER, AttributeReport, Estimate
from reports.words.bounds import explain_accountants, explain_claim
from reports.words.intervals import remark
from reports.words.roc import explain_outside, explain_roc
from reports.words.rounding import common_decimals, count, measured_percent, percent
from reports.words.table import Column, Table

SEEN = (
    "Attack attribute, level “set”: the adversary sees the synthetic set, and of each record the part that is "
    "not masked, and guesses the rest."
)
ERRORS_TITLE = "How well masked parts are guessed"
ERRORS_NOTE = (
    "Errors are squared errors, as a percentage of the variance of the masked part over the pool: guessing the mean "
    "has an error of 100%. If the set helps equally with members and non-members, it reveals something about the "
    "population, which is not a breach of privacy. The privacy measure is how much more members gain than "
    "non-members: it is 0 for a set that reveals nothing about membership."
)
ROC_NOTE = (
    "The gain of each record, minus its mean over the fit runs and divided by its standard deviation there, used "
    "as a membership score by an adversary who can check the guess."
)
LIMITS = (
    (
        "Better adversaries",
        "A better adversary may guess better. NO DIFFERENCE FOUND is no proof that members are safe.",
    ),
    (
        "Single records",
        "The figures are means over records. A few records can be reconstructed while the mean hardly changes: "
        "look at the share that is reconstructed, and run audit visual.",
    ),
    (
        "Other attributes",
        "Another part of the record, or a feature that this adversary does not use, may leak where this one does not.",
    ),
    (
        "Fit runs",
        "The runs that the adversary learned from were condensed from halves of the same pool, as in audit lira. An "
        "adversary with data of its own has less to learn from.",
    ),
)


def errors_table(report: AttributeReport) -> Table:
    """Without the set, with it, and who gains from it."""
    found = report.guessing
    columns = (
        Column(title="", share=0.52),
        Column(title="figure", share=0.16, align="right"),
        Column(title=f"{percent(report.roc.interval_confidence)} interval", share=0.32, align="right"),
    )
    reconstructed = f"reconstructed (error at most {percent(found.reconstructed_at)})"
    started = () if found.start_gain is None else (found.start_gain,)
    errors = _rows(found.error_without, found.error_nonmembers, found.error_members)
    gains = _rows(found.gain, found.member_gain, *started)
    reconstructions = _rows(
        found.reconstructed_without,
        found.reconstructed_nonmembers,
        found.reconstructed_members,
        found.member_reconstructions,
    )
    names = (
        "error without the set",
        "error with the set, non-members",
        "error with the set, members",
        "with the set against without it: gain of all records",
        "members against non-members: further gain of members",
        *("gain of records that images were initialised with" for _ in started),
        f"{reconstructed}, without the set",
        f"{reconstructed}, non-members",
        f"{reconstructed}, members",
        "members against non-members: further reconstructions",
    )
    cells = (*errors, *gains, *reconstructions)
    rows = tuple((name, *figures) for name, figures in zip(names, cells, strict=True))
    return Table(columns=columns, rows=rows, marked=4)


def explain_finding(report: AttributeReport) -> str:
    """The finding, in a sentence or two."""
    _, (figure, interval) = _rows(report.guessing.gain, report.guessing.member_gain)
    said = f"members gain {figure} {interval} more from the set than non-members"
    over = remark(report.interval_unit) or "over runs"
    if report.finding == EASIER:
        return f"{report.finding}: {said} ({over})."
    return f"{report.finding}: {said} ({over}); the interval is not above 0."


def game_entries(report: AttributeReport) -> tuple[tuple[str, str], ...]:
    """What was audited, entry by entry."""
    game = report.game
    return (
        ("Method", report.method),
        ("Data set", f"{report.dataset}: {count(game.num_records)} records, {game.num_classes} classes"),
        ("Synthetic set", f"{count(game.num_synthetic)} records per run"),
        ("Masked", f"{report.masked}: {count(report.num_masked)} features of {_features(report)}"),
        (
            "Runs",
            f"{count(game.num_fit_runs)} condensations to fit the adversary, {count(game.num_test_runs)} others to "
            "test it",
        ),
        (
            "Membership",
            f"each record is in each run with probability {game.inclusion_probability:g}, by a membership coin of its "
            "own",
        ),
        ("Claimed", explain_claim(report) + explain_accountants(report.claimed)),
    )


def lines_for_people(report: AttributeReport) -> list[str]:
    """For a terminal."""
    table = errors_table(report)
    return [
        explain_finding(report),
        *(f"{name:<68}{figure:>9}  {interval}".rstrip() for name, figure, interval in table.rows),
    ]


def explain_curve(report: AttributeReport) -> str:
    """How to read the curve of the gain, and what the claim allows, where there is one."""
    said, region = explain_roc(report.roc, num_nonmembers(report), about=True), allowed_region(report)
    return said if region is None else f"{said} {explain_outside(report, region, num_nonmembers(report))}"


def num_coins(report: AttributeReport) -> int:
    """Membership coins of the test runs: those that were tested, and those that chose the thresholds."""
    return report.game.num_records * report.game.num_test_runs


def num_nonmembers(report: AttributeReport) -> int:
    """About half of all coins of the test runs."""
    return num_coins(report) // 2


def _features(report: AttributeReport) -> str:
    return count(report.num_masked + report.num_visible)


def _rows(*figures: float | Estimate) -> list[tuple[str, str]]:
    """Figures of one kind and their intervals, to the same number of decimals."""
    intervals = [(100 * each.interval[0], 100 * each.interval[1]) for each in figures if isinstance(each, Estimate)]
    decimals = min(max(common_decimals(intervals), 1), 3)
    return [
        measured_percent(each.value, each.interval, decimals)
        if isinstance(each, Estimate)
        else (percent(each, decimals), "")
        for each in figures
    ]
