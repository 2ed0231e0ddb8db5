"""Sweeps: LiRA over sizes, one at a time, and the power law that describes all cells at once.

d′ is the distance between the scores of members and of others in deviations, were both Gaussian of equal variance:
AUC = Φ(d′/√2). The law says that ln d′ is linear in the logarithms of the sizes. The curve is fitted to the cells that
it is drawn over; how well it predicts is measured by leaving out one cell at a time. No bound rests on it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from audit.engine.where import Where
from audit.games.grid import PlannedCell, keep_grid, run_cells
from audit.specs.grids import AXES, Sweep
from audit.specs.membership import Lira, as_lira
from condensers.registry import get_method, require_set
from reports.records.grid import GridCell, GridReport, Law

SMALLEST_DISTANCE = 1e-6


def run_sweep(spec: Sweep, where: Where, say: Callable[[str], None]) -> GridReport:
    """Run or resume every cell, small ones first along each axis."""
    if spec.level == "set":
        require_set(get_method(spec.method), "sweep it at --level model")
    places = [(axis, value) for axis in AXES for value in spec.values_of(axis)]
    asked = [PlannedCell(axes={axis: str(value)}, spec=_at(spec, axis, value, len(places))) for axis, value in places]
    found = run_cells(asked, where, say)
    return keep_grid(spec, found, where, say, fit_law([cell for cell, _ in found]))


def _at(spec: Sweep, axis: str, value: int, num_cells: int) -> Lira:
    changes: dict[str, dict[str, Any]] = {
        "over_records": {"records": value},
        "over_audited": {"audited": str(value)},
        "over_steps": {"settings": {**spec.settings, "iterations": str(value)}},
        "over_ipc": {"ipc": value, "ratio": None},
        "over_shadows": {"shadows": value},
    }
    return as_lira(spec, **changes[axis], tries=spec.tries * num_cells)


def fit_law(cells: Sequence[GridCell]) -> Law | None:
    """The power law of all cells; a size that does not vary has no exponent. None where hardly a cell shows d′ > 0."""
    # The cell in the middle stands on every axis, and under two names where a size is that of all records.
    apart = list({tuple(map(cell.size, AXES)): cell for cell in cells}.values())
    distances = np.array([distance_of(cell.auc) for cell in apart])
    kept = distances > SMALLEST_DISTANCE
    sizes = {axis: np.log([cell.size(axis) for cell in apart]) for axis in AXES}
    varied = [axis for axis in AXES if len(set(sizes[axis][kept].tolist())) > 1]
    if kept.sum() < 2 or not varied:
        return None
    columns = np.stack([np.ones(int(kept.sum())), *(sizes[axis][kept] for axis in varied)], 1)
    solved, _, rank, _ = np.linalg.lstsq(columns, np.log(distances[kept]), rcond=None)
    left = np.log(distances[kept]) - columns @ solved
    free = len(columns) - rank
    return Law(
        constant=float(solved[0]),
        exponents={axis: float(value) for axis, value in zip(varied, solved[1:], strict=True)},
        spread=float(np.sqrt((left**2).sum() / free)) if free > 0 else None,
        num_cells=int(kept.sum()),
        prediction_error=_prediction_error(columns, left),
    )


def _prediction_error(columns: np.ndarray, left: np.ndarray) -> float | None:
    """Root mean square error of ln d′ of a cell, predicted by the law of all others; None where no cell can be.

    A residual over 1 − leverage is the error of the fit without that row. A cell of leverage 1 is one without which the
    others do not determine the law.
    """
    leverage = np.einsum("ij,ji->i", columns, np.linalg.pinv(columns))
    predictable = leverage < 1 - 1e-9
    if not predictable.any():
        return None
    return float(np.sqrt(np.mean((left[predictable] / (1 - leverage[predictable])) ** 2)))


def distance_of(auc: float) -> float:
    """d′ of an AUC."""
    return float(np.sqrt(2) * norm.ppf(min(max(auc, 1e-9), 1 - 1e-9)))
