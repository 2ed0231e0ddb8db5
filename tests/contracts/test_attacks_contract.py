"""What every attack owes the audit. A new attack is picked up from the registry, unedited."""

from dataclasses import fields

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from attacks.registry import Attack, Observations, all_attacks
from condensers.randomness import stream

FIT_RUNS, TEST_RUNS, RECORDS = 80, 30, 60
every_attack = pytest.mark.parametrize("attack", [pytest.param(a, id=a.name) for a in all_attacks().values()])


def observe(*, effect: float, queries: int = 1) -> tuple[Observations, np.ndarray]:
    """Signals that membership shifts by `effect` deviations; and the membership of the test runs, told to nobody."""
    generator = stream(5, "attack contract", queries)
    members = generator.random((FIT_RUNS + TEST_RUNS, RECORDS)) < 0.5
    noise = generator.standard_normal((*members.shape, queries))
    signals = (noise + effect * members[:, :, None]).astype(np.float32)
    for array in (signals, members):
        array.flags.writeable = False
    seen = Observations(fit_signals=signals[:FIT_RUNS], fit_members=members[:FIT_RUNS], test_signals=signals[FIT_RUNS:])
    return seen, members[FIT_RUNS:]


def area(members: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """AUC by the rank sum, and its deviation where scores say nothing about membership."""
    num_in, num_out = int(members.sum()), int((~members).sum())
    ranks = rankdata(scores.ravel())[members.ravel()].sum()
    auc = (ranks - num_in * (num_in + 1) / 2) / (num_in * num_out)
    return float(auc), float(np.sqrt((num_in + num_out + 1) / (12 * num_in * num_out)))


def test_observations_hold_no_membership_of_test_runs() -> None:
    assert [field.name for field in fields(Observations)] == ["fit_signals", "fit_members", "test_signals", "ratios"]


@every_attack
@pytest.mark.parametrize("queries", [1, 3])
def test_scores_are_whole_and_inputs_unchanged(attack: Attack, queries: int) -> None:
    """The arrays are read-only: an attack that wrote into them would raise."""
    seen, _ = observe(effect=1.0, queries=queries)
    scores = attack.score(seen, attack.config())
    assert scores.shape == (TEST_RUNS, RECORDS)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert np.array_equal(attack.score(seen, attack.config()), scores)


@every_attack
def test_shuffled_membership_against_one_half(attack: Attack) -> None:
    seen, members = observe(effect=1.5)
    generator = stream(5, "shuffled")
    told = Observations(
        fit_signals=seen.fit_signals,
        fit_members=generator.random(seen.fit_members.shape) < 0.5,
        test_signals=seen.test_signals,
    )
    decoys = generator.random(members.shape) < 0.5
    auc, deviation = area(decoys, attack.score(told, attack.config()))
    assert abs(auc - 0.5) < 4 * deviation


@every_attack
def test_planted_signal_against_one_half(attack: Attack) -> None:
    seen, members = observe(effect=1.5)
    auc, deviation = area(members, attack.score(seen, attack.config()))
    assert auc > 0.5 + 20 * deviation


@pytest.mark.parametrize("attack", [pytest.param(a, id=a.name) for a in all_attacks().values() if "set" in a.levels])
@pytest.mark.parametrize("effect", [0.0, 1.5])
def test_level_set_signals_are_scores_already(attack: Attack, effect: float) -> None:
    """Log likelihood ratios of a Gaussian shift by `effect`: the attack keeps their power, and finds none in noise."""
    seen, members = observe(effect=effect)

    def ratio(signals: np.ndarray) -> np.ndarray:
        return effect * (signals - np.float32(effect / 2))

    told = Observations(
        fit_signals=ratio(seen.fit_signals),
        fit_members=seen.fit_members,
        test_signals=ratio(seen.test_signals) if effect else seen.test_signals,
        ratios=True,
    )
    auc, deviation = area(members, attack.score(told, attack.config()))
    assert abs(auc - norm.cdf(effect / np.sqrt(2))) < 4 * deviation


@every_attack
def test_order_of_records_and_test_runs_does_not_matter(attack: Attack) -> None:
    seen, _ = observe(effect=1.0)
    scores = attack.score(seen, attack.config())
    records, runs = stream(5, "records").permutation(RECORDS), stream(5, "runs").permutation(TEST_RUNS)
    moved = Observations(
        fit_signals=seen.fit_signals[:, records],
        fit_members=seen.fit_members[:, records],
        test_signals=seen.test_signals[runs][:, records],
    )
    np.testing.assert_allclose(attack.score(moved, attack.config()), scores[runs][:, records], rtol=1e-4, atol=1e-5)


@every_attack
@pytest.mark.parametrize("value", [0.0, 1e4, -1e4])
def test_saturated_confidences_give_finite_scores(attack: Attack, value: float) -> None:
    seen, _ = observe(effect=0.0)
    flat = Observations(
        fit_signals=np.full_like(seen.fit_signals, value),
        fit_members=seen.fit_members,
        test_signals=np.where(seen.test_signals > 0, np.float32(value), np.float32(-value)),
    )
    assert np.isfinite(attack.score(flat, attack.config())).all()
