"""The runs of an audit: those that are missing are computed by an executor, and all of them are read back."""

from collections.abc import Callable

import numpy as np

from audit.accounting.ledger import claims_anything
from audit.engine.progress import ProgressBar
from audit.engine.store import DamagedShard, RunDirectory, explain_failure
from audit.engine.where import Where
from audit.games.membership.config import AuditConfig
from audit.games.membership.reuse import borrow_shards
from audit.games.membership.shard import GENERATORS, ShardWork, as_released, num_shards, read_shard, shard_runs
from condensers.errors import Incomplete
from condensers.ledger import Entries, Ledger
from condensers.registry import get_method


def complete_runs(config: AuditConfig, directory: RunDirectory, where: Where, say: Callable[[str], None]) -> int:
    """Compute the shards that neither this directory nor one beside it has; the number of runs that were computed."""
    missing = [index for index in range(num_shards(config)) if not _is_whole(directory, config, index, say)]
    done = config.shadows - sum(len(shard_runs(config, index)) for index in missing)
    missing = borrow_shards(directory, config, missing, say)
    if missing and done:
        say(f"resuming {directory.path}: {done} of {config.shadows} runs are done")
    if missing:
        _compute(config, directory, missing, where)
    return sum(len(shard_runs(config, index)) for index in missing)


def num_finished(config: AuditConfig, directory: RunDirectory) -> int:
    """Runs whose shards are there."""
    return sum(len(shard_runs(config, i)) for i in range(num_shards(config)) if directory.shard(i).exists())


def _is_whole(directory: RunDirectory, config: AuditConfig, index: int, say: Callable[[str], None]) -> bool:
    path = directory.shard(index)
    if not path.exists():
        return False
    try:
        read_shard(directory, config, index)
    except DamagedShard as damage:
        say(f"damaged shard: {damage}; computing its runs again")
        with explain_failure(path):
            path.unlink(missing_ok=True)
        return False
    return True


def _compute(config: AuditConfig, directory: RunDirectory, missing: list[int], where: Where) -> None:
    sizes = {index: len(shard_runs(config, index)) for index in missing}
    doing = "condensing and training" if config.level == "model" else "condensing"
    with ProgressBar(f"{doing} {sum(sizes.values())} runs", sizes) as bar:
        work = ShardWork(config=config, data_root=where.data_root)
        where.executor.run(work, missing, directory.path, bar.update)


def load_shards(directory: RunDirectory, config: AuditConfig, seen: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What is `seen` of the runs of all shards, in the order of the runs, and what their images started from.

    GENERATORS among what is seen stands for all weights of released generators.
    """
    names = ("initial_records", *seen)
    parts: dict[str, list[np.ndarray]] = {}
    for index in range(num_shards(config)):
        try:
            tensors = read_shard(directory, config, index)
        except DamagedShard as damage:
            raise Incomplete(f"damaged shard: {damage}; run the same command again to redo it") from None
        tensors["images"] = as_released(tensors["images"], config.bits)
        weights = [name for name in tensors if name.startswith(f"{GENERATORS}.")] if GENERATORS in names else []
        for name in [*(name for name in names if name != GENERATORS), *weights]:
            parts.setdefault(name, []).append(tensors[name].numpy())
    order = np.argsort(np.concatenate([shard_runs(config, index) for index in range(num_shards(config))]))
    joined = {name: np.concatenate(values) for name, values in parts.items()}
    return joined if config.public_draws == 1 else {name: values[order] for name, values in joined.items()}


def load_ledger(directory: RunDirectory, config: AuditConfig) -> Entries | None:
    """What touched the records of every run, where the method is private and claims anything for it."""
    if not get_method(config.method).private:
        return None
    stored = [read_shard(directory, config, index)["ledger"] for index in range(num_shards(config))]
    found = {Ledger.from_tensor(tensor).entries for tensor in stored}
    if len(found) != 1:
        raise RuntimeError(f"shards of {config.method} hold different ledgers: its accounting depends on the records")
    entries = found.pop()
    return entries if claims_anything(entries) else None
