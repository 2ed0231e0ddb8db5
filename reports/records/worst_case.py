"""The typed record of an audit of the worst case: what `report.json` of a run directory `worst-case-…` holds.

Names of DESIGN.md are kept, as in reports/schema.py; here nothing is computed either.
"""

from dataclasses import dataclass
from typing import Any

from reports.records.reading import parse_object, read_record
from reports.records.schema import METHOD_VERDICTS, SCHEMA, Claim, EpsilonBound, Outlook, Roc, Tradeoff
from reports.records.scope import Scope

ATTACK = "worst-case"


@dataclass(frozen=True, kw_only=True)
class CurveTest:
    """Outcome of the test of a claim against its whole trade-off curve.

    The corner is the upper end of the region at the stated confidence, after correction. `p_value` is the smallest
    1 − confidence at which the claim would have been refuted, all corrections included.
    """

    refuted: bool
    p_value: float
    confidence: float
    false_positive_upper: float
    false_negative_upper: float
    allowed_false_negative_rate: float
    counts: dict[str, int]
    threshold: float | None
    thresholds_tried: tuple[float, ...]
    threshold_choice: str
    correction: str
    num_tries: int
    assumptions: tuple[str, ...]
    unit: str = "run"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One score of one design, tested."""

    design: str
    score: str
    test: CurveTest


@dataclass(frozen=True, kw_only=True)
class ContractCheck:
    """One contract of a method that uses the door; `held` is None where it does not apply."""

    name: str
    held: bool | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class NoiseTest:
    """Goodness of fit of the noise to what the ledger claims. `p_value` is corrected for looks and tries."""

    p_value: float
    worst: str
    looks: dict[str, float]
    num_values: int
    num_tries: int


@dataclass(frozen=True, kw_only=True)
class WorstCaseReport:
    """An audit of the worst case, whole.

    `tightness` is the ε of the family bound over the ε that PLD proves; None where no family is granted, and
    `tightness_reason` says why. `canary_length` is that of the canary's shortest vector in any release, in clipping
    norms, `canary_typical_length` the root of the mean square. Entries of `ledger` with a `noise_by` other than "clip",
    or not `accounted`, are published faults that the claim passes over. `roc` is that of the score that the bounds are
    from, over all its runs, `tradeoff` the curve that every attempt is held against, `outlook` what the Clopper-Pearson
    bound would say of more trials; records of before these were added lack them. `contracts` and `noise` are of a
    method that uses the door; `designs` are those that were examined, `not_examined` says what was not.
    """

    command: str
    method: str
    verdict: str
    verdict_reason: str
    epsilon: EpsilonBound
    bounds: tuple[EpsilonBound, ...]
    claimed: Claim | None
    tightness: float | None
    tightness_reason: str
    attempts: tuple[Attempt, ...]
    canary_length: float
    canary_typical_length: float
    ledger: tuple[dict[str, Any], ...]
    config: dict[str, Any]
    class_sizes: tuple[float, ...]
    num_trials: int
    seed: int
    threat_model: tuple[str, ...]
    versions: dict[str, str]
    digest: str
    run_directory: str
    roc: Roc | None = None
    tradeoff: Tradeoff | None = None
    outlook: tuple[Outlook, ...] = ()
    scope: Scope | None = None
    contracts: tuple[ContractCheck, ...] = ()
    noise: NoiseTest | None = None
    designs: tuple[str, ...] = ()
    not_examined: tuple[str, ...] = ()
    utility: None = None
    pdf: str = "report.pdf"
    attack: str = ATTACK
    dataset: str = "neighbouring pools"
    level: str = "transcript"
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        if self.verdict not in METHOD_VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is not one of {', '.join(METHOD_VERDICTS)}")


def load_worst_case(text: str) -> WorstCaseReport:
    """Read a `report.json` back; raises ValueError with one line when it is not the record of such an audit."""
    raw = parse_object(text)
    if (raw.get("schema"), raw.get("attack")) != (SCHEMA, ATTACK):
        raise ValueError(
            f"schema is {raw.get('schema')!r}, attack {raw.get('attack')!r}; expected {SCHEMA!r}, attack {ATTACK!r}"
        )
    return read_record(WorstCaseReport, raw)


@dataclass(frozen=True, kw_only=True)
class Corner:
    """Rates that one attempt certainly reaches, both at once: at most this FPR, at least this TPR."""

    number: int
    false_positive_rate: float
    true_positive_rate: float
    outside: bool


def corners_of(report: WorstCaseReport) -> tuple[Corner, ...]:
    """One for each attempt, numbered from 1."""
    return tuple(
        Corner(
            number=number,
            false_positive_rate=attempt.test.false_positive_upper,
            true_positive_rate=1 - attempt.test.false_negative_upper,
            outside=attempt.test.refuted,
        )
        for number, attempt in enumerate(report.attempts, start=1)
    )
