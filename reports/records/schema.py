"""The typed, versioned record of an audit: what `report.json` holds and every page is drawn from.

Nothing here computes. Names of DESIGN.md are kept; more may stand beside them. Times and machine paths
stay out, so that equal audits give equal bytes.
"""

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any

from reports.records.coin_test import CoinTest
from reports.records.intervals import RUNS
from reports.records.reading import parse_object, read_record
from reports.records.scope import Scope

SCHEMA = "condensation-audit/1"
VERDICTS = ("REFUTED", "NOT REFUTED", "NO CLAIM")
# Of audits that examine how a method works, and of ladders, which hold one of these; the gravest first.
METHOD_VERDICTS = (
    "REFUTED", "CONTRACT BROKEN", "NOISE NOT AS CLAIMED", "NOTHING TESTED", "NOT REFUTED", "NO CLAIM"
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EpsilonBound:
    """What an estimator says about ε, never a bare float.

    `kind` is "bound" (a lower confidence bound, valid under `assumptions`), "credible" (a Bayesian
    interval) or "no bound" (a point estimate). `unit` is what one trial is: "run" (independent
    condensations) or "record" (independent membership coins). `ceiling` is what a perfect attack would
    have certified with as many trials. `adjacency` is the neighbouring relation of ε. `guess_fractions`
    are the shares of the coins guessed as members and as non-members, where other runs chose them. `evidence` says
    what was counted, where an audit has bounds from several scores or neighbouring pools.
    """

    lower: float
    delta: float
    confidence: float
    estimator: str
    unit: str
    num_trials: int
    ceiling: float
    assumptions: tuple[str, ...]
    adjacency: str = "add-or-remove-one"
    kind: str = "bound"
    upper: float | None = None
    threshold: float | None = None
    threshold_choice: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    num_tries: int = 1
    guess_fractions: tuple[float, float] | None = None
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is claimed for the method: the analytic ε, or what the person stated."""

    epsilon_rdp: float | None
    epsilon_pld: float | None
    delta: float
    source: str


def claimed_epsilon(claim: Claim | None) -> float | None:
    """The strictest ε that is claimed."""
    if claim is None:
        return None
    return min((value for value in (claim.epsilon_rdp, claim.epsilon_pld) if value is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class Roc:
    """Operating characteristic on the test runs; `interval_unit` (records/intervals.py) says what its intervals
    are taken over.

    "public draws": they say what another audit would show, with other networks and other starting noise. "runs, given
    this public randomness": they say what other runs with the same would show. "runs": every run has its own.
    "records": of a single run nothing but its records can be resampled, as if their scores were independent; that does
    not say what another run would show.
    `over_records` names the figures ("AUC", "balanced accuracy", or the false positive rate of a true one) of which all
    runs agree, so that resampling leaves a point: their intervals are those of a binomial share (Clopper-Pearson) over
    records as if these were independent.
    `curve` holds `false_positive_rate`, `true_positive_rate`, `lower` and `upper` of the latter on a
    fixed grid of the former.
    """

    auc: float
    auc_interval: tuple[float, float]
    tpr_at_fpr: dict[str, float]
    tpr_at_fpr_interval: dict[str, tuple[float, float]]
    balanced_accuracy: float
    balanced_accuracy_interval: tuple[float, float]
    interval_confidence: float
    curve: dict[str, list[float]]
    interval_unit: str = RUNS
    over_records: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Utility:
    """Accuracy of the victims on records that their run left out."""

    accuracy: float
    accuracy_interval: tuple[float, float]
    measured_on: str
    interval_unit: str = RUNS


@dataclass(frozen=True, kw_only=True)
class Game:
    """How membership was decided and who knew what. `public_draws` are independent draws of the public randomness.

    `num_audited` records had coins, the others were in every run; None: all had coins.
    """

    num_records: int
    num_classes: int
    num_synthetic: int
    num_fit_runs: int
    num_test_runs: int
    inclusion_probability: float
    public_randomness: str
    membership_shuffled: bool
    seed: int
    public_draws: int = 1
    num_audited: int | None = None


@dataclass(frozen=True, kw_only=True)
class ExposedRecord:
    """One record of the pool: how far its scores in runs with it lie above those without it; `label` where known."""

    record: int
    label: int | None
    auc: float
    mean_score_in: float
    mean_score_out: float


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A published protocol run as published, beside our own figures."""

    name: str
    source: str
    advantage: float
    advantage_interval: tuple[float, float]
    num_seeds: int
    note: str
    interval_unit: str = RUNS


@dataclass(frozen=True, kw_only=True)
class Displacement:
    """L2 distances, pixels in [−1, 1], of images from the records that they started from; beside them, the median
    distance of two records of one class, None where no class has two."""

    median: float
    quartiles: tuple[float, float]
    num_images: int
    between_records: float | None


@dataclass(frozen=True, kw_only=True)
class Tradeoff:
    """The highest true positive rate that the guarantee allows at each false positive rate; `source` says whence."""

    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]
    source: str

    def __post_init__(self) -> None:
        if len(self.false_positive_rate) != len(self.true_positive_rate) or not self.false_positive_rate:
            raise ValueError(
                f"trade-off curve: {len(self.false_positive_rate)} false and {len(self.true_positive_rate)} true "
                "positive rates; as many of both are needed, at least one"
            )


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What as many runs could certify: `ceiling` if no guess were wrong, `lower_at_same_rates` if as large a share of
    the coins were guessed, and guessed rightly, as in this audit."""

    num_runs: int
    num_test_runs: int
    num_trials: int
    ceiling: float
    lower_at_same_rates: float


@dataclass(frozen=True, kw_only=True)
class LadderRow:
    """One adversary: what was certified at its level, against the analytic ε, None where nothing is proved."""

    level: str
    attack: str
    lower: float
    delta: float
    confidence: float
    ceiling: float
    analytic_epsilon: float | None
    verdict: str

    @property
    def measured(self) -> bool:
        """Not where the runs were never made."""
        return self.verdict not in ("CONTRACT BROKEN", "NOTHING TESTED")

    def __post_init__(self) -> None:
        if self.verdict not in METHOD_VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is not one of {', '.join(METHOD_VERDICTS)}")


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """The same method against adversaries who see more and more."""

    method: str
    dataset: str
    rows: tuple[LadderRow, ...]


@dataclass(frozen=True, kw_only=True)
class RecordGroup:
    """Some records by themselves: a group that was asked for, ordinary records, or a kind of canary.

    Its bound is corrected for all groups. `auc` is None where the coins of the group fell on one side only.
    """

    name: str
    num_records: int
    auc: float | None
    auc_interval: tuple[float, float] | None
    tpr_at_fpr: dict[str, float]
    epsilon: EpsilonBound
    tpr_at_fpr_interval: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Report:
    """One audit, whole.

    `claimed` is what the verdict is about: stated with --claim, or else what the ledger proves. `proved` is what the
    accountants prove for the ledger of what ran, None where the method has none.
    """

    command: str
    method: str
    attack: str
    dataset: str
    level: str
    verdict: str
    verdict_reason: str
    epsilon: EpsilonBound
    bounds: tuple[EpsilonBound, ...]
    claimed: Claim | None
    roc: Roc
    paper_style_epsilon: float | None
    utility: Utility | None
    game: Game
    exposed: tuple[ExposedRecord, ...]
    protocols: tuple[Protocol, ...]
    threat_model: tuple[str, ...]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    tradeoff: Tradeoff | None = None
    outlook: tuple[Outlook, ...] = ()
    ladder: Ladder | None = None
    schema: str = SCHEMA
    groups: tuple[RecordGroup, ...] = ()
    curve_test: CoinTest | None = None
    proved: Claim | None = None
    scope: Scope | None = None
    displacement: Displacement | None = None

    def __post_init__(self) -> None:
        allowed = VERDICTS if self.ladder is None else METHOD_VERDICTS
        if self.verdict not in allowed:
            raise ValueError(f"verdict {self.verdict!r} is not one of {', '.join(allowed)}")


def dump(record: Any) -> str:
    """JSON of a record: sorted keys, no NaN, infinite numbers as null, the same bytes for equal records."""
    return json.dumps(_plain(asdict(record)), sort_keys=True, indent=2, allow_nan=False) + "\n"


def load(text: str) -> Report:
    """Read a `report.json` back; raises ValueError with one line when it is not one of this schema."""
    raw = parse_object(text)
    if raw.get("schema") != SCHEMA:
        raise ValueError(f"schema is {raw.get('schema')!r}, this version reads {SCHEMA!r}")
    return read_record(Report, raw)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
