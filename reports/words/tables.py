"""The tables of a report, the same on paper and on the screen: titles and finished cells."""

from collections.abc import Sequence

import numpy as np

from reports.records.allowed import allowed_at, allowed_region
from reports.records.kinds import AuditRecord
from reports.records.schema import EpsilonBound, Ladder, Outlook, Report, claimed_epsilon
from reports.words.bounds import describe_kind, name_estimator
from reports.words.rounding import (
    count,
    decimals_apart,
    down,
    measured_percent,
    ordinary,
    percent,
    say_ceiling,
    signed,
    small,
    up,
    up_percent,
)
from reports.words.table import Column, Table


def rates_table(report: Report, num_nonmembers: int) -> Table:
    """True positive rates at low false positive rates, beside the most that the guarantee allows."""
    region = allowed_region(report)
    columns = [
        Column(title="FPR", share=0.12, align="right"),
        Column(title="false positives", share=0.16, align="right"),
        Column(title="TPR", share=0.13, align="right"),
        Column(title=f"{percent(report.roc.interval_confidence)} interval", share=0.25, align="right"),
        Column(title="TPR / FPR", share=0.14, align="right"),
    ]
    if region is not None:
        columns.append(Column(title="TPR allowed at most", share=0.20, align="right"))
    rows = []
    for key in sorted(report.roc.tpr_at_fpr, key=float):
        rate, level = report.roc.tpr_at_fpr[key], float(key)
        figure, interval = measured_percent(rate, report.roc.tpr_at_fpr_interval[key])
        behind = f"≤ {count(int(level * num_nonmembers))}" if level * num_nonmembers >= 1 else "< 1"
        row = [percent(level), behind, figure, interval, f"{rate / level:.1f}×"]
        if region is not None:
            row.append(up_percent(float(allowed_at(region, np.array([level]))[0])))
        rows.append(tuple(row))
    return Table(columns=tuple(columns), rows=tuple(rows))


def bounds_table(bounds: Sequence[EpsilonBound], ratio: float | None = None) -> Table:
    """Every bound, and the ratio that is none."""
    columns = (
        Column(title="estimator", share=0.26),
        Column(title="ε", share=0.09, align="right"),
        Column(title="δ", share=0.08, align="right"),
        Column(title="confidence", share=0.12, align="right"),
        Column(title="unit", share=0.09, align="right"),
        Column(title="trials", share=0.12, align="right"),
        Column(title="ceiling", share=0.11, align="right"),
        Column(title="kind", share=0.13),
    )
    rows = [
        (
            f"{name_estimator(bound)}: {bound.evidence}" if bound.evidence else name_estimator(bound),
            f"≈ {ordinary(bound.lower)}" if bound.kind == "no bound" else f"≥ {down(max(bound.lower, 0))}",
            "–" if bound.kind == "no bound" else small(bound.delta),
            "none" if bound.kind == "no bound" else percent(bound.confidence),
            bound.unit,
            count(bound.num_trials) if bound.num_trials else "–",
            "–" if bound.kind == "no bound" else say_ceiling(bound.ceiling),
            describe_kind(bound).replace(" ", "\u00a0"),
        )
        for bound in bounds
    ]
    if ratio is not None and all(bound.kind != "no bound" for bound in bounds):
        figure = f"≈ {ordinary(ratio)}"
        rows.append(("ln(TPR/FPR)", figure, "–", "none", "–", "–", "–", "NO\u00a0BOUND"))
    return Table(columns=columns, rows=tuple(rows))


def protocols_table(report: Report) -> Table:
    columns = (
        Column(title="protocol", share=0.20),
        Column(title="advantage", share=0.11, align="right"),
        Column(title="interval", share=0.19, align="right"),
        Column(title="seeds", share=0.08, align="right"),
        Column(title="source", share=0.22, prose=True),
        Column(title="note", share=0.20, prose=True),
    )
    rows = []
    for protocol in report.protocols:
        figure, interval = measured_percent(protocol.advantage, protocol.advantage_interval)
        rows.append((protocol.name, figure, interval, str(protocol.num_seeds), protocol.source, protocol.note))
    return Table(columns=columns, rows=tuple(rows))


def exposed_table(report: Report) -> Table:
    columns = (
        Column(title="record", share=0.9, align="right"),
        Column(title="class", share=0.7, align="right"),
        Column(title="AUC", share=0.8, align="right"),
        Column(title="score in", share=1.0, align="right"),
        Column(title="score out", share=1.0, align="right"),
    )
    rows = [
        (
            str(record.record),
            "–" if record.label is None else str(record.label),
            f"{record.auc:.3f}",
            signed(record.mean_score_in),
            signed(record.mean_score_out),
        )
        for record in report.exposed
    ]
    return Table(columns=columns, rows=tuple(rows), narrow=True)


def outlook_table(outlook: Sequence[Outlook]) -> Table:
    columns = (
        Column(title="runs", share=0.12, align="right"),
        Column(title="test runs", share=0.16, align="right"),
        Column(title="coins tested", share=0.18, align="right"),
        Column(title="ceiling: every guess right", share=0.25, align="right"),
        Column(title="guesses as good as here", share=0.29, align="right"),
    )
    rows = [
        (
            count(step.num_runs),
            count(step.num_test_runs),
            count(step.num_trials),
            f"ε ≥ {down(step.ceiling)}",
            f"ε ≥ {down(step.lower_at_same_rates)}",
        )
        for step in outlook
    ]
    return Table(columns=columns, rows=tuple(rows))


def ladder_table(ladder: Ladder) -> Table:
    columns = (
        Column(title="level", share=0.13),
        Column(title="certified ε", share=0.12, align="right"),
        Column(title="verdict", share=0.16),
        Column(title="analytic ε", share=0.12, align="right"),
        Column(title="δ", share=0.09, align="right"),
        Column(title="confidence", share=0.12, align="right"),
        Column(title="ceiling", share=0.10, align="right"),
        Column(title="attack", share=0.16),
    )
    rows = []
    for row in ladder.rows:
        decimals = decimals_apart(row.lower, row.analytic_epsilon)
        analytic = "none" if row.analytic_epsilon is None else f"≤ {up(row.analytic_epsilon, decimals)}"
        certified = f"≥ {down(max(row.lower, 0), decimals)}" if row.measured else "–"
        rows.append(
            (
                row.level,
                certified,
                row.verdict,
                analytic,
                small(row.delta),
                percent(row.confidence),
                say_ceiling(row.ceiling) if row.measured else "–",
                row.attack,
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def comparison_table(reports: Sequence[AuditRecord]) -> Table:
    """A row per audit, numbered from 1."""
    columns = (
        Column(title="", share=18, align="right"),
        Column(title="method", share=56),
        Column(title="certified ε", share=52, align="right"),
        Column(title="verdict", share=76),
        Column(title="claimed ε", share=48, align="right"),
        Column(title="level", share=54),
        Column(title="attack", share=54),
        Column(title="data", share=44),
        Column(title="δ", share=34, align="right"),
        Column(title="ceiling", share=42, align="right"),
        Column(title="AUC", share=38, align="right"),
        Column(title="accuracy", share=55, align="right"),
    )
    rows = []
    for number, report in enumerate(reports, start=1):
        bound, claimed = report.epsilon, claimed_epsilon(report.claimed)
        decimals = decimals_apart(bound.lower, claimed)
        sign = "≈" if bound.kind == "no bound" else "≥"
        utility, tested = report.utility, bound.num_trials > 0
        none = "none" if tested else "–"  # what would have been tested is in the command
        rows.append(
            (
                str(number),
                report.method,
                f"{sign}\u00a0{down(max(bound.lower, 0), decimals)}" if tested else "–",
                report.verdict,
                none if claimed is None else f"≤\u00a0{up(claimed, decimals)}",
                report.level,
                report.attack,
                "–" if report.attack == "worst-case" else report.dataset,
                small(bound.delta),
                say_ceiling(bound.ceiling) if tested else "–",
                "–" if report.roc is None else f"{report.roc.auc:.3f}",
                "–" if utility is None else percent(utility.accuracy, 1),
            )
        )
    return Table(columns=columns, rows=tuple(rows))
