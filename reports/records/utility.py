"""What synthetic sets are worth to train on: the records of `audit utility` and `audit continual`.

Seconds are in no record, since equal measurements must give equal bytes; utility.csv holds them.
"""

from dataclasses import dataclass
from typing import Any

UTILITY_SCHEMA = "condensation-audit/utility/2"
CONTINUAL_SCHEMA = "condensation-audit/continual/2"


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Of `n` networks: sample `deviation` and Student's `interval` of the mean at 95%, None of a single network.

    `images` is the size of the set, `flops` the cost of training one network on it.
    """

    mean: float
    deviation: float | None
    interval: tuple[float, float] | None
    n: int
    values: tuple[float, ...]
    images: int
    flops: float


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Accuracy above that of a random subset of the same size; `interval` is Welch's at 95%."""

    mean: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class MatchingSubset:
    """The smallest random subset that is as accurate; `images` is None where not even all records are."""

    searched: bool
    images: int | None


@dataclass(frozen=True, kw_only=True)
class UtilityRow:
    """One set on one kind of network; None: not measured, and of `epsilon`: not private.

    `condensing_flops` is the cost of making the set, None of a released one.
    """

    set: str
    ipc: float
    epsilon: float | None
    images: int
    architecture: str
    accuracy: Accuracy
    random_subset: Accuracy | None
    gain: Gain | None
    matching_subset: MatchingSubset
    full: Accuracy | None
    condensing_flops: float | None


@dataclass(frozen=True, kw_only=True)
class UtilityReport:
    """Every set on every network. `networks` are the numbers of parameters, `names` how people call the networks."""

    command: str
    dataset: str
    preset: str
    seed: int
    delta: float
    train_records: int
    test_records: int
    official_test_split: bool
    training: dict[str, Any]
    networks: dict[str, int]
    names: dict[str, str]
    rows: tuple[UtilityRow, ...]
    notes: tuple[str, ...]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    schema: str = UTILITY_SCHEMA


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Networks after one stage, tested on all `classes` seen so far."""

    stage: int
    classes: tuple[int, ...]
    accuracy: Accuracy


@dataclass(frozen=True, kw_only=True)
class ContinualReport:
    """Classes that arrive in stages. `epsilon` is what each stage was calibrated to, None of a method without noise."""

    command: str
    method: str
    dataset: str
    epsilon: float | None
    delta: float
    test_records: int
    stages: tuple[Stage, ...]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    schema: str = CONTINUAL_SCHEMA
