"""What is said of groups of records that are reported by themselves."""

from collections.abc import Sequence

from reports.records.schema import RecordGroup, Report
from reports.words.rounding import common_decimals, count, down, measured, measured_percent, percent, say_ceiling
from reports.words.table import Column, Table

TITLES = {
    "ordinary": "ordinary records",
    **{kind: f"{kind} canaries" for kind in ("mislabelled", "outlier", "blank", "crafted")},
}
CANARIES_NOTE = (
    "Canaries are records that were made or chosen to be exposed; results for them need not hold for ordinary records."
)


def title_of_groups(report: Report) -> str:
    """By what the records were divided."""
    asked, canaries = _asked(report), report.config.get("canaries")
    if asked is None:
        return "Ordinary records and canaries"
    return f"Groups of records, by {asked}{', and canaries' if canaries else ''}"


def groups_table(groups: Sequence[RecordGroup]) -> Table:
    """A row per group: how many records and coins, AUC, TPR at low false positive rates, certified ε."""
    rates = sorted({rate for group in groups for rate in group.tpr_at_fpr}, key=float)
    columns = (
        Column(title="group", share=0.20),
        Column(title="certified", share=0.10, align="right"),
        Column(title="records", share=0.09, align="right"),
        Column(title="AUC", share=0.09, align="right"),
        Column(title="interval", share=0.17, align="right"),
        *(Column(title=f"TPR at FPR {percent(float(rate))}", share=0.14, align="right") for rate in rates),
        Column(title="ceiling", share=0.09, align="right"),
    )
    decimals = common_decimals(group.auc_interval for group in groups if group.auc_interval is not None)
    rows = []
    for group in groups:
        auc, interval = "–", "–"
        if group.auc is not None:
            auc, interval = measured(group.auc, group.auc_interval or (0.0, 1.0), decimals)
        shown = [_rate(group, rate) for rate in rates]
        certified = f"ε ≥ {down(max(group.epsilon.lower, 0.0))}"
        rows.append(
            (
                TITLES.get(group.name, group.name),
                certified,
                count(group.num_records),
                auc,
                interval,
                *shown,
                say_ceiling(group.epsilon.ceiling),
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def explain_groups(report: Report) -> str:
    """What the bounds of the groups share, and which of them are too small to certify anything."""
    bound = report.groups[0].epsilon
    text = (
        "The groups were fixed before any score was computed. Their bounds hold together with "
        f"{percent(bound.confidence)} confidence: the error probability is divided among {bound.num_tries} tests "
        "(Bonferroni), so that a bound here can lie below the one over all records, which does not share it. If "
        "the largest of all of them is quoted, the error probability is twice as large. The "
        "ceiling is what an attack without a single error would have certified for the group."
    )
    small = [group.name for group in report.groups if not group.epsilon.ceiling > 0]
    if small:
        text += f" Too few coins to certify any ε above 0, whatever leaks: {_some(small)}."
    if any(group.auc is None for group in report.groups):
        text += " No AUC is given where all coins of a group fell on one side."
    return f"{text} {CANARIES_NOTE}" if report.config.get("canaries") else text


def lines_of_groups(groups: Sequence[RecordGroup], said: str) -> list[str]:
    """For a terminal; `said` is what intervals are over."""
    lines = []
    for group in groups:
        auc = "no AUC (all coins on one side)"
        if group.auc is not None and group.auc_interval is not None:
            auc = f"AUC {group.auc:.4f} [{group.auc_interval[0]:.4f}, {group.auc_interval[1]:.4f}]{said}"
        lines.append(f"{group.name:<15}{group.num_records} records, {auc}, ε ≥ {down(group.epsilon.lower)}")
    return lines


def _rate(group: RecordGroup, rate: str) -> str:
    if rate not in group.tpr_at_fpr:
        return "–"
    interval = group.tpr_at_fpr_interval.get(rate)
    value = group.tpr_at_fpr[rate]
    return percent(value, 1) if interval is None else measured_percent(value, interval)[0]


def _asked(report: Report) -> str | None:
    groups = report.config.get("groups")
    return None if groups is None else groups["asked"]


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} others" if len(names) > 10 else "")
