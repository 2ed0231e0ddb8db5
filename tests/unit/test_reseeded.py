from dataclasses import replace

import numpy as np
import pytest
import torch

from audit.games.transcript.reseeded import explained_by_a_seed
from condensers.clock import CLOCK_SEEDS
from condensers.dosser import DosserConfig
from condensers.errors import BadConfig
from condensers.ndpdc import NdpdcConfig
from condensers.randomness import Randomness, seeded_noise, stream
from condensers.registry import condense_runs, get_method

SIZES = (12.0, 12.0, 12.0)


SMALL = {"ipc": 2, "iterations": 2, "batch": 6, "width": 6, "depth": 2, "clip": 0.5, "noise_multiplier": 1.0}
CONFIGS = {
    "ndpdc": NdpdcConfig(**SMALL),
    "dosser": DosserConfig(**SMALL, optimisation_steps=9, subspace=5, auxiliary="noise", auxiliary_images=8),
}


def heard(method, pool, members, *, from_operating_system=False, **changes):
    releases = []
    randomness = Randomness(seed=1, runs=tuple(range(5)), from_operating_system=from_operating_system)
    condense_runs(
        get_method(method), pool, members, replace(CONFIGS[method], **changes), class_sizes=SIZES,
        randomness=randomness, listeners=[releases.append],
    )  # fmt: skip
    return releases


def test_noise_of_every_seed_against_a_generator_made_for_it():
    found = seeded_noise(np.array([3, 99_999, 3]), 5)
    for row, seed in zip(found, (3, 99_999, 3), strict=True):
        generator = np.random.Generator(np.random.Philox(key=seed))
        np.testing.assert_array_equal(row, generator.standard_normal(5, dtype=np.float32))


@pytest.mark.parametrize("method", CONFIGS)
def test_sums_of_nobody_are_explained_by_a_seed_where_the_clock_gave_it(method, small_pool, small_members):
    nobody = torch.zeros_like(small_members)
    for source, expected in (("clock", True), ("stream", False)):
        releases = heard(method, small_pool, nobody, noise_source=source)
        assert len(releases) == 2  # one for each iteration, however often an optimisation step visits it
        for release in releases:
            assert release.noise_seeds == (CLOCK_SEEDS if source == "clock" else None)
            for position in range(3):
                sums = release.sums[:, position].double().numpy()
                found = explained_by_a_seed(sums, np.zeros_like(sums), 0.5, CLOCK_SEEDS)
                assert found.all() == found.any() == expected


@pytest.mark.parametrize("method", CONFIGS)
def test_classes_of_one_millisecond_have_the_same_noise(method, small_pool, small_members):
    """Three classes in blocks of two: the first two share a seed, in every run and iteration; the third has its own."""
    nobody = torch.zeros_like(small_members)
    shared, own = (
        [
            release.sums.numpy()
            for release in heard(method, small_pool, nobody, noise_source="clock", classes_per_millisecond=count)
        ]
        for count in (2, 1)
    )
    for sums in shared:
        np.testing.assert_array_equal(sums[:, 0], sums[:, 1])
        assert not np.isclose(sums[:, 0], sums[:, 2]).any()
    for sums in own:
        assert not np.isclose(sums[:, 0], sums[:, 1]).any()
    assert len(np.unique(np.concatenate([sums[:, 0, 0] for sums in shared]))) == 10  # runs and iterations differ


@pytest.mark.parametrize("method", CONFIGS)
def test_a_difference_of_classes_that_share_their_noise_has_none_left(method, small_pool, small_members):
    """So whoever sees the sums of both classes needs no seed."""
    nobody = torch.zeros_like(small_members)
    only_first = small_members.clone()
    only_first[:, small_pool.class_slices[1].start :] = False
    settings = {"noise_source": "clock", "classes_per_millisecond": 2}
    empty, first = (
        torch.cat([r.sums for r in heard(method, small_pool, members, **settings)]) for members in (nobody, only_first)
    )
    torch.testing.assert_close(first[:, 0] - first[:, 1], first[:, 0] - empty[:, 0], atol=1e-5, rtol=0)
    assert (first[:, 0] - first[:, 1]).norm(dim=-1).max() > 0.3


def test_a_record_is_told_from_nobody():
    vector = stream(0, "record").normal(size=16)
    noise = 2.5 * seeded_noise(np.arange(40), 16).astype(np.float64)
    present = np.arange(40) % 3 == 0
    sums = (noise + np.outer(present, vector)).astype(np.float32)
    np.testing.assert_array_equal(explained_by_a_seed(sums, vector, 2.5, 1000), present)
    np.testing.assert_array_equal(explained_by_a_seed(sums, np.zeros(16), 2.5, 1000), ~present)


@pytest.mark.parametrize("method", CONFIGS)
def test_the_clock_is_refused_for_a_real_release_and_other_sources_are_not_known(method, small_pool, small_members):
    with pytest.raises(BadConfig, match="can be audited, but not used for a release"):
        heard(method, small_pool, small_members, noise_source="clock", from_operating_system=True)
    with pytest.raises(BadConfig, match="noise_source='dice' is not one of stream, clock"):
        replace(CONFIGS[method], noise_source="dice")
    with pytest.raises(BadConfig, match="classes_per_millisecond=0: must be at least 1"):
        replace(CONFIGS[method], noise_source="clock", classes_per_millisecond=0)
    with pytest.raises(BadConfig, match=r"classes_per_millisecond=2: .* only with noise_source=clock"):
        replace(CONFIGS[method], classes_per_millisecond=2)
