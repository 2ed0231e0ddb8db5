"""Peak memory of fitting and scoring stored signals:  PYTHONPATH=. python tests/bench_scoring_memory.py [RUNS RECORDS]

Random signals of RUNS × RECORDS (default 2048 × 60 000) are written as shards; three processes score them: by blocks
of records from the shards, by blocks with all that follows (ROC and bounds), and from one table. Prints a table for
docs/scale.md.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from audit.engine.store import RunDirectory, write_tensors
from audit.games.membership.blocks import Stored, score_blocks, scores_by_blocks
from audit.games.membership.config import AuditConfig
from audit.games.membership.crossfit import cross_fit_audit
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import num_shards, shard_runs
from audit.games.membership.summary import score_runs, summarise
from audit.specs.membership import Lira
from condensers.pool import Pool
from condensers.randomness import stream

WAYS = {
    "blocks": "fit and score, by blocks of records",
    "all": "the same, with ROC and bounds",
    "table": "fit and score, from one table",
}


def config_of(runs: int) -> AuditConfig:
    config, _ = resolve_config(Lira(method="real", records=200, shadows=runs), None)
    return replace(config, records=None, shard_runs=64)


def write_shards(config: AuditConfig, records: int, folder: Path) -> None:
    """Members of a shard's runs have higher signals, so that there is something to find."""
    directory = RunDirectory(folder)
    directory.create()
    for index in range(num_shards(config)):
        signals = stream(0, "signals", index).standard_normal((len(shard_runs(config, index)), records, 1))
        tensors = {"signals": torch.from_numpy(signals.astype(np.float32))}
        write_tensors(directory.shard(index), tensors, digest=config.work_digest)


def measure(way: str, runs: int, records: int, folder: Path) -> None:
    config = config_of(runs)
    pool = Pool(
        name="random",
        images=torch.zeros(records, 1, 1, 1),
        labels=torch.arange(10).repeat_interleave(records // 10),
        num_classes=10,
    )
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    stored = Stored(directory=RunDirectory(folder), config=config)
    if way == "table":
        signals = stored.read(slice(0, records))
        _, scores = score_runs(config, signals)
        cross_fit_audit(config, pool, {"signals": signals})
    else:
        assert scores_by_blocks(config, records)
        members, scores, fitted = score_blocks(config, records, stored)
        if way == "all":
            shards = {"accuracy": np.full(runs, 0.5), "initial_records": np.full((runs, 10), -1)}
            summarise(config, pool, members, scores, shards, fitted=fitted)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"peak": peak, "before": before, "seconds": time.process_time() - started, "sum": float(scores.sum())}
    print(json.dumps(found))


def main(runs: int, records: int) -> None:
    print(f"| {runs} runs × {records} records | peak memory | of it before | processor time |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        write_shards(config_of(runs), records, Path(folder))
        for way, words in WAYS.items():
            command = [sys.executable, __file__, str(runs), str(records), way, folder]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found = json.loads(printed)
            sizes = [f"{found[name] / 2**20:.2f} GiB" for name in ("peak", "before")]
            print(f"| {words} | {sizes[0]} | {sizes[1]} | {found['seconds']:.0f} s |", flush=True)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]] or [2048, 60_000]
    if len(sys.argv) > 3:
        measure(sys.argv[3], *given, Path(sys.argv[4]))
    else:
        main(*given)
