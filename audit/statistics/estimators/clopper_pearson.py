"""Epsilon from exact binomial limits of both error rates: Jagielski, Ullman, Oprea 2020, arXiv:2006.07709;
Nasr et al. 2021, arXiv:2101.04535. Limits by Clopper and Pearson 1934.

Assumption: independent runs, one canary each, the rule fixed before the tested runs. Nothing about the mechanism.
Guarantee: the reported epsilon exceeds the true one with probability at most 1 - confidence. Unit: runs.

Both directions at no further cost. FNR and FPR each have a one-sided limit at half of the significance, so both hold
together with the confidence (union bound). On that one event, (epsilon, delta)-DP gives
1 - FNR <= e^epsilon FPR + delta and 1 - FPR <= e^epsilon FNR + delta, hence the same with the limits in place of the
rates: both lower bounds are true on it, and so is their maximum. A further split would be needed only if the two
directions used different limits.
"""

import numpy as np

from audit.statistics.estimators.evidence import Floats, RunCounts, RunEvidence
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from audit.statistics.estimators.trials import ErrorCounts, bound_from_runs, confidence_rectangle
from reports.records.schema import EpsilonBound

NAME = "clopper-pearson"


def rectangle_epsilons(false_negative_upper: Floats, false_positive_upper: Floats, delta: float) -> Floats:
    """The larger of ln((1 - FNR - delta)/FPR) and ln((1 - FPR - delta)/FNR) at the limits, at least 0."""
    # Kairouz, Oh, Viswanath 2015, arXiv:1311.0776, solved for epsilon
    forward = np.maximum(1.0 - false_negative_upper - delta, 0.0) / false_positive_upper
    backward = np.maximum(1.0 - false_positive_upper - delta, 0.0) / false_negative_upper
    return np.log(np.maximum(np.maximum(forward, backward), 1.0))


def clopper_pearson_epsilons(errors: ErrorCounts, *, delta: float, significance: float) -> Floats:
    return rectangle_epsilons(*confidence_rectangle(errors, significance), delta)


def bound_epsilon_clopper_pearson(
    evidence: RunEvidence | RunCounts,
    *,
    delta: float,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> EpsilonBound:
    """Lower bound from independent runs, whatever the mechanism. `num_tries`: of how many tries this is one."""
    return bound_from_runs(
        evidence,
        lambda errors, significance: clopper_pearson_epsilons(errors, delta=delta, significance=significance),
        estimator=NAME,
        assumptions=(),
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
    )
