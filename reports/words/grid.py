"""What is said of grids of adversaries and of sweeps."""

from collections.abc import Sequence
from math import exp
from typing import Any

from reports.records.grid import GridCell, GridReport
from reports.words.intervals import noted
from reports.words.rounding import (
    common_decimals,
    count,
    down,
    measured,
    measured_percent,
    percent,
    say_ceiling,
    say_delta,
    with_interval,
)
from reports.words.table import Column, Table

AXIS_NAMES = {
    "over_records": "records in the pool",
    "over_audited": "audited records",
    "over_steps": "steps",
    "over_ipc": "images per class",
    "over_shadows": "runs",
}
DOUBT_NAMES = {"everybody": "all records", "audited": "audited records", "one-per-class": "one record per class"}
RANDOMNESS_NAMES = {"known": "randomness known", "unknown": "randomness unknown"}
LAW_NOTE = (
    "d′ is the distance between the mean scores of members and non-members in standard deviations, so that "
    "AUC = Φ(d′/√2) with Φ the normal distribution function. The curve was fitted to the cells that it is drawn over. "
    "No bound depends on it."
)


def explain_bounds(report: GridReport) -> str:
    """How the bounds of all cells are to be read."""
    bound = report.cells[0].epsilon
    return (
        f"{count(len(report.cells))} audits by LiRA, the likelihood-ratio attack. Every bound is at "
        f"{say_delta(bound.delta)} and corrected for {count(bound.num_tries)} tests: all bounds hold at once with "
        f"{percent(bound.confidence)} confidence."
    )


def explain_adversaries(report: GridReport) -> tuple[str, ...]:
    """What the grid means: what protects against whom."""
    said = []
    if report.private:
        said.append(
            "The method adds noise from private randomness. No adversary of this grid knows that noise, whatever else "
            "it knows about the networks and the other records."
        )
    else:
        said.append(
            "The method uses no private randomness: once its networks, augmentations and starting noise are known, the "
            "set is a deterministic function of its members. Against an adversary who knows the seed and all records "
            "but one, only noise from private randomness protects, whatever the size of the pool. In the other cells "
            "with known randomness, what protects a record is that the adversary is uncertain about other records too."
        )
    for doubt, level, known, unknown in _pairs(report.cells):
        said.append(
            f"{DOUBT_NAMES[doubt].capitalize()} in doubt, level {level}: if the randomness is unknown to the "
            f"adversary, the AUC is {_auc(unknown)} instead of {_auc(known)}, and ε ≥ {down(unknown.epsilon.lower)} is "
            f"certified instead of ε ≥ {down(known.epsilon.lower)}."
        )
    if any(cell.randomness == "unknown" for cell in report.cells) and not report.private:
        said.append(
            "An unknown seed protects as long as it has enough entropy, is never published and is never reused. It "
            "gives no guarantee, and a better attack may find more."
        )
    return tuple(said)


def _auc(cell: GridCell) -> str:
    return f"{cell.auc:.3f}"  # as in the figure


def _pairs(cells: Sequence[GridCell]) -> list[tuple[str, str, GridCell, GridCell]]:
    """Cells that differ in what is known of the randomness alone."""
    by_place = {(cell.axes["doubt"], cell.level, cell.randomness): cell for cell in cells}
    return [
        (doubt, level, cell, by_place[(doubt, level, "unknown")])
        for (doubt, level, randomness), cell in by_place.items()
        if randomness == "known" and (doubt, level, "unknown") in by_place
    ]


def name_cell(cell: GridCell) -> str:
    """Where a cell stands, in words."""
    if "doubt" in cell.axes:
        return f"{RANDOMNESS_NAMES[cell.randomness]}, {DOUBT_NAMES[cell.axes['doubt']]} in doubt"
    return ", ".join(f"{AXIS_NAMES[axis]}: {count(int(value))}" for axis, value in cell.axes.items())


def cells_table(report: GridReport) -> Table:
    """A row for each cell."""
    columns = (
        Column(title="cell", share=0.27),
        Column(title="certified ε", share=0.1, align="right"),
        Column(title="level", share=0.08),
        Column(title="in doubt", share=0.14, align="right"),
        Column(title="runs (fit + test)", share=0.1, align="right"),
        Column(title="AUC", share=0.19, align="right"),
        Column(title="TPR at FPR 0.1%", share=0.17, align="right"),
        Column(title="ceiling", share=0.08, align="right"),
    )
    decimals = common_decimals(cell.auc_interval for cell in report.cells)
    return Table(columns=columns, rows=tuple(_row(cell, decimals) for cell in report.cells))


def directories_table(report: GridReport) -> Table:
    """Where the report of each cell is."""
    columns = (Column(title="cell", share=0.55), Column(title="run directory", share=0.45))
    return Table(
        columns=columns,
        rows=tuple((f"{name_cell(cell)}, level {cell.level}", cell.run_directory) for cell in report.cells),
    )


def _row(cell: GridCell, decimals: int) -> tuple[str, ...]:
    rate = min(cell.tpr_at_fpr, key=float)
    return (
        name_cell(cell),
        f"≥ {down(max(cell.epsilon.lower, 0))}",
        cell.level,
        f"{count(cell.num_audited)} of {count(cell.num_records)}",
        f"{count(cell.num_fit_runs)} + {count(cell.num_test_runs)}",
        with_interval(*measured(cell.auc, cell.auc_interval, decimals)),
        with_interval(*measured_percent(cell.tpr_at_fpr[rate], cell.tpr_at_fpr_interval[rate])),
        say_ceiling(cell.epsilon.ceiling),
    )


def used_settings(report: GridReport) -> dict[str, Any]:
    """Without the axes that were not varied."""
    return {name: value for name, value in report.config.items() if value or name not in AXIS_NAMES}


def explain_intervals_of(report: GridReport) -> str:
    units = dict.fromkeys(cell.interval_unit for cell in report.cells)
    text = (
        "AUC: area under the ROC curve (0.5 is chance). TPR and FPR: true and false positive rate. The ceiling is "
        "what an attack without a single error would have certified. "
    )
    return text + " ".join(dict.fromkeys(noted(unit) for unit in units))


def explain_law(report: GridReport) -> str:
    law = report.law
    if law is None:
        return "No power law was fitted: too few cells have an AUC above 0.5. More runs (--shadows) may show one."
    powers = ", ".join(f"{AXIS_NAMES[axis]} {value:+.2f}".replace("-", "−") for axis, value in law.exponents.items())
    left = "" if law.spread is None else f" The residuals of ln d′ have a standard deviation of {law.spread:.2f}."
    ahead = (
        ""
        if law.prediction_error is None
        else " If each cell is predicted by the law of the others, d′ is typically wrong by a factor of "
        f"{exp(law.prediction_error):.2f}."
    )
    return f"Fitted exponents of d′ over {count(law.num_cells)} cells: {powers}.{left}{ahead} {LAW_NOTE}"
