"""The cost of an audit by membership coins: one shard with its loops cut short, and scoring and pages of a small one.

As many workers as the audit will have compute the shard at the same time, so that they share caches and memory as in
the audit. Scores are those of random sets or signals: what they are does not change how long they take.
"""

import json
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from audit.accounting.ledger import claims_anything
from audit.engine.executor import Executor
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, write_atomically, write_text
from audit.games.membership.audited import audited_pool
from audit.games.membership.config import AuditConfig
from audit.games.membership.crossfit import cross_fit_audit
from audit.games.membership.draws import signals_by_draw
from audit.games.membership.game import nominal_class_sizes
from audit.games.membership.shard import ShardWork, num_shards, shard_runs, shard_tensors
from audit.games.membership.summary import score_runs, score_table, summarise
from audit.games.probe.cost import Cost
from audit.games.probe.loops import CutLoops, Seconds, now
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.randomness import stream
from condensers.registry import get_method
from reports.documents.membership import build_membership, gather_membership
from reports.records.gallery import show_synthetic

ENOUGH_SECONDS = 2.0  # of processor time, for scoring: with less, the number of runs is doubled
FIRST_RUNS = 32
UNMEASURED = ("generator",)


@dataclass(frozen=True, kw_only=True)
class ProbeWork:
    """The first shard, with its loops cut short, by every worker."""

    config: AuditConfig
    data_root: Path | None

    @property
    def device(self) -> str:
        """That of the audit."""
        return self.config.device

    @property
    def sources(self) -> tuple[Path, ...]:
        """As for the audit."""
        return self._shards.sources

    @property
    def _shards(self) -> ShardWork:
        return ShardWork(config=self.config, data_root=self.data_root)

    def load(self) -> Pool:
        """As for the audit."""
        return self._shards.load()

    def compute(self, pool: Pool, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """Time the first shard; the share that is done is not known before."""
        report(0.1)
        loops, before = CutLoops(), now()
        start = before.processor  # what the process has taken so far: imports and the pool
        shard_tensors(self.config, pool, 0, loops.track)
        whole = now() - before + loops.left
        kept = {"clock": whole.clock, "processor": whole.processor, "probe": (now() - before).clock, "start": start}
        write_text(folder / self.file(unit), json.dumps({**kept, "memory": peak_memory()}))
        report(1.0)

    def file(self, unit: int) -> str:
        """A few numbers."""
        return f"probe-{unit}.json"


def peak_memory() -> int:
    """Bytes that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def probe_membership(
    config: AuditConfig, pool: Pool, executor: Executor, data_root: Path | None, say: Callable[[str], None]
) -> Cost:
    """Measure for some seconds; the cost of the whole audit."""
    if config.level in UNMEASURED:
        raise BadConfig(f"--level {config.level}: the cost can be estimated for levels model and set only")
    started = now()
    own = started.processor  # imports, and the pool: the audit will spend it again
    workers = min(executor.num_workers(config.device), num_shards(config))
    say(f"probing the first shard of {len(shard_runs(config, 0))} runs with {workers} worker(s)")
    with tempfile.TemporaryDirectory() as folder:
        before = now()
        work = ProbeWork(config=config, data_root=data_root)
        executor.run(work, range(workers), Path(folder), lambda _unit, _share: None)
        taken = now() - before
        found = [json.loads((Path(folder) / work.file(unit)).read_text()) for unit in range(workers)]
    shard = Seconds(**{name: float(np.mean([one[name] for one in found])) for name in ("clock", "processor")})
    start = max(0.0, taken.clock - max(one["probe"] for one in found))
    sizes = [len(shard_runs(config, index)) / len(shard_runs(config, 0)) for index in range(num_shards(config))]
    say("probing scores and report")
    rest = _rest(config, pool)
    return Cost(
        what=f"{config.attack} of {config.shadows} runs of {config.method} on {config.dataset}, level {config.level}",
        unit_seconds=tuple(shard.clock * size for size in sizes),
        start_seconds=start,
        rest_seconds=rest.clock + own,
        processor_seconds=shard.processor * sum(sizes) + rest.processor + own + sum(one["start"] for one in found),
        worker_memory=max(one["memory"] for one in found),
        driver_memory=peak_memory(),
        workers=executor.num_workers(config.device),
        probe_seconds=(now() - started).clock,
    )


def _rest(config: AuditConfig, pool: Pool) -> Seconds:
    """Scoring, bounds and pages: of few runs, then of twice as many, until it takes long enough to be told apart."""
    runs = min(config.shadows, FIRST_RUNS)
    while True:
        scoring, drawing = _score_and_draw(_with_runs(config, runs), pool)
        if runs == config.shadows or scoring.processor > ENOUGH_SECONDS:
            return scoring.times(config.shadows / runs) + drawing
        runs = min(2 * runs, config.shadows)


def _with_runs(config: AuditConfig, runs: int) -> AuditConfig:
    test_runs = max(1, runs * config.test_runs // config.shadows)
    return replace(config, shadows=runs, test_runs=test_runs, fit_runs=None, public_draws=1)


def _score_and_draw(config: AuditConfig, pool: Pool) -> tuple[Seconds, Seconds]:
    shards, audited = _random_shards(config, pool), audited_pool(config, pool)
    before = now()
    members, scores = score_runs(config, signals_by_draw(config.level, config, audited, shards))
    fitted = cross_fit_audit(config, audited, shards)
    report = summarise(config, pool, members, scores, shards, ledger=_planned(config, pool), fitted=fitted)
    table = score_table(config, members, scores)
    with tempfile.TemporaryDirectory() as folder:
        directory = RunDirectory(Path(folder))
        write_atomically(directory.scores, lambda path: table.to_parquet(path, index=False))
        scored = now()
        first = show_synthetic(shards["images"][0], shards["labels"][0], from_records=False, show_records=False)
        write_pages(build_membership(gather_membership(report, scores=table, gallery=first)), directory)
    return scored - before, now() - scored


def _random_shards(config: AuditConfig, pool: Pool) -> dict[str, np.ndarray]:
    """What the shards of such an audit hold, at random; at level set, half of each image is that of a member."""
    generator = stream(config.seed, "probe", config.shadows)
    classes, ipc = pool.num_classes, config.method_config.get("ipc", 1)
    size, records = classes * ipc, audited_pool(config, pool).num_records
    images = generator.uniform(-1, 1, (config.shadows, size, *pool.images.shape[1:])).astype(np.float32)
    chosen = [generator.integers(part.start, part.stop, (config.shadows, ipc)) for part in pool.class_slices]
    images += pool.images.numpy()[np.concatenate(chosen, 1)]
    shards: dict[str, Any] = {
        "images": images / 2,
        "labels": np.tile(np.repeat(np.arange(classes), ipc), (config.shadows, 1)),
        "initial_records": np.full((config.shadows, size), -1),
        "accuracy": generator.random(config.shadows).astype(np.float32),
    }
    if config.level == "model":
        shape = (config.shadows, records, config.queries)
        shards["signals"] = generator.standard_normal(shape, dtype=np.float32)
    return shards


def _planned(config: AuditConfig, pool: Pool) -> Any:
    """The ledger that a private method will write, as far as it claims anything."""
    method = get_method(config.method)
    if not method.private or method.plan is None:
        return None
    entries = method.plan(method.config(**config.method_config), nominal_class_sizes(pool, config.audited_records))
    return entries if claims_anything(entries) else None
