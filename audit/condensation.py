"""One condensation of all records, outside the membership game: everybody is in, and N_c is the true class size.

A condensation for release draws every private stream of a private method from the operating system. An interrupted one
goes on from its last checkpoint: the ledger is kept with the state, noise drawn afterwards is fresh, and whatever was
drawn between checkpoint and interruption is thrown away unpublished, so that the released set is the output of the
accounted releases and of nothing else. What no mechanism protects is drawn from the seed, and so can be repeated.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from audit import settings
from audit.data.load import pool_checksum
from audit.progress import ProgressBar
from audit.resolve import SEEDS, check_extractor, check_sizes, settle_noise, should_compile
from audit.shard import STAGES, Tracker
from audit.store import RunDirectory
from condensers.errors import BadConfig, Incomplete
from condensers.ledger import Ledger
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness
from condensers.registry import Method, Track, condense_runs, require_set, untracked

Published = TypeVar("Published")


@dataclass(frozen=True, kw_only=True)
class Condensation:
    """A method with its complete configuration, for one pool."""

    method: Method
    config: Any
    class_sizes: tuple[float, ...]


def true_class_sizes(pool: Pool) -> tuple[float, ...]:
    return tuple(float(records.stop - records.start) for records in pool.class_slices)


def resolve_condensation(
    method: Method,
    pool: Pool,
    *,
    preset: str,
    ipc: int | None,
    init: str | None,
    epsilon: float | None,
    delta: float,
    changes: dict[str, str],
    compiled: str = "off",
) -> Condensation:
    """Check and complete the method's settings; with `epsilon`, calibrate its noise."""
    require_set(method, "it can be attacked: audit lira")
    size = settings.resolve_ipc(pool, ipc, None)
    config = settings.resolve_method(method, preset, pool, ipc=size, init=init, changes=changes)
    sizes = true_class_sizes(pool)
    config = settle_noise(method, config, sizes, epsilon=epsilon, delta=delta, changes=changes)
    values = dict(vars(config))
    check_sizes("", values)
    check_extractor(values, pool)
    if "compiled" in values:
        config = method.config(**{**values, "compiled": should_compile(compiled, values, pool, 1)})
    return Condensation(method=method, config=config, class_sizes=sizes)


def condense_all(
    condensation: Condensation, pool: Pool, randomness: Randomness, track: Track = untracked
) -> tuple[CondensedBatch, Ledger | None]:
    """Condense everybody, once for each run of `randomness`."""
    included = torch.ones(len(randomness.runs), pool.num_records, dtype=torch.bool, device=pool.images.device)
    batch, ledger = condense_runs(
        condensation.method,
        pool,
        included,
        condensation.config,
        class_sizes=condensation.class_sizes,
        randomness=randomness,
        track=track,
    )
    if not bool(batch.images.isfinite().all() & batch.labels.isfinite().all()):
        raise BadConfig(
            f"{condensation.method.name} diverged: its images are not finite; choose a smaller --set learning_rate"
        )
    return batch, ledger


def condense_for_release(
    condensation: Condensation,
    pool: Pool,
    publish: Callable[[CondensedBatch, Ledger | None], Published],
    *,
    seed: int,
    out: Path,
    say: Callable[[str], None],
) -> Published:
    """Condense once and publish, with checkpoints in `out` until then; the same command goes on if interrupted."""
    directory = RunDirectory(out)
    directory.create()
    name, private = condensation.method.name, condensation.method.private
    randomness = Randomness(seed=seed, runs=(0,), from_operating_system=private)
    try:
        with directory.held(), ProgressBar(f"condensing {pool.name} with {name}", {0: 1}) as bar:
            tracker = Tracker(
                digest=_digest(condensation, pool, seed),
                directory=directory,
                index=0,
                report=lambda index, share: bar.update(index, min(1.0, share / STAGES["condense"])),
            )
            if any(directory.shards.glob("*.partial")):
                say("an earlier condensation was interrupted here: going on from it, if the command is the same")
            published = publish(*condense_all(condensation, pool, randomness, tracker.track))
            tracker.clear()
            directory.shards.rmdir()
    except KeyboardInterrupt:
        raise Incomplete(
            f"interrupted: nothing was released; what was saved is in {out}, run the same command again to go on"
        ) from None
    return published


def check_seed(seed: int) -> None:
    if not 0 <= seed < SEEDS:
        raise BadConfig(f"--seed {seed}: must lie in 0…2^63 − 1")


def _digest(condensation: Condensation, pool: Pool, seed: int) -> str:
    """Of everything that determines the result; it stays in checkpoints, which are removed."""
    facts = {
        "method": condensation.method.name,
        "config": vars(condensation.config),
        "class_sizes": condensation.class_sizes,
        "seed": seed,
        "data": pool_checksum(pool),
        "versions": settings.versions(condensation.method),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
