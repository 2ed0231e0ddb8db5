"""What a set is worth to train on: networks trained on it, tested on real records.

Training is the evaluation recipe of the DC/DSA/DM code base (attacks/victims.py), in stacks of one network per seed.
Differs from it for large sets only: up to 512 images a set is passed over as often as the recipe says; a larger one
gets as many steps as one of 512, but at least 10 passes, else whole data sets would take days.

A random subset of a given size is nested in the larger ones of the same seed: accuracy against size is one curve.
"""

import math
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from attacks.victims import VictimConfig, numbers_of, seen_images, train_stack
from audit.engine.checkpoints import part_of
from audit.games.utility.networks import LARGE, EvaluationNetwork, draw_networks, make_network, run_networks
from condensers.errors import BadConfig
from condensers.networks import Parameters
from condensers.normalisation import SYMMETRIC, Normalisation
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, stream, to_device
from condensers.registry import Track, untracked
from reports.records.utility import Accuracy

COSTLIEST = ("vgg11", "resnet18")
WHOLE_RECIPE = 512
LEAST_PASSES = 10
TEST_CHUNK = 256
GRID = 24  # sizes among which the matching subset is searched


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How networks are trained. `divisor` narrows the large ones; VGG11 and ResNet18, the costliest, and quick to learn
    thanks to their norms, make `large_epochs` passes.
    """

    training: VictimConfig
    large_epochs: int
    divisor: int
    seeds: int
    seed: int

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise BadConfig(f"--seeds {self.seeds}: must be at least 1")
        if self.large_epochs < 1:
            raise BadConfig(f"--epochs {self.large_epochs}: must be at least 1")

    def network(self, name: str, pool: Pool) -> EvaluationNetwork:
        shape = tuple(pool.images.shape[1:])
        return make_network(
            name,
            shape,
            pool.num_classes,
            width=self.training.width,
            depth=self.training.depth,
            divisor=self.divisor,
        )

    def config(self, name: str, num_images: int) -> VictimConfig:
        epochs = self.large_epochs if name in COSTLIEST else self.training.epochs
        passes = min(epochs, max(LEAST_PASSES, math.ceil(epochs * WHOLE_RECIPE / num_images)))
        return replace(self.training, epochs=passes)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Accuracies of the networks of all seeds; `seconds` and `flops` are those of training one of them."""

    accuracies: tuple[float, ...]
    num_images: int
    seconds: float
    flops: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracies))

    @property
    def deviation(self) -> float | None:
        """Of the sample; None of a single one."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else None

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Student's, of the mean: assumes that seeds are independent and about normal; the part of it that an accuracy
        can lie in. None of a single one.
        """
        if self.deviation is None:
            return None
        n = len(self.accuracies)
        reach = float(stats.t.ppf(0.5 + confidence / 2, n - 1)) * self.deviation / math.sqrt(n)
        return max(0.0, self.mean - reach), min(1.0, self.mean + reach)

    @staticmethod
    def joined(parts: "Sequence[Measurement]") -> "Measurement":
        """Of networks that were trained apart, on sets of the same size."""
        return replace(
            parts[0],
            accuracies=tuple(accuracy for part in parts for accuracy in part.accuracies),
            seconds=float(np.mean([part.seconds for part in parts])),
        )

    @staticmethod
    def kept(values: Mapping[str, Any]) -> "Measurement":
        """As it is read back from a cell."""
        return Measurement(**{**values, "accuracies": tuple(values["accuracies"])})

    def record(self) -> Accuracy:
        """All but the seconds, which another run would measure otherwise."""
        return Accuracy(
            mean=self.mean,
            deviation=self.deviation,
            interval=self.interval(),
            n=len(self.accuracies),
            values=self.accuracies,
            images=self.num_images,
            flops=self.flops,
        )


def difference_interval(ours: Measurement, theirs: Measurement, confidence: float = 0.95) -> tuple[float, float] | None:
    """Welch's interval of the difference of means; None where a side has a single network, or none varies at all."""
    sides = [(m.deviation, len(m.accuracies)) for m in (ours, theirs)]
    if any(deviation is None for deviation, _ in sides):
        return None
    parts = [(deviation or 0.0) ** 2 / n for deviation, n in sides]
    if not sum(parts) > 0:
        return None
    freedom = sum(parts) ** 2 / sum(part**2 / (n - 1) for part, (_, n) in zip(parts, sides, strict=True))
    reach = float(stats.t.ppf(0.5 + confidence / 2, freedom)) * math.sqrt(sum(parts))
    gap = ours.mean - theirs.mean
    return max(-1.0, gap - reach), min(1.0, gap + reach)


def measure(
    recipe: Recipe,
    name: str,
    images: Tensor,
    labels: Tensor,
    test: Pool,
    track: Track = untracked,
    chosen: range | None = None,
) -> Measurement:
    """Train network `s` on `images[s]` and test it; images `[seeds, m, …]`, or `[1, m, …]` for one set for all.

    Only networks of `chosen` seeds are trained, if that is given.
    """
    seeds = range(recipe.seeds) if chosen is None else chosen
    numbers = numbers_of(recipe.training, test.name)
    images = seen_images(images, numbers).expand(recipe.seeds, *images.shape[1:])
    labels = labels.expand(recipe.seeds, *labels.shape[1:])
    network, num_images = recipe.network(name, test), images.shape[1]
    config = recipe.config(name, num_images)
    # Grouped convolutions of several wide networks are no faster than one network after the other.
    stack = 1 if name in LARGE else len(seeds)
    accuracies: list[float] = []
    started = time.monotonic()
    for first in range(0, len(seeds), stack):
        runs = seeds[first : first + stack]
        randomness = Randomness(seed=recipe.seed, runs=tuple(runs))
        generators = [randomness.private(position, f"{name} network") for position in range(len(runs))]
        parameters = train_stack(
            draw_networks(network, generators, images.device),
            partial(run_networks, network),
            _batch(images[runs.start : runs.stop], labels[runs.start : runs.stop]),
            config,
            randomness=randomness,
            track=track if stack == len(seeds) else part_of(track, first, len(seeds)),
        )
        accuracies += score_networks(network, parameters, test, numbers)
    return Measurement(
        accuracies=tuple(accuracies),
        num_images=num_images,
        seconds=(time.monotonic() - started) / len(seeds),
        flops=training_flops(network, config, images[0], labels[0]),
    )


def score_networks(
    network: EvaluationNetwork, parameters: Parameters, test: Pool, numbers: Normalisation = SYMMETRIC
) -> list[float]:
    """Accuracy of every network of a stack."""
    correct: Tensor | int = 0
    with torch.no_grad():
        for start in range(0, test.num_records, TEST_CHUNK):
            part = slice(start, start + TEST_CHUNK)
            logits = run_networks(network, parameters, seen_images(test.images[part], numbers).unsqueeze(0))
            if not bool(logits.isfinite().all()):
                raise BadConfig(f"training of {network.name} diverged; choose a smaller --set victim.learning_rate")
            correct = correct + (logits.argmax(-1) == test.labels[part]).sum(1)
    return [int(count) / test.num_records for count in torch.as_tensor(correct).tolist()]


def training_flops(network: EvaluationNetwork, config: VictimConfig, images: Tensor, labels: Tensor) -> float:
    """Of one network, forward and backward: convolutions and matrix products, as PyTorch counts them."""
    size = min(len(images), config.batch)
    parameters = draw_networks(network, [stream(0, "flops")], images.device)
    with FlopCounterMode(display=False) as counter:
        train_stack(
            parameters,
            partial(run_networks, network),
            _batch(images[None, :size], labels[None, :size]),
            replace(config, epochs=1, augmentation="none"),
            randomness=Randomness(seed=0, runs=(0,)),
            track=untracked,
        )
    return float(counter.get_total_flops()) / size * len(images) * config.epochs


def random_subsets(pool: Pool, per_class: tuple[int, ...], *, seeds: int, seed: int) -> tuple[Tensor, Tensor]:
    """For each seed, so many records of every class, `[seeds, m, …]`; smaller subsets are in the larger ones."""
    rows = np.stack(
        [
            np.concatenate(
                [
                    stream(seed, "random subset", number, label).permutation(records.stop - records.start)[:count]
                    + records.start
                    for label, (records, count) in enumerate(zip(pool.class_slices, per_class, strict=True))
                ]
            )
            for number in range(seeds)
        ]
    )
    index = to_device(rows, pool.images.device)
    return pool.images[index], pool.labels[index]


def smallest_matching(target: float, start: int, largest: int) -> Generator[int, float, int | None]:
    """Search the least number of records a class, on a geometric grid, whose mean accuracy reaches `target`.

    Yields sizes, is sent their accuracies, and returns None if not even `largest` does. Doubles from `start`, then
    bisects; rests on accuracy growing with size, which noise may break near the target.
    """
    sizes = sorted({round(size) for size in np.geomspace(1, largest, GRID)} | {min(start, largest)})
    low, high = -1, sizes.index(min(start, largest))
    stride = 2
    while (yield sizes[high]) < target:
        if high == len(sizes) - 1:
            return None
        low, high, stride = high, min(high + stride, len(sizes) - 1), 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if (yield sizes[middle]) >= target else (middle, high)
    return sizes[high]


def _batch(images: Tensor, labels: Tensor) -> CondensedBatch:
    return CondensedBatch(
        images=images, labels=labels, initial_records=torch.full(images.shape[:2], -1, device=images.device)
    )
