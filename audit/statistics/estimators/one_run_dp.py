"""Epsilon from many membership coins against the trade-off function of (epsilon, delta)-DP itself: the recursion of
Mahloujifar, Melis, Chaudhuri 2024, arXiv:2410.22235, on
f(x) = max(0, 1 - delta - e^epsilon x, e^-epsilon (1 - delta - x)).

Assumption: as one_run.py: fair independent coins, numbers of guesses fixed before the tested coins are seen, an attack
fitted on other runs. No family of mechanisms is granted. Guarantee: the reported epsilon exceeds the true one with
probability at most 1 - confidence; the argument is in recursion.py. Unit: records (coins).

Against the one-run bound: it has no slack 2 m delta, which counts every coin as if it had leaked, so it certifies more
where few of many coins are guessed; at delta = 0 it is slightly weaker, as it starts from the worst law above v.

The recursion in closed form. While f(1 - R) = e^-epsilon (R - delta) (step 2 of recursion.py with equality), the
increments obey p_{i-1} / p_i = e^-epsilon i / (r - i + 1), which is the ratio of the masses of Bin(r, q), q =
e^epsilon / (1 + e^epsilon), and p_{v-1} = (e^-epsilon (s v - m delta) - s (r - v)) / (r - v + 1). So s is rejected if
s + p_{v-1} P[Bin <= v - 1] / P[Bin = v - 1] > 1, and the smallest such s is
p = (x + e^-epsilon m delta) / (x + e^-epsilon v - (r - v)), x = (r - v + 1) P[Bin = v - 1] / P[Bin <= v - 1].
The other line of f is reached only where R + H > 1 >= r / m, that is, after rejection: f(y) = y at y = (1 - delta) /
(1 + e^epsilon), and for R > 1 - y both lines give H' > 1 - R. The tests hold this form against the recursion step by
step.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from audit.statistics.estimators.evidence import Floats, RecordEvidence
from audit.statistics.estimators.one_run import (
    BOUND_STEPS,
    bound_from_lower_bounds,
    largest_rejected,
    one_run_lower_bounds,
)
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from reports.records.schema import EpsilonBound

NAME = "one-run-dp"
_UNDERFLOW = 1e-290


def one_run_dp_p_values(
    *, num_coins: ArrayLike, num_guesses: ArrayLike, num_correct: ArrayLike, epsilon: ArrayLike, delta: float
) -> Floats:
    """P-values of "the mechanism is (epsilon, delta)-DP"; arguments broadcast against each other."""
    coins, guesses, correct, level = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (num_coins, num_guesses, num_correct, epsilon))
    )
    shrink = np.exp(-level)
    excess = shrink * correct - (guesses - correct)
    possible = (correct >= 1.0) & (excess > 0.0)
    first = np.where(possible, correct, 1.0)
    second = np.where(possible, guesses - correct + 1.0, 1.0)
    log_mass = (
        special.gammaln(first + second)
        - special.gammaln(first)
        - special.gammaln(second + 1.0)
        + (first - 1.0) * special.log_expit(level)
        + second * special.log_expit(-level)
    )
    below = special.betaincc(first, second, special.expit(level))
    # P[Bin <= v - 1] is at least its last term: where it underflows, that term makes the p-value larger, never smaller.
    log_below = np.where(below > _UNDERFLOW, np.log(np.maximum(below, _UNDERFLOW)), log_mass)
    start = second * np.exp(log_mass - log_below)
    found = (start + shrink * coins * delta) / np.where(possible, start + excess, 1.0)
    return np.where(possible, np.minimum(found, 1.0), 1.0)


def one_run_dp_lower_bounds(
    *,
    num_coins: ArrayLike,
    num_guesses: ArrayLike,
    num_correct: ArrayLike,
    delta: float,
    significance: float,
    num_steps: int = BOUND_STEPS,
) -> Floats:
    """The largest epsilon with p-value below the significance, at least 0; arguments broadcast."""
    coins, guesses, correct = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (num_coins, num_guesses, num_correct))
    )
    # Randomised response attains the one-run bound at delta 0, so no valid bound exceeds it.
    high = one_run_lower_bounds(
        num_coins=coins, num_guesses=guesses, num_correct=correct, delta=0.0, significance=significance
    )
    counts = {"num_coins": coins, "num_guesses": guesses, "num_correct": correct}
    return largest_rejected(
        lambda epsilon: one_run_dp_p_values(**counts, epsilon=epsilon, delta=delta),
        high,
        significance=significance,
        num_steps=num_steps,
    )


def bound_epsilon_one_run_dp(
    evidence: RecordEvidence,
    *,
    delta: float,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> EpsilonBound:
    """Lower bound from scored membership coins, whatever the mechanism, numbers of guesses as `choice` says."""
    return bound_from_lower_bounds(
        evidence,
        one_run_dp_lower_bounds,
        estimator=NAME,
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
    )
