import numpy as np
import pytest
import torch
from scipy import stats

from condensers.errors import BadConfig
from condensers.ledger import EVERYBODY, Event, FixedSize, Ledger, Poisson
from condensers.mechanism import Door, Release, Request
from condensers.pool import Pool
from condensers.randomness import Randomness
from condensers.registry import untracked
from condensers.samples import clip_vectors

RUNS = tuple(range(5))


def flat(images, _):
    return images.flatten(1)


def open_door(pool, members, runs=RUNS, seed=1, **changes):
    sizes = tuple(float(part.stop - part.start) / 2 for part in pool.class_slices)
    return Door(pool, members, class_sizes=sizes, randomness=Randomness(seed=seed, runs=runs), **changes)


def ask(door, rate=0.3, *, group=1, vectors=flat, noise=1e-9, clip=2.0, dim=432, **changes):
    request = Request(group=group, sampling=Poisson(rate=rate), vectors=vectors)
    return door.release([request], dim=dim, clip=clip, noise_multiplier=noise, **changes)[:, 0]


@pytest.mark.parametrize("group", [1, EVERYBODY])
def test_release_against_naive_loop_over_runs_and_records(small_pool, small_members, group):
    sums = ask(open_door(small_pool, small_members), group=group, rate=0.4, chunk=7)
    randomness = Randomness(seed=1, runs=RUNS)
    records = small_pool.class_slices[1] if group == 1 else slice(0, small_pool.num_records)
    for run in range(5):
        coins = randomness.private(run, "door", 0).random(records.stop - records.start)
        total = torch.zeros(432)
        for record, coin in zip(range(records.start, records.stop), coins, strict=True):
            if small_members[run, record] and coin < 0.4:
                vector = small_pool.images[record].flatten()
                total += vector * min(1.0, 2.0 / float(vector.norm()))
        torch.testing.assert_close(sums[run], total, rtol=1e-4, atol=1e-4)


def test_vectors_of_each_run_against_shared_ones(small_pool, small_members):
    def of_each_run(images, labels):
        assert images.shape[:2] == labels.shape
        return images.flatten(2)

    shared = ask(open_door(small_pool, small_members), group=EVERYBODY, rate=0.4)
    apart = ask(
        open_door(small_pool, small_members), group=EVERYBODY, rate=0.4, vectors=of_each_run, per_run=True, chunk=5
    )
    torch.testing.assert_close(apart, shared, rtol=1e-4, atol=1e-4)


def test_groups_of_runs_do_not_matter_against_one_at_a_time(small_pool, small_members):
    together = ask(open_door(small_pool, small_members), noise=1.0)
    for run in RUNS:
        alone = ask(open_door(small_pool, small_members[run : run + 1], runs=(run,)), noise=1.0)
        torch.testing.assert_close(alone[0], together[run], rtol=1e-5, atol=1e-5)


def test_sampling_and_noise_against_theory():
    """A record of norm 1 along the first axis: there q N(1, s²) + (1 − q) N(0, s²), elsewhere N(0, s²)."""
    runs, rate, noise, clip = 4000, 0.3, 0.2, 3.0
    images = torch.zeros(2, 1, 2, 2)
    images[0, 0, 0, 0] = 50.0
    pool = Pool(name="two", images=images, labels=torch.tensor([0, 1]), num_classes=2)
    door = open_door(pool, torch.ones(runs, 2, dtype=torch.bool), runs=tuple(range(runs)))
    sums = ask(door, rate=rate, group=0, noise=noise, clip=clip, dim=4).numpy() / clip
    for axis in (1, 2, 3):
        assert stats.kstest(sums[:, axis], stats.norm(0, noise).cdf).pvalue > 1e-3
    mixture = lambda x: (1 - rate) * stats.norm.cdf(x, 0, noise) + rate * stats.norm.cdf(x, 1, noise)  # noqa: E731
    assert stats.kstest(sums[:, 0], mixture).pvalue > 1e-3


def test_noise_is_fresh_in_every_run_release_and_request(small_pool, small_members):
    nobody = torch.zeros_like(small_members)
    door = open_door(small_pool, nobody)
    request = [Request(group=group, sampling=Poisson(rate=0.5), vectors=flat) for group in (0, 1, EVERYBODY)]
    drawn = torch.stack([door.release(request, dim=432, clip=1.0, noise_multiplier=1.0) for _ in range(4)])
    rows = drawn.reshape(-1, 432)
    assert len(torch.unique(rows, dim=0)) == 4 * 5 * 3
    correlation = torch.corrcoef(rows) - torch.eye(len(rows))
    assert correlation.abs().max() < 6 / 432**0.5


def test_fixed_size_samples_are_uniform_over_places_against_theory(small_pool, small_members):
    """3 of 12 nominal records: 6 of the 24 places of the class, each as likely, of which members show."""
    door = open_door(small_pool, small_members)
    everybody = open_door(small_pool, torch.ones_like(small_members))
    taken = np.zeros((5, 24))
    request = Request(group=1, sampling=FixedSize(batch=3, population=12), vectors=flat)
    for index in range(300):
        places = everybody._draw([request], 1, index)[0][0]
        assert (places.sum(1) == 6).all()
        np.testing.assert_array_equal(
            door._draw([request], 1, index)[0][0], places & small_members[:, small_pool.class_slices[1]].numpy()
        )
        taken += places
    assert (np.abs(taken / 300 - 0.25) <= 5 * np.sqrt(0.25 * 0.75 / 300)).all()


def test_noise_of_fixed_size_hides_a_replacement(small_pool, small_members):
    nobody = [
        Request(group=1, sampling=s, vectors=lambda x, _: torch.zeros(len(x), 9000))
        for s in (Poisson(rate=0.5), FixedSize(batch=2, population=12))
    ]
    sums = open_door(small_pool, small_members).release(nobody, dim=9000, clip=3.0, noise_multiplier=0.7)
    assert sums[:, 0].std() == pytest.approx(3.0 * 0.7, rel=0.02)
    assert sums[:, 1].std() == pytest.approx(2 * 3.0 * 0.7, rel=0.02)


def test_what_cannot_be_clipped_counts_as_zero_and_reaches_no_other_run(small_pool, small_members):
    def broken(images, _):
        vectors = images.flatten(1).clone()
        vectors[0] = float("nan")
        vectors[1] = float("inf")
        vectors[2] = 3e38
        return vectors

    assert ask(open_door(small_pool, small_members), rate=1.0, vectors=broken).isfinite().all()


def test_clipping_leaves_short_vectors_alone():
    vectors = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], requires_grad=True)
    clipped = clip_vectors(vectors, 1.0)
    torch.testing.assert_close(clipped.detach(), torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]))
    clipped.sum().backward()
    assert vectors.grad.isfinite().all()


def test_a_record_that_is_in_no_run_is_never_shown(small_pool, small_members):
    members = small_members.clone()
    members[:, 30] = False
    seen = []

    def watch(images, _):
        seen.append(images.clone())
        return images.flatten(1)

    ask(open_door(small_pool, members), rate=1.0, vectors=watch)
    assert not any((images == small_pool.images[30]).flatten(1).all(1).any() for images in seen)


def test_ledger_and_listeners_tell_what_ran(small_pool, small_members):
    heard: list[Release] = []
    door = open_door(small_pool, small_members, listeners=[heard.append])
    sums = [ask(door, rate=0.25, group=2, noise=1.5) for _ in range(3)]
    event = Event(group=2, sampling=Poisson(rate=0.25), noise_multiplier=1.5)
    assert door.ledger.entries == ((event, 3),)
    assert [release.index for release in heard] == [0, 1, 2]
    assert all(torch.equal(release.sums[:, 0], total) for release, total in zip(heard, sums, strict=True))
    assert Ledger.from_tensor(door.ledger.to_tensor()).entries == door.ledger.entries


def test_a_resumed_loop_keeps_counts_and_noise_against_an_uninterrupted_one(small_pool, small_members):
    def loop(door, track):
        state = {"total": torch.zeros(5, 432)}
        for _ in door.keep_ledger(track)("condense", 6, state):
            state["total"] = state["total"] + ask(door, noise=1.0)
        return state

    whole = open_door(small_pool, small_members)
    expected = loop(whole, untracked)["total"]
    saved = {}

    def interrupted(_name, _total, state):
        for step in range(4):
            yield step
            saved.update(state)

    loop(open_door(small_pool, small_members), interrupted)

    def resumed(first):
        def track(_name, total, state):
            state.update(saved)
            yield from range(first, total)

        return track

    again = open_door(small_pool, small_members)
    torch.testing.assert_close(loop(again, resumed(4))["total"], expected, rtol=0, atol=0)
    assert again.ledger.entries == whole.ledger.entries
    finished = open_door(small_pool, small_members)
    loop(finished, resumed(6))
    assert finished.ledger.entries == ((whole.ledger.entries[0][0], 4),)


def test_release_from_the_operating_system_is_not_reproducible(small_pool, small_members):
    def draw(from_operating_system):
        sizes = (12.0, 12.0, 12.0)
        randomness = Randomness(seed=1, runs=RUNS, from_operating_system=from_operating_system)
        return ask(Door(small_pool, small_members, class_sizes=sizes, randomness=randomness), noise=1.0)

    assert torch.equal(draw(False), draw(False))
    first, second = draw(True), draw(True)
    assert not torch.isclose(first, second).all(1).any()


@pytest.mark.parametrize(
    "call",
    [
        lambda door: ask(door, clip=0.0),
        lambda door: ask(door, noise=0.0),
        lambda door: ask(door, rate=0.0),
        lambda door: ask(door, rate=1.1),
        lambda door: door.poisson(0, 13),
        lambda door: door.poisson(0, 0),
    ],
)
def test_impossible_requests_are_refused_and_nothing_is_entered(small_pool, small_members, call):
    door = open_door(small_pool, small_members)
    with pytest.raises(BadConfig):
        call(door)
    assert door.ledger.entries == ()
