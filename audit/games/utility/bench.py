"""Every candidate set on every network, beside real records: what `audit utility` measures, cell by cell.

Sets are condensed first. Then all trainings that are known beforehand are given to the executor at once: candidates,
random subsets of their sizes, all records. The searches for the random subset of equal accuracy follow in rounds, in
each of which every search asks for one size.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from audit.data.split import Split
from audit.engine.cells import Cell, Cells, tensor_digest
from audit.engine.progress import ProgressBar
from audit.games.full_pool import Condensation
from audit.games.utility.meter import Meter, TrainingCost
from audit.games.utility.networks import LARGE, NAMES
from audit.games.utility.table import Seconds
from audit.games.utility.training import (
    WHOLE_RECIPE,
    Measurement,
    Recipe,
    difference_interval,
    smallest_matching,
)
from audit.games.utility.work import (
    AllRecords,
    CondenseWork,
    Order,
    RandomSubset,
    Source,
    StoredSets,
    Training,
    TrainWork,
)
from audit.sets.synthetic import SyntheticSet
from reports.records.utility import Gain, MatchingSubset, UtilityRow

SEARCHED = 5  # subsets that a search takes, about
SECONDS_PER_STEP = 0.1  # of condensing, about
FLOPS_PER_SECOND = 1e10  # of one core, about
APART = 1e13  # FLOPs of one network, minutes of one core, from which on networks are trained one by one


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """Sets to be tried, in cells, of which the first has `labels` `[m, …]`; cost is that of making one."""

    name: str
    ipc: float
    epsilon: float | None
    sets: StoredSets
    labels: Tensor
    seconds: float | None = None
    flops: float | None = None


class Bench:
    """Measures candidates against random subsets and all records; what was measured once is kept."""

    def __init__(
        self,
        source: Source,
        split: Split,
        recipe: Recipe,
        *,
        match: str,
        subset: bool,
        full: bool,
        folder: Path,
        cells: Cells,
        say: Callable[[str], None],
    ) -> None:
        self._source, self._split, self._recipe, self._match, self._with_full = source, split, recipe, match, full
        self._with_subset = subset
        self._folder, self._cells, self._say = folder, cells, say
        self._cost = TrainingCost(recipe, split.train)
        self._measured: dict[Training, Measurement] = {}

    def condense(self, plans: Sequence[tuple[Condensation, float | None]], *, one_set: bool) -> list[Candidate]:
        """Condense once for every seed, each with networks and noise of its own; or once for all."""
        runs = range(1 if one_set else self._recipe.seeds)
        orders = tuple(
            Order(
                method=condensation.method.name,
                config=dict(vars(condensation.config)),
                class_sizes=condensation.class_sizes,
                run=run,
            )
            for condensation, _ in plans
            for run in runs
        )
        if not orders:
            return []
        steps = {unit: order.config.get("iterations", 1) for unit, order in enumerate(orders)}
        work = CondenseWork.of(self._source, self._recipe.seed, orders)
        with ProgressBar(f"condensing {len(orders)} set{'s' * (len(orders) > 1)}", steps) as bar:
            found = self._cells.gather(
                work,
                self._split,
                bar.update,
                found=lambda unit: bar.update(unit, 1.0),
                seconds=lambda unit: steps[unit] * SECONDS_PER_STEP,
            )
        return [
            _condensed(
                condensation,
                epsilon,
                work.cells[place * len(runs) : (place + 1) * len(runs)],
                found[place * len(runs) : (place + 1) * len(runs)],
            )
            for place, (condensation, epsilon) in enumerate(plans)
        ]

    def keep(self, synthetic: SyntheticSet) -> Candidate:
        """A set that somebody released, in a cell, from which workers read it."""
        cell = Cell.of({"kind": "released", "set": tensor_digest(synthetic.images, synthetic.labels)}, "tensors")
        cell.write(self._folder, {"images": synthetic.images[None], "labels": synthetic.labels[None]})
        return Candidate(
            name=synthetic.name,
            ipc=len(synthetic.images) / self._split.train.num_classes,
            epsilon=None,
            sets=StoredSets((cell,)),
            labels=synthetic.labels,
        )

    def rows(self, candidates: Sequence[Candidate], architectures: Sequence[str]) -> list[tuple[UtilityRow, Seconds]]:
        """The lines of the table: every candidate on every network."""
        sets, kinds = len(candidates), len(architectures)
        meter = Meter(f"measuring {sets} set{'s' * (sets > 1)} on {kinds} kind{'s' * (kinds > 1)} of network")
        pairs = [(candidate, name) for candidate in candidates for name in architectures]
        known: dict[Training, str] = {}
        for candidate, name in pairs:
            size = len(candidate.labels)
            known[self._ours(candidate, name)] = f"{NAMES[name]} on {candidate.name}"
            if self._with_subset:
                known[self._subset(candidate, name)] = f"{NAMES[name]} on {size} random records"
            if self._with_full:
                known[_full(name)] = f"{NAMES[name]} on all {self._split.train.num_records} records"
        for training in known:
            meter.expect(training, self._cost(training.architecture, self._num_images(training)))
        searched = [pair for pair in pairs if self._searches(pair[1])]
        for pair in searched:
            meter.expect(pair, SEARCHED * self._cost(pair[1], WHOLE_RECIPE))
        with meter.shown():
            self._measure(known, meter)
            matching = self._match_all(searched, meter)
        return [self._row(candidate, name, matching.get((candidate, name))) for candidate, name in pairs]

    def _row(self, candidate: Candidate, architecture: str, matching: int | None) -> tuple[UtilityRow, Seconds]:
        """One line of the table."""
        ours = self._measured[self._ours(candidate, architecture)]
        subset = self._measured[self._subset(candidate, architecture)] if self._with_subset else None
        full = self._measured[_full(architecture)] if self._with_full else None
        images = None if matching is None else matching * self._split.train.num_classes
        row = UtilityRow(
            set=candidate.name,
            ipc=candidate.ipc,
            epsilon=candidate.epsilon,
            images=len(candidate.labels),
            architecture=architecture,
            accuracy=ours.record(),
            random_subset=None if subset is None else subset.record(),
            gain=None
            if subset is None
            else Gain(mean=ours.mean - subset.mean, interval=difference_interval(ours, subset)),
            matching_subset=MatchingSubset(searched=self._searches(architecture), images=images),
            full=None if full is None else full.record(),
            condensing_flops=candidate.flops,
        )
        taken = Seconds(
            training=ours.seconds, full=None if full is None else full.seconds, condensing=candidate.seconds
        )
        return row, taken

    def _measure(self, wanted: dict[Training, str], meter: Meter) -> None:
        """Train what was not trained before; the words say on what."""
        trainings = tuple(training for training in wanted if training not in self._measured)
        if not trainings:
            return
        costs = {training: self._cost(training.architecture, self._num_images(training)) for training in trainings}
        parts = {training: self._parts(training, costs[training], meter) for training in trainings}
        units = tuple(part for training in trainings for part in parts[training])
        price = {part: costs[training] / len(parts[training]) for training in trainings for part in parts[training]}
        results = self._cells.gather(
            TrainWork.of(self._source, self._recipe, units, self._split, self._folder),
            self._split,
            lambda unit, share: meter.reach(units[unit], share),
            found=lambda unit: meter.leave_out(units[unit]),
            seconds=lambda unit: price[units[unit]] / FLOPS_PER_SECOND,
        )
        kept = dict(zip(units, map(Measurement.kept, results), strict=True))
        for training in trainings:
            found = Measurement.joined([kept[part] for part in parts[training]])
            self._measured[training] = found
            self._say(f"{wanted[training]}: {found.mean:.1%} ({found.seconds:.0f} s per network)")

    def _parts(self, training: Training, cost: float, meter: Meter) -> tuple[Training, ...]:
        """Networks that take minutes are trained one by one: each is kept when it is done, on any worker."""
        if not trained_apart(cost, self._recipe.seeds):
            return (training,)
        parts = training.apart(self._recipe.seeds)
        meter.leave_out(training)
        for part in parts:
            meter.expect(part, cost / len(parts))
        return parts

    def _match_all(
        self, wanted: Sequence[tuple[Candidate, str]], meter: Meter
    ) -> dict[tuple[Candidate, str], int | None]:
        """For each the least random subset that is as accurate, in records per class; None: not even all are."""
        pool = self._split.train
        largest = min(records.stop - records.start for records in pool.class_slices)
        searches = {
            (candidate, name): smallest_matching(
                self._measured[self._ours(candidate, name)].mean, max(1, round(candidate.ipc)), largest
            )
            for candidate, name in wanted
        }
        asked = {pair: next(search) for pair, search in searches.items()}
        found: dict[tuple[Candidate, str], int | None] = {}
        rounds = 0
        while asked:
            subsets = {
                (pair[1], size): Training(architecture=pair[1], on=RandomSubset((size,) * pool.num_classes))
                for pair, size in asked.items()
            }
            told = {
                training: f"{NAMES[name]} on {size * pool.num_classes} random records"
                for (name, size), training in subsets.items()
            }
            self._measure(told, meter)
            rounds += 1
            for pair, size in list(asked.items()):
                meter.reach(pair, rounds / (SEARCHED + 2))
                try:
                    asked[pair] = searches[pair].send(self._measured[subsets[pair[1], size]].mean)
                except StopIteration as done:
                    found[pair] = done.value
                    del asked[pair]
                    meter.reach(pair, 1.0)
        return found

    def _ours(self, candidate: Candidate, architecture: str) -> Training:
        return Training(architecture=architecture, on=candidate.sets)

    def _subset(self, candidate: Candidate, architecture: str) -> Training:
        """As many of each class as the set has; equally many where its labels are soft, never more than there are."""
        pool = self._split.train
        available = [records.stop - records.start for records in pool.class_slices]
        if candidate.labels.ndim == 2:
            each = max(1, len(candidate.labels) // pool.num_classes)
            counts = [each] * pool.num_classes
        else:
            counts = torch.bincount(candidate.labels, minlength=pool.num_classes).tolist()
        per_class = tuple(min(count, most) for count, most in zip(counts, available, strict=True))
        return Training(architecture=architecture, on=RandomSubset(per_class))

    def _num_images(self, training: Training) -> int:
        match training.on:
            case RandomSubset(per_class):
                return sum(per_class)
            case AllRecords():
                return self._split.train.num_records
        return training.images(self._split, self._recipe, self._folder)[0].shape[1]

    def _searches(self, architecture: str) -> bool:
        return not (self._match == "none" or (self._match == "small" and architecture in LARGE))


def trained_apart(cost: float, seeds: int) -> bool:
    """Whether networks that cost so many FLOPs together are trained one by one."""
    return cost > APART * seeds


def _full(architecture: str) -> Training:
    return Training(architecture=architecture, on=AllRecords())


def _condensed(
    condensation: Condensation, epsilon: float | None, cells: tuple[Cell, ...], sets: list[dict[str, Any]]
) -> Candidate:
    return Candidate(
        name=condensation.method.name,
        ipc=condensation.config.ipc,
        epsilon=epsilon,
        sets=StoredSets(cells),
        labels=sets[0]["labels"][0],
        seconds=float(np.mean([float(found["seconds"]) for found in sets])),
        flops=float(sets[0]["flops"]),
    )
