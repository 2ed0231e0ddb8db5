"""Trade-off curves: never above the truth, and close to it."""

import math

import numpy as np
import pytest
from scipy import stats

from audit.accounting.curve import _deltas, _upper_envelope, point_curve, tradeoff_curve
from audit.accounting.epsilon import epsilon_pld
from audit.accounting.events import fixed_size_gaussian, gaussian, parallel, subsampled_gaussian
from audit.accounting.privacy_loss import privacy_losses
from condensers.errors import BadInput

RATES = np.concatenate([[0.0], np.geomspace(1e-10, 1.0, 2001)])


def exact_one_step(rate: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """FPR and FNR of the likelihood-ratio tests "in" if x > t: N(0, σ²) against (1 − q)N(0, σ²) + qN(1, σ²)."""
    threshold = np.linspace(-9 * noise, 1 + 9 * noise, 40_001)
    missed = (1 - rate) * stats.norm.cdf(threshold / noise) + rate * stats.norm.cdf((threshold - 1) / noise)
    return stats.norm.sf(threshold / noise), missed


@pytest.mark.parametrize(("noise", "steps"), [(100.0, 1), (1.0, 1), (0.2, 1), (5.0, 10), (100.0, 10_000), (0.1, 1)])
def test_gaussian_curve_against_theory(noise: float, steps: int) -> None:
    """μ-GDP: f(α) = Φ(Φ⁻¹(1 − α) − μ), μ = √steps/σ (Dong, Roth, Su)."""
    exact = stats.norm.cdf(stats.norm.isf(RATES) - math.sqrt(steps) / noise)
    found = tradeoff_curve(gaussian(noise, steps)).false_negative_rate(RATES)
    assert np.all(found <= exact)
    assert np.max(exact - found) < 4e-5


@pytest.mark.parametrize(("rate", "noise"), [(0.1, 0.7), (0.5, 1.0), (0.01, 0.5)])
def test_one_step_directed_curve_against_likelihood_ratio_tests(rate: float, noise: float) -> None:
    false_positive, missed = exact_one_step(rate, noise)
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=1)
    found = tradeoff_curve(event, directed=True).false_negative_rate(false_positive)
    assert np.all(found <= missed)
    assert np.max(missed - found) < 2e-4


@pytest.mark.parametrize(("rate", "noise"), [(0.1, 0.7), (0.5, 1.0)])
def test_one_step_curve_against_the_symmetrised_exact_one(rate: float, noise: float) -> None:
    """The largest convex symmetric curve below the exact one and its mirror: the lower hull of both."""
    false_positive, missed = exact_one_step(rate, noise)
    points = np.concatenate([np.stack([false_positive, missed], 1), np.stack([missed, false_positive], 1)])
    slopes = np.geomspace(1e-4, 1e4, 4001)
    support = np.min(points[:, 1][:, None] + points[:, 0][:, None] * slopes[None, ::40], axis=0)
    hull = np.max(support[None] - slopes[None, ::40] * RATES[:, None], axis=1)
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=1)
    curve = tradeoff_curve(event)
    for positive, negative in ((false_positive, missed), (missed, false_positive)):
        assert np.all(curve.false_negative_rate(positive) <= negative + 1e-15)
    assert np.max(np.maximum(hull, 0) - curve.false_negative_rate(RATES)) < 2e-4


def test_composed_directed_curve_against_simulated_likelihood_ratios() -> None:
    """Twenty Poisson steps: quantiles of the summed log-likelihood ratio of 400 000 records out and as many in."""
    rate, noise, steps, trials = 0.1, 1.0, 20, 400_000
    generator = np.random.default_rng(3)

    def losses(member: bool) -> np.ndarray:
        total = np.zeros(trials)
        for _ in range(steps):
            seen = generator.normal(0, noise, trials)
            if member:
                seen += generator.random(trials) < rate
            total += np.log1p(rate * np.expm1((2 * seen - 1) / (2 * noise**2)))
        return total

    out, member = np.sort(losses(False)), np.sort(losses(True))
    rates = np.array([0.001, 0.01, 0.05, 0.2, 0.5, 0.8])
    thresholds = np.quantile(out, 1 - rates)
    measured = np.searchsorted(member, thresholds) / trials
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
    proved = tradeoff_curve(event, directed=True).false_negative_rate(rates)
    # Standard errors of the measured FNR and of the threshold, the latter through the slope of the curve.
    slope = np.abs(np.gradient(measured, rates))
    error = np.sqrt((measured * (1 - measured) + slope**2 * rates * (1 - rates)) / trials)
    assert np.all(np.abs(measured - proved) < 4 * error + 1e-4)


def test_profile_against_dp_accounting() -> None:
    """The running sums read the distribution's own arrays; its public method must say the same."""
    epsilons = np.linspace(0.0, 5.0, 101)
    for event in (
        subsampled_gaussian(sampling_rate=0.05, noise_multiplier=1.0, steps=30),
        fixed_size_gaussian(population=20, batch=1, noise_multiplier=1.0, steps=30),
    ):
        (loss,) = privacy_losses(event)
        both = np.maximum(_deltas(epsilons, loss._pmf_remove), _deltas(epsilons, loss._pmf_add))
        np.testing.assert_allclose(both, loss.get_delta_for_epsilon(epsilons), rtol=1e-9, atol=1e-14)


def test_envelope_against_naive() -> None:
    generator = np.random.default_rng(0)
    for size in (1, 2, 3, 50):
        for _ in range(20):
            slopes = np.sort(generator.integers(1, 40, size) / 7)
            intercepts = generator.integers(0, 30, size) / 29
            kept = _upper_envelope(slopes.tolist(), intercepts.tolist())
            rates = generator.random(200)
            everything = np.max(intercepts[:, None] - slopes[:, None] * rates, axis=0)
            np.testing.assert_array_equal(
                everything, np.max(intercepts[kept][:, None] - slopes[kept][:, None] * rates, axis=0)
            )
            crossings = np.diff(intercepts[kept]) / np.diff(slopes[kept])
            assert np.all(np.diff(crossings) < 0)


def test_lookup_against_naive() -> None:
    curve = tradeoff_curve(subsampled_gaussian(sampling_rate=0.02, noise_multiplier=0.9, steps=200))
    naive = np.maximum(0, np.max(curve.intercepts - curve.slopes * RATES[:, None], axis=1))
    np.testing.assert_allclose(curve.false_negative_rate(RATES), naive, rtol=0, atol=1e-15)


def test_point_curve_against_theory() -> None:
    for epsilon, delta in [(0.0, 0.0), (1.0, 1e-5), (4.0, 0.1), (0.5, 1.0), (8.0, 0.0)]:
        lines = [1 - delta - math.exp(epsilon) * RATES, math.exp(-epsilon) * (1 - delta - RATES), 0 * RATES]
        np.testing.assert_allclose(
            point_curve(epsilon, delta).false_negative_rate(RATES), np.max(lines, axis=0), rtol=0, atol=1e-15
        )


def test_curve_takes_the_worst_class() -> None:
    often = subsampled_gaussian(sampling_rate=0.2, noise_multiplier=4.0, steps=20)
    loud = subsampled_gaussian(sampling_rate=0.02, noise_multiplier=0.6, steps=20)
    both = tradeoff_curve(parallel({"often": often, "loud": loud})).false_negative_rate(RATES)
    single = [tradeoff_curve(event).false_negative_rate(RATES) for event in (often, loud)]
    assert np.all(both <= np.minimum(*single) + 1e-4)
    assert np.any(single[0] < single[1] - 1e-3)
    assert np.any(single[1] < single[0] - 1e-3)


def test_curve_lies_above_each_point_it_implies() -> None:
    event = subsampled_gaussian(sampling_rate=0.05, noise_multiplier=2.0, steps=400)
    whole = tradeoff_curve(event).false_negative_rate(RATES)
    for delta in (1e-5, 0.1):
        point = point_curve(epsilon_pld(event, delta), delta).false_negative_rate(RATES)
        assert np.all(whole >= point - 2e-4)
    assert np.max(whole - point_curve(epsilon_pld(event, 1e-5), 1e-5).false_negative_rate(RATES)) > 0.3


def test_coarser_interval_is_looser_never_wrong() -> None:
    event = gaussian(1.0)
    exact = stats.norm.cdf(stats.norm.isf(RATES) - 1)
    fine, coarse = (tradeoff_curve(event, interval=step).false_negative_rate(RATES) for step in (1e-3, 0.3))
    assert np.all(coarse <= exact)
    assert np.max(fine - coarse) > 1e-3


def test_shapes_and_ends() -> None:
    curve = tradeoff_curve(gaussian(2.0))
    assert curve.false_negative_rate(np.array([[0.1, 0.2], [0.3, 0.4]])).shape == (2, 2)
    assert curve.false_negative_rate(np.array(0.1)).shape == ()
    np.testing.assert_allclose(curve.false_negative_rate(np.array([0.0, 1.0])), [1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("rates", [[-0.1], [1.1], [math.nan], [0.5, 2.0]])
def test_rates_outside_their_range_are_refused(rates: list[float]) -> None:
    with pytest.raises(BadInput, match=r"must lie in \[0, 1\]"):
        point_curve(1.0, 1e-5).false_negative_rate(np.array(rates))


@pytest.mark.parametrize(("epsilon", "delta"), [(-1.0, 0.1), (math.inf, 0.1), (1.0, -0.1), (1.0, 1.1), (math.nan, 0)])
def test_points_outside_their_range_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(BadInput, match=r"^point"):
        point_curve(epsilon, delta)
