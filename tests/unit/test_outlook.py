"""What the guarantee allows and what more runs would buy, against closed forms and the estimators themselves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from audit.statistics.estimators.one_run import bound_epsilon_one_run, one_run_ceiling
from audit.statistics.outlook import MULTIPLES, look_ahead, tradeoff_of_ledger, tradeoff_of_point
from condensers.ledger import Event, Poisson
from reports.records.allowed import allowed_true_positive_rate


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 1e-5), (8.0, 1e-5), (2.0, 0.1)])
def test_a_point_allows_its_two_lines_against_formula(epsilon: float, delta: float) -> None:
    curve = tradeoff_of_point(epsilon, delta)
    rates = np.array(curve.false_positive_rate)
    expected = allowed_true_positive_rate(rates, epsilon=epsilon, delta=delta)
    assert curve.true_positive_rate == pytest.approx(expected)


def test_an_enormous_claim_allows_everything_against_one() -> None:
    assert min(tradeoff_of_point(1e300, 0.0).true_positive_rate[1:]) == 1.0


def test_one_gaussian_release_allows_its_own_curve_against_theory() -> None:
    """T(α) = Φ(Φ⁻¹(α) + 1/σ) for the Gaussian mechanism (Dong, Roth, Su, arXiv:1905.02383), never less."""
    entries = ((Event(group=None, sampling=Poisson(rate=1.0), noise_multiplier=2.0), 1),)
    curve = tradeoff_of_ledger(entries)
    rates = np.array(curve.false_positive_rate)[1:]
    exact = norm.cdf(norm.ppf(rates) + 0.5)
    allowed = np.array(curve.true_positive_rate)[1:]
    assert np.all(allowed >= exact - 1e-9)
    assert allowed == pytest.approx(exact, abs=2e-3, rel=2e-2)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_first_step_is_this_audit_and_the_others_are_larger_ones_against_estimator(delta: float) -> None:
    bound = bound_epsilon_one_run(num_coins=1200, num_guesses=100, num_correct=80, delta=delta, confidence=0.95)
    steps = look_ahead(bound, num_runs=24, num_test_runs=6)
    assert [step.num_runs for step in steps] == [24 * multiple for multiple in MULTIPLES]
    assert steps[0].lower_at_same_rates == pytest.approx(bound.lower)
    assert steps[0].ceiling == bound.ceiling
    for step, multiple in zip(steps, MULTIPLES, strict=True):
        larger = bound_epsilon_one_run(
            num_coins=1200 * multiple, num_guesses=100 * multiple, num_correct=80 * multiple, delta=delta,
            confidence=0.95,
        )  # fmt: skip
        assert step.lower_at_same_rates == pytest.approx(larger.lower)
        assert step.ceiling == one_run_ceiling(num_coins=1200 * multiple, delta=delta, significance=1 - 0.95)


def test_other_estimators_are_not_extrapolated_against_empty() -> None:
    bound = bound_epsilon_one_run(num_coins=10, num_guesses=4, num_correct=4, delta=0.0, confidence=0.95)
    assert look_ahead(replace(bound, estimator="family"), num_runs=4, num_test_runs=2) == ()
    assert look_ahead(replace(bound, counts={}), num_runs=4, num_test_runs=2) == ()
