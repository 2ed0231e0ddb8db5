"""What every private method must keep: the pool stays behind the door, and the ledger is what was planned."""

import dataclasses
from dataclasses import replace

import pytest
import torch
from conftest import released

from condensers.ledger import Poisson
from condensers.mechanism import Door, Request
from condensers.pool import CondensedBatch
from condensers.randomness import Randomness
from condensers.registry import Method, all_methods, condense_runs, untracked

RUNS = tuple(range(5))
SIZES = (12.0, 12.0, 12.0)
SMALL = {
    "ipc": 2,
    "batch": 4,
    "iterations": 3,
    "width": 8,
    "depth": 2,
    "outer": 2,
    "inner": 2,
    "batches": 2,
    "optimisation_steps": 4,
    "auxiliary_images": 9,
    "features": 20,
    "epochs": 2,
    "order": 2,
    "product_order": 2,
    "warm_up": 1,
    "critic_steps": 2,
    "shards": 3,
    "batch_generated": 4,
    "generator": "mlp",
    "sinkhorn_iterations": 4,
}
PRIVATE = [method for method in all_methods().values() if method.private]


def small_config(method):
    fields = {field.name for field in dataclasses.fields(method.config)}
    return method.config(**{name: value for name, value in SMALL.items() if name in fields})


class ReplayingDoor(Door):
    """Behind it stand other records, yet it says again what another door once released."""

    def __init__(self, recorded, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.recorded = iter(recorded)

    def release(self, *arguments, **keywords):
        super().release(*arguments, **keywords)
        return next(self.recorded).sums.clone()

    def release_batch(self, *arguments, **keywords):
        super().release_batch(*arguments, **keywords)
        said = next(self.recorded)
        return said.sums[:, 0].clone(), said.sizes

    def release_shards(self, request, **keywords):
        super().release_shards(request, **keywords)
        return next(self.recorded).sums.view(self.num_runs, request.count, -1).clone()


def check_output_is_post_processing(method, pool, members):
    recorded = []
    randomness = Randomness(seed=3, runs=RUNS)
    first, _ = condense_runs(
        method, pool, members, small_config(method), class_sizes=SIZES, randomness=randomness,
        listeners=[lambda release: recorded.append(replace(release, sums=release.sums.clone()))],
    )  # fmt: skip
    others = dataclasses.replace(pool, images=-pool.images.flip(0))
    door = ReplayingDoor(recorded, others, ~members, class_sizes=SIZES, randomness=randomness)
    second = method.condense(door, small_config(method), randomness=randomness.only_public, track=untracked)
    assert torch.equal(released(first), released(second))
    assert torch.equal(first.labels, second.labels)


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_output_is_a_function_of_releases_and_public_facts(method, small_pool, small_members):
    check_output_is_post_processing(method, small_pool, small_members)


def images_from_records(pool, _):
    return pool.images[:1].expand(5, 1, 3, 12, 12), torch.zeros(5, 1, dtype=torch.int64)


def normalised_by_private_statistics(pool, _):
    scale = (pool.images * torch.linspace(0, 1, 72).view(-1, 1, 1, 1)).std()
    return torch.ones(5, 1, 3, 12, 12) / scale, torch.zeros(5, 1, dtype=torch.int64)


def label_counts_leaked(pool, members):
    counts = torch.as_tensor(members)[:, pool.class_slices[0]].sum(1, keepdim=True)
    return torch.ones(5, 1, 3, 12, 12), counts


@pytest.mark.parametrize("peek", [images_from_records, normalised_by_private_statistics, label_counts_leaked])
def test_a_method_that_reads_the_pool_around_the_door_fails_the_contract(small_pool, small_members, peek):
    def peeking(door, config, *, randomness, track):  # noqa: ARG001
        request = Request(group=0, sampling=Poisson(rate=0.5), vectors=lambda images, _: images.flatten(1))
        door.release([request], dim=432, clip=1.0, noise_multiplier=1.0)
        images, labels = peek(door._Door__pool, door._Door__members)
        return CondensedBatch(images=images, labels=labels, initial_records=torch.full((5, 1), -1))

    config = PRIVATE[0].config
    method = Method(name="peeking", summary="", config=config, condense=peeking, presets={}, plan=lambda *_: ())
    with pytest.raises(AssertionError):
        check_output_is_post_processing(method, small_pool, small_members)


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_ledger_of_what_ran_against_plan(method, small_pool, small_members):
    config = small_config(method)
    randomness = Randomness(seed=3, runs=RUNS)
    _, ledger = condense_runs(method, small_pool, small_members, config, class_sizes=SIZES, randomness=randomness)
    assert ledger.entries == tuple(sorted(method.plan(config, SIZES), key=repr))


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_every_record_is_treated_by_itself(method, small_pool, small_members):
    """The vector of a record does not depend on who else is in the sample, nor on their order."""
    heard = []
    randomness = Randomness(seed=3, runs=RUNS)
    condense_runs(
        method, small_pool, small_members, small_config(method), class_sizes=SIZES, randomness=randomness,
        listeners=[heard.append],
    )  # fmt: skip
    for release in heard:
        for request in release.requests:
            if not isinstance(request, Request):  # whole samples and shards: the sensitivity asks nothing of vectors
                continue
            chosen = slice(0, 72) if request.group is None else small_pool.class_slices[request.group]
            images, labels = small_pool.images[chosen], small_pool.labels[chosen]
            if release.per_run:
                images, labels = images.expand(5, *images.shape), labels.expand(5, -1)
                whole, alone = (
                    request.vectors(images, labels)[:, 3],
                    request.vectors(images[:, 3:4], labels[:, 3:4])[:, 0],
                )
            else:
                whole, alone = request.vectors(images, labels)[3], request.vectors(images[3:4], labels[3:4])[0]
            torch.testing.assert_close(whole, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_groups_of_runs_do_not_matter_against_one_at_a_time(method, small_pool, small_members):
    config = small_config(method)
    together, _ = condense_runs(
        method, small_pool, small_members, config, class_sizes=SIZES, randomness=Randomness(seed=3, runs=RUNS)
    )
    alone, _ = condense_runs(
        method, small_pool, small_members[2:3], config, class_sizes=SIZES, randomness=Randomness(seed=3, runs=(2,))
    )
    torch.testing.assert_close(released(alone)[0], released(together)[2], rtol=1e-3, atol=1e-3)
    assert bool((together.initial_records == -1).all())


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_the_same_seed_gives_the_same_bytes_and_another_one_none_of_them(method, small_pool, small_members):
    outputs = []
    for seed in (3, 3, 4):
        batch, _ = condense_runs(
            method, small_pool, small_members, small_config(method), class_sizes=SIZES,
            randomness=Randomness(seed=seed, runs=RUNS),
        )  # fmt: skip
        outputs.append(released(batch))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.isclose(outputs[0], outputs[2]).flatten(1).all(1).any()
