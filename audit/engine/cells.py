"""Cells: finished parts of a result, each in a file of its own, so that an interruption loses none of them.

A cell is named by a digest of everything that decides it (data, settings, seed, device, threads, versions), appears
whole or not at all, and carries its checksum: one that is not what was written is said and computed again. Cells that
are missing are units of work for an executor. Another result that needs the same cell takes it.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from audit.engine.checkpoints import Tracker, clear_checkpoints
from audit.engine.executor import Executor, OnProgress, Work, suited
from audit.engine.store import DamagedShard, explain_failure, read_tensors, write_tensors, write_text
from condensers.errors import Incomplete

FOLDER = "cells"


def tensor_digest(*tensors: Tensor) -> str:
    """Of types, shapes and bytes."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A part of a result, by the digest of the facts that decide it; it holds numbers or tensors by name."""

    digest: str
    holds: Literal["numbers", "tensors"]
    facts: dict[str, Any] = field(compare=False, repr=False)

    @staticmethod
    def of(facts: dict[str, Any], holds: Literal["numbers", "tensors"]) -> "Cell":
        """The cell that these facts decide."""
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        return Cell(digest=digest, holds=holds, facts=facts)

    @property
    def file(self) -> str:
        """Its place below the folder of the result."""
        return f"{FOLDER}/{self.digest[:24]}.{'json' if self.holds == 'numbers' else 'safetensors'}"

    def checkpoint(self, folder: Path, loop: str) -> Path:
        """Where the state of a loop is kept until the cell is finished."""
        return folder / FOLDER / f"{self.digest[:24]}.{loop}.partial"

    def tracker(self, folder: Path, report: Callable[[float], None], stage: str) -> Tracker:
        """Watches over the loops that fill it, so that an interruption does not lose a cell of hours."""
        self._make_room(folder)
        place = partial(self.checkpoint, folder)
        return Tracker(digest=self.digest, place=place, report=report, stages={stage: 1.0})

    def clear(self, folder: Path) -> None:
        """Remove the checkpoints of what is finished."""
        clear_checkpoints(partial(self.checkpoint, folder))

    def read(self, folder: Path) -> dict[str, Any]:
        """What it holds; DamagedShard if that is not what was written."""
        path = folder / self.file
        if self.holds == "tensors":
            return read_tensors(path, digest=self.digest)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["digest"] != self.digest or kept["sha256"] != _checksum(kept["result"]):
                raise DamagedShard(f"{path} does not match its checksum")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedShard(f"{path} cannot be read ({error})") from None
        return kept["result"]

    def write(self, folder: Path, result: dict[str, Any]) -> None:
        """Put it in place, whole."""
        path = folder / self.file
        self._make_room(folder)
        if self.holds == "tensors":
            write_tensors(path, result, digest=self.digest)
            return
        kept = {"digest": self.digest, "facts": self.facts, "result": result, "sha256": _checksum(result)}
        write_text(path, json.dumps(kept, sort_keys=True, indent=1, allow_nan=False) + "\n")

    def _make_room(self, folder: Path) -> None:
        with explain_failure(folder / self.file):
            (folder / FOLDER).mkdir(parents=True, exist_ok=True)


class CellWork(Work, Protocol):
    """Work whose units are cells."""

    @property
    def cells(self) -> Sequence[Cell]:
        """One for each unit."""
        ...


class Cells:
    """The finished cells of a folder, and who computes those that are missing."""

    def __init__(self, folder: Path, executor: Executor, say: Callable[[str], None]) -> None:
        self._folder, self._executor, self._say = folder, executor, say
        self.num_found = self.num_computed = 0

    def gather(
        self,
        work: CellWork,
        loaded: Any,
        on_progress: OnProgress,
        *,
        found: Callable[[int], None] = lambda _: None,
        seconds: Callable[[int], float] = lambda _: inf,
    ) -> list[dict[str, Any]]:
        """What all units of the work hold; `found` is told of those that were there.

        `loaded` is what `work.load()` gives: where little is missing, by the `seconds` that a unit takes about, it is
        computed with it in this process.
        """
        kept = [self._find(cell) for cell in work.cells]
        missing = [unit for unit, result in enumerate(kept) if result is None]
        for unit, result in enumerate(kept):
            if result is not None:
                self.num_found += 1
                found(unit)
        if missing:
            executor = suited(self._executor, missing, loaded, sum(map(seconds, missing)))
            executor.run(work, missing, self._folder, on_progress)
        for unit in missing:
            try:
                kept[unit] = work.cells[unit].read(self._folder)
            except DamagedShard as damage:
                raise Incomplete(f"damaged cell: {damage}; run the same command again to redo it") from None
            self.num_computed += 1
        return [result for result in kept if result is not None]

    def _find(self, cell: Cell) -> dict[str, Any] | None:
        if not (self._folder / cell.file).exists():
            return None
        try:
            found = cell.read(self._folder)
        except DamagedShard as damage:
            self._say(f"damaged cell: {damage}; computing it again")
            return None
        cell.clear(self._folder)  # who wrote it may have been killed before that
        return found


def _checksum(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
