"""KIP, all shadows together against one at a time:  PYTHONPATH=. python tests/bench_kip.py

Both are measured in turn in one process with one thread, in seconds of the processor: other work on the machine counts
less than in seconds of the clock. A step is the difference of a long and a short run.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

sys.path.insert(0, str(Path(__file__).parent))

from twins.naive_kip import condense_one

from audit.data.load import load_pool
from audit.games.membership.game import Game
from condensers.kip import KipConfig, condense_kip
from condensers.randomness import Randomness
from condensers.registry import untracked


def step_seconds(run: Callable[[int], object], steps: int) -> float:
    taken = []
    for count in (1, steps + 1):
        start = time.process_time()
        run(count)
        taken.append(time.process_time() - start)
    return (taken[1] - taken[0]) / steps


def bench_kip(ipc: int, shadows: int = 64, repeats: int = 5) -> float:
    """Print seconds per shadow and step, alone and together, and their ratio; medians of `repeats` turns."""
    pool = load_pool("digits")
    game = Game(seed=0, num_records=pool.num_records, num_runs=shadows, num_test_runs=1)
    members = torch.from_numpy(game.members(range(shadows)))
    everybody, one = Randomness(seed=0, runs=tuple(range(shadows))), Randomness(seed=0, runs=(0,))

    def together(steps: int) -> None:
        config = KipConfig(ipc=ipc, iterations=steps)
        condense_kip(pool, members, config, randomness=everybody, track=untracked)

    def alone(steps: int) -> None:
        condense_one(pool, members[0], KipConfig(ipc=ipc, iterations=steps), one)

    together(1)
    alone(3)
    turns = [(step_seconds(alone, 40), step_seconds(together, 3) / shadows) for _ in range(repeats)]
    naive, batched = (median(turn[side] for turn in turns) for side in (0, 1))
    print(
        f"| KIP ipc {ipc}, {shadows} shadows, digits | {1000 * naive:.2f} ms | {1000 * batched:.2f} ms "
        f"| {naive / batched:.1f}× |",
        flush=True,
    )
    return naive / batched


def bench_conv(num_records: int = 50, steps: int = 2) -> None:
    """Print what a pair of 8×8 images costs under the convolutional kernel, with its gradient."""
    pool = load_pool("digits", records=2 * num_records)
    members = torch.ones(1, pool.num_records, dtype=torch.bool)
    config = {"kernel": "conv", "batch": num_records}

    def run(count: int) -> None:
        settings = KipConfig(iterations=count, **config)
        condense_kip(pool, members, settings, randomness=Randomness(seed=0, runs=(0,)), track=untracked)

    run(1)
    pairs = num_records * pool.num_classes + pool.num_classes**2
    print(
        f"| a pair under the conv kernel, 3 blocks, 8×8 | {1e6 * step_seconds(run, steps) / pairs:.0f} µs |", flush=True
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("| what | one at a time, per shadow and step | together | ratio |\n|---|---|---|---|")
    for images_per_class in (1, 10):
        bench_kip(images_per_class)
    bench_conv()
