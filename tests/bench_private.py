"""Speed of ndpdc against dm, and memory against the number of steps:  PYTHONPATH=. python tests/bench_private.py"""

import resource
import time

import torch

from audit.data.load import load_pool
from audit.games.membership.game import Game, nominal_class_sizes
from condensers.randomness import Randomness
from condensers.registry import condense_runs, get_method


def seconds_a_step(method: str, runs: int, **changes: int) -> float:
    pool, found = load_pool("digits"), get_method(method)
    config = found.config(**{**found.presets["quick"], "ipc": 1, **changes})
    game = Game(seed=0, num_records=pool.num_records, num_runs=runs, num_test_runs=1)
    members = torch.from_numpy(game.members(range(runs)))
    started = time.perf_counter()
    condense_runs(
        found, pool, members, config, class_sizes=nominal_class_sizes(pool),
        randomness=Randomness(seed=0, runs=tuple(range(runs))),
    )  # fmt: skip
    return (time.perf_counter() - started) / config.iterations


if __name__ == "__main__":
    torch.set_num_threads(1)
    for method in ("dm", "ndpdc") * 3:
        print(f"{method:6} 256 runs: {seconds_a_step(method, 256, iterations=6):.2f} s a step", flush=True)
    for steps in (20, 200):
        seconds_a_step("ndpdc", 16, iterations=steps, width=8)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"ndpdc, {steps} steps of 16 runs: peak memory so far {peak} MiB", flush=True)
