"""What is said of `audit attribute`."""

from reports.records.attribute import EASIER, AttributeReport, Estimate
from reports.words.intervals import remark
from reports.words.rounding import count, decimals_of, measured_percent, percent
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
        "look at the share that is reconstructed, and run `audit visual`.",
    ),
    (
        "Other attributes",
        "Another part of the record, or a feature that this adversary does not use, may leak where this one does not.",
    ),
    (
        "Fit runs",
        "The runs that the adversary learned from were condensed from halves of the same pool, as in `audit lira`. An "
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
    rows = [
        ("error without the set", _alone(found.error_without), ""),
        ("error with the set, non-members", *_cells(found.error_nonmembers)),
        ("error with the set, members", *_cells(found.error_members)),
        ("with the set against without it: gain of all records", *_cells(found.gain)),
        ("members against non-members: further gain of members", *_cells(found.member_gain)),
        (f"{reconstructed}, without the set", _alone(found.reconstructed_without), ""),
        (f"{reconstructed}, non-members", *_cells(found.reconstructed_nonmembers)),
        (f"{reconstructed}, members", *_cells(found.reconstructed_members)),
        ("members against non-members: further reconstructions", *_cells(found.member_reconstructions)),
    ]
    if found.start_gain is not None:
        rows.append(("gain of records that images were initialised with", *_cells(found.start_gain)))
    return Table(columns=columns, rows=tuple(rows), marked=4)


def explain_finding(report: AttributeReport) -> str:
    """The finding, in a sentence or two."""
    figure, interval = _cells(report.guessing.member_gain)
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
        ("Membership", f"each record in each run with probability {game.inclusion_probability:g}, by its own coin"),
    )


def lines_for_people(report: AttributeReport) -> list[str]:
    """For a terminal."""
    table = errors_table(report)
    return [
        explain_finding(report),
        *(f"{name:<68}{figure:>9}  {interval}".rstrip() for name, figure, interval in table.rows),
    ]


def num_nonmembers(report: AttributeReport) -> int:
    """About half of all coins of the test runs."""
    return report.game.num_records * report.game.num_test_runs // 2


def _features(report: AttributeReport) -> str:
    return count(report.num_masked + report.num_visible)


def _cells(estimate: Estimate) -> tuple[str, str]:
    return measured_percent(estimate.value, estimate.interval)


def _alone(value: float) -> str:
    return percent(value, max(decimals_of((0.0, 100 * value)), 1) if value else 1)
