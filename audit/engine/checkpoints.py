"""Checkpoints inside a unit of work: a loop that was interrupted goes on where its state was last kept."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from audit.engine.store import DamagedShard, read_tensors, write_tensors
from condensers.registry import Track

CHECKPOINT_SECONDS = 30.0
COSTS, SECONDS = "cost of the unit: ", "seconds of earlier tries"


@dataclass(frozen=True, kw_only=True)
class Tracker:
    """Watches over the loops of a unit: reports how far they are and keeps their state every half minute.

    `place` names the file of a loop's checkpoint. `stages` are shares of the time by name of loop, for the progress bar
    only. `costs` are numbers that whoever computes the unit adds up; they are kept with the state, and so is the time
    that earlier tries took.
    """

    digest: str
    place: Callable[[str], Path]
    report: Callable[[float], None]
    stages: Mapping[str, float]
    costs: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """That the unit has taken, without what was lost between a checkpoint and an interruption."""
        return self.costs.get(SECONDS, 0.0) + time.monotonic() - self.started

    def track(self, name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        """Yield the steps that are left of loop `name`, `state` restored to where an earlier try stopped."""
        path = self.place(name)
        first = self._restore(path, state)
        saved = time.monotonic()
        for step in range(first, total):
            yield step
            now = time.monotonic()
            if step + 1 == total or now - saved > CHECKPOINT_SECONDS:
                self._save(path, state, step + 1)
                saved = now
            self.report(self._fraction(name, (step + 1) / total))

    def clear(self) -> None:
        """Remove the checkpoints of a finished unit."""
        clear_checkpoints(self.place)

    def _save(self, path: Path, state: dict[str, Tensor], done: int) -> None:
        costs = {**self.costs, SECONDS: self.seconds}
        kept = {COSTS + name: torch.tensor(value, dtype=torch.float64, device="cpu") for name, value in costs.items()}
        write_tensors(path, {**state, **kept, "steps done": torch.tensor(done, device="cpu")}, digest=self.digest)

    def _restore(self, path: Path, state: dict[str, Tensor]) -> int:
        if not path.exists():
            return 0
        with contextlib.suppress(DamagedShard):
            kept = read_tensors(path, digest=self.digest)
            done = int(kept.pop("steps done"))
            costs = {name: float(kept.pop(name)) for name in list(kept) if name.startswith(COSTS)}
            if set(kept) == set(state):
                state.update({name: tensor.to(state[name].device) for name, tensor in kept.items()})
                self.costs.update({name.removeprefix(COSTS): value for name, value in costs.items()})
                return done
        return 0

    def _fraction(self, name: str, share: float) -> float:
        stage, _, of = name.partition("-")
        stage = stage if stage in self.stages else next(iter(self.stages))
        if of:
            position, runs = map(int, of.split("of"))
            share = (position + share) / runs
        names = list(self.stages)
        before = sum(self.stages[other] for other in names[: names.index(stage)])
        return before + self.stages[stage] * share


def clear_checkpoints(place: Callable[[str], Path]) -> None:
    """Remove those of all loops of a unit; `place` names the file of each."""
    every = place("*")
    for path in every.parent.glob(every.name):
        path.unlink(missing_ok=True)


def part_of(track: Track, first: int, num_runs: int) -> Track:
    """Loops of a part of the runs, under names of their own: `condense` of the part from run 8 of 64 on is
    `condense-8of64`, and so are loops that are made for each run by itself."""

    def track_part(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        stage, _, place = name.partition("-")
        position = int(place.partition("of")[0]) if place else 0
        return track(f"{stage}-{first + position}of{num_runs}", total, state)

    return track_part
