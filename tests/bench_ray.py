"""Time of one audit with local workers and with Ray, in turns on one machine: what Ray costs besides its start.

`python tests/bench_ray.py [ROUNDS] [OPTION …]` with options of `audit lira` (default: --method dm --shadows 256).
Prints Markdown for docs/cluster.md. "A running cluster" is a head without places for tasks and two worker nodes with
one place each, as separate processes, so that both executors have two workers.
"""

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ray_cluster import ROOT, cluster_of

SCORES = "lira-*/scores.parquet"


def timed(folder: Path, options: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """Seconds of one audit by the clock, and the digest of its scores."""
    command = [sys.executable, "-m", "audit.cli", "lira", *options, "--out", str(folder)]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd=ROOT)
    taken = time.perf_counter() - start
    (scores,) = folder.glob(SCORES)
    return taken, hashlib.sha256(scores.read_bytes()).hexdigest()


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    options = sys.argv[2:] or ["--method", "dm", "--shadows", "256"]
    with tempfile.TemporaryDirectory() as name, cluster_of(Path(name, "cluster"), num_workers=2) as cluster:
        alone = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
        kinds = {
            "local workers": ([], alone),
            "Ray, a running cluster": (
                ["--executor", "ray", "--ray-address", cluster.address],
                cluster.environment,
            ),
            "Ray, its start included": (["--executor", "ray"], alone),
        }
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        digests = set()
        for number in range(rounds):
            for place, (kind, (more, environment)) in enumerate(kinds.items()):
                seconds, digest = timed(Path(name, f"{number}-{place}"), [*options, *more], environment)
                taken[kind].append(seconds)
                digests.add(digest)
    assert len(digests) == 1, "the executors disagree"
    print(
        f"`audit lira {' '.join(options)}`, {rounds} rounds, load {os.getloadavg()[0]:.1f} at the end; scores equal\n"
    )
    print("| executor | seconds of each round | median | against local |\n|---|---|---|---|")
    local = statistics.median(taken["local workers"])
    for kind, seconds in taken.items():
        middle = statistics.median(seconds)
        print(f"| {kind} | {', '.join(f'{s:.1f}' for s in seconds)} | {middle:.1f} | {middle / local - 1:+.0%} |")


if __name__ == "__main__":
    main()
