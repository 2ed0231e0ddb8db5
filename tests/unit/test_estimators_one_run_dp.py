"""The recursion on trade-off functions: closed form against steps, against mechanisms that attain the function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from audit.accounting.curve import point_curve, tradeoff_curve
from audit.accounting.events import subsampled_gaussian
from audit.statistics.estimators.coin_curve import refute_curve_from_coins
from audit.statistics.estimators.evidence import RecordEvidence
from audit.statistics.estimators.one_run import bound_epsilon_one_run_records, one_run_lower_bounds
from audit.statistics.estimators.one_run_dp import (
    bound_epsilon_one_run_dp,
    one_run_dp_lower_bounds,
    one_run_dp_p_values,
)
from audit.statistics.estimators.one_run_fdp import bound_epsilon_one_run_fdp, least_wrong_of_gaussian
from audit.statistics.estimators.recursion import least_wrong_of_curve, least_wrong_of_point, p_value, too_many_right
from audit.statistics.estimators.thresholds import Fixed, FromOtherRuns, Grid, MedianOfSplits, Split
from condensers.errors import BadInput

deltas = st.sampled_from([0.0, 1e-5, 1e-3, 0.05, 0.3])


@st.composite
def guesses(draw):
    num_coins = draw(st.integers(1, 400))
    num_guesses = draw(st.integers(0, num_coins))
    return {
        "num_coins": num_coins,
        "num_guesses": num_guesses,
        "num_correct": draw(st.integers(0, num_guesses)),
    }


def plain_recursion(function, num_coins, num_guesses, num_correct, significance) -> bool:
    """As FACTS.md §3 writes it, every step, without stopping early."""
    right, wrong = significance * num_correct / num_coins, significance * (num_guesses - num_correct) / num_coins
    for index in range(num_correct - 1, -1, -1):
        grown = max(wrong, function(1.0 - right))
        right = min(1.0, right + index / (num_guesses - index) * (grown - wrong))
        wrong = grown
    return right + wrong > num_guesses / num_coins


@given(made=guesses(), epsilon=st.floats(0.0, 4.0), delta=deltas, significance=st.floats(1e-6, 0.5))
@settings(max_examples=300, deadline=None)
def test_recursion_and_closed_form_against_plain_recursion(made, epsilon, delta, significance):
    def function(rate: float) -> float:
        return max(0.0, 1 - delta - np.exp(epsilon) * rate, np.exp(-epsilon) * (1 - delta - rate))

    found = float(one_run_dp_p_values(**made, epsilon=epsilon, delta=delta))
    assert found == pytest.approx(
        max(p_value(least_wrong_of_point(epsilon, delta), **made), found * (found < 1e-29)), rel=1e-6
    )
    if abs(found / significance - 1) > 1e-6:
        expected = plain_recursion(function, **made, significance=significance)
        assert (found < significance) == expected
        assert too_many_right(least_wrong_of_point(epsilon, delta), **made, significance=significance) == expected


def leaky_response_tails(num_coins: int, num_guesses: int, epsilon: float, delta: float) -> np.ndarray:
    """P[at least v of so many guesses are right], v = 0, 1, …, exactly, for the mechanism that attains f_{ε,δ}: each
    coin is told as it is with probability δ, else by randomised response; coins that were told are guessed first."""
    success = np.exp(epsilon) / (1 + np.exp(epsilon))
    told = np.arange(num_coins + 1)
    weights = stats.binom.pmf(told, num_coins, delta)
    known = np.minimum(told, num_guesses)
    counts = np.arange(num_guesses + 1)[:, None]
    return (weights * stats.binom.sf(counts - known - 1, num_guesses - known, success)).sum(1)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.02])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("num_coins", "num_guesses"), [(50, 50), (200, 20), (400, 5), (400, 120)])
def test_p_values_against_the_mechanism_that_attains_the_curve(num_coins, num_guesses, epsilon, delta):
    """Never below the exact tail, and within a small factor of it in the range that decides."""
    tails = leaky_response_tails(num_coins, num_guesses, epsilon, delta)
    found = one_run_dp_p_values(
        num_coins=num_coins, num_guesses=num_guesses, num_correct=np.arange(num_guesses + 1), epsilon=epsilon,
        delta=delta,
    )  # fmt: skip
    assert np.all(found >= tails * (1 - 1e-9))
    if delta == 0.0:
        decides = (tails < 0.2) & (tails > 1e-6)
        assert np.all(found[decides] < 3.0 * tails[decides])


def test_a_wrong_direction_of_the_recursion_against_the_mechanism_that_attains_the_curve():
    """The harness can fail: f in the place of its inverse, which forgets δ, rejects what the mechanism does often."""
    num_coins, num_guesses, epsilon, delta = 400, 5, 0.5, 0.02
    tails = leaky_response_tails(num_coins, num_guesses, epsilon, delta)
    growth = np.exp(epsilon)
    forgetful = [
        p_value(lambda right: right / growth, num_coins=num_coins, num_guesses=num_guesses, num_correct=correct)
        for correct in range(num_guesses + 1)
    ]
    assert forgetful[-1] < tails[-1]


def test_gaussian_recursion_on_coins_of_a_gaussian_mechanism_against_level():
    """P-values of the true curve, from coins whose scores are the best test of a Gaussian mechanism."""
    mu, curve = 1.0, tradeoff_curve(subsampled_gaussian(sampling_rate=1.0, noise_multiplier=1.0, steps=1))
    generator = np.random.default_rng(100)
    p_values = []
    for _ in range(400):
        members = generator.random((2, 150)) < 0.5
        evidence = RecordEvidence(members=members, scores=generator.normal(size=members.shape) + mu * members)
        choice = FromOtherRuns(positive_fraction=0.1, negative_fraction=0.1, source="other runs")
        p_values.append(refute_curve_from_coins(evidence, curve, confidence=0.95, choice=choice).p_value)
    for level in (0.01, 0.05, 0.2):
        assert np.sum(np.array(p_values) <= level) <= stats.binom.isf(1e-3, 400, level)
    assert min(p_values) < 1.0


def test_curve_of_a_gaussian_against_its_formula():
    curve = tradeoff_curve(subsampled_gaussian(sampling_rate=1.0, noise_multiplier=1.0, steps=1))
    made = {"num_coins": 400, "num_guesses": 80, "num_correct": 74}
    of_curve, of_formula = (p_value(one, **made) for one in (least_wrong_of_curve(curve), least_wrong_of_gaussian(1.0)))
    assert 0.01 < of_formula < 0.5
    assert of_curve == pytest.approx(of_formula, rel=0.02)
    assert of_curve >= of_formula * (1 - 1e-9), "the discretised curve proves no more than the true one"


@given(made=guesses(), epsilon=st.floats(0.0, 3.0), delta=st.sampled_from([0.0, 1e-5, 0.05]))
@settings(max_examples=60, deadline=None)
def test_curve_of_a_point_against_closed_form(made, epsilon, delta):
    expected = float(one_run_dp_p_values(**made, epsilon=epsilon, delta=delta))
    assert p_value(least_wrong_of_curve(point_curve(epsilon, delta)), **made) == pytest.approx(
        expected, rel=1e-6, abs=1e-29
    )


def test_a_directed_curve_is_refused():
    curve = tradeoff_curve(subsampled_gaussian(sampling_rate=0.5, noise_multiplier=1.0, steps=1), directed=True)
    with pytest.raises(ValueError, match="both directions"):
        least_wrong_of_curve(curve)


@given(made=guesses(), first=deltas, second=deltas)
@settings(max_examples=60, deadline=None)
def test_bound_against_order(made, first, second):
    """Falls with delta and with coins, rises with right guesses; at delta 0 never above the one-run bound."""
    small, large = sorted((first, second))

    def bound(delta: float, **changes: int) -> float:
        return float(one_run_dp_lower_bounds(**made | changes, delta=delta, significance=0.05))

    assert bound(large) <= bound(small) + 1e-9
    assert bound(small, num_coins=made["num_coins"] + 50) <= bound(small) + 1e-9
    if made["num_correct"] < made["num_guesses"]:
        assert bound(small, num_correct=made["num_correct"] + 1) >= bound(small) - 1e-9
    assert bound(0.0) <= float(one_run_lower_bounds(**made, delta=0.0, significance=0.05)) + 1e-9


def test_many_coins_and_extreme_counts_against_finite_numbers():
    found = one_run_dp_p_values(
        num_coins=10**6, num_guesses=10**6, num_correct=np.array([0, 1, 10**5, 500_500, 999_999, 10**6]), epsilon=3.0,
        delta=1e-5,
    )  # fmt: skip
    assert np.all(np.isfinite(found))
    assert np.all((found >= 0.0) & (found <= 1.0))
    assert np.all(np.diff(found) <= 1e-12)


def one_run_table(num_runs: int) -> RecordEvidence:
    generator = np.random.default_rng(101)
    members = generator.random((num_runs, 400)) < 0.5
    return RecordEvidence(members=members, scores=generator.normal(size=members.shape) + 2.0 * members)


@pytest.mark.parametrize(
    ("estimator", "lower_bounds"),
    [(bound_epsilon_one_run_dp, one_run_dp_lower_bounds), (bound_epsilon_one_run_records, one_run_lower_bounds)],
)
@pytest.mark.parametrize(
    ("num_runs", "choice", "delta", "share"),
    [(1, Split(), 1e-5, 0.5), (1, MedianOfSplits(num=1), 1e-5, 0.5), (1, Split(), 0.0, 1.0), (2, Split(), 1e-5, 1.0),
     (1, Fixed(threshold=1.0), 1e-5, 1.0)],
)  # fmt: skip
def test_a_split_of_a_single_run_against_half_of_the_error(estimator, lower_bounds, num_runs, choice, delta, share):
    """There the numbers of guesses depend on the output, which costs half of the error at most (single_run.py)."""
    bound = estimator(one_run_table(num_runs), delta=delta, confidence=0.95, choice=choice)
    expected = lower_bounds(
        num_coins=bound.counts["coins"],
        num_guesses=bound.counts["guesses"],
        num_correct=bound.counts["correct"],
        delta=delta,
        significance=0.05 * share,
    )
    assert bound.lower == pytest.approx(float(expected), abs=1e-9)
    assert bound.lower > 0.5


def test_a_split_of_a_single_run_is_refused_where_nothing_is_proved():
    curve = point_curve(1.0, 1e-5)
    with pytest.raises(BadInput, match="--threshold grid"):
        bound_epsilon_one_run_fdp(one_run_table(1), delta=1e-5, confidence=0.95)
    with pytest.raises(BadInput, match="--threshold grid"):
        refute_curve_from_coins(one_run_table(1), curve, confidence=0.95)
    assert refute_curve_from_coins(one_run_table(1), curve, confidence=0.95, choice=Grid()).refuted
