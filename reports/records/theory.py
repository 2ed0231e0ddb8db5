"""The propositions of Dong et al. (arXiv:2206.00240), tested by running the condenser: the record of `audit theory`."""

from dataclasses import dataclass
from typing import Any

THEORY_SCHEMA = "condensation-audit/theory/1"


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut:
    """Means over classes, except `worst_ratio`: the largest ‖s′ − s‖ over the bound 2B/|T| of its class."""

    left_out: str
    largest_shift: float
    closed_form: float
    bound: float
    worst_ratio: float
    recovery_error: float


@dataclass(frozen=True, kw_only=True)
class Condensation:
    """One way to condense: distances are ‖T̄ − S̄‖, means over classes, at the start and after every step.

    `closed_form_error` is max ‖s* − (s₀ + T̄ − S̄₀)‖ over max ‖s*‖; `eq13_error` the same for Eq. (13) as printed, which
    leaves S̄₀ out.
    """

    extractor: str
    init: str
    ipc: int
    distances: tuple[float, ...]
    closed_form_error: float
    eq13_error: float
    leave_one_out: tuple[LeaveOneOut, ...]


@dataclass(frozen=True, kw_only=True)
class GibbsCounterexample:
    """sup ln(p/q) of two Gibbs posteriors against the right side of (33), and against the bound that holds."""

    num_images: int
    shift: float
    sup_log_ratio: float
    right_side_of_eq33: float
    corrected_bound: float
    kl_divergence: float


@dataclass(frozen=True, kw_only=True)
class TheoryReport:
    """Everything that `audit theory` prints and draws. Assumption 4.1 holds where every rank is below `dimension`."""

    command: str
    dataset: str
    class_size: float
    dimension: int
    ranks: tuple[int, ...]
    condensations: tuple[Condensation, ...]
    gibbs: GibbsCounterexample
    notes: tuple[str, ...]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    schema: str = THEORY_SCHEMA
