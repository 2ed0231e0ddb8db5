"""Checkpoints inside a unit of work: a loop that was interrupted goes on where its state was last kept."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from audit.engine.store import DamagedShard, RunDirectory, read_tensors, write_tensors

CHECKPOINT_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Tracker:
    """Watches over the loops of a unit: reports how far they are and keeps their state every half minute.

    `stages` are shares of the time by name of loop, for the progress bar only.
    """

    digest: str
    directory: RunDirectory
    index: int
    report: Callable[[float], None]
    stages: Mapping[str, float]

    def track(self, name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        """Yield the steps that are left of loop `name`, `state` restored to where an earlier try stopped."""
        path = self.directory.checkpoint(self.index, name)
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
        """Remove the checkpoints of a finished shard."""
        for path in self.directory.shards.glob(f"{self.index:05d}.*.partial"):
            path.unlink(missing_ok=True)

    def _save(self, path: Path, state: dict[str, Tensor], done: int) -> None:
        write_tensors(path, {**state, "steps done": torch.tensor(done, device="cpu")}, digest=self.digest)

    def _restore(self, path: Path, state: dict[str, Tensor]) -> int:
        if not path.exists():
            return 0
        with contextlib.suppress(DamagedShard):
            kept = read_tensors(path, digest=self.digest)
            done = int(kept.pop("steps done"))
            if set(kept) == set(state):
                state.update({name: tensor.to(state[name].device) for name, tensor in kept.items()})
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
