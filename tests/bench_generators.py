"""Methods of docs/generators.md, 16 runs together against one run at a time:

    PYTHONPATH=. python tests/bench_generators.py [method …]

Quick preset on digits, noise multiplier 1, one thread, processor time. A step is timed between one step and some more,
so that what is done once does not count by itself; one set costs the first step and all others of the preset.
"""

import sys
import time
from typing import Any

import torch

from audit.data.load import load_pool
from audit.games.membership.game import Game, nominal_class_sizes
from condensers.pool import Pool
from condensers.randomness import Randomness
from condensers.registry import condense_runs, get_method

RUNS, STEPS = 16, 4
METHODS = ("dp-merf", "dp-hp", "dp-kip", "dp-sinkhorn", "gs-wgan", "dp-cgan", "cgan", "mtt")


def bench(name: str, pool: Pool) -> str:
    method = get_method(name)
    included = torch.from_numpy(
        Game(seed=0, num_records=pool.num_records, num_runs=RUNS, num_test_runs=1).members(range(RUNS))
    )
    preset: dict[str, Any] = dict(method.presets["quick"])
    if method.private:
        preset["noise_multiplier"] = 1.0
    steps = getattr(method.config(**preset), "iterations", 1)  # a method without a loop is one step

    def seconds(runs: int, iterations: int) -> float:
        started = time.process_time()
        condense_runs(
            method, pool, included[:runs], method.config(**preset | ({} if steps == 1 else {"iterations": iterations})),
            class_sizes=nominal_class_sizes(pool), randomness=Randomness(seed=0, runs=tuple(range(runs))),
        )  # fmt: skip
        return time.process_time() - started

    def costs(runs: int) -> tuple[float, float]:
        """Of the first step with all that is done once, and of a further step; the less of two tries each."""
        first = min(seconds(runs, 1) for _ in range(2))
        return first, max(0.0, min(seconds(runs, 1 + STEPS) for _ in range(2)) - first) / STEPS

    (alone_once, alone), (together_once, together) = costs(1), costs(RUNS)
    one, all_runs = (once + (steps - 1) * each for once, each in ((alone_once, alone), (together_once, together)))
    return (
        f"| `{name}` | {steps} | {1000 * alone:.1f} ms | {1000 * together / RUNS:.2f} ms | {one:.1f} s | "
        f"{all_runs / RUNS:.1f} s | {RUNS * one / all_runs:.1f} |"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    digits = load_pool("digits")
    print("| method | steps | step, one run | step, 16 runs, each | a set, one run | a set, 16 runs, each | gain |")
    print("|---|---|---|---|---|---|---|")
    for chosen in sys.argv[1:] or METHODS:
        print(bench(chosen, digits), flush=True)
