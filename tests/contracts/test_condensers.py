"""What every condenser owes the audit. A new method is picked up from the registry, unedited."""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import released
from torch import Tensor

from attacks.victims import VictimConfig, query_victims, train_victims, victim_network
from audit.engine import checkpoints
from condensers.errors import BadConfig
from condensers.initial import initial_noise
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import PublicRandomness, Randomness, stream
from condensers.registry import Method, Track, all_methods, condense_runs, untracked

IPC = 2
TENSORS = ("images", "labels", "initial_records")
SIZES = (12.0, 12.0, 12.0)
SMALL = {
    "iterations": 4,
    "width": 4,
    "depth": 1,
    "batch": 6,
    "compiled": False,
    "outer": 2,
    "inner": 2,
    "batches": 2,
    "loops": "2x2",
    "optimisation_steps": 4,
    "steps_per_expert": 2,
    "student_steps": 2,
    "first_epochs": 2,
    "features": 20,
    "epochs": 2,
    "order": 2,
    "product_order": 2,
    "warm_up": 1,
    "critic_steps": 1,
    "shards": 3,
    "batch_generated": 4,
    "sinkhorn_iterations": 4,
}


def small_config(method: Method, init: str) -> Any:
    names = {field.name for field in fields(method.config)}
    wanted = {**method.presets.get("quick", {}), **SMALL, "ipc": IPC, "init": init}
    return method.config(**{name: value for name, value in wanted.items() if name in names})


def inits(method: Method) -> list[str]:
    """Where the images of a method may start; "real" alone where that is its nature, "network" if there are none."""
    if method.releases == "network":
        return ["network"]
    default = {field.name: field.default for field in fields(method.config)}.get("init", "random")
    found = []
    for init in ("random", "real") if default == "random" else (default,):
        with contextlib.suppress(BadConfig):
            small_config(method, init)
            found.append(init)
    return found


CASES = [
    pytest.param(method, init, id=f"{method.name}-{init}")
    for method in all_methods().values()
    for init in inits(method)
]
every_method = pytest.mark.parametrize(("method", "init"), CASES)


def condense(
    method: Method,
    init: str,
    pool: Pool,
    included: Tensor,
    runs: tuple[int, ...] = (0, 1, 2, 3, 4),
    *,
    seed: int = 1,
    track: Track = untracked,
) -> CondensedBatch:
    chosen = included[[run % len(included) for run in runs]]
    randomness = Randomness(seed=seed, runs=runs)
    config = small_config(method, init)
    return condense_runs(method, pool, chosen, config, class_sizes=SIZES, randomness=randomness, track=track)[0]


def assert_same_bytes(found: CondensedBatch, expected: CondensedBatch) -> None:
    assert torch.equal(released(found), released(expected))
    for name in TENSORS:
        assert torch.equal(getattr(found, name), getattr(expected, name)), name


@every_method
def test_same_seed_same_bytes(method: Method, init: str, small_pool: Pool, small_members: Tensor) -> None:
    first = condense(method, init, small_pool, small_members)
    assert_same_bytes(condense(method, init, small_pool, small_members), first)
    assert not torch.equal(released(condense(method, init, small_pool, small_members, seed=2)), released(first))


@every_method
def test_grouping_of_runs_against_one_at_a_time(
    method: Method, init: str, small_pool: Pool, small_members: Tensor
) -> None:
    together = condense(method, init, small_pool, small_members)
    for runs in [(0,), (3,), (4, 1)]:
        apart = condense(method, init, small_pool, small_members, runs)
        torch.testing.assert_close(released(apart), released(together)[list(runs)], rtol=1e-4, atol=1e-5)
        assert torch.equal(apart.initial_records, together.initial_records[list(runs)])


@every_method
def test_records_left_out_of_a_run_do_not_matter(
    method: Method, init: str, small_pool: Pool, small_members: Tensor
) -> None:
    """What membership means: a run is a function of its members alone."""
    mask = small_members[0].view(-1, 1, 1, 1)
    changed = replace(small_pool, images=torch.where(mask, small_pool.images, -small_pool.images.flip(3)))
    expected = released(condense(method, init, small_pool, small_members, (0,)))
    found = released(condense(method, init, changed, small_members, (0,)))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    others = replace(small_pool, images=torch.where(mask, -small_pool.images.flip(3), small_pool.images))
    found = released(condense(method, init, others, small_members, (0,)))
    assert not torch.allclose(found, expected, atol=1e-3)


@every_method
def test_shapes_and_values(method: Method, init: str, small_pool: Pool, small_members: Tensor) -> None:
    batch = condense(method, init, small_pool, small_members)
    runs, size = len(small_members), 0 if init == "network" else IPC * small_pool.num_classes
    assert (batch.networks is not None) == (init == "network")
    assert len(released(batch)) == runs
    assert bool(released(batch).isfinite().all())
    assert batch.images.shape == (runs, size, *small_pool.images.shape[1:])
    assert batch.images.dtype == torch.float32
    assert batch.labels.shape[:2] == (runs, size)
    if batch.labels.ndim == 2:
        assert batch.labels.dtype == torch.int64
        for labels in batch.labels:
            assert labels.bincount().tolist() == [IPC] * (size // IPC)
    assert batch.initial_records.shape == (runs, size)
    assert batch.initial_records.dtype == torch.int64
    for run, records in enumerate(batch.initial_records):
        started = records[records >= 0]
        assert bool(small_members[run, started].all()), "an image started from a record that was left out"
        assert len(started.unique()) == len(started)
    assert bool((batch.initial_records >= 0).any()) == (init == "real")


@every_method
def test_runs_whose_coins_leave_a_class_empty(
    method: Method, init: str, small_pool: Pool, small_members: Tensor
) -> None:
    """The game allows every outcome of its coins: run 1 lacks class 1, run 2 everybody, run 3 has one of class 2."""
    members = small_members.clone()
    _, second, third = small_pool.class_slices
    members[1, second] = False
    members[2] = False
    members[3, third] = False
    members[3, third.start] = True
    batch = condense(method, init, small_pool, members)
    assert bool(released(batch).isfinite().all())
    usual = condense(method, init, small_pool, small_members)
    for run in (0, 4):
        torch.testing.assert_close(released(batch)[run], released(usual)[run], rtol=1e-4, atol=1e-5)
    for run, records in enumerate(batch.initial_records):
        assert bool(members[run, records[records >= 0]].all())
    if method.private or method.releases == "generator":
        return
    noise, _ = initial_noise(
        batch.images.shape[1], tuple(small_pool.images.shape[1:]), 1, batch.images.device, Randomness(seed=1, runs=(0,))
    )
    places = batch.labels[0] == 1
    torch.testing.assert_close(batch.images[2], noise[0], rtol=0, atol=1e-6, msg="nothing moves a run without members")
    if method.name != "kip":  # its images take part in the regression onto the other classes
        assert torch.equal(batch.images[1, places], noise[0, places]), "nothing moves a class without members"
    if init == "real":
        assert (batch.initial_records[3] >= 0).sum() == 2 * IPC + 1
        assert batch.initial_records[2].tolist() == [-1] * batch.images.shape[1]


@pytest.mark.parametrize("changes", [{"zca": True}, {"kernel": "conv", "blocks": 1}, {"siamese": "crop"}], ids=str)
@pytest.mark.parametrize("init", ["random", "real"])
def test_kip_takes_runs_without_members_in_every_variant(
    changes: dict[str, Any], init: str, small_pool: Pool, small_members: Tensor
) -> None:
    members = small_members[:3].clone()
    members[1, small_pool.class_slices[1]] = False
    members[2] = False
    config = replace(small_config(all_methods()["kip"], init), **changes)
    randomness = Randomness(seed=1, runs=(0, 1, 2))
    method = all_methods()["kip"]
    found, _ = condense_runs(method, small_pool, members, config, class_sizes=SIZES, randomness=randomness)
    noise, _ = initial_noise(6, (3, 12, 12), 1, found.images.device, randomness)
    assert bool(found.images.isfinite().all())
    torch.testing.assert_close(found.images[2], noise[0], rtol=0, atol=1e-5)


@every_method
def test_pool_and_membership_are_not_changed(
    method: Method, init: str, small_pool: Pool, small_members: Tensor
) -> None:
    images, labels, members = small_pool.images.clone(), small_pool.labels.clone(), small_members.clone()
    batch = condense(method, init, small_pool, small_members)
    for tensor in [batch.images] if batch.networks is None else batch.networks.parameters.values():
        tensor.add_(1.0)
    assert torch.equal(small_pool.images, images)
    assert torch.equal(small_pool.labels, labels)
    assert torch.equal(small_members, members)


@every_method
def test_every_tensor_names_its_device(method: Method, init: str, small_pool: Pool, small_members: Tensor) -> None:
    """A tensor made without `device=` would land on `meta`, which holds no values."""
    expected = condense(method, init, small_pool, small_members)
    with torch.device("meta"):
        found = condense(method, init, small_pool, small_members)
    assert_same_bytes(found, expected)


@every_method
@pytest.mark.parametrize("stop", [1, 3])
def test_interrupted_loop_goes_on_from_its_state(
    method: Method,
    init: str,
    stop: int,
    small_pool: Pool,
    small_members: Tensor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that the next step needs is in the state that the method hands to `track`, and its checkpoint is used."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", -1.0)
    started: list[int] = []

    def keeping(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        tracker = checkpoints.Tracker(
            digest="", place=lambda loop: tmp_path / loop, report=lambda _: None, stages={"condense": 1.0}
        )
        return tracker.track(name, total, state)

    def stopping(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        return itertools.takewhile(lambda step: step < stop, keeping(name, total, state))

    def resuming(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        for step in keeping(name, total, state):
            started.append(step)
            yield step

    expected = condense(method, init, small_pool, small_members)
    condense(method, init, small_pool, small_members, track=stopping)
    assert_same_bytes(condense(method, init, small_pool, small_members, track=resuming), expected)
    assert started[:1] in ([], [stop])


@every_method
def test_public_streams_do_not_depend_on_runs_or_members(
    method: Method, init: str, small_pool: Pool, small_members: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The adversary knows them: a key that knew the run or its members would leak them."""
    asked: list[tuple[str | int, ...]] = []
    draw = PublicRandomness.public

    def listening(self: PublicRandomness, purpose: str, *counters: int) -> np.random.Generator:
        asked.append((purpose, *counters))
        return draw(self, purpose, *counters)

    monkeypatch.setattr(PublicRandomness, "public", listening)
    calls = []
    for runs, members in (((0, 1), small_members[:2]), ((7, 9), ~small_members[:2])):
        asked.clear()
        randomness = Randomness(seed=1, runs=runs)
        condense_runs(method, small_pool, members, small_config(method, init), class_sizes=SIZES, randomness=randomness)
        calls.append(set(asked))
    assert calls[0] == calls[1]


def train_and_query(pool: Pool, augmentation: str) -> tuple[Tensor, Tensor]:
    config = VictimConfig(width=4, depth=1, epochs=3, batch=4, augmentation=augmentation)
    generator = stream(3, "synthetic")
    images = torch.from_numpy(generator.standard_normal((2, 6, *pool.images.shape[1:]), dtype=np.float32))
    labels = torch.tensor([[0, 0, 1, 1, 2, 2]] * 2, device="cpu")
    synthetic = CondensedBatch(
        images=images.to(pool.images.device),
        labels=labels.to(pool.images.device),
        initial_records=torch.full_like(labels, -1, device=pool.images.device),
    )
    network = victim_network(pool, config)
    randomness = Randomness(seed=1, runs=(0, 1))
    parameters = train_victims(network, synthetic, config, randomness=randomness, track=untracked)
    return query_victims(network, parameters, pool, 9)


@pytest.mark.parametrize("augmentation", ["none", "color_crop_cutout_flip_scale_rotate"])
def test_victims_name_their_device(augmentation: str, small_pool: Pool) -> None:
    expected = train_and_query(small_pool, augmentation)
    with torch.device("meta"):
        found = train_and_query(small_pool, augmentation)
    assert torch.equal(found[0], expected[0])
    assert torch.equal(found[1], expected[1])


def accelerator() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "mps")


@pytest.mark.gpu
@every_method
def test_accelerator_against_cpu(method: Method, init: str, small_pool: Pool, small_members: Tensor) -> None:
    device = accelerator()
    expected = condense(method, init, small_pool, small_members)
    found = condense(method, init, small_pool.to(device), small_members.to(device))
    assert released(found).device.type == device.type
    assert {getattr(found, name).device.type for name in TENSORS} == {device.type}
    torch.testing.assert_close(released(found).cpu(), released(expected), rtol=1e-2, atol=1e-3)
    assert torch.equal(found.initial_records.cpu(), expected.initial_records)
    assert torch.equal(found.labels.cpu(), expected.labels)


@pytest.mark.gpu
def test_victims_on_accelerator_against_cpu(small_pool: Pool) -> None:
    signals, _ = train_and_query(small_pool, "none")
    found, _ = train_and_query(small_pool.to(accelerator()), "none")
    assert found.device.type == accelerator().type
    torch.testing.assert_close(found.cpu(), signals, rtol=1e-2, atol=1e-2)
