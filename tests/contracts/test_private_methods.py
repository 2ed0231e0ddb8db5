"""What every private method must keep: the pool stays behind the door, and the ledger is what was planned."""

import dataclasses

import pytest
import torch
from calibration.planted_faults import behind
from conftest import released

from audit.games import contracts
from audit.games.contracts import GROUPS, LEDGER, ONE_BY_ONE, REPLAY, Bench, broken, check_contracts
from condensers.ledger import Poisson
from condensers.mechanism import Request
from condensers.pool import CondensedBatch
from condensers.randomness import Randomness
from condensers.registry import Method, all_methods, condense_runs, get_method

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


def small_config(method, **changes):
    fields = {field.name for field in dataclasses.fields(method.config)}
    return method.config(**{name: value for name, value in {**SMALL, **changes}.items() if name in fields})


def bench(method):
    return Bench(
        method=method, config=small_config(method), class_sizes=SIZES, input_shape=(3, 12, 12), seed=3
    )  # fmt: skip


@pytest.mark.parametrize("method", PRIVATE, ids=lambda method: method.name)
def test_every_contract_that_an_audit_checks_is_held(method):
    checks = check_contracts(bench(method))
    assert [check.name for check in checks] == [REPLAY, ONE_BY_ONE, GROUPS, LEDGER]
    marked = {LEDGER} if method.name == "dyn-psg" else set()  # its noise depends on the records, as it says itself
    assert {check.name for check in checks if not check.held} == marked
    assert broken(checks) is None


class BlankBench(Bench):
    """Of every class one record is blank and one nearly so: of their gradients most can be rounding."""

    def pool(self):
        made = super().pool()
        factors = torch.ones(len(made.images))
        for place, factor in ((0, 0.0), (1, 1e-7)):
            factors[place :: len(factors) // made.num_classes] = factor
        return dataclasses.replace(made, images=made.images * factors.view(-1, 1, 1, 1))


NARROW, WIDE = (16, (1, 8, 8)), (64, (1, 16, 16))  # gradients of wide networks: tests/unit/test_wide.py


@pytest.mark.parametrize(
    ("method", "width", "shape"),
    [
        *(pytest.param(method, *NARROW, id=method.name) for method in PRIVATE),
        *(pytest.param(get_method(name), *WIDE, id=f"{name}-wide") for name in ("ndpdc", "dosser")),
    ],
)
def test_vectors_of_blank_records_do_not_depend_on_the_others(method, width, shape, monkeypatch):
    # Clipping shortens vectors and never lengthens them, so what counts is how far apart they are, however short.
    monkeypatch.setattr(contracts, "_close", lambda one, other, *_: torch.allclose(one, other, 1e-3, 1e-4))
    config = small_config(method, width=width, depth=3)
    checks = check_contracts(BlankBench(method=method, config=config, class_sizes=SIZES, input_shape=shape, seed=3))
    assert next(check for check in checks if check.name == ONE_BY_ONE).held


@pytest.mark.parametrize(
    ("name", "generator"),
    [
        ("dp-merf", "upsampling-bn"),
        ("dp-merf", "mlp-bn"),
        ("dp-hp", "upsampling-bn"),
        ("dp-sinkhorn", "dcgan-bn"),
    ],
)
def test_contracts_with_batch_norm(name, generator):
    """As the presets of the papers have it; ten steps, in which Adam goes far along a gradient of pure rounding."""
    own = bench(get_method(name))
    config = dataclasses.replace(own.config, generator=generator, iterations=10, generator_width=4)
    assert all(check.held for check in check_contracts(dataclasses.replace(own, config=config)))


def images_from_records(pool, _):
    return pool.images[:1].expand(5, 1, 3, 12, 12), torch.zeros(5, 1, dtype=torch.int64)


def normalised_by_private_statistics(pool, _):
    scale = (pool.images * torch.linspace(0, 1, len(pool.images)).view(-1, 1, 1, 1)).std()
    return torch.ones(5, 1, 3, 12, 12) / scale, torch.zeros(5, 1, dtype=torch.int64)


def label_counts_leaked(pool, members):
    counts = torch.as_tensor(members)[:, pool.class_slices[0]].sum(1, keepdim=True)
    return torch.ones(5, 1, 3, 12, 12), counts


def peeking_method(peek, look):
    def peeking(door, config, *, randomness, track):  # noqa: ARG001
        request = Request(group=0, sampling=Poisson(rate=0.5), vectors=lambda images, _: images.flatten(1))
        door.release([request], dim=432, clip=1.0, noise_multiplier=1.0)
        images, labels = peek(*look(door))
        runs = door.num_runs
        return CondensedBatch(images=images[:runs], labels=labels[:runs], initial_records=torch.full((runs, 1), -1))

    return Method(
        name="peeking", summary="", config=PRIVATE[0].config, condense=peeking, presets={}, plan=lambda *_: ()
    )


@pytest.mark.parametrize("peek", [images_from_records, normalised_by_private_statistics, label_counts_leaked])
def test_a_method_that_reads_the_pool_behind_the_closure_breaks_the_replay(peek):
    found = broken(check_contracts(bench(peeking_method(peek, behind))))
    assert found is not None
    assert found.name == REPLAY
    assert "did not pass through the door" in found.sentence


def test_a_method_that_reads_the_pool_through_the_door_is_told_so():
    look = lambda door: (door._Door__pool, door._Door__members)  # noqa: E731
    found = broken(check_contracts(bench(peeking_method(images_from_records, look))))
    assert found is not None
    assert "reads door._Door__pool" in found.sentence


@pytest.mark.parametrize(
    "ask",
    [
        lambda size: {"clip": size, "noise_multiplier": 1.0},
        lambda size: {"clip": 1.0, "noise_multiplier": size},
        lambda size: {"clip": 1.0, "noise_multiplier": 1.0, "per_run": size > 1},
    ],
    ids=["clip", "noise", "per run"],
)
def test_a_method_that_asks_by_the_records_it_saw_breaks_the_replay(ask):
    """Clipping at the median norm of the last sample, which `vectors` noted: the noise then tells that norm."""
    seen = [1.0]

    def vectors(images, labels):
        flat = images.flatten(labels.ndim)
        seen.append(float(flat.norm(dim=-1).median()) if flat.numel() else 1.0)
        return flat

    def adaptive(door, config, *, randomness, track):  # noqa: ARG001
        request = Request(group=0, sampling=Poisson(rate=0.5), vectors=vectors)
        seen[:] = [1.0]
        sums = [door.release([request], dim=432, **ask(seen[-1]))[:, 0] for _ in range(3)]
        labels = torch.zeros(door.num_runs, 3, dtype=torch.int64)
        images = torch.stack(sums, 1).view(door.num_runs, 3, *door.input_shape)
        return CondensedBatch(images=images, labels=labels, initial_records=torch.full_like(labels, -1))

    method = dataclasses.replace(PRIVATE[0], name="adaptive", condense=adaptive, presets={})
    found = broken(check_contracts(bench(method)))
    assert found is not None
    assert found.name == REPLAY
    assert "requests to the door depend on the records" in found.sentence


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
