"""`make bench`: the budgets of the design, measured on this machine; ratios are taken in one process.

Prints Markdown for docs/performance.md. The pool of the DM comparison is random images in the shape of FashionMNIST:
what they show does not change how long they take.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))

from twins.naive_dm import condense_one

from attacks.lira import LiraConfig, score_lira
from attacks.registry import Observations
from audit.games.membership.headline import bound_coins
from condensers.dm import DmConfig, condense_dm
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from condensers.registry import untracked

COMPILES = any(Path(folder, "c++").exists() for folder in os.get_exec_path())


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Fastest of several tries: the least disturbed one."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def bench_dm(ipc: int, shadows: int = 64) -> None:
    """Per shadow and step: one at a time (tests/twins/naive_dm.py), batched, batched and compiled."""
    generator = stream(0, "bench", ipc)
    labels = torch.arange(10).repeat_interleave(1200)
    images = torch.from_numpy(generator.uniform(-1, 1, (len(labels), 1, 28, 28)).astype(np.float32))
    pool = Pool(name="random images", images=images, labels=labels, num_classes=10)
    members = torch.from_numpy(generator.random((shadows, len(labels))) < 0.5)

    def config(steps: int, compiled: bool = False) -> DmConfig:
        return DmConfig(ipc=ipc, iterations=steps, compiled=compiled)

    def batched(compiled: bool) -> float:
        def run(steps: int) -> None:
            randomness = Randomness(seed=0, runs=tuple(range(shadows)))
            condense_dm(pool, members, config(steps, compiled), randomness=randomness, track=untracked)

        run(1)
        return (seconds(lambda: run(3), 1) - seconds(lambda: run(1), 1)) / 2

    alone = Randomness(seed=0, runs=(0,))
    condense_one(pool, members[0], config(1), alone)
    naive = (
        seconds(lambda: condense_one(pool, members[0], config(3), alone), 1)
        - seconds(lambda: condense_one(pool, members[0], config(1), alone), 1)
    ) / 2
    for name, compiled in (("eager", False), ("compiled", True)):
        if compiled and not COMPILES:
            print("| no C++ compiler: not compiled | | | |")
            continue
        taken = batched(compiled)
        ratio = naive / (taken / shadows)
        print(
            f"| DM ipc {ipc}, {shadows} shadows, {name} | {1000 * naive:.0f} ms | {1000 * taken / shadows:.1f} ms "
            f"| {ratio:.1f}× |",
            flush=True,
        )


def bench_scoring() -> None:
    generator = stream(0, "bench scoring")
    members = generator.random((256, 60_000)) < 0.5
    signals = generator.standard_normal((256, 60_000, 1), dtype=np.float32)
    seen = Observations(fit_signals=signals[:192], fit_members=members[:192], test_signals=signals[192:])
    print(f"| LiRA, 256 runs × 60 000 records | {seconds(lambda: score_lira(seen, LiraConfig())):.2f} s | ≤ 5 s |")
    coins, scores = members.ravel()[: 10**6].reshape(10, -1), signals.ravel()[: 10**6].reshape(10, -1)
    taken = seconds(lambda: bound_coins(coins, scores, delta=1e-5, confidence=0.95))
    print(f"| 95% bound from 10⁶ scores | {taken:.2f} s | ≤ 2 s |", flush=True)


def bench_commands() -> None:
    command = [sys.executable, "-m", "audit.cli"]
    taken = seconds(lambda: subprocess.run([*command, "--help"], check=True, capture_output=True), 5)
    print(f"| audit --help | {taken:.2f} s | ≤ 0.3 s |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        lira = [*command, "lira", "--method", "dm", "--shadows", "256", "--out", folder, "--json"]
        printed = subprocess.run(lira, check=True, capture_output=True, text=True).stdout
        taken = time.perf_counter() - start
        assert Path(json.loads(printed)["pdf"]).exists()
    processes = 1 + len(os.sched_getaffinity(0))
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"| audit lira --method dm --shadows 256, with PDF | {taken:.0f} s | ≤ 180 s |")
    together = processes * largest
    print(f"| its memory: {processes} processes, the largest {largest:.2f} GiB | ≤ {together:.1f} GiB | ≤ 4 GiB |")


def main() -> None:
    torch.set_num_threads(1)
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    print(f"{model}, {len(os.sched_getaffinity(0))} cores, {platform.system()}, Python {platform.python_version()}, ")
    print(f"torch {torch.__version__}, one thread; load {os.getloadavg()[0]:.1f} at the start\n")
    print("| what | measured | budget |\n|---|---|---|")
    bench_commands()
    bench_scoring()
    print("\n| ConvNet-3-128 on 28×28, 12 000 records | one at a time, per shadow and step | together | ratio |")
    print("|---|---|---|---|")
    for ipc in (1, 10):
        bench_dm(ipc)


if __name__ == "__main__":
    main()
