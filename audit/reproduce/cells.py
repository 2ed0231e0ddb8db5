"""One figure of an item as something that can be run: a specification, and how the figure is read from its record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.reproduce.agreement import Measured
from audit.reproduce.tables import PublishedCell
from audit.specs.spec import Spec
from reports.records.utility import ContinualReport, UtilityReport

HUNDRED = 100.0


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A published cell, what is run for it, and what of that is otherwise than in the paper."""

    published: PublishedCell
    spec: Spec
    read: Callable[[Any], Measured]
    differs: tuple[str, ...] = ()


def accuracy_of(record: UtilityReport) -> Measured:
    """Of `Utility` with one set on one network, in per cent."""
    found = record.rows[0].accuracy
    return _in_percent(found.mean, found.interval, found.n)


def accuracy_of_victims(record: Any) -> Measured:
    """Of `Loss` and its like: victims on records that their runs left out, in per cent."""
    found = record.utility
    return _in_percent(found.accuracy, found.accuracy_interval, record.game.num_test_runs)


def advantage_of(table: str) -> Callable[[Any], Measured]:
    """Of `Loss`, by one of the two protocols of Dong et al., in per cent."""

    def read(record: Any) -> Measured:
        found = next(protocol for protocol in record.protocols if protocol.name.endswith(table))
        low, high = found.advantage_interval  # of Student, so it may leave what an advantage can be
        return _in_percent(found.advantage, (max(low, -1.0), min(high, 1.0)), found.num_seeds)

    return read


def auc_of(record: Any) -> Measured:
    """Of any attack."""
    return Measured(value=record.roc.auc, interval=tuple(record.roc.auc_interval), num_seeds=record.game.num_test_runs)


def auc_percent_of(record: Any) -> Measured:
    """Of any attack, in per cent."""
    found = auc_of(record)
    return _in_percent(found.value, found.interval, found.num_seeds)


def tpr_percent_of(false_positive_rate: float) -> Callable[[Any], Measured]:
    """Of any attack: the true-positive rate at a false-positive rate, in per cent."""
    name = f"{false_positive_rate:g}"

    def read(record: Any) -> Measured:
        roc = record.roc
        return _in_percent(roc.tpr_at_fpr[name], tuple(roc.tpr_at_fpr_interval[name]), record.game.num_test_runs)

    return read


def members_among_nearest(record: Any) -> Measured:
    """Of `Visual`, by L2: the share of guessed records that are members, with the interval of Clopper and Pearson.

    It takes the guesses of a run for independent, which `interval_of` of the item says.
    """
    from scipy import stats

    found = next(one for one in record.distances if one.name == "l2")
    test = stats.binomtest(found.num_members, found.num_guesses)
    interval = test.proportion_ci(confidence_level=0.95, method="exact")
    return _in_percent(test.statistic, (float(interval.low), float(interval.high)), record.game.num_test_runs)


def epsilon_of(record: Mapping[str, Any]) -> Measured:
    """Of `Account`, by Rényi DP, which the papers use; exact, so without an interval."""
    return Measured(value=float(record["epsilon_rdp"]), interval=None, num_seeds=1)


def distance_left(extractor: str, init: str) -> Callable[[Any], Measured]:
    """Of `Theory`: the distance of the barycentres after the last step over that before the first, over sizes."""

    def read(record: Any) -> Measured:
        shares = [
            one.distances[-1] / one.distances[0]
            for one in record.condensations
            if one.extractor == extractor and one.init == init
        ]
        return Measured(value=sum(shares) / len(shares), interval=(min(shares), max(shares)), num_seeds=len(shares))

    return read


def stage_of(stage: int) -> Callable[[Any], Measured]:
    """Of `Continual`: the accuracy after a stage, in per cent."""

    def read(record: ContinualReport) -> Measured:
        found = next(each for each in record.stages if each.stage == stage).accuracy
        return _in_percent(found.mean, found.interval, found.n)

    return read


def _in_percent(value: float, interval: tuple[float, float] | None, num_seeds: int) -> Measured:
    scaled = None if interval is None else (HUNDRED * interval[0], HUNDRED * interval[1])
    return Measured(value=HUNDRED * value, interval=scaled, num_seeds=num_seeds)
