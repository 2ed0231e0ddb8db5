"""Figures that must not get worse: a value, its standard error, and the test of two of them.

A change is held against both errors: Student's t with the fewer degrees of freedom of the two at the significance of
the test, one-sided. Two builds may have drawn other networks and other starting noise, so errors are over public draws
(audit/gate/file.py asks for several), or over runs where every run has a draw of its own. Assumption: the estimate is
roughly normal over them. For epsilon, which is a bound already, the bound at that same confidence must exceed the
recorded value as well; where nothing leaks this alone is valid whatever the law of the scores.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy import stats

from audit.statistics.roc import AUC
from condensers.errors import BadConfig
from reports.records.intervals import PUBLIC_DRAWS

NUM_RESAMPLES = 50
NUM_FAMILY_RESAMPLES = 12


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A figure over `num_trials` public draws or independent runs; `certain` is a bound at the test's significance."""

    value: float
    standard_error: float
    num_trials: int
    certain: float | None = None


@dataclass(frozen=True, kw_only=True)
class Metric:
    """`measure(report, scores, significance)`; `worse` is +1 where more is worse, −1 where less is.

    `bound` says that the figure is a lower bound, which is rounded down.
    """

    measure: Callable[[Any, tuple[np.ndarray, np.ndarray], float], Measured]
    worse: int
    transcript: bool = False
    bound: bool = False


def threshold(new: Measured, old: Measured, significance: float) -> float:
    """The change from which on a figure has got worse."""
    degrees = max(1, min(new.num_trials, old.num_trials) - 1)
    return float(stats.t.isf(significance, degrees)) * sqrt(new.standard_error**2 + old.standard_error**2)


def got_worse(metric: str, new: Measured, old: Measured, significance: float) -> bool:
    change = METRICS[metric].worse * (new.value - old.value)
    if new.certain is not None and new.certain <= old.value:
        return False
    return change > threshold(new, old, significance)


def _from_interval(
    value: float,
    interval: tuple[float, float],
    confidence: float,
    num_units: int,
    *,
    least: float = 0.0,
    is_of_share: bool = False,
) -> Measured:
    """Standard error from a Student interval (`statistics.roc` widens its bootstrap to one), or from that of a share.

    One of its ends may be 0 or 1 for want of anything beyond.
    """
    law = stats.norm if is_of_share else stats.t(num_units - 1)
    reach = max(interval[1] - value, value - interval[0]) / float(law.ppf((1 + confidence) / 2))
    return Measured(value=value, standard_error=max(reach, least), num_trials=num_units)


def _num_units(report: Any, num_runs: int) -> int:
    """Public draws, or runs, whichever the intervals are over."""
    found = report.game.public_draws if report.roc.interval_unit == PUBLIC_DRAWS else num_runs
    if found < 2:
        raise BadConfig("the error of a figure cannot be measured over one test run; give more shadows or test_runs")
    return int(found)


def _auc(report: Any, scores: tuple[np.ndarray, np.ndarray], significance: float) -> Measured:  # noqa: ARG001
    roc = report.roc
    num_units = _num_units(report, report.game.num_test_runs)
    return _from_interval(
        roc.auc, roc.auc_interval, roc.interval_confidence, num_units, is_of_share=AUC in roc.over_records
    )


def _true_positive_rate(rate: str) -> Callable[[Any, tuple[np.ndarray, np.ndarray], float], Measured]:
    def measure(report: Any, scores: tuple[np.ndarray, np.ndarray], significance: float) -> Measured:  # noqa: ARG001
        roc = report.roc
        value = roc.tpr_at_fpr[rate]
        # Where no member was found in any run the bootstrap sees no spread: then that of a binomial share.
        num_members = int(scores[0].sum())
        smoothed = (value * num_members + 1) / (num_members + 2)
        return _from_interval(
            value,
            roc.tpr_at_fpr_interval[rate],
            roc.interval_confidence,
            _num_units(report, report.game.num_test_runs),
            least=sqrt(smoothed * (1 - smoothed) / num_members),
            is_of_share=rate in roc.over_records,
        )

    return measure


def _accuracy(report: Any, scores: tuple[np.ndarray, np.ndarray], significance: float) -> Measured:  # noqa: ARG001
    num_units = _num_units(report, report.game.num_fit_runs + report.game.num_test_runs)
    return _from_interval(
        report.utility.accuracy, report.utility.accuracy_interval, report.epsilon.confidence, num_units
    )


def _epsilon(report: Any, scores: tuple[np.ndarray, np.ndarray], significance: float) -> Measured:
    from audit.games.membership.headline import bound_again
    from condensers.randomness import stream

    members, values = scores
    bound = report.epsilon

    def lower(rows: np.ndarray, confidence: float) -> float:
        return bound_again(bound, members[rows], values[rows], confidence=confidence).lower

    everything, generator = np.arange(len(members)), stream(report.game.seed, "gate", "epsilon")
    num_units = _num_units(report, len(members))
    # Whole draws are resampled; the runs of a row share no draw, so either half of the rows has runs of every draw.
    rows = everything.reshape(-1, num_units)
    resampled = [
        lower(rows[:, generator.integers(num_units, size=num_units)].ravel(), bound.confidence)
        for _ in range(NUM_RESAMPLES)
    ]
    return Measured(
        value=bound.lower,
        standard_error=float(np.std(resampled) * sqrt(num_units / max(1, num_units - 1))),
        num_trials=num_units,
        certain=lower(everything, 1 - significance),
    )


def _tightness(report: Any, scores: tuple[np.ndarray, np.ndarray], significance: float) -> Measured:  # noqa: ARG001
    """Parametric bootstrap of the counts behind the family bound."""
    from audit.statistics.estimators.evidence import RunCounts
    from audit.statistics.estimators.family import bound_epsilon_family
    from condensers.randomness import stream

    if report.tightness is None:
        raise BadConfig(
            f"tightness: {report.method} releases more than one mechanism, for which there is no family bound"
        )
    released = report.ledger[0]
    counts, generator = report.epsilon.counts, stream(report.seed, "gate", "tightness")
    num_members = counts["true_positives"] + counts["false_negatives"]
    num_others = counts["false_positives"] + counts["true_negatives"]
    resampled = []
    for _ in range(NUM_FAMILY_RESAMPLES):
        missed = int(generator.binomial(num_members, counts["false_negatives"] / num_members))
        false = int(generator.binomial(num_others, counts["false_positives"] / num_others))
        drawn = RunCounts(
            true_positives=num_members - missed,
            false_negatives=missed,
            false_positives=false,
            true_negatives=num_others - false,
        )
        bound = bound_epsilon_family(
            drawn,
            sampling_rate=released["sampling"]["rate"],
            steps=released["count"],
            delta=report.epsilon.delta,
            confidence=report.epsilon.confidence,
        )
        resampled.append(bound.lower / report.claimed.epsilon_pld)
    return Measured(
        value=report.tightness, standard_error=float(np.std(resampled, ddof=1)), num_trials=NUM_FAMILY_RESAMPLES
    )


METRICS: dict[str, Metric] = {
    "auc": Metric(measure=_auc, worse=1),
    "tpr at fpr 0.01": Metric(measure=_true_positive_rate("0.01"), worse=1),
    "tpr at fpr 0.001": Metric(measure=_true_positive_rate("0.001"), worse=1),
    "epsilon": Metric(measure=_epsilon, worse=1, bound=True),
    "accuracy": Metric(measure=_accuracy, worse=-1),
    "tightness": Metric(measure=_tightness, worse=-1, transcript=True, bound=True),
}
