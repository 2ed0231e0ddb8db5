"""What convolutions by transformed tiles save:  PYTHONPATH=. python tests/bench_winograd.py

Processor time per image of the papers' network (width 128, depth 3) on 28×28 images, directly and by tiles in turn, in
one process with one thread: forwards, with gradients at the weights (training), and with that at the images
(condensation). Then how far both are from a convolution in double precision.

With `steps`: a step of methods at the settings of their papers instead, one set from 6000 records of noise.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from audit.engine.allocator import keep_freed_memory
from condensers import winograd
from condensers.networks import Network, classify, draw_parameters
from condensers.pool import Pool
from condensers.randomness import Randomness
from condensers.registry import condense_runs, get_method

ROUNDS = 5


def processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turn(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Processor seconds of the fastest try, directly and by tiles."""
    saves_time = winograd.saves_time
    taken: dict[str, list[float]] = {"directly": [], "by tiles": []}
    for _ in range(rounds):
        for name, seconds in taken.items():
            winograd.saves_time = saves_time if name == "by tiles" else lambda *_: False
            seconds.append(processor_seconds(work))
    winograd.saves_time = saves_time
    return min(taken["directly"]), min(taken["by tiles"])


def measure(batch: int) -> None:
    network = Network(kind="convnet", input_shape=(1, 28, 28), num_classes=10, width=128, depth=3)
    drawn = draw_parameters(network, [np.random.default_rng(0)], torch.device("cpu"))
    images, labels = torch.randn(1, batch, 1, 28, 28), torch.randint(0, 10, (batch,))
    leaf = images.clone().requires_grad_()
    own = {name: value.clone().requires_grad_() for name, value in drawn.items()}

    def forwards() -> None:
        with torch.no_grad():
            classify(network, drawn, images)

    def training() -> None:
        torch.autograd.grad(F.cross_entropy(classify(network, own, images)[0], labels), list(own.values()))

    def condensation() -> None:
        torch.autograd.grad(classify(network, drawn, leaf).square().sum(), leaf)

    for work in (forwards, training, condensation):
        direct, tiles = (1e3 * seconds / batch for seconds in in_turn(work, ROUNDS))
        print(
            f"batch {batch}, {work.__name__}: {direct:.2f} ms, by tiles {tiles:.2f} ms: {direct / tiles:.2f}x",
            flush=True,
        )


# A step has a network, a sample of every class and ten or fifty images per class; of PSG one batch of records and one
# step of the images.
STEPS = {
    "dm": {"ipc": 10, "iterations": 1},
    "dsa": {"ipc": 10, "iterations": 1, "loops": "1x1"},
    "ndpdc": {"ipc": 50, "iterations": 1},
    "psg": {"ipc": 10, "iterations": 1, "outer": 1, "batches": 1},
    "dosser": {"ipc": 10, "iterations": 1, "optimisation_steps": 2, "auxiliary_images": 600},
}


def steps() -> None:
    images = torch.randn(6000, 1, 28, 28).clamp(-1, 1)
    pool = Pool(name="noise", images=images, labels=torch.arange(6000) // 600, num_classes=10)
    members = torch.ones(1, 6000, dtype=torch.bool)
    for name, settings in STEPS.items():
        method = get_method(name)

        def step(method: Any = method, settings: dict[str, Any] = settings) -> None:
            condense_runs(
                method,
                pool,
                members,
                method.config(**settings),
                class_sizes=(600.0,) * 10,
                randomness=Randomness(seed=0, runs=(0,)),
            )

        direct, tiles = in_turn(step, 2)
        print(f"{name}: {direct:.2f} s, by tiles {tiles:.2f} s: {direct / tiles:.2f}x", flush=True)


def compare() -> None:
    for side in (16, 8):
        images, weight = torch.randn(64, 128, side, side), torch.randn(128, 128, 3, 3)
        exact = F.conv2d(images.double(), weight.double(), padding=1)
        found = {"directly": F.conv2d(images, weight, padding=1), "by tiles": winograd.convolve(images, weight)}
        off = {name: ((value - exact).abs().max() / exact.std()).item() for name, value in found.items()}
        print(f"{side}×{side}: largest error over deviation", {name: f"{value:.0e}" for name, value in off.items()})


if __name__ == "__main__":
    keep_freed_memory()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if sys.argv[1:] == ["steps"]:
        steps()
    else:
        for batch in (32, 250):
            measure(batch)
        compare()
