"""All that computes with torch, on a device that is not the CPU (docs/devices.md).

The figures are the same, no tensor meets one of the CPU, and no step of a condenser makes the host wait.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
import stand_in as device_of_tests
import torch
from stand_in import MixedDevices, stand_in, to_host, waits
from test_condensers import CASES, SIZES, small_config
from torch import Tensor

from attacks.released import public_features
from attacks.victims import VictimConfig, query_victims, train_victims, victim_network
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import shard_tensors
from audit.specs.membership import Lira
from condensers.networks import Network
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, stream
from condensers.registry import Method, condense_runs

pytestmark = [
    pytest.mark.skipif(not device_of_tests.AVAILABLE, reason="this torch has no PrivateUse1 backends in Python"),
    # The backend is experimental, and says so.
    pytest.mark.filterwarnings("default"),
]
RUNS = (0, 1, 2, 3, 4)


class Steps:
    """`track` that counts what waits within steps."""

    def __init__(self) -> None:
        self.waits: Counter[str] = Counter()
        self.num_steps = 0

    def track(self, name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        for step in range(total):
            before = Counter(waits)
            yield step
            self.waits += waits - before
            self.num_steps += 1


def numbers(batch: CondensedBatch) -> list[Tensor]:
    """All that was released, on the host."""
    released = [batch.images, batch.labels, batch.initial_records]
    for network in (batch.networks, batch.generators):
        released += [] if network is None else list(network.parameters.values())
    return [to_host(tensor) for tensor in released]


def condense(method: Method, init: str, pool: Pool, members: Tensor, steps: Steps) -> CondensedBatch:
    config, randomness = small_config(method, init), Randomness(seed=1, runs=RUNS)
    return condense_runs(method, pool, members, config, class_sizes=SIZES, randomness=randomness, track=steps.track)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "init"), CASES)
def test_condenser_against_cpu(method: Method, init: str, small_pool: Pool, small_members: Tensor) -> None:
    expected = condense(method, init, small_pool, small_members, Steps())
    steps = Steps()
    with stand_in() as device:
        found = condense(method, init, small_pool.to(device), small_members.to(device), steps)
        assert found.images.device == device
    for one, other in zip(numbers(found), numbers(expected), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    assert steps.num_steps > 0 or method.name == "real"
    assert not +steps.waits, f"the host waits within steps: {dict(steps.waits)}"


@pytest.mark.parametrize("kind", ["convnet", "linear"])
def test_victims_against_cpu(kind: str, small_pool: Pool) -> None:
    """Forward and backward; the augmented training and the queries."""
    images = torch.from_numpy(stream(2, "images").uniform(-1, 1, (2, 6, 3, 12, 12)).astype(np.float32))
    labels = torch.arange(3).repeat_interleave(2).repeat(2, 1)
    config = VictimConfig(epochs=3, width=4, depth=1, kind=kind, augmentation="color_crop_cutout_flip_scale_rotate")

    def signals(pool: Pool, device: torch.device, steps: Steps) -> tuple[Tensor, Tensor]:
        synthetic = CondensedBatch(
            images=images.to(device), labels=labels.to(device), initial_records=torch.full((2, 6), -1).to(device)
        )
        network = victim_network(pool, config)
        randomness = Randomness(seed=1, runs=(0, 1))
        parameters = train_victims(network, synthetic, config, randomness=randomness, track=steps.track)
        return query_victims(network, parameters, pool, 2)

    expected, steps = signals(small_pool, torch.device("cpu"), Steps()), Steps()
    with stand_in() as device:
        found = signals(small_pool.to(device), device, steps)
    torch.testing.assert_close(to_host(found[0]), expected[0], rtol=1e-5, atol=1e-5)
    assert torch.equal(to_host(found[1]), expected[1])
    assert steps.num_steps == 3
    assert not +steps.waits, f"the host waits within steps: {dict(steps.waits)}"


def test_embeddings_of_an_adversary_against_cpu(small_pool: Pool) -> None:
    """Scores of released sets are computed on the host, whatever device holds the pool."""
    network = Network(kind="convnet", input_shape=(3, 12, 12), num_classes=3, width=4, depth=1)
    expected = public_features(small_pool, network, [stream(1, "network")])
    with stand_in() as device:
        found = public_features(small_pool.to(device), network, [stream(1, "network")])
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("level", ["set", "model"])
def test_shard_that_does_not_fit_is_computed_in_parts(level: str) -> None:
    """The device is full once with all six runs, and once more with three of them."""
    spec = Lira(
        method="dm",
        records=60,
        shadows=6,
        shard_runs=6,
        level=level,
        settings={"iterations": "3", "victim.epochs": "2"},
    )
    config, pool = resolve_config(spec, None)
    expected = shard_tensors(config, pool, 0, Steps().track)
    names: list[str] = []

    def track(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:  # noqa: ARG001
        names.append(name)
        yield from range(total)

    with stand_in() as device:
        on_device = pool.to(device)
        device_of_tests.full[:] = [20, 20]
        found = shard_tensors(config, on_device, 0, track)
    assert not device_of_tests.full
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(to_host(found[name]), tensor, rtol=1e-4, atol=1e-5)
    parts = [name for name in names if name.startswith("condense-")]
    assert parts[-3:] == ["condense-0of6", "condense-2of6", "condense-4of6"]


def test_device_refuses_and_counts() -> None:
    """What the other tests rest on."""
    with stand_in() as device:
        here, there = torch.arange(6.0), torch.arange(6.0).to(device)
        with pytest.raises(MixedDevices):
            there + here
        with pytest.raises(MixedDevices):
            there[torch.tensor([1, 2])]
        assert (there + torch.tensor(1.0)).device == device
        weights = there.clone().requires_grad_()
        (gradient,) = torch.autograd.grad((weights * weights).sum(), weights)
        assert torch.equal(to_host(gradient), 2 * here)
        there[1:3].add_(1)
        assert to_host(there).tolist() == [0, 2, 3, 3, 4, 5]
        assert not +waits
        float(there.sum())
        there[there > 3]
        there.nonzero()
        there.cpu()
        torch.tensor([1.0], device=device)
    expected = {"item": 1, "index by mask": 1, "nonzero": 1, "copy to host": 1, "tensor from numbers": 1}
    assert +waits == expected
