"""What is said of networks trained on synthetic sets: `audit utility` and `audit continual`."""

from reports.records.utility import Accuracy, ContinualReport, Gain, UtilityReport, UtilityRow
from reports.words.rounding import count, percent, rough, say_delta, with_interval
from reports.words.table import Column, Table

UTILITY_LEAD = (
    "Networks are trained on each synthetic set and tested on real records that were not condensed. No attack is "
    "run: this report says how well networks train on a set, and nothing about privacy."
)
CONTINUAL_LEAD = (
    "Each stage passes on a synthetic set of its own classes and no records. After each stage a new network is trained "
    "on all sets so far and tested on all classes seen so far."
)
FIGURE_NOTE = (
    "Bars are 95% intervals of the mean over networks. Points of one size are shifted slightly so that bars do not "
    "hide each other."
)
EPSILON_NOTE = (
    "ε and δ are the parameters of differential privacy that the noise of a private method was calibrated to: a "
    "smaller ε is a stronger guarantee."
)
STAGES_NOTE = (
    "Brackets and bars: 95% intervals of the mean over networks, by Student's t distribution. Guessing: the accuracy "
    "of a guess that ignores the image, if all classes are equally frequent."
)
LIMITS = (
    ("Privacy", "An accurate set may leak its records. Audit it as well, with audit lira and audit visual."),
    (
        "Other uses",
        "Accuracy is that of these networks under this training recipe. A set that trains them well need not serve "
        "other networks or other tasks.",
    ),
    (
        "Another condensation",
        "Intervals cover another condensation only where each network was trained on one of its own; the notes above "
        "say for which sets that is so.",
    ),
)
STAGE_LIMITS = (
    LIMITS[0],
    ("Order of the classes", "Classes arrived in one order. Another order may give other accuracies."),
)
_COLUMNS = (
    Column(title="set", share=0.13),
    Column(title="ε", share=0.06, align="right"),
    Column(title="accuracy", share=0.14, align="right"),
    Column(title="images", share=0.08, align="right"),
    Column(title="network", share=0.1),
    Column(title="random subset", share=0.14, align="right"),
    Column(title="gain and 95% interval", share=0.2, align="right"),
    Column(title="random records needed", share=0.12, align="right"),
    Column(title="all records", share=0.14, align="right"),
    Column(title="FLOPs of training", share=0.12, align="right"),
)


def rows_table(report: UtilityReport) -> Table:
    """A row for each set and network, without columns in which nothing was measured."""
    rows = [_cells(row, report.names) for row in report.rows]
    kept = [place for place in range(len(_COLUMNS)) if any(row[place] for row in rows)]
    return Table(
        columns=tuple(_COLUMNS[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in rows),
    )


def _cells(row: UtilityRow, names: dict[str, str]) -> tuple[str, ...]:
    match = row.matching_subset
    return (
        row.set,
        "" if row.epsilon is None else f"{row.epsilon:.3g}",
        _spread(row.accuracy),
        count(row.images),
        names[row.architecture],
        _spread(row.random_subset),
        "" if row.gain is None else _gain(row.gain),
        "" if not match.searched else "more than all" if match.images is None else count(match.images),
        _spread(row.full),
        rough(row.accuracy.flops),
    )


def _spread(found: Accuracy | None) -> str:
    if found is None:
        return ""
    around = "" if found.deviation is None else f"\u00a0±\u00a0{100 * found.deviation:.1f}"
    return f"{100 * found.mean:.1f}{around}%"


def _gain(gain: Gain) -> str:
    if gain.interval is None:
        return _points(gain.mean)
    low, high = gain.interval
    return with_interval(_points(gain.mean), f"[{_points(low)}, {_points(high)}]")


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}".replace("-", "−")


def summary(report: UtilityReport) -> str:
    """The best set, and in how many rows a set beats random records."""
    best = max(report.rows, key=lambda row: row.accuracy.mean)
    said = (
        f"Highest accuracy of a set: {with_its_interval(best.accuracy)} with {report.names[best.architecture]} on "
        f"{count(best.images)} images of {best.set}{_private(best)}."
    )
    if best.full is not None:
        said += f" All {count(best.full.images)} records give {with_its_interval(best.full)}."
    judged = [row.gain.interval for row in report.rows if row.gain is not None and row.gain.interval is not None]
    if not judged:
        return said
    better, worse = sum(low > 0 for low, _ in judged), sum(high < 0 for _, high in judged)
    rows = "the only row" if len(judged) == 1 else f"{count(len(judged))} rows"
    return (
        f"{said} Compared with a random subset of the same size in {rows}: {count(better)} more accurate, "
        f"{count(worse)} less accurate, {count(len(judged) - better - worse)} without a clear difference (the 95% "
        "interval of the gain contains 0)."
    )


def _private(row: UtilityRow) -> str:
    return "" if row.epsilon is None else f" at ε = {row.epsilon:.3g}"


def with_its_interval(found: Accuracy) -> str:
    """92.7% [91.8%, 93.5%]; without brackets of a single network, or where all of them agree."""
    if found.interval is None:
        return percent(found.mean, 1)
    low, high = found.interval
    if low == high:
        return f"{percent(found.mean, 1)} (the same for all networks)"
    return with_interval(percent(found.mean, 1), f"[{percent(low, 1)}, {percent(high, 1)}]")


def explain_rows(report: UtilityReport) -> str:
    """What the columns hold."""
    said = (
        "Accuracies are means over networks ± standard deviation, as a percentage of the test records. Gain: accuracy "
        "on the set less accuracy on a random subset of the same size, in percentage points, with Welch's interval. "
        "FLOPs: floating-point operations of training one network."
    )
    if any(row.matching_subset.searched for row in report.rows):
        said += " Random records needed: how many random records reach the same mean accuracy, found by search."
    return f"{said} Seconds are in utility.csv."


def explain_epsilon(report: UtilityReport | ContinualReport) -> str:
    """The symbols, where a method was private; empty otherwise."""
    private = (
        report.epsilon is not None
        if isinstance(report, ContinualReport)
        else any(row.epsilon is not None for row in report.rows)
    )
    return f"{EPSILON_NOTE} Here {say_delta(report.delta)}." if private else ""


def utility_entries(report: UtilityReport) -> tuple[tuple[str, str], ...]:
    """What was measured, entry by entry."""
    split = "official test split" if report.official_test_split else "a quarter of the records, not condensed"
    sets = dict.fromkeys(row.set for row in report.rows)
    networks = ", ".join(f"{report.names[name]} ({count(size)} parameters)" for name, size in report.networks.items())
    costs = {row.set: row.condensing_flops for row in report.rows if row.condensing_flops}
    entries = [
        ("Sets", ", ".join(sets)),
        ("Data set", f"{report.dataset}: {count(report.train_records)} records to condense"),
        ("Tested on", f"{count(report.test_records)} records: {split}"),
        ("Networks", networks),
    ]
    if costs:
        said = ", ".join(f"{name} {rough(flops)}" for name, flops in costs.items())
        entries.append(("Condensing", f"{said} FLOPs per set (of the largest size)"))
    return tuple(entries)


def stages_table(report: ContinualReport) -> Table:
    """A row for each stage."""
    columns = (
        Column(title="after stage", share=0.12, align="right"),
        Column(title="accuracy", share=0.24, align="right"),
        Column(title="guessing", share=0.12, align="right"),
        Column(title="images", share=0.12, align="right"),
        Column(title="classes so far", share=0.4),
    )
    rows = tuple(
        (
            str(stage.stage),
            with_its_interval(stage.accuracy),
            percent(1 / len(stage.classes), 1),
            count(stage.accuracy.images),
            f"{len(stage.classes)}: {', '.join(map(str, stage.classes))}",
        )
        for stage in report.stages
    )
    return Table(columns=columns, rows=rows)


def continual_summary(report: ContinualReport) -> str:
    """First and last stage."""
    last = report.stages[-1]
    said = f"Accuracy on {len(last.classes)} classes after {_stages(last.stage)}: {with_its_interval(last.accuracy)}"
    if len(report.stages) == 1:
        return f"{said}."
    first = report.stages[0]
    return f"{said}; on {len(first.classes)} classes after the first: {with_its_interval(first.accuracy)}."


def _stages(number: int) -> str:
    return "one stage" if number == 1 else f"{number} stages"


def continual_entries(report: ContinualReport) -> tuple[tuple[str, str], ...]:
    """What was measured, entry by entry."""
    last = report.stages[-1].accuracy
    private = (
        ()
        if report.epsilon is None
        else (
            (
                "Privacy",
                f"each stage calibrated to ε = {report.epsilon:g} at {say_delta(report.delta)}; every record belongs "
                "to one stage, so all stages together satisfy the same guarantee",
            ),
        )
    )
    return (
        ("Method", report.method),
        ("Data set", f"{report.dataset}: {count(report.test_records)} test records of all classes"),
        ("Networks", f"{count(last.n)} ConvNets after each stage, each on condensations of its own"),
        *private,
    )


def lines_of(table: Table) -> list[str]:
    """For a terminal."""
    lines = [tuple(column.title for column in table.columns), *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
