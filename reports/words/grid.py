"""What is said of grids of adversaries and of sweeps."""

from collections.abc import Sequence

from reports.records.grid import GridCell, GridReport
from reports.words.intervals import noted
from reports.words.rounding import count, down, measured, measured_percent, percent, small
from reports.words.table import Column, Table

AXIS_NAMES = {
    "over_records": "records in the pool",
    "over_audited": "records in doubt",
    "over_steps": "steps",
    "over_ipc": "images per class",
    "over_shadows": "runs",
}
DOUBT_NAMES = {"everybody": "everybody", "audited": "audited records", "one-per-class": "one record per class"}
RANDOMNESS_NAMES = {"known": "randomness known", "unknown": "randomness unknown"}
LAW_NOTE = (
    "d′ is the distance between the scores of members and of others in deviations, AUC = Φ(d′/√2). The law was fitted "
    "to the cells that it is drawn over: it summarises them and predicts nothing by itself. No bound rests on it."
)


def explain_bounds(report: GridReport) -> str:
    """How the bounds of all cells are to be read."""
    bound = report.cells[0].epsilon
    return (
        f"{count(len(report.cells))} audits by LiRA. Every bound is at δ = {small(bound.delta)} and corrected for "
        f"{count(bound.num_tries)} tries: all of them hold at once with {percent(bound.confidence)} confidence."
    )


def explain_adversaries(report: GridReport) -> tuple[str, ...]:
    """What the grid means: what protects against whom."""
    said = []
    if report.private:
        said.append(
            "The method adds noise from private randomness: no adversary of this grid knows that noise, whatever it "
            "knows of the networks and of the other records."
        )
    else:
        said.append(
            "The method draws nothing from private randomness once its networks, augmentations and starting noise are "
            "known: a set is then a deterministic function of its members. Against an adversary who knows the seed and "
            "all records but one, only noise drawn from private randomness protects, whatever the size of the pool. "
            "What protects in the other cells of “randomness known” is that the adversary is in doubt about other "
            "records as well."
        )
    for doubt, level, known, unknown in _pairs(report.cells):
        said.append(
            f"{DOUBT_NAMES[doubt].capitalize()} in doubt, level {level}: where the randomness is unknown, AUC is "
            f"{_auc(unknown)} instead of {_auc(known)}, "
            f"and ε ≥ {down(unknown.epsilon.lower)} instead of ≥ {down(known.epsilon.lower)} is certified."
        )
    if any(cell.randomness == "unknown" for cell in report.cells) and not report.private:
        said.append(
            "An unknown seed protects as long as it has enough entropy, is never published and is never used again; it "
            "gives no guarantee, and a better attack may find more."
        )
    return tuple(said)


def _auc(cell: GridCell) -> str:
    return measured(cell.auc, cell.auc_interval)[0]


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
        Column(title="level", share=0.07),
        Column(title="in doubt", share=0.14, align="right"),
        Column(title="runs", share=0.1, align="right"),
        Column(title="AUC", share=0.17),
        Column(title="TPR at FPR 0.1%", share=0.17),
        Column(title="ε ≥", share=0.06, align="right"),
        Column(title="ceiling", share=0.07, align="right"),
    )
    return Table(columns=columns, rows=tuple(_row(cell) for cell in report.cells))


def _row(cell: GridCell) -> tuple[str, ...]:
    rate = min(cell.tpr_at_fpr, key=float)
    return (
        name_cell(cell),
        cell.level,
        f"{count(cell.num_audited)} of {count(cell.num_records)}",
        f"{count(cell.num_fit_runs)} + {count(cell.num_test_runs)}",
        " ".join(measured(cell.auc, cell.auc_interval)),
        " ".join(measured_percent(cell.tpr_at_fpr[rate], cell.tpr_at_fpr_interval[rate])),
        down(cell.epsilon.lower),
        down(cell.epsilon.ceiling),
    )


def explain_intervals_of(report: GridReport) -> str:
    units = dict.fromkeys(cell.interval_unit for cell in report.cells)
    return "Runs: fit + test. " + " ".join(dict.fromkeys(noted(unit) for unit in units))


def explain_law(report: GridReport) -> str:
    law = report.law
    if law is None:
        return "Too few cells show d′ > 0 to fit a law to them."
    powers = ", ".join(f"{AXIS_NAMES[axis]} {value:+.2f}".replace("-", "−") for axis, value in law.exponents.items())
    left = "" if law.spread is None else f" What it leaves of ln d′ has a deviation of {law.spread:.2f}."
    return f"Fitted exponents of d′ over {count(law.num_cells)} cells: {powers}.{left} {LAW_NOTE}"
