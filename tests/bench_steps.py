"""Processor seconds of a step of methods at the settings of their papers:  PYTHONPATH=. python tests/bench_steps.py psg

One set from 6000 records of noise, one thread, the fastest of three. With PYTHONPATH at another checkout it measures
that version: it uses nothing that versions since 36b1a28 do not have.
"""

import sys
import time
from collections.abc import Callable
from functools import partial

import torch

from audit.engine.allocator import keep_freed_memory
from condensers.pool import Pool
from condensers.randomness import Randomness
from condensers.registry import condense_runs, get_method

# A step has a network, a sample of every class and ten or fifty images per class; of PSG one batch of records and one
# step of the images.
STEPS = {
    "dm": {"ipc": 10, "iterations": 1},
    "dsa": {"ipc": 10, "iterations": 1, "loops": "1x1"},
    "ndpdc": {"ipc": 50, "iterations": 1},
    "psg": {"ipc": 10, "iterations": 1, "outer": 1, "batches": 1},
    "dosser": {"ipc": 10, "iterations": 1, "optimisation_steps": 2, "auxiliary_images": 600},
}


def processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def step_of(name: str) -> Callable[[], object]:
    images = torch.randn(6000, 1, 28, 28).clamp(-1, 1)
    pool = Pool(name="noise", images=images, labels=torch.arange(6000) // 600, num_classes=10)
    method = get_method(name)
    return partial(
        condense_runs,
        method,
        pool,
        torch.ones(1, 6000, dtype=torch.bool),
        method.config(**STEPS[name]),
        class_sizes=(600.0,) * 10,
        randomness=Randomness(seed=0, runs=(0,)),
    )


if __name__ == "__main__":
    keep_freed_memory()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for name in sys.argv[1:] or STEPS:
        print(f"{name}: {min(processor_seconds(step_of(name)) for _ in range(3)):.2f} s", flush=True)
