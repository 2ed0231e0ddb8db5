"""Gradient matching of many runs at once, against one at a time."""

import dataclasses

import pytest
import torch
from twins.naive_dc import condense_one

from condensers.dc import DcConfig, condense_dc, parse_loops, shared_target, weight_gradients
from condensers.dsa import DsaConfig, condense_dsa
from condensers.errors import BadConfig
from condensers.gradient_matching import gradient_distance
from condensers.networks import Network, draw_parameters
from condensers.randomness import Randomness, stream
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


@pytest.mark.parametrize("kind", [DcConfig, DsaConfig])
def test_tables_are_condensed_with_a_linear_network(small_pool, small_members, kind):
    table = dataclasses.replace(small_pool, images=small_pool.images.flatten(1)[:, :10].contiguous())
    config = kind(iterations=2, width=4, extractor="linear-relu", ipc=2, loops="2x2")
    batch = condense(table, small_members, config)
    alone = condense(table, small_members[2:3], config, runs=(2,))
    assert batch.images.shape == (5, 6, 10)
    torch.testing.assert_close(alone.images[0], batch.images[2], rtol=0, atol=1e-5)


def test_images_come_nearer_to_the_gradients_that_they_match(small_pool, small_members):
    """The distance under networks that were not seen while condensing falls."""
    network = Network(kind="convnet", input_shape=(3, 12, 12), num_classes=3, width=8, depth=2)
    pool = dataclasses.replace(small_pool, images=small_pool.images + small_pool.labels.view(-1, 1, 1, 1) - 1)
    found = {}
    for iterations in (1, 20):
        config = DcConfig(**{**SMALL, "iterations": iterations, "learning_rate": 1.0})
        images = condense(pool, small_members, config).images
        total = 0.0
        for seed in range(3):
            parameters = draw_parameters(network, [stream(seed, "unseen")], images.device)
            for label, records in enumerate(pool.class_slices):
                taken = small_members[:, records].numpy().astype("float32")
                target = shared_target(network, parameters, pool.images[records], label, taken)
                own = weight_gradients(network, parameters, images[:, label : label + 1], label)
                total += float(gradient_distance(target, own).mean())
        found[iterations] = total
    assert found[20] < 0.85 * found[1]


def test_official_schedule_against_paper():
    """arXiv:2006.05929, §4.1 and the official code: outer and inner loops by images per class."""
    found = {ipc: parse_loops("paper", ipc) for ipc in (1, 10, 20, 30, 40, 50)}
    assert found == {1: (1, 1), 10: (10, 50), 20: (20, 25), 30: (30, 20), 40: (40, 15), 50: (50, 10)}
    assert parse_loops("3x7", 10) == (3, 7)


@pytest.mark.parametrize(
    "change",
    [
        {"ipc": 0}, {"init": "zero"}, {"iterations": 0}, {"learning_rate": 0.0}, {"momentum": 1.0},
        {"network_learning_rate": 0.0}, {"network_batch": 0}, {"extractor": "vgg"}, {"augmentation": "sepia"},
        *({"loops": loops} for loops in ("", "3", "0x1", "1x0", "x", "1x2x3", "-1x2", "two")),
    ],
    ids=str,
)  # fmt: skip
def test_impossible_settings_are_refused(change):
    with pytest.raises(BadConfig):
        DsaConfig(**change)
