"""What keeping freed memory saves:  PYTHONPATH=. python tests/bench_allocator.py

Processor time of the papers' network (width 128, depth 3) on 28x28 images, in a process of its own for every way to
treat freed memory: as glibc does by itself, kept up to 32 MiB a tensor (as before), and kept whatever its size.
"""

import ctypes
import resource
import subprocess
import sys
import time
from collections.abc import Callable

WAYS = ("by itself", "up to 32 MiB", "kept")
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3


def treat(way: str) -> None:
    from audit.engine.allocator import keep_freed_memory

    mallopt = ctypes.CDLL(None).mallopt
    if way == "up to 32 MiB":
        mallopt(TRIM_THRESHOLD, 256 << 20)
        mallopt(MMAP_THRESHOLD, 32 << 20)
    elif way == "kept":
        keep_freed_memory()


def fastest(work: Callable[[], object], tries: int = 4) -> float:
    taken = []
    for _ in range(tries):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def measure(way: str) -> None:
    treat(way)
    import numpy as np
    import torch
    from torch.nn import functional

    from condensers.networks import Network, classify, draw_parameters
    from condensers.psg import record_gradients

    torch.set_num_threads(1)
    network = Network(kind="convnet", input_shape=(1, 28, 28), num_classes=10, width=128, depth=3)
    for networks in (1, 3):
        drawn = draw_parameters(network, [np.random.default_rng(i) for i in range(networks)], torch.device("cpu"))
        images, labels = torch.randn(networks, 250, 1, 28, 28), torch.randint(0, 10, (networks * 250,))
        own = {name: value.requires_grad_() for name, value in drawn.items()}

        def step(own: dict = own, images: torch.Tensor = images, labels: torch.Tensor = labels) -> None:
            loss = functional.cross_entropy(classify(network, own, images).flatten(0, 1), labels)
            torch.autograd.grad(loss, list(own.values()))

        taken = fastest(step) / len(labels)
        print(f"{way}: {networks} network(s), batch 250: {1e3 * taken:.2f} ms per image", flush=True)
    one = {name: value.detach()[:1] for name, value in own.items()}
    images, labels = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    taken = fastest(lambda: record_gradients(images, labels, network=network, parameters=one))
    print(f"{way}: gradients of 64 records: {taken:.3f} s", flush=True)
    print(f"{way}: at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        for _ in range(2):
            for way in WAYS:
                subprocess.run([sys.executable, __file__, way], check=True)
