"""What is said of a reproduction: rows for people, for CSV and for Markdown."""

from collections import Counter
from collections.abc import Iterable

from reports.records.reproduction import (
    DIRECTION,
    NO,
    NOT_COMPARED,
    NOT_RUN,
    NOTHING_PRINTED,
    UNDECIDED,
    WITHIN,
    ReproducedRow,
    ReproductionReport,
)
from reports.words.rounding import count, decimals_of
from reports.words.table import Column, Table

COLUMNS = (
    "relation", "published", "published_low", "published_high", "ours", "low", "high", "seeds", "agreement", "differs",
    "command",
)  # fmt: skip
SCALES = {
    "smoke": "Scale smoke: other data and a handful of steps. It shows that everything runs. Its measurements are not "
    "those of the paper and are not compared with them; analytic figures need no data and are compared.",
    "reduced": "Scale reduced: the paper's data and network with fewer steps, epochs or runs, as each row says.",
    "full": "Scale full: the paper's settings, as far as the paper states them.",
}
_SUMMARY = {
    WITHIN: "within both intervals",
    DIRECTION: "in direction only",
    NO: "in disagreement",
    UNDECIDED: "undecided",
    NOTHING_PRINTED: "without a printed value",
    NOT_COMPARED: "not compared",
    NOT_RUN: "not run",
}
# Symbols of the papers that curves are drawn by.
_AXES = {
    "sigma": "noise multiplier σ",
    "L": "group size L",
    "I": "iterations I",
    "M": "images per class M",
    "ipc": "images per class",
    "C": "clipping norm C",
    "R": "iterations R",
    "value": "value of the setting that is varied",
}
_PLAIN = ("method", "dataset", "varied")
_SYMBOLS = {"epsilon": "ε", "sigma": "σ"}
CURVE_NOTE = "Filled markers are measured here, with their intervals; open markers are values that the paper prints."
DRAWN_NOTE = " A value that the paper only plots is listed as “drawn”."
INTERVAL_OF = "95% intervals over seeds, networks or runs"
INTERVALS = (
    "Published intervals are the value ± what the paper prints after it, or one unit of its last digit. Ours are "
    "{ours}; a value without an interval comes from a single run or is analytic. “Within both intervals” means that "
    "the two intervals overlap, not that each contains the other value. Where ours contains chance as well as the "
    "published value, nothing is decided."
)


def summary(report: ReproductionReport) -> str:
    """How many values agree, in one sentence."""
    counts = Counter(row.agreement for row in report.rows)
    total = len(report.rows)
    parts = [
        said if counts[agreement] == total else f"{count(counts[agreement])} {said}"
        for agreement, said in _SUMMARY.items()
        if counts[agreement]
    ]
    return f"{count(total)} value{'' if total == 1 else 's'}: {', '.join(parts)}."


def name_of(row: ReproducedRow) -> str:
    """Where a figure stands."""
    return name_labels(row.labels)


def name_labels(labels: Iterable[tuple[str, str]]) -> str:
    """Values of labels, with their names where the value alone does not tell what it is."""
    return ", ".join(value if name in _PLAIN else f"{_SYMBOLS.get(name, name)} {value}" for name, value in labels)


def name_axis(axis: str) -> str:
    """What a curve is drawn by, in words."""
    return _AXES.get(axis, axis)


def rows_by_axis(report: ReproductionReport) -> dict[str, tuple[ReproducedRow, ...]]:
    """Rows of each curve by what they are drawn by; an item that varies several settings has a curve for each."""
    names = [row.label("varied") or name_axis(report.axis) for row in report.rows]
    return {
        name: tuple(row for row, own in zip(report.rows, names, strict=True) if own == name)
        for name in dict.fromkeys(names)
    }


def explain_intervals(report: ReproductionReport) -> str:
    """The note below the table."""
    return INTERVALS.format(ours=report.interval_of or INTERVAL_OF) + (
        DRAWN_NOTE if any(row.published is None for row in report.rows) else ""
    )


def published_text(row: ReproducedRow) -> str:
    """As printed."""
    if row.published is None:
        return "drawn"
    if row.relation == "below":
        return f"< {row.published:g}"
    return row.printed or f"{row.published:g}".replace("-", "−")


def ours_text(row: ReproducedRow) -> str:
    """As measured, with its interval."""
    if row.ours is None:
        return "—"
    if row.interval is None:
        return f"{row.ours:.2f}".replace("-", "−")
    decimals = max(1, decimals_of(row.interval, most=3))
    low, high = row.interval
    return f"{row.ours:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]".replace("-", "−")


def rows_table(report: ReproductionReport) -> Table:
    """A row for each figure."""
    columns = (
        Column(title="figure", share=0.22),
        Column(title="published", share=0.12, align="right"),
        Column(title="ours", share=0.19, align="right"),
        Column(title="agreement", share=0.12),
        Column(title="what differs", share=0.35, prose=True),
    )
    rows = tuple(
        (name_of(row), published_text(row), ours_text(row), row.agreement, "; ".join(row.differs) or "nothing known")
        for row in report.rows
    )
    return Table(columns=columns, rows=rows)


def markdown(report: ReproductionReport) -> str:
    """The item as a section of a page."""
    lines = [
        f"### {report.item}: {report.title} ({report.unit}), scale {report.scale}",
        "",
        f"{report.paper}; {report.where}. {summary(report)}",
        "",
        "| figure | published | ours | agreement | what differs |",
        "|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows_table(report).rows]
    if report.quoted:
        lines += ["", "Not run here:", ""]
        lines += [f"- {what}: {why}." for what, why in report.quoted]
    return "\n".join([*lines, "", f"`{report.command}`", ""])


def csv_row(row: ReproducedRow) -> tuple[object, ...]:
    """The values of `COLUMNS`; empty where there is none."""
    printed, mine = row.published_interval or ("", ""), row.interval or ("", "")
    return (
        row.relation,
        "" if row.published is None else row.published,
        *printed,
        "" if row.ours is None else row.ours,
        *mine,
        row.num_seeds,
        row.agreement,
        "; ".join(row.differs),
        row.command,
    )


def compared(report: ReproductionReport) -> tuple[ReproducedRow, ...]:
    """Rows with something printed."""
    return tuple(row for row in report.rows if row.agreement != NOTHING_PRINTED)
