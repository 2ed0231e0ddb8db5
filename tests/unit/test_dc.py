"""Gradient matching of many runs at once, against one at a time."""

import pytest
import torch
from twins.naive_dc import condense_one

from condensers.dc import DcConfig, condense_dc
from condensers.dsa import DsaConfig, condense_dsa
from condensers.randomness import Randomness
from condensers.registry import untracked

SMALL = {"iterations": 1, "width": 8, "depth": 2}
RUNS = tuple(range(5))


def condense(pool, members, config, runs=RUNS):
    function = condense_dsa if isinstance(config, DsaConfig) else condense_dc
    return function(pool, members, config, randomness=Randomness(seed=1, runs=runs), track=untracked)


@pytest.mark.parametrize("kind", [DcConfig, DsaConfig])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ipc": 3, "loops": "1x1"},
        {"batch": 5, "init": "real", "ipc": 2, "loops": "1x1"},
        {"ipc": 2, "loops": "2x3", "network_batch": 4},
        {"ipc": 2, "loops": "3x2", "batch": 5},
    ],
    ids=str,
)
def test_batched_step_against_naive_one_at_a_time(small_pool, small_members, kind, changes):
    config = kind(**{**SMALL, **changes})
    batch = condense(small_pool, small_members, config)
    for run in RUNS:
        naive = condense_one(small_pool, small_members[run], config, Randomness(seed=1, runs=(run,)))
        torch.testing.assert_close(batch.images[run], naive, rtol=0, atol=1e-5)
