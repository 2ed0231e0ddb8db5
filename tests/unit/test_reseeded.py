import numpy as np
import pytest
import torch

from audit.reseeded import explained_by_a_seed
from condensers.errors import BadConfig
from condensers.ndpdc import CLOCK_SEEDS, NdpdcConfig
from condensers.randomness import Randomness, seeded_noise, stream
from condensers.registry import condense_runs, get_method

SIZES = (12.0, 12.0, 12.0)


def heard(pool, members, noise_source, **changes):
    releases = []
    config = NdpdcConfig(ipc=1, iterations=2, batch=6, width=6, depth=2, clip=0.5, noise_source=noise_source)
    randomness = Randomness(seed=1, runs=tuple(range(5)), **changes)
    condense_runs(
        get_method("ndpdc"), pool, members, config, class_sizes=SIZES, randomness=randomness,
        listeners=[releases.append],
    )  # fmt: skip
    return releases


def test_noise_of_every_seed_against_a_generator_made_for_it():
    found = seeded_noise(np.array([3, 99_999, 3]), 5)
    for row, seed in zip(found, (3, 99_999, 3), strict=True):
        generator = np.random.Generator(np.random.Philox(key=seed))
        np.testing.assert_array_equal(row, generator.standard_normal(5, dtype=np.float32))


def test_sums_of_nobody_are_explained_by_a_seed_where_the_clock_gave_it_and_not_otherwise(small_pool, small_members):
    nobody = torch.zeros_like(small_members)
    for source, expected in (("clock", True), ("stream", False)):
        for release in heard(small_pool, nobody, source):
            assert release.noise_seeds == (CLOCK_SEEDS if source == "clock" else None)
            for position in range(3):
                sums = release.sums[:, position].double().numpy()
                found = explained_by_a_seed(sums, np.zeros_like(sums), 0.5, CLOCK_SEEDS)
                assert found.all() == found.any() == expected


def test_a_record_is_told_from_nobody():
    vector = stream(0, "record").normal(size=16)
    noise = 2.5 * seeded_noise(np.arange(40), 16).astype(np.float64)
    present = np.arange(40) % 3 == 0
    sums = (noise + np.outer(present, vector)).astype(np.float32)
    np.testing.assert_array_equal(explained_by_a_seed(sums, vector, 2.5, 1000), present)
    np.testing.assert_array_equal(explained_by_a_seed(sums, np.zeros(16), 2.5, 1000), ~present)


def test_the_clock_is_refused_for_a_real_release_and_other_sources_are_not_known(small_pool, small_members):
    with pytest.raises(BadConfig, match="can be audited, not used for a release"):
        heard(small_pool, small_members, "clock", from_operating_system=True)
    with pytest.raises(BadConfig, match="noise_source='dice' is not one of stream, clock"):
        NdpdcConfig(noise_source="dice")
