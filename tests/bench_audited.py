"""What a step of DM costs where few records of a large pool are audited: CPU seconds of one thread, and memory.

python tests/bench_audited.py NETWORK RUNS STEPS AUDITED POOL,POOL…      NETWORK: quick or paper; FashionMNIST
"""

import resource
import sys
import time
from collections.abc import Iterator

import torch
from torch import Tensor

from audit.data.load import load_pool
from audit.games.membership.audited import choose_audited
from audit.games.membership.game import Game
from condensers.dm import DmConfig, condense_dm
from condensers.randomness import Randomness

NETWORKS = {"quick": {"width": 32, "depth": 2}, "paper": {}}
SEED = 100


def measure(network: str, runs: int, steps: int, num_audited: int, records: int) -> str:
    """Time of the fastest of so many steps."""
    pool = load_pool("fashion-mnist", records=records)
    chosen = choose_audited(str(num_audited), pool, {}, SEED)
    included = torch.ones(runs, pool.num_records, dtype=torch.bool)
    game = Game(seed=SEED, num_records=num_audited, num_runs=runs, num_test_runs=1)
    included[:, chosen] = torch.from_numpy(game.members(range(runs)))
    times: list[float] = []

    def track(_name: str, total: int, _state: dict[str, Tensor]) -> Iterator[int]:
        for step in range(total):
            started = time.process_time()
            yield step
            times.append(time.process_time() - started)

    config = DmConfig(iterations=steps, **NETWORKS[network])
    condense_dm(pool, included, config, randomness=Randomness(seed=SEED, runs=tuple(range(runs))), track=track)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"{network}, pool {pool.num_records}, {num_audited} audited, {runs} runs: {min(times):.2f} s per step, "
        f"{1000 * min(times) / runs:.1f} ms per shadow and step, {memory:.2f} GiB at most so far"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    _, kind, *numbers, pools = sys.argv
    for size in map(int, pools.split(",")):
        print(measure(kind, *map(int, numbers), size), flush=True)
