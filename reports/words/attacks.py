"""What is said of several attacks on the same condensations."""

from reports.records.attacks import CompareReport
from reports.words.intervals import noted
from reports.words.rounding import count, down, measured, measured_percent, percent, say_delta, with_interval
from reports.words.table import Column, Table


def explain_attacks(report: CompareReport) -> str:
    """What was compared, and for what the bounds are corrected."""
    first = report.entries[0].epsilon
    return (
        f"{count(len(report.entries))} attacks on the same test runs. All bounds hold at once with "
        f"{percent(first.confidence)} confidence at {say_delta(first.delta)}: the error probability is divided among "
        "them."
    )


def attacks_table(report: CompareReport) -> Table:
    """A row for each attack."""
    columns = (
        Column(title="attack", share=0.11),
        Column(title="level", share=0.09),
        Column(title="certified ε", share=0.11, align="right"),
        Column(title="fit runs", share=0.09, align="right"),
        Column(title="records", share=0.1, align="right"),
        Column(title="AUC", share=0.2, align="right"),
        Column(title="TPR at FPR 0.1%", share=0.16, align="right"),
        Column(title="TPR at FPR 1%", share=0.16, align="right"),
    )
    rows = []
    for entry in report.entries:
        auc, interval = measured(entry.roc.auc, entry.roc.auc_interval)
        rates, intervals = entry.roc.tpr_at_fpr, entry.roc.tpr_at_fpr_interval
        rows.append(
            (
                entry.attack,
                entry.level,
                f"≥ {down(max(entry.epsilon.lower, 0))}",
                count(entry.num_fit_runs) if entry.num_fit_runs else "none",
                count(entry.num_records),
                with_interval(auc, interval),
                with_interval(*measured_percent(rates["0.001"], intervals["0.001"])),
                with_interval(*measured_percent(rates["0.01"], intervals["0.01"])),
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def explain_intervals_of(report: CompareReport) -> str:
    """What the intervals are taken over."""
    return (
        "Fit runs are the shadow condensations that the attack learns from. AUC: area under the ROC curve (0.5 is "
        f"chance). TPR and FPR: true and false positive rate. {noted(report.entries[0].roc.interval_unit)}"
    )
