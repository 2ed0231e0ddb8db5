"""Epsilon of a mechanism whose family is granted: Nasr et al., "Tight Auditing of Differentially Private Machine
Learning", 2023, arXiv:2302.07956, with the trade-off curve of the privacy loss distribution in place of the GDP one.

Assumption: the mechanism is a Poisson-subsampled Gaussian with the claimed sampling rate and number of steps, its noise
multiplier unknown; the claim must grant it. Every noise multiplier whose curve lies above the confidence region of
(FPR, FNR) is refuted; the smallest refuted one has the reported epsilon. Guarantee: under the assumption it exceeds
the true epsilon with probability at most 1 - confidence, since then the true noise multiplier was refuted. Unit: runs.

One curve per noise multiplier serves all looks: it is refuted when enough of them refute it. Where even the noiseless
member of the family is refuted the bound is infinite: the mechanism is not of that family.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from audit.accounting.curve import tradeoff_curve
from audit.accounting.epsilon import MAX_EPSILON, epsilon_pld
from audit.accounting.events import subsampled_gaussian
from audit.accounting.privacy_loss import NoGuaranteeLeft
from audit.statistics.estimators.curve import normal_gaps
from audit.statistics.estimators.evidence import Floats, RunCounts, RunEvidence
from audit.statistics.estimators.gaussian import gaussian_epsilon, gaussian_mus, require_positive_delta
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from audit.statistics.estimators.trials import ErrorCounts, bound_from_runs, confidence_rectangle
from condensers.errors import BadInput
from reports.records.schema import EpsilonBound

NAME = "family"
_TOLERANCE = 4e-3  # of the noise multiplier
_STEP = 1.2
_MOST_NOISE = 200.0
_LEAST_NOISE = 0.1


def bound_epsilon_family(
    evidence: RunEvidence | RunCounts,
    *,
    sampling_rate: float,
    steps: int,
    delta: float,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> EpsilonBound:
    """Lower bound for a mechanism granted to be a subsampled Gaussian of that rate and so many steps. Takes seconds."""
    require_positive_delta(delta, estimator=NAME)
    if not 0.0 < sampling_rate <= 1.0:
        raise BadInput(f"sampling rate is {sampling_rate}; it must be above 0 and at most 1")
    if steps < 1:
        raise BadInput(f"steps is {steps}; it must be at least 1")

    def look_bounds(errors: ErrorCounts, significance: float) -> Floats:
        if sampling_rate == 1.0:
            return gaussian_epsilon(gaussian_mus(errors, significance=significance), delta)
        return _look_bounds(errors, significance, sampling_rate=sampling_rate, steps=steps, delta=delta)

    return bound_from_runs(
        evidence,
        look_bounds,
        objective=lambda errors, significance: gaussian_mus(errors, significance=significance),
        estimator=NAME,
        assumptions=(
            f"the mechanism is a Poisson-subsampled Gaussian, sampling rate {sampling_rate:g}, {steps} steps, "
            "noise multiplier unknown",
        ),
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
    )


def _look_bounds(errors: ErrorCounts, significance: float, *, sampling_rate: float, steps: int, delta: float) -> Floats:
    """The epsilon of the smallest noise multiplier that enough looks refute, for the looks that do; 0 for others."""

    @cache
    def gaps(noise_multiplier: float) -> Floats:
        event = subsampled_gaussian(sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, steps=steps)
        try:
            return normal_gaps(errors, tradeoff_curve(event), significance)
        except NoGuaranteeLeft:
            return np.full(errors.num_looks, -1.0)

    def agreed(values: Floats) -> float:
        return float(np.sort(values)[-errors.num_agreeing])

    unsampled = _refutes_any_noise(errors, significance, (1.0 - sampling_rate) ** steps)
    if np.sum(unsampled) >= errors.num_agreeing:
        return np.where(unsampled, np.inf, 0.0)
    mu = agreed(gaussian_mus(errors, significance=significance))
    if mu <= 0.0:
        return np.zeros(errors.num_looks)
    # Central limit, arXiv:1911.11607: mu = rate * sqrt(steps * (e^(1/noise^2) - 1)); a place to start from
    guess = float(np.log1p(mu**2 / (sampling_rate**2 * steps)) ** -0.5)
    refuted = _smallest_refuted(lambda noise: agreed(gaps(noise)), min(max(guess, _LEAST_NOISE), _MOST_NOISE))
    if refuted is None:
        return np.zeros(errors.num_looks)
    event = subsampled_gaussian(sampling_rate=sampling_rate, noise_multiplier=refuted, steps=steps)
    try:
        epsilon = epsilon_pld(event, delta)
    except NoGuaranteeLeft:
        epsilon = MAX_EPSILON
    return np.where(gaps(refuted) > 0.0, epsilon, 0.0)


def _refutes_any_noise(errors: ErrorCounts, significance: float, never_sampled: float) -> NDArray[np.bool_]:
    """Whether even the noiseless member of the family is refuted: it errs where the record was never sampled."""
    false_negative_upper, false_positive_upper = confidence_rectangle(errors, significance)
    # Called positive with probability a there: FNR = never_sampled * (1 - a), and the mirror image of that curve
    return (false_negative_upper < never_sampled * (1.0 - false_positive_upper)) & (
        false_positive_upper < never_sampled * (1.0 - false_negative_upper)
    )


def _smallest_refuted(gap: Callable[[float], float], guess: float) -> float | None:
    """A noise multiplier with a positive gap, within the tolerance above one without; None where none is refuted."""
    low = high = guess
    low_gap = high_gap = gap(guess)
    step = _STEP
    while high_gap <= 0.0:
        if high >= _MOST_NOISE:
            return None
        low, low_gap = high, high_gap
        high, step = min(high * step, _MOST_NOISE), step**2
        high_gap = gap(high)
    while low_gap > 0.0 and low > _LEAST_NOISE:
        high, high_gap = low, low_gap
        low, step = max(low / step, _LEAST_NOISE), step**2
        low_gap = gap(low)
    if low_gap > 0.0:
        return low
    while high > low * (1.0 + _TOLERANCE):
        # False position in the logarithm of the noise; halving the gap of the end that stays (the Illinois variant)
        share = min(max(-low_gap / (high_gap - low_gap), 0.0), 1.0)
        middle = float(
            np.clip(low * (high / low) ** share, low * (1.0 + _TOLERANCE / 2), high / (1.0 + _TOLERANCE / 2))
        )
        middle_gap = gap(middle)
        if middle_gap > 0.0:
            high, high_gap, low_gap = middle, middle_gap, low_gap / 2.0
        else:
            low, low_gap, high_gap = middle, middle_gap, high_gap / 2.0
    return high
