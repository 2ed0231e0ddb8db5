import dataclasses

import numpy as np
import pytest
import torch
from twins.naive_dm import condense_one

from condensers.dm import DmConfig, class_minibatch, condense_dm
from condensers.errors import BadConfig
from condensers.randomness import Randomness, stream
from condensers.registry import untracked

QUICK = {"iterations": 3, "width": 8, "depth": 2}


def condense(pool, members, config, runs):
    return condense_dm(pool, members, config, randomness=Randomness(seed=1, runs=runs), track=untracked)


@pytest.mark.parametrize(
    "changes",
    [{}, {"ipc": 3}, {"batch": 5}, {"augmentation": "none"}, {"ipc": 2, "batch": 4, "learning_rate": 0.3}],
    ids=str,
)
def test_batch_of_runs_against_naive_one_at_a_time(small_pool, small_members, changes):
    config = DmConfig(**{**QUICK, **changes})
    batch = condense(small_pool, small_members, config, tuple(range(5)))
    for run in range(5):
        naive = condense_one(small_pool, small_members[run], config, Randomness(seed=1, runs=(run,)))
        torch.testing.assert_close(batch.images[run], naive, rtol=1e-4, atol=1e-4)


def test_a_record_that_is_in_no_run_changes_nothing(small_pool, small_members):
    config = DmConfig(**QUICK)
    members = small_members.clone()
    members[:, 5] = False
    images = small_pool.images.clone()
    images[5] = 1.0
    altered = dataclasses.replace(small_pool, images=images)
    first = condense(small_pool, members, config, tuple(range(5)))
    second = condense(altered, members, config, tuple(range(5)))
    torch.testing.assert_close(first.images, second.images, rtol=0, atol=1e-6)


def test_minibatch_is_a_uniform_subset_of_the_members_against_theory():
    members = stream(0, "members").random((2, 40)) < 0.5
    counts = np.zeros((2, 40))
    for step in range(4000):
        order, taken = class_minibatch(members, 6, Randomness(seed=0, runs=(0, 1)), step, 0)
        assert (taken.sum(1) == 6).all()
        counts[:, order] += taken
    expected = members * 6 / members.sum(1, keepdims=True)
    deviation = np.sqrt(expected * (1 - expected) / 4000)
    assert (np.abs(counts / 4000 - expected) <= 5 * deviation).all()


def test_real_init_starts_from_members(small_pool, small_members):
    config = DmConfig(**{**QUICK, "iterations": 1, "learning_rate": 1e-12}, init="real", ipc=2)
    batch = condense(small_pool, small_members, config, tuple(range(5)))
    for run in range(5):
        records = batch.initial_records[run]
        assert small_members[run, records].all()
        assert len(set(records.tolist())) == len(records)
        assert torch.equal(small_pool.labels[records], batch.labels[run])
        torch.testing.assert_close(batch.images[run], small_pool.images[records], atol=1e-6, rtol=0)


@pytest.mark.parametrize(("extractor", "left"), [("linear", 0.1), ("linear-relu", 0.5)])
def test_linear_extractors_bring_class_means_together_against_theory(small_pool, small_members, extractor, left):
    """Proposition 4.3 of arXiv:2206.00240: the barycentres of S and T coincide; with ReLU only pseudo-barycentres do
    (Appendix D), so there the gap shrinks without vanishing."""
    config = DmConfig(
        iterations=300, width=256, extractor=extractor, augmentation="none", learning_rate=0.3, init="random", ipc=2
    )
    start = DmConfig(**{**vars(config), "iterations": 1, "learning_rate": 1e-12})
    gaps = []
    for settings in (start, config):
        batch = condense(small_pool, small_members, settings, tuple(range(5)))
        synthetic = batch.images.view(5, 3, 2, -1).mean(2)
        real = torch.stack(
            [
                torch.stack([small_pool.images[row & (small_pool.labels == c)].mean(0).flatten() for c in range(3)])
                for row in small_members
            ]
        )
        gaps.append((synthetic - real).norm(dim=2).mean())
    assert gaps[1] < left * gaps[0]


@pytest.mark.parametrize(
    "change",
    [{"ipc": 0}, {"init": "zero"}, {"iterations": 0}, {"learning_rate": 0.0}, {"momentum": 1.0}, {"extractor": "vgg"}],
    ids=str,
)
def test_impossible_settings_are_refused(change):
    with pytest.raises(BadConfig):
        DmConfig(**change)


def test_class_without_members_leaves_other_classes_alone_against_naive(small_pool, small_members):
    """A run without members of class 1 gives the other classes what a pool without class 1 gives them."""
    members = small_members[:1].clone()
    members[0, small_pool.class_slices[1]] = False
    usual = condense(small_pool, small_members[:1], DmConfig(**QUICK), (0,)).images[0]
    found = condense(small_pool, members, DmConfig(**QUICK), (0,)).images[0]
    assert torch.equal(found[[0, 2]], usual[[0, 2]])
    assert not torch.equal(found[1], usual[1])
