"""Planted faults and variants as published are refuted, sound methods are not. Table: docs/faults.md."""

import pytest
from calibration.planted_faults import FAULTS, attempts_on, audit_the_set, examine

AT_THE_DOOR = [name for name, fault in FAULTS.items() if fault.level == "transcript"]
AROUND_IT = [name for name, fault in FAULTS.items() if fault.level == "set"]
RESEEDED = [
    ("dosser", {"noise_source": "clock"}),
    ("dosser", {"noise_source": "clock", "classes_per_millisecond": 2}),
    ("ndpdc", {"noise_source": "clock"}),
]


@pytest.mark.parametrize("method", ["ldpdc", "ndpdc"])
@pytest.mark.parametrize("fault", AT_THE_DOOR)
def test_planted_fault_is_refuted(fault, method):
    with FAULTS[fault].plant():
        attempts = attempts_on(method, epsilon=8.0, trials=8000)
    assert any(attempt.test.refuted for attempt in attempts)


@pytest.mark.slow
@pytest.mark.parametrize("fault", AT_THE_DOOR)
def test_planted_fault_is_refuted_where_epsilon_is_small(fault):
    assert examine(FAULTS[fault], 1.0)[0].refuted


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize("fault", AROUND_IT)
def test_leak_around_the_door_is_refuted_by_the_set(fault, epsilon):
    assert audit_the_set(FAULTS[fault], epsilon=epsilon, trials=400).refuted


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize(("method", "variant"), RESEEDED, ids=str)
def test_noise_seeded_by_the_clock_is_refuted_by_the_seed_search(method, variant, epsilon):
    attempts = attempts_on(method, epsilon=epsilon, trials=1000, **variant)
    assert any(attempt.test.refuted for attempt in attempts if attempt.score == "seed search")


@pytest.mark.parametrize("where", [{"ipc": 1}, {"augmentation": "none"}], ids=str)
def test_fresh_noise_of_dosser_without_augmentation_or_at_one_image_is_refuted(where):
    attempts = attempts_on("dosser", epsilon=8.0, trials=1000, fresh_noise=True, optimisation_steps=60, **where)
    assert any(attempt.test.refuted for attempt in attempts)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize("method", ["ldpdc", "ndpdc", "dosser"])
def test_sound_methods_are_not_refuted_in_twenty_seeds(method, epsilon):
    """Each is refuted with probability at most 5% by construction; at these seeds none is."""
    for seed in range(20):
        attempts = attempts_on(method, epsilon=epsilon, trials=1000, seed=seed)
        assert not any(attempt.test.refuted for attempt in attempts), seed
