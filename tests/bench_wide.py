"""What the operations of wide networks save:  PYTHONPATH=. python tests/bench_wide.py

Processor time per image of the papers' network (width 128, depth 3) on 28×28 images, by torch's operations and by
condensers/wide.py in turn, in one process with one thread: forwards, with gradients at the weights (training), with
that at the images (condensation), with that of a gradient's norm (gradient matching), and with gradients at the weights
for every record by itself. Then how far convolutions by tiles and torch's are from one in double precision.

With `steps`: a step of methods instead, as in tests/bench_steps.py.
"""

import sys
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from bench_steps import STEPS, processor_seconds, step_of

from audit.engine.allocator import keep_freed_memory
from condensers import wide, winograd
from condensers.networks import Network, classify, draw_parameters
from condensers.record_gradients import record_gradients

ROUNDS = 5


def in_turn(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Processor seconds of the fastest try, by torch's operations and by ours."""
    ours = {wide: wide.saves_time, winograd: winograd.saves_time}
    taken: dict[str, list[float]] = {"torch": [], "ours": []}
    for _ in range(rounds):
        for name, seconds in taken.items():
            for module, saves_time in ours.items():
                module.saves_time = saves_time if name == "ours" else lambda *_, **__: False
            seconds.append(processor_seconds(work))
    return min(taken["torch"]), min(taken["ours"])


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

    def matching() -> None:
        loss = F.cross_entropy(classify(network, own, leaf)[0], labels)
        found = torch.autograd.grad(loss, list(own.values()), create_graph=True)
        torch.autograd.grad(sum(each.square().sum() for each in found), leaf)

    def records() -> None:
        record_gradients(images[0], labels, network=network, parameters=drawn)

    for work in (forwards, training, condensation, matching, records):
        theirs, ours = (1e3 * seconds / batch for seconds in in_turn(work, ROUNDS))
        print(f"batch {batch}, {work.__name__}: {theirs:.2f} ms, ours {ours:.2f} ms: {theirs / ours:.2f}x", flush=True)


def steps() -> None:
    for name in STEPS:
        theirs, ours = in_turn(step_of(name), 2)
        print(f"{name}: {theirs:.2f} s, ours {ours:.2f} s: {theirs / ours:.2f}x", flush=True)


def compare() -> None:
    for side in (16, 8):
        images, weight = torch.randn(64, 128, side, side), torch.randn(128, 128, 3, 3)
        exact = F.conv2d(images.double(), weight.double(), padding=1)
        found = {"torch": F.conv2d(images, weight, padding=1), "by tiles": winograd.convolve(images, weight)}
        off = {name: ((value - exact).abs().max() / exact.std()).item() for name, value in found.items()}
        print(f"{side}×{side}: largest error over deviation", {name: f"{value:.0e}" for name, value in off.items()})


if __name__ == "__main__":
    keep_freed_memory()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if sys.argv[1:] == ["steps"]:
        steps()
    else:
        for batch in (32, 64):
            measure(batch)
        compare()
