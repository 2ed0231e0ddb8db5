"""Processor time of a shard of `make audit` and of DM's embedding at the paper's size, with digests of the results.

    PYTHONPATH=. python tests/bench_shard.py STEPS [layers]

To compare two versions run it in turns with PYTHONPATH at each checkout: equal digests are equal bits. Processor time
(user + system, one thread) depends less on other work on the machine than the clock does.
"""

import hashlib
import resource
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

from audit.engine.executor import InProcess
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import ShardWork
from audit.specs.membership import Lira
from condensers.dm import embed_in_chunks, make_embedder, matching_gradient
from condensers.networks import Network, draw_parameters
from condensers.randomness import draw_normal, stream


def processor_seconds() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime, used.ru_stime


def digest(*tensors: Tensor) -> str:
    return hashlib.sha256(b"".join(tensor.numpy().tobytes() for tensor in tensors)).hexdigest()[:12]


def bench_shard(steps: int) -> None:
    """The first 64 runs of `audit lira --method dm`, with fewer steps of condensing and training."""
    settings = {"iterations": str(steps), "victim.epochs": str(steps)}
    config, pool = resolve_config(Lira(method="dm", shadows=64, settings=settings), None)
    with tempfile.TemporaryDirectory() as folder:
        work = ShardWork(config=config, data_root=None)
        (Path(folder) / work.file(0)).parent.mkdir(parents=True, exist_ok=True)
        start = processor_seconds()
        InProcess(pool).run(work, [0], Path(folder), lambda *_: None)
        user, system = (now - before for now, before in zip(processor_seconds(), start, strict=True))
        tensors = load_file(Path(folder) / work.file(0))
    found = digest(*(tensors[name] for name in ("images", "signals", "accuracy")))
    print(f"shard of 64 runs, {steps} steps: {user:.2f} s user, {system:.2f} s system; {found}", flush=True)


def bench_embedding(num_images: int = 80, repeats: int = 4) -> None:
    """ConvNet-3-128 on 28×28: what a record costs (forward) and what a synthetic image costs (and backward)."""
    network = Network(kind="convnet", input_shape=(1, 28, 28), num_classes=10, width=128, depth=3)
    cpu = torch.device("cpu")
    parameters = draw_parameters(network, [stream(0, "bench network")], cpu)
    drawn = stream(0, "bench images").standard_normal((num_images // 10, 10, 1, 28, 28), dtype=np.float32)
    images, embedder = torch.from_numpy(drawn), make_embedder(network, compiled=False)
    means, taken = torch.zeros(num_images // 10, 10, network.num_features), list[tuple[float, float]]()
    for _ in range(repeats):
        start = sum(processor_seconds())
        with torch.no_grad():
            features = embed_in_chunks(images.flatten(0, 1), embedder, parameters, network)
        middle = sum(processor_seconds())
        gradient = matching_gradient(images, means, 1, [None] * 10, embedder, parameters, network)
        taken.append((middle - start, sum(processor_seconds()) - middle))
    forward, both = (1000 * min(column) / num_images for column in zip(*taken, strict=True))
    print(f"ConvNet-3-128, 28×28: record {forward:.2f} ms, synthetic image {both:.2f} ms; {digest(features, gradient)}")


def bench_layers(num_images: int = 8, repeats: int = 6) -> None:
    """The operations of ConvNet-3-128 by themselves, on a chunk of images, and a large product to compare with."""

    def milliseconds(work: Callable[[], object]) -> float:
        work()
        starts, ends = [], []
        for _ in range(repeats):
            starts.append(sum(processor_seconds()))
            work()
            ends.append(sum(processor_seconds()))
        return 1000 * min(end - start for start, end in zip(starts, ends, strict=True))

    from condensers.networks import average_pool  # which earlier versions do not have

    generator, ones, zeros = stream(0, "bench layers"), torch.ones(128), torch.zeros(128)
    x = draw_normal(generator, (num_images, 1, 28, 28), torch.device("cpu"))
    for block in range(3):
        weight, padding = draw_normal(generator, (128, x.shape[1], 3, 3), x.device), 1 if block else 3
        y = F.conv2d(x, weight, zeros, padding=padding)
        taken = {
            "convolution": milliseconds(partial(F.conv2d, x, weight, zeros, padding=padding)),
            "norm": milliseconds(partial(F.group_norm, y, 128, ones, zeros)),
            "pooling": milliseconds(partial(average_pool, y)),
            "torch's pooling": milliseconds(partial(F.avg_pool2d, y, 2)),
        }
        parts = ", ".join(f"{name} {value / num_images:.3f} ms" for name, value in taken.items())
        flops = 2 * y.numel() * weight[0].numel()
        print(f"block {block}, per image: {parts}; {flops / taken['convolution'] / 1e6:.0f} GFLOP/s")
        x = average_pool(y)
    square = draw_normal(generator, (2048, 2048), x.device)
    print(f"2048² product: {2 * 2048**3 / milliseconds(lambda: square @ square) / 1e6:.0f} GFLOP/s")


if __name__ == "__main__":
    torch.set_num_threads(1)
    bench_shard(int(sys.argv[1]))
    bench_embedding()
    if len(sys.argv) > 2:
        bench_layers()
