"""Epsilon from many membership coins: Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run",
NeurIPS 2023, arXiv:2305.08846.

Assumption: every coin is fair and independent of the others; which coins are guessed and how many is fixed before
the tested coins are looked at; the attack was not fitted on the tested runs. Then, whatever the attack, an (epsilon,
delta)-DP mechanism leaves the p-value below the significance with at most that probability. Unit: records (coins). V
independent test runs over n records are one experiment of V*n coins: a coin reaches the output of its own run only.

Guarantee of the reported number: any epsilon with p < significance is a valid lower bound. An
(epsilon, delta)-DP mechanism is also (epsilon', delta)-DP for every larger epsilon', so the union over epsilon' of
the rejections is itself one event {correct >= v*}, and has probability below the significance.

Differs from the paper: guesses that fall among tied scores are counted as if the wrong ones came first. That count
is never above the count of any way of breaking the ties, so the bound stays valid and depends on no row order.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from audit.statistics.estimators.evidence import (
    Floats,
    RecordEvidence,
    check_counts,
    check_settings,
)
from audit.statistics.estimators.guesses import ASSUMPTIONS, GuessCounts, bound_from_records
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from condensers.errors import BadInput
from reports.records.schema import EpsilonBound

NAME = "one-run"
SELECTION_STEPS = 10
BOUND_STEPS = 60


def one_run_p_values(
    *, num_coins: ArrayLike, num_guesses: ArrayLike, num_correct: ArrayLike, epsilon: ArrayLike, delta: float
) -> Floats:
    """P-values of "the mechanism is (epsilon, delta)-DP"; arguments broadcast against each other."""
    coins, guesses, correct, level = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (num_coins, num_guesses, num_correct, epsilon))
    )
    success = special.expit(level)
    tail = _binomial_tail(correct, guesses, success)
    if delta == 0.0:
        return tail
    slack = 2.0 * coins * delta * _steepest_average(correct, guesses, success, tail)
    return np.minimum(1.0, tail + slack)  # Appendix D, arXiv:2305.08846; the slack counts coins, not guesses


def _binomial_tail(correct: Floats, guesses: Floats, success: Floats) -> Floats:
    """P[Bin(guesses, success) >= correct]."""
    inside = (correct >= 1.0) & (correct <= guesses)
    first = np.where(inside, correct, 1.0)
    second = np.where(inside, guesses - correct + 1.0, 1.0)
    return np.where(inside, special.betainc(first, second, success), (correct < 1.0).astype(np.float64))


def _steepest_average(
    correct: Floats,
    guesses: Floats,
    success: Floats,
    tail: Floats,
) -> Floats:
    """max over 1 <= i <= correct of (f(correct - i) - f(correct)) / i, f the binomial tail.

    That quotient is the mean of the i binomial masses below `correct`. The masses are unimodal, so the mean rises
    while the next mass exceeds it and falls for ever after: the maximum is found by bisection over i. Above the mode it
    rises in any case, which masses that underflow would not show.
    """
    low = np.ones_like(correct)
    high = np.maximum(correct, 1.0)
    for _ in range(int(np.ceil(np.log2(max(float(high.max(initial=1.0)), 1.0)))) + 1):
        middle = np.floor((low + high) / 2.0)
        here = _binomial_tail(correct - middle, guesses, success)
        next_mass = _binomial_tail(correct - middle - 1.0, guesses, success) - here
        above_mode = correct - middle - 1.0 >= (guesses + 1.0) * success
        rising = above_mode | (next_mass > (here - tail) / middle)
        low, high = np.where(rising & (low < high), middle + 1.0, low), np.where(rising, high, middle)
    return (_binomial_tail(correct - low, guesses, success) - tail) / low


def one_run_lower_bounds(
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
    possible = correct >= 1.0
    quantile = special.betaincinv(
        np.where(possible, correct, 1.0), np.where(possible, guesses - correct + 1.0, 1.0), significance
    )
    without_delta = np.where(possible, np.maximum(special.logit(quantile), 0.0), 0.0)
    if delta == 0.0:
        return without_delta
    counts = {"num_coins": coins, "num_guesses": guesses, "num_correct": correct}
    return largest_rejected(
        lambda epsilon: one_run_p_values(**counts, epsilon=epsilon, delta=delta),
        without_delta,
        significance=significance,
        num_steps=num_steps,
    )


def largest_rejected(
    p_values: Callable[[Floats], Floats], high: Floats, *, significance: float, num_steps: int
) -> Floats:
    """The largest epsilon of [0, high] with p-value below the significance, by bisection from below."""
    low = np.zeros_like(high)
    for _ in range(num_steps):
        middle = (low + high) / 2.0
        rejected = p_values(middle) < significance
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low


def one_run_ceiling(*, num_coins: int, delta: float, significance: float) -> float:
    """What a perfect attack that guesses every coin would certify."""
    return float(
        one_run_lower_bounds(
            num_coins=num_coins, num_guesses=num_coins, num_correct=num_coins, delta=delta, significance=significance
        )
    )


def bound_epsilon_one_run(
    *,
    num_coins: int,
    num_guesses: int,
    num_correct: int,
    delta: float,
    confidence: float,
    num_tries: int = 1,
) -> EpsilonBound:
    """Lower bound from `num_correct` of `num_guesses` guesses about `num_coins` fair coins; the rest abstain."""
    check_settings(delta=delta, confidence=confidence, num_tries=num_tries)
    check_counts({"num_coins": num_coins, "num_guesses": num_guesses, "num_correct": num_correct})
    if not num_coins:
        raise BadInput("num_coins is 0: there is nothing to bound epsilon with")
    if not num_correct <= num_guesses <= num_coins:
        raise BadInput(
            f"counts do not add up: {num_correct} correct of {num_guesses} guesses about {num_coins} coins; "
            "correct <= guesses <= coins must hold"
        )
    significance = (1.0 - confidence) / num_tries
    lower = one_run_lower_bounds(
        num_coins=num_coins, num_guesses=num_guesses, num_correct=num_correct, delta=delta, significance=significance
    )
    return EpsilonBound(
        lower=float(lower),
        delta=delta,
        confidence=confidence,
        estimator=NAME,
        unit="record",
        num_trials=num_coins,
        ceiling=one_run_ceiling(num_coins=num_coins, delta=delta, significance=significance),
        assumptions=ASSUMPTIONS,
        threshold_choice="fixed beforehand",
        counts={"coins": num_coins, "guesses": num_guesses, "correct": num_correct},
        num_tries=num_tries,
    )


def bound_epsilon_one_run_records(
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
        one_run_lower_bounds,
        estimator=NAME,
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
    )


def bound_from_lower_bounds(
    evidence: RecordEvidence,
    lower_bounds: Callable[..., Floats],
    *,
    estimator: str,
    delta: float,
    confidence: float,
    choice: ThresholdChoice,
    num_tries: int,
) -> EpsilonBound:
    """The bound of an estimator that is given by `lower_bounds`, with the arguments of `one_run_lower_bounds`."""

    def bounds(guesses: GuessCounts, significance: float, num_steps: int = BOUND_STEPS) -> Floats:
        return lower_bounds(
            num_coins=guesses.num_coins,
            num_guesses=guesses.num_guesses,
            num_correct=guesses.num_correct,
            delta=delta,
            significance=significance,
            num_steps=num_steps,
        )

    return bound_from_records(
        evidence,
        bounds,
        objective=lambda guesses, significance: bounds(guesses, significance, SELECTION_STEPS),
        estimator=estimator,
        assumptions=(),
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
    )
