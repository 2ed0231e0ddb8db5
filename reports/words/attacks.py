"""What is said of several attacks on the same condensations."""

from typing import Any

from reports.records.attacks import ComparedAttack, CompareReport
from reports.words.intervals import noted
from reports.words.rounding import (
    common_decimals,
    count,
    down,
    measured,
    measured_percent,
    percent,
    say_delta,
    up,
    with_interval,
)
from reports.words.table import Column, Table


def explain_attacks(report: CompareReport) -> str:
    """What was compared, and for what the bounds are corrected."""
    first = report.entries[0].epsilon
    return (
        f"{count(len(report.entries))} attacks on the same test runs. All bounds hold at once with "
        f"{percent(first.confidence)} confidence at {say_delta(first.delta)}: the error probability is divided among "
        f"them.{_against_proof(report)}"
    )


def _against_proof(report: CompareReport) -> str:
    """Whether a bound exceeds what the accounting of a private method proves; empty where nothing is proved."""
    if report.proved is None or report.proved.epsilon_pld is None:
        return ""
    proved = report.proved.epsilon_pld
    beyond = [name_attack(entry) for entry in report.entries if entry.epsilon.lower > proved]
    outcome = f"which is exceeded by {'; '.join(beyond)}" if beyond else "which no bound exceeds"
    return f" The privacy accounting of the method proves ε ≤ {up(proved)}, {outcome}."


def name_attack(entry: ComparedAttack) -> str:
    """How a legend calls it, in the words of the table."""
    runs = f"{count(entry.num_fit_runs)} fit runs" if entry.num_fit_runs else "no fit runs"
    return f"{entry.attack}, {entry.level}, {runs}"


def shared_settings(report: CompareReport) -> dict[str, Any]:
    """Without those of one attack, which are not those of the others."""
    return {name: value for name, value in report.config.items() if name not in ("attack", "attack_config", "level")}


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
    decimals = common_decimals(entry.roc.auc_interval for entry in report.entries)
    rows = []
    for entry in report.entries:
        auc, interval = measured(entry.roc.auc, entry.roc.auc_interval, decimals)
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
