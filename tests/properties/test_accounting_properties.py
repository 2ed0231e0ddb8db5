"""What must hold of any subsampled Gaussian mechanism."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.accounting.curve import point_curve, tradeoff_curve
from audit.accounting.epsilon import epsilon_pld, epsilon_rdp
from audit.accounting.events import event_from_json, event_to_json, subsampled_gaussian

RATES = np.concatenate([[0.0], np.geomspace(1e-8, 1.0, 400)])
INTERVAL = 5e-3  # coarse: the properties hold at any

rates = st.floats(0.005, 0.2)
noises = st.floats(1.0, 8.0)
steps = st.integers(1, 300)
deltas = st.floats(1e-8, 1e-2)
factors = st.floats(1.05, 3.0)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(rate=rates, noise=noises, steps=steps, delta=deltas, factor=factors)
def test_rdp_is_monotone(rate: float, noise: float, steps: int, delta: float, factor: float) -> None:
    """Up to the grid of orders, which costs less than 1e-3 of ε."""

    def epsilon(rate: float, noise: float, steps: int, delta: float) -> float:
        event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
        return epsilon_rdp(event, delta)

    base = epsilon(rate, noise, steps, delta) * (1 + 1e-3) + 1e-9
    assert epsilon(rate / factor, noise, steps, delta) <= base
    assert epsilon(rate, noise * factor, steps, delta) <= base
    assert epsilon(rate, noise, max(1, int(steps / factor)), delta) <= base
    assert epsilon(rate, noise, steps, delta * factor) <= base


@settings(max_examples=3, deadline=None, derandomize=True)
@given(rate=rates, noise=noises, steps=steps, delta=deltas, factor=factors)
def test_pld_is_monotone_and_below_rdp(rate: float, noise: float, steps: int, delta: float, factor: float) -> None:
    """PLD is the exact ε plus at most 1e-3 of it for discretisation; RDP gives an upper bound on the exact ε."""

    def event(rate: float, noise: float, steps: int) -> object:
        return subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)

    base = epsilon_pld(event(rate, noise, steps), delta)
    slack = base * 1e-3 + 1e-4
    assert base <= epsilon_rdp(event(rate, noise, steps), delta) + slack
    assert epsilon_pld(event(rate, noise * factor, steps), delta) <= base + slack
    assert epsilon_pld(event(rate / factor, noise, steps), delta) <= base + slack
    assert epsilon_pld(event(rate, noise, steps), delta * factor) <= base + slack


@settings(max_examples=8, deadline=None, derandomize=True)
@given(rate=rates, noise=noises, steps=steps, directed=st.booleans(), delta=deltas)
def test_curve_is_a_tradeoff_function(rate: float, noise: float, steps: int, directed: bool, delta: float) -> None:
    """Convex, falling, at most 1 − α, and implying the (ε, δ) of the same distribution."""
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
    curve = tradeoff_curve(event, directed=directed, interval=INTERVAL)
    missed = curve.false_negative_rate(RATES)
    assert np.all(np.diff(missed) <= 0)
    assert np.all((missed >= 0) & (missed <= 1 - RATES))
    slopes = np.diff(missed) / np.diff(RATES)
    assert np.all(np.diff(slopes) >= -1e-6 * np.abs(slopes[:-1]) - 1e-9)
    finest = epsilon_pld(event, delta)
    assert np.all(missed <= point_curve(0.0, 0.0).false_negative_rate(RATES))
    if not directed:
        # The coarse curve lies below the fine one, and the fine one above its own point.
        fine = tradeoff_curve(event).false_negative_rate(RATES)
        assert np.all(missed <= fine + 1e-9)
        assert np.all(fine >= point_curve(finest, delta).false_negative_rate(RATES) - 1e-3)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(rate=rates, noise=noises, steps=steps)
def test_symmetric_curve_is_its_own_inverse(rate: float, noise: float, steps: int) -> None:
    """f(f(α)) = α while f(α) > 0, and the directed curve lies above it."""
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
    curve = tradeoff_curve(event, interval=INTERVAL)
    missed = curve.false_negative_rate(RATES)
    inner = missed > 1e-9
    np.testing.assert_allclose(curve.false_negative_rate(missed)[inner], RATES[inner], atol=1e-6)
    assert np.all(tradeoff_curve(event, directed=True, interval=INTERVAL).false_negative_rate(RATES) >= missed - 1e-9)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(rate=st.floats(1e-12, 1.0), noise=st.floats(1e-3, 1e8), steps=st.integers(1, 10**7))
def test_ledger_round_trip(rate: float, noise: float, steps: int) -> None:
    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
    assert event_from_json(event_to_json(event)) == event
