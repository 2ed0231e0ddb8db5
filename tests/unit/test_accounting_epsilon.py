"""Accountants against quadrature, closed forms and each other."""

import math
import warnings

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import integrate, optimize, stats

from audit.accounting.epsilon import epsilon_pld, epsilon_prv_opacus, epsilon_rdp, epsilon_rdp_opacus
from audit.accounting.events import composed, fixed_size_gaussian, gaussian, parallel, subsampled_gaussian
from audit.accounting.privacy_loss import NoGuaranteeLeft, _self_composed
from condensers.errors import BadInput

DELTA = 1e-5


def hockey_stick(epsilon: float, rate: float, noise: float) -> float:
    """δ(ε) of (1 − q)·N(0, σ²) + q·N(1, σ²) against N(0, σ²), for ε ≥ 0, in closed form."""
    # The mixture exceeds e^ε times the other where x > σ² ln((e^ε − 1 + q)/q) + 1/2.
    start = noise**2 * math.log((math.expm1(epsilon) + rate) / rate) + 0.5
    without, shifted = stats.norm.sf(start / noise), stats.norm.sf((start - 1) / noise)
    return (1 - rate - math.exp(epsilon)) * without + rate * shifted


def exact_epsilon(rate: float, noise: float, delta: float = DELTA) -> float:
    return optimize.brentq(lambda epsilon: hockey_stick(epsilon, rate, noise) - delta, 1e-9, 200)


def renyi_divergence(order: float, rate: float, noise: float) -> float:
    """D_α((1 − q)·N(0, σ²) + q·N(1, σ²) ‖ N(0, σ²)) by quadrature."""

    def integrand(x: float) -> float:
        return stats.norm.pdf(x, scale=noise) * (1 - rate + rate * math.exp((2 * x - 1) / (2 * noise**2))) ** order

    value, _ = integrate.quad(integrand, -12 * noise, order + 12 * noise, limit=400, epsabs=0, epsrel=1e-11)
    return math.log(value) / (order - 1)


def balle(order: float, divergence: float, delta: float = DELTA) -> float:
    return divergence + math.log((order - 1) / order) - (math.log(delta) + math.log(order)) / (order - 1)


@pytest.mark.parametrize("order", [2, 5, 12])
@pytest.mark.parametrize(("rate", "noise"), [(0.01, 1.1), (0.3, 2.0), (50 / 5421, 1.0)])
def test_rdp_at_whole_orders_against_quadrature(order: int, rate: float, noise: float) -> None:
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=100)
    expected = balle(order, 100 * renyi_divergence(order, rate, noise))
    assert epsilon_rdp(event, DELTA, orders=[order]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("order", [1.3, 2.5, 7.7])
def test_rdp_at_fractional_orders_is_no_lower_than_quadrature(order: float) -> None:
    event = subsampled_gaussian(sampling_rate=0.01, noise_multiplier=0.8, steps=100)
    exact = balle(order, 100 * renyi_divergence(order, 0.01, 0.8))
    assert exact - 1e-9 <= epsilon_rdp(event, DELTA, orders=[order]) <= 1.05 * exact


@pytest.mark.parametrize("noise", [0.5, 1.0, 5.0, 40.0])
def test_gaussian_conversions_against_theory(noise: float) -> None:
    """RDP α/(2σ²); Mironov's ε has its least value 1/(2σ²) + √(2 ln(1/δ))/σ."""
    event = gaussian(noise)
    least = 0.5 / noise**2 + math.sqrt(2 * math.log(1 / DELTA)) / noise
    assert epsilon_rdp(event, DELTA, conversion="mironov") == pytest.approx(least, rel=1e-4)
    orders = 1 + np.geomspace(1e-2, 1e4, 20_000)
    naive = min(balle(order, order / (2 * noise**2)) for order in orders)
    assert epsilon_rdp(event, DELTA) == pytest.approx(naive, rel=1e-4)


@pytest.mark.parametrize(("noise", "steps"), [(0.5, 1), (1.0, 1), (5.0, 10), (100.0, 10_000)])
def test_gaussian_pld_against_theory(noise: float, steps: int) -> None:
    """δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) with μ = √steps/σ (Balle & Wang 2018)."""
    mean = math.sqrt(steps) / noise

    def excess(epsilon: float) -> float:
        first = stats.norm.cdf(mean / 2 - epsilon / mean)
        return first - math.exp(epsilon) * stats.norm.cdf(-mean / 2 - epsilon / mean) - DELTA

    exact = optimize.brentq(excess, 1e-6, 100)
    assert exact <= epsilon_pld(gaussian(noise, steps), DELTA) <= exact * (1 + 1e-4)


@pytest.mark.parametrize(("rate", "noise"), [(0.1, 0.7), (0.5, 1.0), (0.01, 0.5)])
def test_one_poisson_step_pld_against_theory(rate: float, noise: float) -> None:
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=1)
    exact = exact_epsilon(rate, noise)
    assert exact - 1e-9 <= epsilon_pld(event, DELTA) <= exact + 2e-3


def test_one_fixed_size_step_pld_against_worst_case_records() -> None:
    """All other records at −C, the one at +C or −C: (1 − γ)N(0) + γN(2C) against N(0), both ways."""
    event = fixed_size_gaussian(population=1000, batch=100, noise_multiplier=0.7, steps=1)
    exact = exact_epsilon(0.1, 0.7)
    assert exact - 1e-9 <= epsilon_pld(event, DELTA) <= exact + 2e-3


def test_fixed_size_steps_pld_against_poisson() -> None:
    """The same losses at ε ≥ 0, but in both directions at once: composed, replacing costs more than removing."""
    fixed = fixed_size_gaussian(population=100, batch=1, noise_multiplier=1.1, steps=1000)
    poisson = subsampled_gaussian(sampling_rate=0.01, noise_multiplier=1.1, steps=1000)
    assert 1.05 * epsilon_pld(poisson, DELTA) < epsilon_pld(fixed, DELTA) < epsilon_rdp(fixed, DELTA)


def test_two_steps_pld_against_convolution() -> None:
    """Two different Poisson steps: δ(ε) = E[δ₂(ε − loss of the first)] by quadrature."""
    rate, noises = 0.2, (0.9, 1.3)
    event = composed([subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=1) for noise in noises])
    epsilon = epsilon_pld(event, 1e-3)

    def general_hockey_stick(threshold: float, noise: float) -> float:
        """Also below ε = 0, where the mixture exceeds the other everywhere once e^ε ≤ 1 − q."""
        if math.expm1(threshold) + rate <= 0:
            return -math.expm1(threshold)
        return hockey_stick(threshold, rate, noise)

    def integrand(x: float) -> float:
        ratio = 1 - rate + rate * math.exp((2 * x - 1) / (2 * noises[0] ** 2))
        return stats.norm.pdf(x, scale=noises[0]) * ratio * general_hockey_stick(epsilon - math.log(ratio), noises[1])

    delta, _ = integrate.quad(integrand, -12, 14, limit=400, epsabs=1e-12)
    assert 0.998 * 1e-3 <= delta <= 1e-3


def test_staged_composition_against_theory() -> None:
    """A Gaussian of noise 1000, 250 123 times, is one of noise 1000/√250 123."""
    once = pld.from_gaussian_mechanism(1000.0, value_discretization_interval=5e-5)
    found = _self_composed(once, 250_123).get_epsilon_for_delta(DELTA)
    exact = pld.from_gaussian_mechanism(1000 / math.sqrt(250_123)).get_epsilon_for_delta(DELTA)
    assert exact - 1e-6 <= found <= exact * (1 + 1e-3)


def test_nothing_costs_nothing() -> None:
    empty = composed([])
    assert epsilon_rdp(empty, DELTA) == epsilon_pld(empty, DELTA) == 0.0


def test_refined_orders_are_no_worse_than_a_fixed_grid() -> None:
    grid = [1 + tenth / 10 for tenth in range(1, 100)] + list(range(12, 64))
    for rate, noise, steps in [(0.01, 1.1, 1000), (50 / 68261, 1.0, 50), (0.2, 4.0, 300), (0.5, 20.0, 10_000)]:
        event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
        assert epsilon_rdp(event, DELTA) <= epsilon_rdp(event, DELTA, orders=grid) * (1 + 1e-4)


@pytest.mark.parametrize(("rate", "noise", "steps"), [(0.01, 1.1, 1000), (50 / 5421, 1.0, 50), (1.0, 5.0, 10)])
def test_accountants_against_opacus(rate: float, noise: float, steps: int) -> None:
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
    assert epsilon_rdp(event, DELTA) == pytest.approx(epsilon_rdp_opacus(event, DELTA), rel=2e-3)
    upper = epsilon_prv_opacus(event, DELTA)
    assert upper - 0.021 <= epsilon_pld(event, DELTA) <= upper


def test_opacus_takes_the_worst_class_and_refuses_what_it_does_not_know() -> None:
    def class_event(rate: float) -> object:
        return subsampled_gaussian(sampling_rate=rate, noise_multiplier=1.0, steps=50)

    classes = parallel({"a": class_event(0.005), "b": class_event(0.01)})
    assert epsilon_rdp_opacus(classes, DELTA) == epsilon_rdp_opacus(class_event(0.01), DELTA)
    fixed = fixed_size_gaussian(population=100, batch=5, noise_multiplier=1.0, steps=2)
    for accountant in (epsilon_rdp_opacus, epsilon_prv_opacus):
        with pytest.raises(BadInput, match="Opacus supports Poisson sampling only"):
            accountant(fixed, DELTA)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_outside_its_range_is_refused(delta: float) -> None:
    for accountant in (epsilon_rdp, epsilon_pld, epsilon_rdp_opacus, epsilon_prv_opacus):
        with pytest.raises(BadInput, match=r"must lie in \(0, 1\)"):
            accountant(gaussian(1.0), delta)


def test_what_cannot_be_resolved_is_refused() -> None:
    with pytest.raises(BadInput, match="conversion 'other'"):
        epsilon_rdp(gaussian(1.0), DELTA, conversion="other")
    with pytest.raises(BadInput, match="must be at least 1e-12"):
        epsilon_pld(gaussian(1.0), 1e-13)
    for accountant in (epsilon_rdp, epsilon_pld):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(NoGuaranteeLeft, match="use more noise"):
                accountant(gaussian(0.01), DELTA)
            with pytest.raises(NoGuaranteeLeft, match="use more noise"):
                accountant(subsampled_gaussian(sampling_rate=0.5, noise_multiplier=0.3, steps=10_000), DELTA)
