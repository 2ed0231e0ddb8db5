"""Methods over many runs at once against one run at a time:  PYTHONPATH=. python tests/bench_condensers.py dsa [ipc]

Quick preset on digits, one thread; both in one process, per shadow and step. Prints a row for docs/performance.md and
the peak memory after few and after many steps.
"""

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))

from twins.naive_dc import condense_one as condense_one_dc
from twins.naive_dc import fast_distance
from twins.naive_dm import condense_one as condense_one_dm

from audit.data.load import load_pool
from audit.games.membership.game import Game
from condensers.pool import Pool
from condensers.randomness import Randomness
from condensers.registry import get_method, untracked

SHADOWS = 64
# One run of a method, written plainly: (pool, members of the run, config, randomness).
TWINS: dict[str, Callable[..., Any]] = {
    "dc": lambda *arguments: condense_one_dc(*arguments, distance=fast_distance),
    "dsa": lambda *arguments: condense_one_dc(*arguments, distance=fast_distance),
    "dm": condense_one_dm,
}


def seconds_a_step(run: Callable[[int], object], steps: int) -> float:
    """Between one step and some more, so that what is done once does not count; the faster of two tries."""

    def taken(number: int) -> float:
        started = time.perf_counter()
        run(number)
        return time.perf_counter() - started

    run(1)
    return min((taken(1 + steps) - taken(1)) / steps for _ in range(2))


def bench(name: str, ipc: int, pool: Pool, steps: int) -> None:
    method = get_method(name)
    members = torch.from_numpy(
        Game(seed=0, num_records=pool.num_records, num_runs=SHADOWS, num_test_runs=1).members(range(SHADOWS))
    )

    def config(iterations: int) -> Any:
        return method.config(**{**method.presets["quick"], "ipc": ipc, "iterations": iterations})

    def together(iterations: int) -> None:
        randomness = Randomness(seed=0, runs=tuple(range(SHADOWS)))
        method.condense(pool, members, config(iterations), randomness=randomness, track=untracked)

    def alone(iterations: int) -> None:
        TWINS[name](pool, members[0], config(iterations), Randomness(seed=0, runs=(0,)))

    batched = seconds_a_step(together, steps) / SHADOWS
    few = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    naive = seconds_a_step(alone, steps)
    together(4 * steps)
    many = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print("| quick preset on digits | one at a time, per shadow and step | 64 together | ratio |\n|---|---|---|---|")
    print(f"| {name}, ipc {ipc} | {1000 * naive:.1f} ms | {1000 * batched:.2f} ms | {naive / batched:.1f} |")
    print(f"\npeak memory after {1 + steps} steps {few} MiB, after {4 * steps} steps {many} MiB", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    bench(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, load_pool("digits"), steps=4)
