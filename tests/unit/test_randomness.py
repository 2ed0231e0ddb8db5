import numpy as np
import pytest

from condensers.randomness import Randomness, stream


def test_streams_depend_on_every_part_of_the_key():
    keys = [(0, "a", 1), (1, "a", 1), (0, "b", 1), (0, "a", 2), (0, "a1"), (0, "a", 1, 0), (0, "a", "1")]
    draws = [stream(*key).random(4).tolist() for key in keys]
    assert len({tuple(draw) for draw in draws}) == len(keys)


def test_equal_keys_give_equal_numbers():
    assert np.array_equal(stream(3, "x", 9).random(100), stream(3, "x", 9).random(100))


def test_public_streams_are_shared_and_private_ones_are_not():
    group = Randomness(seed=5, runs=(10, 11))
    alone = Randomness(seed=5, runs=(11,))
    assert group.public("network", 3).random() == alone.public("network", 3).random()
    assert group.private(1, "noise", 3).random() == alone.private(0, "noise", 3).random()
    assert group.private(0, "noise", 3).random() != group.private(1, "noise", 3).random()


def test_independent_randomness_differs_by_run_and_takes_one_run():
    streams = [Randomness(seed=5, runs=(run,), independent=True).public("network", 0).random() for run in (1, 2)]
    assert streams[0] != streams[1]
    with pytest.raises(ValueError, match="one run at a time"):
        Randomness(seed=5, runs=(1, 2), independent=True)


def test_normal_draws_against_theory():
    draws = stream(0, "normal").standard_normal(200_000)
    assert abs(draws.mean()) < 5 / np.sqrt(len(draws))
    assert abs(draws.var() - 1) < 5 * np.sqrt(2 / len(draws))


def test_each_private_stream_against_the_streams_one_by_one():
    randomness = Randomness(seed=5, runs=(3, 1, 8))
    for position, generator in enumerate(randomness.each_private("noise", 4)):
        alone = randomness.private(position, "noise", 4)
        np.testing.assert_array_equal(generator.random(3, dtype=np.float32), alone.random(3, dtype=np.float32))
        np.testing.assert_array_equal(generator.standard_normal(9), alone.standard_normal(9))


def test_private_streams_of_the_operating_system_have_fresh_keys_and_leave_the_public_ones_alone(monkeypatch):
    asked = []
    monkeypatch.setattr("secrets.randbits", lambda bits: asked.append(bits) or 7 + len(asked))
    randomness = Randomness(seed=5, runs=(0, 1), from_operating_system=True)
    first = [generator.random() for generator in randomness.each_private("noise", 0)]
    second = [randomness.private(position, "noise", 0).random() for position in (0, 1)]
    assert asked == [128] * 4
    assert len(set(first + second)) == 4
    seeded = Randomness(seed=5, runs=(0, 1))
    assert randomness.public("network", 1).random() == seeded.public("network", 1).random()
