"""Shards that other runs in the same folder have finished: attacks and levels on one condensation cost it once."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from audit.engine.store import DamagedShard, RunDirectory, write_atomically
from audit.games.membership.config import AuditConfig, condensation_digest
from audit.games.membership.shard import read_shard, shard_runs


def borrow_shards(
    directory: RunDirectory, config: AuditConfig, missing: list[int], say: Callable[[str], None]
) -> list[int]:
    """Link or copy what is missing from runs beside this one, each checked first; returns what is still missing.

    A run at level set takes shards with victims in them; one at level model takes none without its own victims.
    """
    wanted = set(missing)
    for other in _same_condensation(directory, config) if wanted else ():
        taken = []
        for index in sorted(wanted):
            try:
                read_shard(other, config, index)
            except DamagedShard:
                continue
            write_atomically(directory.shard(index), partial(link_or_copy, other.shard(index)))
            taken.append(index)
        if taken:
            say(f"taking {sum(len(shard_runs(config, index)) for index in taken)} runs from {other.path}")
            wanted -= set(taken)
    return sorted(wanted)


def _same_condensation(directory: RunDirectory, config: AuditConfig) -> Iterator[RunDirectory]:
    own = config.condensation_digest
    for path in sorted(directory.path.parent.iterdir()):
        other = RunDirectory(path)
        if path == directory.path or not other.config.is_file():
            continue
        try:
            stored = json.loads(other.config.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(stored, dict) and condensation_digest(stored) == own:
            yield other


def link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
