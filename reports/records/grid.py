"""Several audits of one method as cells of one record: the grid of adversaries, and sweeps over sizes."""

from dataclasses import dataclass
from typing import Any

from reports.records.schema import VERDICTS, EpsilonBound

GRID_SCHEMA = "condensation-audit/grid/1"
KINDS = ("adversaries", "sweep")


@dataclass(frozen=True, kw_only=True)
class GridCell:
    """One audit. `axes` say where it stands in the grid, by name; its bound is corrected for all cells.

    `num_audited` of `num_records` records had coins, all others were in every run.
    """

    axes: dict[str, str]
    level: str
    randomness: str
    num_records: int
    num_classes: int
    num_audited: int
    num_fit_runs: int
    num_test_runs: int
    steps: int | None
    ipc: int | None
    epsilon: EpsilonBound
    auc: float
    auc_interval: tuple[float, float]
    tpr_at_fpr: dict[str, float]
    tpr_at_fpr_interval: dict[str, tuple[float, float]]
    interval_unit: str
    verdict: str
    digest: str
    run_directory: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is not one of {', '.join(VERDICTS)}")

    def size(self, axis: str) -> float:
        """Its size along an axis of a sweep."""
        sizes = {
            "over_records": self.num_records,
            "over_audited": self.num_audited,
            "over_steps": self.steps or 1,
            "over_ipc": self.ipc or 1,
            "over_shadows": self.num_fit_runs + self.num_test_runs,
        }
        return float(sizes[axis])


@dataclass(frozen=True, kw_only=True)
class Law:
    """ln d′ = `constant` + Σ `exponents`·ln(size), by least squares over cells with d′ > 0, AUC = Φ(d′/√2).

    `spread` is the standard deviation of what it leaves of ln d′; None where there are no more cells than numbers.
    `prediction_error` is the root mean square error of ln d′ of a cell that is predicted from all others.
    """

    constant: float
    exponents: dict[str, float]
    spread: float | None
    num_cells: int
    prediction_error: float | None = None


@dataclass(frozen=True, kw_only=True)
class GridReport:
    """All cells, and for a sweep the law that was fitted to them."""

    kind: str
    command: str
    method: str
    dataset: str
    private: bool
    scope: str
    cells: tuple[GridCell, ...]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    law: Law | None = None
    schema: str = GRID_SCHEMA

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind {self.kind!r} is not one of {', '.join(KINDS)}")
