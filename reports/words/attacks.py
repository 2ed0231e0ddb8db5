"""What is said of several attacks on the same condensations."""

from reports.records.attacks import CompareReport
from reports.words.intervals import noted
from reports.words.rounding import count, down, measured, measured_percent, percent
from reports.words.table import Column, Table


def explain_attacks(report: CompareReport) -> str:
    """What was compared, and for what the bounds are corrected."""
    first = report.entries[0].epsilon
    return (
        f"{count(len(report.entries))} attacks on the same test runs. Every bound holds with "
        f"{percent(first.confidence)} confidence at δ = {first.delta:g} for all of them together; they share the error."
    )


def attacks_table(report: CompareReport) -> Table:
    """A row for each attack."""
    columns = (
        Column(title="attack", share=0.13),
        Column(title="level", share=0.1),
        Column(title="shadows", share=0.1, align="right"),
        Column(title="records", share=0.1, align="right"),
        Column(title="AUC", share=0.2, align="right"),
        Column(title="TPR at FPR 0.1%", share=0.16, align="right"),
        Column(title="TPR at FPR 1%", share=0.16, align="right"),
        Column(title="ε", share=0.1, align="right"),
    )
    rows = []
    for entry in report.entries:
        auc, interval = measured(entry.roc.auc, entry.roc.auc_interval)
        rates, intervals = entry.roc.tpr_at_fpr, entry.roc.tpr_at_fpr_interval
        rows.append(
            (
                entry.attack,
                entry.level,
                count(entry.num_fit_runs) if entry.num_fit_runs else "none",
                count(entry.num_records),
                f"{auc} {interval}",
                " ".join(measured_percent(rates["0.001"], intervals["0.001"])),
                " ".join(measured_percent(rates["0.01"], intervals["0.01"])),
                f"≥ {down(entry.epsilon.lower)}",
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def explain_intervals_of(report: CompareReport) -> str:
    """What the intervals are taken over."""
    return noted(report.entries[0].roc.interval_unit)
