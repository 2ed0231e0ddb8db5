"""Every planted fault is refuted at the door, and the sound methods are not. Table: docs/faults.md."""

import pytest
from calibration.planted_faults import FAULTS, attempts_on


@pytest.mark.parametrize("method", ["ldpdc", "ndpdc"])
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_refuted(fault, method):
    with FAULTS[fault]():
        attempts = attempts_on(method, epsilon=8.0, trials=8000)
    assert any(attempt.test.refuted for attempt in attempts)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ldpdc", "ndpdc"])
def test_sound_methods_are_not_refuted_in_twenty_seeds(method):
    """Each is refuted with probability at most 5% by construction; at these seeds none is."""
    for seed in range(20):
        attempts = attempts_on(method, epsilon=8.0, trials=1000, seed=seed)
        assert not any(attempt.test.refuted for attempt in attempts), seed
