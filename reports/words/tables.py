"""The tables of a report, the same on paper and on the screen: titles and finished cells."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from reports.records.allowed import allowed_at, allowed_region
from reports.records.kinds import AuditRecord
from reports.records.schema import EpsilonBound, Ladder, Outlook, Report, claimed_epsilon
from reports.words.bounds import describe_kind
from reports.words.rounding import (
    count,
    decimals_apart,
    down,
    measured,
    measured_percent,
    ordinary,
    percent,
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
        columns.append(Column(title="most that is allowed", share=0.20, align="right"))
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
        Column(title="estimator", share=0.24),
        Column(title="kind", share=0.13),
        Column(title="ε", share=0.09, align="right"),
        Column(title="δ", share=0.08, align="right"),
        Column(title="confidence", share=0.12, align="right"),
        Column(title="unit", share=0.09, align="right"),
        Column(title="trials", share=0.13, align="right"),
        Column(title="ceiling", share=0.12, align="right"),
    )
    rows = [
        (
            bound.estimator,
            describe_kind(bound),
            f"≈ {ordinary(bound.lower)}" if bound.kind == "no bound" else f"≥ {down(max(bound.lower, 0))}",
            "–" if bound.kind == "no bound" else small(bound.delta),
            "none" if bound.kind == "no bound" else percent(bound.confidence),
            bound.unit,
            count(bound.num_trials) if bound.num_trials else "–",
            _ceiling(bound.ceiling),
        )
        for bound in bounds
    ]
    if ratio is not None and all(bound.kind != "no bound" for bound in bounds):
        figure = f"≈ {ordinary(ratio)}"
        rows.append(("ln(TPR / FPR), paper style", "NO BOUND", figure, "–", "none", "–", "–", "–"))
    return Table(columns=columns, rows=tuple(rows))


def protocols_table(report: Report) -> Table:
    columns = (
        Column(title="protocol", share=0.20),
        Column(title="source", share=0.22),
        Column(title="advantage", share=0.11, align="right"),
        Column(title="interval", share=0.19, align="right"),
        Column(title="seeds", share=0.08, align="right"),
        Column(title="note", share=0.20),
    )
    rows = []
    for protocol in report.protocols:
        figure, interval = measured_percent(protocol.advantage, protocol.advantage_interval)
        rows.append((protocol.name, protocol.source, figure, interval, str(protocol.num_seeds), protocol.note))
    return Table(columns=columns, rows=tuple(rows))


def exposed_table(report: Report) -> Table:
    columns = (
        Column(title="record", share=0.9, align="right"),
        Column(title="label", share=0.7, align="right"),
        Column(title="AUC", share=0.8, align="right"),
        Column(title="score in", share=1.0, align="right"),
        Column(title="score out", share=1.0, align="right"),
    )
    rows = [
        (
            str(record.record),
            str(record.label),
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
        Column(title="of them test runs", share=0.18, align="right"),
        Column(title="coins tested", share=0.18, align="right"),
        Column(title="ceiling: no guess wrong", share=0.24, align="right"),
        Column(title="guesses as good as now", share=0.28, align="right"),
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
        Column(title="attack", share=0.17),
        Column(title="certified", share=0.12, align="right"),
        Column(title="confidence", share=0.12, align="right"),
        Column(title="δ", share=0.09, align="right"),
        Column(title="ceiling", share=0.10, align="right"),
        Column(title="analytic ε", share=0.12, align="right"),
        Column(title="verdict", share=0.15),
    )
    rows = []
    for row in ladder.rows:
        decimals = decimals_apart(row.lower, row.analytic_epsilon)
        analytic = "none" if row.analytic_epsilon is None else f"≤ {up(row.analytic_epsilon, decimals)}"
        certified = f"≥ {down(max(row.lower, 0), decimals)}"
        rows.append(
            (
                row.level,
                row.attack,
                certified,
                percent(row.confidence),
                small(row.delta),
                _ceiling(row.ceiling),
                analytic,
                row.verdict,
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def comparison_table(reports: Sequence[AuditRecord]) -> Table:
    """A row per audit, numbered from 1."""
    columns = (
        Column(title="", share=16, align="right"),
        Column(title="method", share=54),
        Column(title="data", share=50),
        Column(title="attack", share=42),
        Column(title="level", share=56),
        Column(title="certified", share=52, align="right"),
        Column(title="claimed", share=48, align="right"),
        Column(title="δ", share=30, align="right"),
        Column(title="ceiling", share=42, align="right"),
        Column(title="AUC", share=36, align="right"),
        Column(title="accuracy", share=54, align="right"),
        Column(title="verdict", share=76),
    )
    rows = []
    for number, report in enumerate(reports, start=1):
        bound, claimed = report.epsilon, claimed_epsilon(report.claimed)
        decimals = decimals_apart(bound.lower, claimed)
        sign = "≈" if bound.kind == "no bound" else "≥"
        utility = report.utility
        rows.append(
            (
                str(number),
                report.method,
                "–" if report.level == "transcript" else report.dataset,
                report.attack,
                report.level,
                f"{sign} {down(max(bound.lower, 0), decimals)}",
                "none" if claimed is None else f"≤ {up(claimed, decimals)}",
                small(bound.delta),
                _ceiling(bound.ceiling),
                "–" if report.roc is None else measured(report.roc.auc, report.roc.auc_interval)[0],
                "–" if utility is None else measured_percent(utility.accuracy, utility.accuracy_interval)[0],
                report.verdict,
            )
        )
    return Table(columns=columns, rows=tuple(rows))


def groups_table(groups: Sequence[Any]) -> Table:
    """A row per group; columns are the fields that all of them have, a nested bound shown by its figure."""
    entries = [dict(group) if isinstance(group, Mapping) else asdict(group) for group in groups]
    names = [name for name in entries[0] if all(name in entry for entry in entries)]
    columns = tuple(
        Column(
            title=name.replace("_", " "),
            share=1.0,
            align="left" if isinstance(entries[0][name], str) else "right",
        )
        for name in names
    )
    return Table(columns=columns, rows=tuple(tuple(_cell(entry[name]) for name in names) for entry in entries))


def _cell(value: Any) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return count(value)
        case float():
            return f"{value:.3g}".replace("-", "−")
        case {"lower": float() | int() as lower}:
            return f"≥ {down(max(lower, 0))}"
        case {"auc": float() as auc}:
            return f"AUC {auc:.3f}"
        case dict() if value and all(_is_rate(name, rate) for name, rate in value.items()):
            return ", ".join(f"{percent(rate, 1)} at {percent(float(name))}" for name, rate in sorted(value.items()))
        case [float() | int() as low, float() | int() as high] | (float() | int() as low, float() | int() as high):
            return f"[{low:.3g}, {high:.3g}]".replace("-", "−")
        case _:
            return str(value)


def _is_rate(name: Any, rate: Any) -> bool:
    """Whether this is a true positive rate under the false positive rate that it was measured at."""
    return isinstance(name, str) and isinstance(rate, float) and re.fullmatch(r"0?\.\d+|1e-\d+", name) is not None


def _ceiling(ceiling: float) -> str:
    return "none" if math.isinf(ceiling) else down(ceiling)
