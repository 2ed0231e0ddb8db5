"""The units of work of `audit utility`: condensing one set, and training the networks of one kind on one set."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from audit.data.split import Split, load_split
from audit.engine.cells import Cell, tensor_digest
from audit.engine.checkpoints import Tracker
from audit.engine.fingerprint import NETWORK_SOURCES, SET_SOURCES
from audit.games.full_pool import Condensation, condense_all
from audit.games.settings import versions_deciding
from audit.games.utility.training import Recipe, measure, random_subsets
from condensers.errors import BadData
from condensers.plugins import source_files
from condensers.randomness import Randomness
from condensers.registry import Track, get_method

COUNTED_STEPS, FLOPS = 2, "flops"
THREADS = 1  # of a unit: no byte depends on how many units are computed at a time


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the records come from, with the digests of those that are condensed and of those that are tested on."""

    dataset: str
    data_root: Path | None
    records: int | None
    device: str
    train: str
    test: str

    def load(self) -> Split:
        """The records, if they are still those."""
        split = load_on(self.dataset, self.data_root, self.records, self.device)
        if digests_of(split) != (self.train, self.test):
            raise BadData(f"{self.dataset} has changed since this was started; start again")
        return split

    @property
    def facts(self) -> dict[str, Any]:
        """What decides every cell: the device and its threads."""
        return {"device": self.device, "threads": THREADS}


def load_on(dataset: str, data_root: Path | None, records: int | None, device: str) -> Split:
    """The records, on the device."""
    split = load_split(dataset, data_root=data_root, records=records)
    where = torch.device(device)
    return Split(train=split.train.to(where), test=split.test.to(where), official=split.official)


def digests_of(split: Split) -> tuple[str, str]:
    """Of the records to condense, and of those to test on."""
    return tensor_digest(split.train.images, split.train.labels), tensor_digest(split.test.images, split.test.labels)


@dataclass(frozen=True, kw_only=True)
class Order:
    """One set to condense: a method by name with its complete settings, and the run that it is."""

    method: str
    config: dict[str, Any]
    class_sizes: tuple[float, ...]
    run: int

    @property
    def condensation(self) -> Condensation:
        """The method itself."""
        method = get_method(self.method)
        return Condensation(method=method, config=method.config(**self.config), class_sizes=self.class_sizes)


@dataclass(frozen=True, kw_only=True)
class _OnRecords:
    """What is the same in both kinds of work: every unit reads the same records and fills one cell."""

    source: Source
    cells: tuple[Cell, ...]

    @property
    def device(self) -> str:
        """That of the records."""
        return self.source.device

    def load(self) -> Split:
        """The records."""
        return self.source.load()

    def file(self, unit: int) -> str:
        """The cell's."""
        return self.cells[unit].file


@dataclass(frozen=True, kw_only=True)
class CondenseWork(_OnRecords):
    """Condensations of all records, each with networks and noise of its own."""

    seed: int
    orders: tuple[Order, ...]

    @staticmethod
    def of(source: Source, seed: int, orders: tuple[Order, ...]) -> "CondenseWork":
        """The work, its cells named."""
        cells = tuple(
            Cell.of(
                {
                    **source.facts,
                    **asdict(order),
                    "kind": "set",
                    "train": source.train,
                    "seed": seed,
                    "versions": versions_deciding(get_method(order.method), SET_SOURCES),
                },
                "tensors",
            )
            for order in orders
        )
        return CondenseWork(source=source, seed=seed, orders=orders, cells=cells)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files of own methods, which must travel to workers on other machines."""
        return tuple(path for order in self.orders for path in source_files(order.method))

    def compute(self, split: Split, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """One set, with the cost of making it."""
        torch.set_num_threads(THREADS)
        order, tracker = self.orders[unit], self.cells[unit].tracker(folder, report, "condense")
        randomness = Randomness(seed=self.seed, runs=(order.run,), independent=True)
        batch = condense_all(order.condensation, split.train, randomness, counting_flops(tracker))[0]
        cost = {"seconds": tracker.seconds, "flops": tracker.costs.get(FLOPS, 0.0)}
        result = {
            "images": batch.images,
            "labels": batch.labels,
            **{name: torch.tensor(value, dtype=torch.float64, device="cpu") for name, value in cost.items()},
        }
        self.cells[unit].write(folder, result)
        self.cells[unit].clear(folder)
        report(1.0)


def counting_flops(tracker: Tracker) -> Track:
    """Its track, which adds up what loops cost: first steps are counted, others are taken to cost the same."""

    def track(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        counted = min(COUNTED_STEPS, total)
        for step in tracker.track(name, total, state):
            if step >= counted:
                yield step
            else:
                with FlopCounterMode(display=False) as counter:
                    yield step
                found = counter.get_total_flops() * total / counted
                tracker.costs[FLOPS] = tracker.costs.get(FLOPS, 0.0) + found

    return track


@dataclass(frozen=True)
class StoredSets:
    """Sets in cells: one for each seed, or one for all."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class RandomSubset:
    """For each seed, so many records of every class."""

    per_class: tuple[int, ...]


@dataclass(frozen=True)
class AllRecords:
    """Every record to condense."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """Networks of one kind, trained on these records: those of all seeds, or that of the seed `only`."""

    architecture: str
    on: StoredSets | RandomSubset | AllRecords
    only: int | None = None

    def apart(self, seeds: int) -> "tuple[Training, ...]":
        """The same in parts, one network each, which can be computed at the same time and are kept one by one."""
        return tuple(replace(self, only=seed) for seed in range(seeds))

    def images(self, split: Split, recipe: Recipe, folder: Path) -> tuple[Tensor, Tensor]:
        """Images and labels `[seeds or 1, m, …]`."""
        match self.on:
            case RandomSubset(per_class):
                return random_subsets(split.train, per_class, seeds=recipe.seeds, seed=recipe.seed)
            case AllRecords():
                return split.train.images[None], split.train.labels[None]
            case StoredSets(cells):
                kept, device = [cell.read(folder) for cell in cells], split.train.images.device
                images, labels = (torch.cat([found[name] for found in kept]) for name in ("images", "labels"))
                return images.detach().to(device), labels.to(device)


@dataclass(frozen=True, kw_only=True)
class TrainWork(_OnRecords):
    """Trainings, and tests of the networks."""

    recipe: Recipe
    trainings: tuple[Training, ...]

    @staticmethod
    def of(source: Source, recipe: Recipe, trainings: tuple[Training, ...], split: Split, folder: Path) -> "TrainWork":
        """The work, its cells named by what is trained on."""
        shared = {
            **source.facts,
            "kind": "networks",
            "recipe": asdict(recipe),
            "test": source.test,
            "versions": versions_deciding(get_method("real"), NETWORK_SOURCES),
        }
        cells = tuple(
            Cell.of(
                {
                    **shared,
                    "architecture": training.architecture,
                    "set": tensor_digest(*training.images(split, recipe, folder)),
                    **({} if training.only is None else {"network": training.only}),
                },
                "numbers",
            )
            for training in trainings
        )
        return TrainWork(source=source, recipe=recipe, trainings=trainings, cells=cells)

    def inputs(self, unit: int) -> tuple[str, ...]:
        """The sets to train on, which a worker on another machine must be sent."""
        on = self.trainings[unit].on
        return tuple(cell.file for cell in on.cells) if isinstance(on, StoredSets) else ()

    def compute(self, split: Split, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """Train and test the networks."""
        torch.set_num_threads(THREADS)
        training = self.trainings[unit]
        images, labels = training.images(split, self.recipe, folder)
        runs = None if training.only is None else range(training.only, training.only + 1)
        tracker = self.cells[unit].tracker(folder, report, "train")
        found = measure(self.recipe, training.architecture, images, labels, split.test, tracker.track, runs)
        found = replace(found, seconds=tracker.seconds / len(found.accuracies))
        self.cells[unit].write(folder, asdict(found))
        self.cells[unit].clear(folder)
        report(1.0)
