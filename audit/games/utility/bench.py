"""Every candidate set on every network, beside real records: what `audit utility` measures, cell by cell."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from audit.data.split import Split
from audit.engine.cells import Cells, tensor_digest
from audit.games.condensation import Condensation, condense_all
from audit.games.settings import versions
from audit.games.utility.meter import STEP, Meter, TrainingCost
from audit.games.utility.networks import LARGE, NAMES
from audit.games.utility.training import (
    WHOLE_RECIPE,
    FlopTrack,
    Measurement,
    Recipe,
    difference_interval,
    measure,
    random_subsets,
    smallest_matching,
)
from audit.sets.synthetic import SyntheticSet
from condensers.randomness import Randomness

SEARCHED = 5  # subsets that a search takes, about


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Sets `[seeds or 1, m, …]` to be tried; `seconds` and `flops` are the cost of making one."""

    name: str
    ipc: float
    epsilon: float | None
    images: Tensor
    labels: Tensor
    seconds: float | None = None
    flops: float | None = None


def condense_candidate(
    condensation: Condensation,
    split: Split,
    recipe: Recipe,
    *,
    epsilon: float | None,
    one_set: bool,
    cells: Cells,
    meter: Meter,
    task: str,
) -> Candidate:
    """Condense once for every seed, each with networks and noise of its own; or once for all."""
    facts = {
        "kind": "set",
        "method": condensation.method.name,
        "config": vars(condensation.config),
        "class_sizes": condensation.class_sizes,
        "train": tensor_digest(split.train.images, split.train.labels),
        "seed": recipe.seed,
        "method_versions": versions(condensation.method),
    }

    num_sets = 1 if one_set else recipe.seeds

    def condense(run: int) -> dict[str, Tensor]:
        mine = f"{task}, set {run}"

        def tell(share: float, steps: int, flops: float) -> None:
            for coming in range(run, num_sets):
                meter.expect(f"{task}, set {coming}", flops + steps * STEP)
            meter.reach(mine, share)

        def compute() -> dict[str, Tensor]:
            track, started = FlopTrack(tell=tell), time.monotonic()
            randomness = Randomness(seed=recipe.seed, runs=(run,), independent=True)
            batch = condense_all(condensation, split.train, randomness, track)[0]
            cost = {"seconds": time.monotonic() - started, "flops": track.flops}
            return {
                "images": batch.images,
                "labels": batch.labels,
                **{name: torch.tensor(value, dtype=torch.float64, device="cpu") for name, value in cost.items()},
            }

        return cells.tensors({**facts, "run": run}, compute, found=lambda: meter.leave_out(mine))

    sets = [condense(run) for run in range(num_sets)]
    device = split.train.images.device
    return Candidate(
        name=condensation.method.name,
        ipc=condensation.config.ipc,
        epsilon=epsilon,
        images=torch.cat([found["images"] for found in sets]).detach().to(device),
        labels=torch.cat([found["labels"] for found in sets]).to(device),
        seconds=float(np.mean([float(found["seconds"]) for found in sets])),
        flops=float(sets[0]["flops"]),
    )


def foreign_candidate(synthetic: SyntheticSet, split: Split) -> Candidate:
    device = split.train.images.device
    return Candidate(
        name=synthetic.name,
        ipc=len(synthetic.images) / split.train.num_classes,
        epsilon=None,
        images=synthetic.images.unsqueeze(0).to(device),
        labels=synthetic.labels.unsqueeze(0).to(device),
    )


class Bench:
    """Measures candidates against random subsets and all records; what was measured once is kept."""

    def __init__(
        self,
        split: Split,
        recipe: Recipe,
        *,
        match: str,
        full: bool,
        cells: Cells,
        meter: Meter,
        say: Callable[[str], None],
    ) -> None:
        self._split, self._recipe, self._match, self._with_full, self._say = split, recipe, match, full, say
        self._cells, self._meter, self._cost = cells, meter, TrainingCost(recipe, split.train)
        self._test = tensor_digest(split.test.images, split.test.labels)
        self.subset = cache(self._subset)
        self.full = cache(self._full)

    def expect(self, task: str, num_images: int, architecture: str) -> None:
        """That a candidate of so many images will be measured on this network."""
        self._meter.expect(f"{task}, {architecture}", self._cost(architecture, num_images))
        self._meter.expect(f"{architecture}, {num_images} random", self._cost(architecture, num_images))
        if self._with_full:
            whole = self._split.train.num_records
            self._meter.expect(f"{architecture}, all", self._cost(architecture, whole))
        if self._searches(architecture):
            self._meter.expect(f"{task}, {architecture}, search", SEARCHED * self._cost(architecture, WHOLE_RECIPE))

    def row(self, candidate: Candidate, architecture: str, task: str) -> dict[str, Any]:
        """One line of the table."""
        ours = self._measure(f"{task}, {architecture}", architecture, candidate.images, candidate.labels)
        self._tell(f"{NAMES[architecture]} on {candidate.name}", ours)
        subset = self.subset(architecture, self._class_counts(candidate))
        full = self.full(architecture) if self._with_full else None
        gain = difference_interval(ours, subset)
        return {
            "set": candidate.name,
            "ipc": candidate.ipc,
            "epsilon": candidate.epsilon,
            "images": candidate.images.shape[1],
            "architecture": architecture,
            "accuracy": _record(ours),
            "random_subset": _record(subset),
            "gain": {"mean": ours.mean - subset.mean, "interval": gain},
            "matching_subset": self._matching(architecture, candidate, ours.mean, f"{task}, {architecture}, search"),
            "full": None if full is None else _record(full),
            "condensing": {"seconds": candidate.seconds, "flops": candidate.flops},
        }

    def _measure(self, task: str, architecture: str, images: Tensor, labels: Tensor) -> Measurement:
        """From its cell, or by training; the meter hears of it."""
        facts = {
            "kind": "networks",
            "architecture": architecture,
            "recipe": asdict(self._recipe),
            "set": tensor_digest(images, labels),
            "test": self._test,
        }

        def tell(share: float) -> None:
            self._meter.reach(task, share)

        def compute() -> dict[str, Any]:
            return asdict(measure(self._recipe, architecture, images, labels, self._split.test, tell))

        kept = self._cells.numbers(facts, compute, found=lambda: self._meter.leave_out(task))
        return Measurement(**{**kept, "accuracies": tuple(kept["accuracies"])})

    def _subset(self, architecture: str, per_class: tuple[int, ...]) -> Measurement:
        images, labels = random_subsets(self._split.train, per_class, seeds=self._recipe.seeds, seed=self._recipe.seed)
        found = self._measure(f"{architecture}, {images.shape[1]} random", architecture, images, labels)
        self._tell(f"{NAMES[architecture]} on {images.shape[1]} random records", found)
        return found

    def _full(self, architecture: str) -> Measurement:
        pool = self._split.train
        found = self._measure(f"{architecture}, all", architecture, pool.images[None], pool.labels[None])
        self._tell(f"{NAMES[architecture]} on all {pool.num_records} records", found)
        return found

    def _searches(self, architecture: str) -> bool:
        return not (self._match == "none" or (self._match == "small" and architecture in LARGE))

    def _matching(self, architecture: str, candidate: Candidate, target: float, task: str) -> dict[str, Any]:
        if not self._searches(architecture):
            return {"searched": False, "images": None}
        pool, tried = self._split.train, 0

        def accuracy(size: int) -> float:
            nonlocal tried
            tried += 1
            found = self.subset(architecture, (size,) * pool.num_classes).mean
            self._meter.reach(task, tried / (SEARCHED + 2))
            return found

        found = smallest_matching(
            target,
            max(1, round(candidate.ipc)),
            min(records.stop - records.start for records in pool.class_slices),
            accuracy,
        )
        self._meter.reach(task, 1.0)
        return {"searched": True, "images": None if found is None else found * pool.num_classes}

    def _class_counts(self, candidate: Candidate) -> tuple[int, ...]:
        """As many of each class as the set has; equally many where its labels are soft, never more than there are."""
        pool = self._split.train
        available = [records.stop - records.start for records in pool.class_slices]
        if candidate.labels.ndim == 3:
            each = max(1, candidate.images.shape[1] // pool.num_classes)
            return tuple(min(each, most) for most in available)
        counts = torch.bincount(candidate.labels[0], minlength=pool.num_classes).tolist()
        return tuple(min(count, most) for count, most in zip(counts, available, strict=True))

    def _tell(self, what: str, found: Measurement) -> None:
        self._say(f"{what}: {found.mean:.1%} ({found.seconds:.0f} s a network)")


def _record(found: Measurement) -> dict[str, Any]:
    return {
        "mean": found.mean,
        "deviation": found.deviation,
        "n": len(found.accuracies),
        "interval": found.interval(),
        "values": list(found.accuracies),
        "images": found.num_images,
        "seconds": found.seconds,
        "flops": found.flops,
    }
