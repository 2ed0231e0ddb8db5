"""Calibration keeps to its target, and uses it up."""

import math

import pytest
from dp_accounting.dp_event import DpEvent

from audit.accounting.calibrate import calibrate_noise
from audit.accounting.epsilon import epsilon_pld, epsilon_rdp
from audit.accounting.events import composed, fixed_size_gaussian, gaussian, subsampled_gaussian
from condensers.errors import BadInput

DELTA = 1e-5


@pytest.mark.parametrize("target", [0.05, 1.0, 50.0])
@pytest.mark.parametrize(("rate", "steps"), [(50 / 5421, 50), (256 / 60_000, 10_000), (0.1, 20)])
def test_rdp_calibration_keeps_to_its_target_and_uses_it_up(target: float, rate: float, steps: int) -> None:
    def build(noise: float) -> DpEvent:
        return subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)

    spent = epsilon_rdp(build(calibrate_noise(target, DELTA, build, "rdp")), DELTA)
    assert target * (1 - 1e-3) <= spent <= target


@pytest.mark.parametrize("target", [0.5, 2.0])
def test_pld_calibration_keeps_to_its_target_with_less_noise_than_rdp(target: float) -> None:
    def build(noise: float) -> DpEvent:
        return subsampled_gaussian(sampling_rate=0.05, noise_multiplier=noise, steps=400)

    noise = calibrate_noise(target, DELTA, build)
    assert target * (1 - 1e-3) <= epsilon_pld(build(noise), DELTA) <= target
    assert noise < calibrate_noise(target, DELTA, build, "rdp")


def test_gaussian_calibration_against_theory() -> None:
    """Mechanism of μ = 1/σ: ε = 1 at δ = 1e-5 takes σ = 3.7306 (Balle & Wang 2018, analytic Gaussian mechanism)."""
    assert calibrate_noise(1.0, DELTA, gaussian) == pytest.approx(3.7306, abs=1e-3)


def test_fixed_size_calibration_keeps_to_its_target() -> None:
    def build(noise: float) -> DpEvent:
        return fixed_size_gaussian(population=100, batch=5, noise_multiplier=noise, steps=30)

    assert 0.999 * 2 <= epsilon_rdp(build(calibrate_noise(2.0, DELTA, build, "rdp")), DELTA) <= 2


@pytest.mark.parametrize("target", [0.0, -1.0, math.nan, math.inf, 501.0])
def test_targets_outside_their_range_are_refused(target: float) -> None:
    with pytest.raises(BadInput, match=r"must lie in \(0, 500\]"):
        calibrate_noise(target, DELTA, gaussian)


def test_targets_out_of_reach_are_refused() -> None:
    with pytest.raises(BadInput, match=r"^epsilon 0\.5 is out of reach"):
        calibrate_noise(0.5, DELTA, lambda noise: composed([gaussian(noise), gaussian(5.0)]), "rdp")
    with pytest.raises(BadInput, match="needs a noise multiplier below"):
        calibrate_noise(100.0, DELTA, lambda noise: gaussian(10.0 + 0 * noise), "rdp")
    with pytest.raises(BadInput, match="accountant 'gdp'"):
        calibrate_noise(1.0, DELTA, gaussian, "gdp")


def test_errors_of_the_event_are_not_taken_for_a_lack_of_noise() -> None:
    with pytest.raises(BadInput, match="steps 0"):
        calibrate_noise(1.0, DELTA, lambda noise: gaussian(noise, 0))
