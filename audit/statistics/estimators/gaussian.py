"""Epsilon of a Gaussian mechanism from its error rates: Nasr et al. 2023, arXiv:2302.07956; trade-off function by
Dong, Roth, Su 2019, arXiv:1905.02383.

Assumption: the mechanism's trade-off curve is that of N(0, 1) against N(mu, 1) for some mu (mu-GDP), which the claim
must grant. Guarantee: under it, the reported epsilon exceeds the true one with probability at most 1 - confidence.
Unit: runs. Without it the number means nothing: docs/estimators.md measures how often another mechanism is wronged.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from audit.statistics.estimators.evidence import Floats, RunCounts, RunEvidence
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from audit.statistics.estimators.trials import ErrorCounts, bound_from_runs, confidence_rectangle
from condensers.errors import BadInput
from reports.records.schema import EpsilonBound

NAME = "gaussian"
ASSUMPTIONS = ("the mechanism is mu-GDP, as a full-batch Gaussian mechanism is",)
_NUM_STEPS = 60


def require_positive_delta(delta: float, *, estimator: str) -> None:
    if delta == 0.0:
        raise BadInput(f"{estimator} at delta 0: no Gaussian mechanism has a finite epsilon there; give delta > 0")


def gaussian_delta(mu: Floats, epsilon: Floats) -> Floats:
    """delta(epsilon) of a mu-GDP mechanism; mu > 0."""
    # Cor. 2.13, arXiv:1905.02383
    return special.ndtr(-epsilon / mu + mu / 2.0) - np.exp(epsilon + special.log_ndtr(-epsilon / mu - mu / 2.0))


def gaussian_epsilon(mu: ArrayLike, delta: float) -> Floats:
    """The epsilon of a mu-GDP mechanism at delta > 0; 0 for mu <= 0."""
    positive = np.maximum(np.asarray(mu, dtype=np.float64), 1e-12)
    low = np.zeros_like(positive)
    high = positive**2 / 2.0 + positive * np.sqrt(2.0 * np.log(1.0 / delta))  # Prop. 1.3, arXiv:1605.02065
    for _ in range(_NUM_STEPS):
        middle = (low + high) / 2.0
        too_small = gaussian_delta(positive, middle) > delta
        low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
    return low


def gaussian_mu(epsilon: ArrayLike, delta: float) -> Floats:
    """The mu at which a Gaussian mechanism has that epsilon at delta > 0."""
    level = np.asarray(epsilon, dtype=np.float64)
    low, high = np.full_like(level, 1e-12), np.sqrt(2.0 * level) + 20.0
    for _ in range(_NUM_STEPS):
        middle = (low + high) / 2.0
        too_large = gaussian_delta(middle, level) > delta
        low, high = np.where(too_large, low, middle), np.where(too_large, middle, high)
    return low


def gaussian_mus(errors: ErrorCounts, *, significance: float) -> Floats:
    """Per look: mu at the corner of the confidence rectangle, at least 0."""
    false_negative_upper, false_positive_upper = confidence_rectangle(errors, significance)
    # Nasr et al. 2023: mu = Phi^-1(1 - FPR) - Phi^-1(FNR), at the limits
    return np.maximum(-special.ndtri(false_positive_upper) - special.ndtri(false_negative_upper), 0.0)


def bound_epsilon_gaussian(
    evidence: RunEvidence | RunCounts,
    *,
    delta: float,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> EpsilonBound:
    """Lower bound for a mechanism granted to be Gaussian."""
    require_positive_delta(delta, estimator=NAME)
    return bound_from_runs(
        evidence,
        lambda errors, significance: gaussian_epsilon(gaussian_mus(errors, significance=significance), delta),
        objective=lambda errors, significance: gaussian_mus(errors, significance=significance),
        estimator=NAME,
        assumptions=ASSUMPTIONS,
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
    )
