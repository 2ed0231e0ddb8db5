"""`audit bench`: how fast this machine, or a device of it, does what audits spend their time on.

Ratios are taken in one process: what a shadow costs when many are computed together, against one by itself. The pool is
random images in the shape of FashionMNIST or digits: what they show does not change how long they take.
"""

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attacks.lira import LiraConfig, score_lira
from attacks.registry import Observations
from attacks.victims import VictimConfig, train_victims, victim_network
from audit.engine.executor import num_cores
from audit.games.membership.headline import bound_coins
from audit.version import __version__
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, get_method, untracked

VERSIONS = ("torch", "numpy", "scipy")
SIDE = 2048  # of the matrices whose product is the yardstick


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing that was measured: seconds of one by itself and of many together, each for one of them."""

    what: str
    seconds: float
    alone: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as fast one of many is."""
        return None if self.alone is None else self.alone / self.seconds


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The table, and what it was measured on."""

    device: str
    machine: str
    threads: int
    load: float
    gigaflops: float
    versions: dict[str, str]
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """For --json."""
        return {**asdict(self), "rows": [{**asdict(row), "ratio": row.ratio} for row in self.rows]}


def run_bench(device: str, *, shadows: int, steps: int, say: Callable[[str], None]) -> Bench:
    """Measure everything, one after the other, with one thread as workers do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        where, load = torch.device(device), os.getloadavg()[0]
        say("matrix product")
        gigaflops = _gigaflops(where)
        rows = tuple(_rows(where, shadows, steps, say))
    finally:
        torch.set_num_threads(before)
    return Bench(
        device=_name(where),
        machine=f"{_processor()}, {num_cores()} cores, {platform.system()}, Python {platform.python_version()}",
        threads=1,
        load=load,
        gigaflops=gigaflops,
        versions={"condensation-audit": __version__, **{name: metadata.version(name) for name in VERSIONS}},
        rows=rows,
    )


def _rows(device: torch.device, shadows: int, steps: int, say: Callable[[str], None]) -> Iterator[Row]:
    members = stream(0, "bench members").random((shadows, 1200)) < 0.5
    for method, ipc, side in (("dm", 1, 28), ("dm", 10, 28), ("dsa", 1, 8), ("ndpdc", 1, 8)):
        say(f"{method}, {ipc} image(s) per class")
        pool = _pool(side, device)

        def condense(number: int, runs: int, method: str = method, ipc: int = ipc, pool: Pool = pool) -> None:
            _condense(method, ipc, pool, torch.from_numpy(members[:runs]).to(device), number)

        together = _per_step(lambda number: condense(number, shadows), steps, device) / shadows
        alone = _per_step(lambda number: condense(number, 1), steps, device)
        what = f"{method}, ipc {ipc}, {side}×{side}: per shadow and step, {shadows} shadows together"
        yield Row(what=what, seconds=together, alone=alone)
    say("victims")
    pool = _pool(28, device)
    together = _per_step(lambda epochs: _train(pool, shadows, epochs), steps, device) / shadows
    alone = _per_step(lambda epochs: _train(pool, 1, epochs), steps, device)
    yield Row(what=f"victims: per run and epoch, {shadows} runs together", seconds=together, alone=alone)
    say("scores")
    yield from _scoring()


def _pool(side: int, device: torch.device) -> Pool:
    labels = torch.arange(10).repeat_interleave(120)
    images = stream(0, "bench").uniform(-1, 1, (len(labels), 1, side, side)).astype(np.float32)
    return Pool(name="random images", images=torch.from_numpy(images), labels=labels, num_classes=10).to(device)


def _condense(name: str, ipc: int, pool: Pool, members: torch.Tensor, steps: int) -> None:
    method = get_method(name)
    fields = {"ipc": ipc, "iterations": steps}
    config = method.config(**{**method.presets["quick"], **fields})
    condense_runs(
        method,
        pool,
        members,
        config,
        class_sizes=(60.0,) * pool.num_classes,
        randomness=Randomness(seed=0, runs=tuple(range(len(members)))),
        track=untracked,
    )


def _train(pool: Pool, runs: int, epochs: int) -> None:
    device = pool.images.device
    images = stream(0, "bench sets").uniform(-1, 1, (runs, 10, 1, 28, 28)).astype(np.float32)
    labels = torch.arange(10).repeat(runs, 1)
    synthetic = CondensedBatch(
        images=torch.from_numpy(images).to(device),
        labels=labels.to(device),
        initial_records=(labels * 0 - 1).to(device),
    )
    config = VictimConfig(epochs=epochs)
    randomness = Randomness(seed=0, runs=tuple(range(runs)))
    train_victims(victim_network(pool, config), synthetic, config, randomness=randomness, track=untracked)


def _scoring() -> Iterator[Row]:
    generator = stream(0, "bench scoring")
    members = generator.random((256, 60_000)) < 0.5
    signals = generator.standard_normal((256, 60_000, 1), dtype=np.float32)
    seen = Observations(fit_signals=signals[:192], fit_members=members[:192], test_signals=signals[192:])
    yield Row(
        what="LiRA on the host, 256 runs × 60 000 records", seconds=_fastest(lambda: score_lira(seen, LiraConfig()))
    )
    coins, scores = members.ravel()[: 10**6].reshape(10, -1), signals.ravel()[: 10**6].reshape(10, -1)
    bound = _fastest(lambda: bound_coins(coins, scores, delta=1e-5, confidence=0.95))
    yield Row(what="95% bound on the host, 10⁶ scores", seconds=bound)


def _per_step(run: Callable[[int], None], steps: int, device: torch.device) -> float:
    """Between one step and some more, so that what is done once does not count."""
    run(1)
    short, long = _fastest(lambda: run(1), device), _fastest(lambda: run(1 + steps), device)
    return max(long - short, 1e-9) / steps


def _fastest(work: Callable[[], object], device: torch.device | None = None, tries: int = 2) -> float:
    taken = []
    for _ in range(tries):
        _wait(device)
        start = time.perf_counter()
        work()
        _wait(device)
        taken.append(time.perf_counter() - start)
    return min(taken)


def _wait(device: torch.device | None) -> None:
    """Until the device has done what it was given."""
    if device is not None and device.type in ("cuda", "mps"):
        (torch.cuda if device.type == "cuda" else torch.mps).synchronize()


def _gigaflops(device: torch.device) -> float:
    numbers = stream(0, "bench product").standard_normal((SIDE, SIDE), dtype=np.float32)
    matrix = torch.from_numpy(numbers).to(device)
    return 2 * SIDE**3 / _fastest(lambda: matrix @ matrix, device, tries=5) / 1e9


def _name(device: torch.device) -> str:
    return f"{device}: {torch.cuda.get_device_name(device)}" if device.type == "cuda" else str(device)


def _processor() -> str:
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor() or platform.machine())
