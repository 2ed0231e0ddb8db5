"""The walk over orders must not stop at a fractional order that did not converge."""

import logging

import pytest
from dp_accounting.rdp import RdpAccountant

from audit.accounting import events
from audit.accounting.epsilon import epsilon_rdp


@pytest.mark.parametrize(("rate", "noise", "steps"), [(0.115, 1.272, 10), (0.3, 2.0, 10), (0.03, 1.0, 300)], ids=str)
def test_adaptive_orders_against_the_fixed_grid_of_dp_accounting(rate, noise, steps):
    event = events.subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    accountant = RdpAccountant()
    accountant.compose(event)
    fixed = accountant.get_epsilon(1e-5)
    logger.setLevel(level)
    assert epsilon_rdp(event, 1e-5) <= fixed * (1 + 1e-4)
