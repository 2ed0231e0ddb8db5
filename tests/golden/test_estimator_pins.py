"""Published and recomputed values of the estimators. Source of each: FACTS.md §3 of the project, and what it cites."""

import math

import numpy as np
import pytest

from audit.statistics.estimators.bayesian import bound_epsilon_bayesian
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.evidence import RunCounts
from audit.statistics.estimators.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from audit.statistics.estimators.one_run import bound_epsilon_one_run, one_run_lower_bounds, one_run_p_values
from audit.statistics.estimators.one_run_dp import one_run_dp_lower_bounds
from audit.statistics.estimators.one_run_fdp import largest_rejected_mu


def counts(true_positives: int, false_negatives: int, false_positives: int, true_negatives: int) -> RunCounts:
    return RunCounts(
        true_positives=true_positives,
        false_negatives=false_negatives,
        false_positives=false_positives,
        true_negatives=true_negatives,
    )


def test_one_run_p_value_against_facts():
    p_value = one_run_p_values(num_coins=100, num_guesses=100, num_correct=75, epsilon=math.log(3), delta=0.0)
    assert p_value == pytest.approx(0.5535, abs=5e-5)


@pytest.mark.parametrize(
    ("num_coins", "num_guesses", "num_correct", "delta", "expected"),
    [
        (100, 100, 75, 0.0, 0.70221),
        (100, 100, 75, 1e-4, 0.69947),
        (1000, 100, 75, 1e-4, 0.67298),  # the slack counts coins, not guesses
        (100_000, 1510, 1439, 1e-5, 2.67585),
    ],
)
def test_one_run_bound_against_facts(num_coins, num_guesses, num_correct, delta, expected):
    bound = bound_epsilon_one_run(
        num_coins=num_coins, num_guesses=num_guesses, num_correct=num_correct, delta=delta, confidence=0.95
    )
    assert bound.lower == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize("num_guesses", [1, 16, 500])
def test_one_run_without_errors_against_closed_form(num_guesses):
    """delta 0, every guess right: epsilon = -ln(alpha^(-1/r) - 1); r = 16 gives 1.5803231."""
    bound = bound_epsilon_one_run(
        num_coins=num_guesses, num_guesses=num_guesses, num_correct=num_guesses, delta=0.0, confidence=0.95
    )
    assert bound.lower == pytest.approx(max(0.0, -math.log(0.05 ** (-1 / num_guesses) - 1)), abs=1e-9)
    if num_guesses == 16:
        assert bound.lower == pytest.approx(1.5803231, abs=5e-8)


@pytest.mark.parametrize(("num_coins", "expected"), [(256, 4.435), (512, 5.124), (1000, 5.782)])
def test_one_run_ceiling_against_facts(num_coins, expected):
    bound = bound_epsilon_one_run(num_coins=num_coins, num_guesses=0, num_correct=0, delta=1e-5, confidence=0.95)
    assert bound.ceiling == pytest.approx(expected, abs=5e-4)
    assert bound.lower == 0.0


@pytest.mark.parametrize(
    ("evidence", "confidence", "delta", "expected"),
    [
        (counts(500, 0, 0, 500), 0.99, 0.0, 4.5419158),
        (counts(1000, 0, 0, 1000), 0.95, 1e-5, 5.6005775),
    ],
)
def test_clopper_pearson_against_facts(evidence, confidence, delta, expected):
    bound = bound_epsilon_clopper_pearson(evidence, delta=delta, confidence=confidence)
    assert bound.lower == pytest.approx(expected, abs=5e-8)


@pytest.mark.parametrize(
    ("per_side", "expected"), [(64, 2.825), (128, 3.532), (256, 4.233), (512, 4.929), (1000, 5.601)]
)
def test_clopper_pearson_ceiling_against_facts(per_side, expected):
    half = per_side // 2
    bound = bound_epsilon_clopper_pearson(counts(half, half, half, half), delta=1e-5, confidence=0.95)
    assert bound.ceiling == pytest.approx(expected, abs=6e-4)


def test_bayesian_lower_limit_against_reference_code():
    """1000/0/0/1000, delta 1e-5, alpha .05: 7.21, the test of the authors' package, to its two decimals."""
    bound = bound_epsilon_bayesian(counts(1000, 0, 0, 1000), delta=1e-5, confidence=0.95)
    assert bound.lower == pytest.approx(7.21, abs=5e-3)
    assert bound.kind == "credible"


def test_bayesian_interval_against_facts():
    """TP 487, TN 1, FP 512, FN 0, two-sided 10%, delta 1e-5: (0.145, 6.399), which a loose double quadrature gave.

    The posterior probabilities below 0.14390 and 6.41560 are .05 and .95: test_estimators_bayesian.py draws from the
    posterior to check. The pin is met to 2e-3 and to 2e-2.
    """
    bound = bound_epsilon_bayesian(counts(487, 0, 512, 1), delta=1e-5, confidence=0.95)
    assert bound.lower == pytest.approx(0.145, abs=2e-3)
    assert bound.upper == pytest.approx(6.399, abs=2e-2)
    assert bound.lower == pytest.approx(0.143895, abs=1e-5)
    assert bound.upper == pytest.approx(6.415596, abs=1e-4)


@pytest.mark.parametrize(("noise", "expected"), [(5.0, 0.73), (0.568, 8.55), (0.5, 10.0)])
def test_gaussian_epsilon_against_facts(noise, expected):
    """DP-MERF's noise, tight epsilon at delta 1e-5: FACTS.md §1."""
    assert gaussian_epsilon(1.0 / noise, 1e-5) == pytest.approx(expected, abs=5e-3)


def test_gaussian_epsilon_and_mu_against_each_other():
    levels = np.array([0.01, 0.5, 1.0, 4.0, 20.0])
    mus = gaussian_mu(levels, 1e-5)
    np.testing.assert_allclose(gaussian_epsilon(mus, 1e-5), levels, rtol=1e-9)
    np.testing.assert_allclose(gaussian_delta(mus, levels), 1e-5, rtol=1e-6)


def test_one_run_fdp_against_plain_recursion():
    """The recursion as FACTS.md §3 writes it, step by step, without stopping early."""
    from scipy.stats import norm

    def rejected(num_coins: int, num_guesses: int, num_correct: int, mu: float) -> bool:
        right, wrong = 0.05 * num_correct / num_coins, 0.05 * (num_guesses - num_correct) / num_coins
        for index in range(num_correct - 1, -1, -1):
            grown = max(wrong, norm.cdf(norm.ppf(right) - mu))
            right = min(1.0, right + index / (num_guesses - index) * (grown - wrong))
            wrong = grown
        return right + wrong > num_guesses / num_coins

    for num_coins, num_guesses, num_correct in ((100, 100, 75), (1000, 100, 75), (400, 40, 40), (64, 64, 40)):
        mu = largest_rejected_mu(
            num_coins=num_coins, num_guesses=num_guesses, num_correct=num_correct, significance=0.05
        )
        assert mu > 0.0
        assert rejected(num_coins, num_guesses, num_correct, mu * (1 - 1e-6))
        assert not rejected(num_coins, num_guesses, num_correct, mu * (1 + 1e-6))


@pytest.mark.parametrize(
    ("coins", "guesses", "correct", "one_run", "recursion"),
    [(21564, 40, 39, 1.55, 2.01), (100_000, 100, 99, 0.77, 2.94), (21564, 215, 190, 1.616, 1.649),
     (21564, 2156, 1500, 0.7464, 0.7444)],
)  # fmt: skip
def test_one_run_dp_against_facts(coins, guesses, correct, one_run, recursion):
    """Confidence 95%, delta 1e-5, one-run and the recursion on f_{epsilon,delta}: FACTS.md §3."""
    counts = {"num_coins": coins, "num_guesses": guesses, "num_correct": correct}
    digits = {"abs": 5e-5 if one_run < 0.75 else 1e-3 if guesses == 215 else 5e-3}
    assert one_run_lower_bounds(**counts, delta=1e-5, significance=0.05) == pytest.approx(one_run, **digits)
    assert one_run_dp_lower_bounds(**counts, delta=1e-5, significance=0.05) == pytest.approx(recursion, **digits)


def test_one_run_dp_at_delta_0_against_facts():
    """At delta 0 up to .015 below the one-run bound, never above it: FACTS.md §3."""
    counts = {"num_coins": 100_000, "num_guesses": np.array([40, 100, 215, 2156]),
              "num_correct": np.array([39, 75, 190, 1500]), "delta": 0.0, "significance": 0.05}  # fmt: skip
    loss = one_run_lower_bounds(**counts) - one_run_dp_lower_bounds(**counts)
    assert np.all(loss >= 0.0)
    assert np.all(loss < 0.0155)
