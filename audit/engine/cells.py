"""Finished parts of `audit utility`, kept so that an interruption loses none of them.

A cell is one condensation or the networks of one kind trained on one set. Its file is named by a digest of everything
that decides it (data, set, recipe, method with its settings, seed, device, threads, versions), appears whole or not at
all, and carries its checksum: one that is not what was written is said and computed again. Only seconds depend on when
a cell was computed.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from audit.engine.store import DamagedShard, explain_failure, read_tensors, write_tensors, write_text

FOLDER = "cells"
Result = TypeVar("Result")


def tensor_digest(*tensors: Tensor) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _nothing() -> None:
    """What is done on finding a cell, unless said otherwise."""


class Cells:
    """The finished cells in a folder; `shared` are facts that decide all of them."""

    def __init__(self, folder: Path, shared: dict[str, Any], say: Callable[[str], None]) -> None:
        self._folder, self._shared, self._say = folder, shared, say
        self.num_found = self.num_computed = 0

    def numbers(
        self, facts: dict[str, Any], compute: Callable[[], dict[str, Any]], found: Callable[[], None] = _nothing
    ) -> dict[str, Any]:
        """What was measured under these facts, from its cell, and then `found` is called, or by `compute`."""
        digest = self._digest(facts)
        path = self._folder / f"{digest[:24]}.json"

        def read() -> dict[str, Any]:
            try:
                kept = json.loads(path.read_text(encoding="utf-8"))
                if kept["digest"] != digest or kept["sha256"] != _checksum(kept["result"]):
                    raise DamagedShard(f"{path} does not match its checksum")
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise DamagedShard(f"{path} cannot be read ({error})") from None
            return kept["result"]

        def write(result: dict[str, Any]) -> None:
            kept = {"digest": digest, "facts": facts, "result": result, "sha256": _checksum(result)}
            write_text(path, json.dumps(kept, sort_keys=True, indent=1, allow_nan=False) + "\n")

        return self._cell(path, read, compute, write, found)

    def tensors(
        self, facts: dict[str, Any], compute: Callable[[], dict[str, Tensor]], found: Callable[[], None] = _nothing
    ) -> dict[str, Tensor]:
        """The tensors that these facts give, from their cell, and then `found` is called, or by `compute`."""
        digest = self._digest(facts)
        path = self._folder / f"{digest[:24]}.safetensors"
        return self._cell(
            path,
            lambda: read_tensors(path, digest=digest),
            compute,
            lambda result: write_tensors(path, result, digest=digest),
            found,
        )

    def _cell(
        self,
        path: Path,
        read: Callable[[], Result],
        compute: Callable[[], Result],
        write: Callable[[Result], None],
        found: Callable[[], None],
    ) -> Result:
        if path.exists():
            try:
                result = read()
            except DamagedShard as damage:
                self._say(f"damaged cell: {damage}; computing it again")
            else:
                self.num_found += 1
                found()
                return result
        result = compute()
        with explain_failure(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write(result)
        self.num_computed += 1
        return result

    def _digest(self, facts: dict[str, Any]) -> str:
        return hashlib.sha256(json.dumps({**self._shared, **facts}, sort_keys=True).encode()).hexdigest()


def _checksum(result: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
