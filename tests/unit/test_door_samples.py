"""The door's requests for whole samples and for shards: sensitivity is enforced, learners stay behind the door."""

import numpy as np
import pytest
import torch

from audit.accounting.epsilon import epsilon_pld
from audit.accounting.ledger import ledger_event
from condensers.errors import BadConfig
from condensers.ledger import EVERYBODY, Event, FixedSize, Ledger, Poisson
from condensers.mechanism import Door
from condensers.randomness import Randomness
from condensers.samples import BatchRequest, ShardRequest, check_shards, shard_members

RUNS = tuple(range(5))
SIZES = (12.0, 12.0, 12.0)


def open_door(pool, members, **changes):
    randomness = Randomness(seed=1, runs=RUNS, **changes)
    return Door(pool, members, class_sizes=SIZES, randomness=randomness)


def mean_image(images, _, present):
    return images.flatten(2).sum(1) / present.sum(1, keepdim=True).clamp(min=1)


def batch_request(vector=mean_image, rate=0.4):
    return BatchRequest(group=EVERYBODY, sampling=Poisson(rate=rate), vector=vector)


def test_function_of_a_sample_against_naive_loop(small_pool, small_members):
    found, sizes = open_door(small_pool, small_members).release_batch(
        batch_request(), dim=432, clip=1e6, noise_multiplier=1e-12, reveal_size=True
    )
    for run in RUNS:
        coins = Randomness(seed=1, runs=RUNS).private(run, "door", 0).random(72)
        chosen = small_members[run].numpy() & (coins < 0.4)
        assert sizes[run] == chosen.sum()
        torch.testing.assert_close(found[run], small_pool.images[chosen].flatten(1).mean(0), rtol=1e-4, atol=1e-5)


def test_what_a_function_of_a_sample_returns_is_clipped_whatever_it_is(small_pool, small_members):
    """Two pools can move a release by 2C at most, and the noise is σ times that."""
    quiet = [
        open_door(small_pool, small_members).release_batch(
            batch_request(lambda *_, sign=sign: torch.full((5, 9000), 1e5 * sign)), dim=9000, clip=3.0,
            noise_multiplier=1e-9,
        )[0]
        for sign in (-1, 1)
    ]  # fmt: skip
    assert (quiet[0] - quiet[1]).norm(dim=1).max() <= 6.0 + 1e-3
    noisy, _ = open_door(small_pool, small_members).release_batch(
        batch_request(lambda *_: torch.zeros(5, 9000)), dim=9000, clip=3.0, noise_multiplier=0.7
    )
    assert noisy.std() == pytest.approx(2 * 3.0 * 0.7, rel=0.02)
    broken, _ = open_door(small_pool, small_members).release_batch(
        batch_request(lambda *_: torch.full((5, 4), float("nan"))), dim=4, clip=3.0, noise_multiplier=0.7
    )
    assert broken.isfinite().all()


def learner(shards=4, count=3):
    """Learners add up the images of their shard; every vector is that sum."""

    def learn(learners, images, labels, present):  # noqa: ARG001
        return {"total": learners["total"] + images.flatten(2).sum(1)}

    return ShardRequest(
        shards=shards,
        count=count,
        start={"total": torch.zeros(432)},
        learn=learn,
        vectors=lambda learners: learners["total"].unsqueeze(1).expand(-1, count, -1),
    )


def test_vectors_of_a_shard_against_naive_loop(small_pool, small_members):
    """Disjoint shards that cover everybody, one of them drawn; at the second release learners have learned twice."""
    door = open_door(small_pool, small_members)
    by_shard = shard_members(small_members.numpy(), 4, Randomness(seed=1, runs=RUNS)).reshape(5, 4, 72)
    np.testing.assert_array_equal(by_shard.sum(1), small_members.numpy())
    totals = torch.einsum("rsn,nd->rsd", torch.from_numpy(by_shard).float(), small_pool.images.flatten(1))
    for times in (1, 2):
        found = door.release_shards(learner(), dim=432, clip=1e6, noise_multiplier=1e-13)
        gaps = (found[:, :1] - times * totals).norm(dim=2)
        assert bool((gaps.amin(1) < 1e-3).all()), "the vectors are those of one shard"
        torch.testing.assert_close(found[:, 0], found[:, 2])


def test_noise_of_a_shard_hides_all_of_its_vectors_together(small_pool, small_members):
    door = open_door(small_pool, torch.zeros_like(small_members))
    together = door.release_shards(learner(count=16), dim=432, clip=0.5, noise_multiplier=0.7)
    assert together.std() == pytest.approx(0.5 * 0.7 * 2 * 4, rel=0.02)
    event = Event(group=EVERYBODY, sampling=FixedSize(batch=1, population=4), noise_multiplier=0.7, of="shard")
    assert door.ledger.entries == ((event, 1),)
    faulty = open_door(small_pool, torch.zeros_like(small_members))
    apart = faulty.release_shards(learner(count=16), dim=432, clip=0.5, noise_multiplier=0.7, apart=True)
    assert apart.std() == pytest.approx(0.5 * 0.7 * 2, rel=0.02)
    assert faulty.ledger.entries == ((event, 16),)


def test_ledgers_of_all_kinds_survive_storage_and_are_accounted(small_pool, small_members):
    door = open_door(small_pool, small_members)
    door.release_batch(batch_request(), dim=432, clip=1.0, noise_multiplier=2.0)
    assert Ledger.from_tensor(door.ledger.to_tensor()).entries == door.ledger.entries
    sums = Event(group=EVERYBODY, sampling=Poisson(rate=0.4), noise_multiplier=2.0)
    batch, *_ = door.ledger.entries
    assert epsilon_pld(ledger_event((batch,)), 1e-5) == epsilon_pld(ledger_event(((sums, 1),)), 1e-5)


def test_resumed_learners_against_uninterrupted_ones(small_pool, small_members):
    def loop(door, track):
        state = {"total": torch.zeros(5, 3, 432)}
        for _ in door.keep_ledger(track)("condense", 4, state):
            state["total"] = state["total"] + door.release_shards(learner(), dim=432, clip=9.0, noise_multiplier=1.0)
        return state["total"]

    expected = loop(open_door(small_pool, small_members), lambda _name, total, _state: iter(range(total)))
    saved = {}

    def interrupted(_name, _total, state):
        for step in range(2):
            yield step
            saved.update(state)

    def resumed(_name, total, state):
        state.update(saved)
        yield from range(2, total)

    loop(open_door(small_pool, small_members), interrupted)
    torch.testing.assert_close(loop(open_door(small_pool, small_members), resumed), expected, rtol=0, atol=0)


@pytest.mark.parametrize("changes", [{"reveal_size": True}, {"accounted": False}])
def test_faulty_batches_are_not_for_release(small_pool, small_members, changes):
    door = open_door(small_pool, small_members, from_operating_system=True)
    with pytest.raises(BadConfig, match="as published"):
        door.release_batch(batch_request(), dim=432, clip=1.0, noise_multiplier=1.0, **changes)


def test_shards_that_do_not_divide_the_records_are_refused():
    check_shards(36, SIZES)
    for shards in (0, 1, 37):
        with pytest.raises(BadConfig, match="cannot be divided"):
            check_shards(shards, SIZES)
