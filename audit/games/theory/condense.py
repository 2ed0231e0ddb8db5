"""One condensation by an extractor and a number of images per class, six runs in one batch: a unit of work.

From noise and from records, each with all of T, without the farthest record of every class, and without another.
Nothing is reimplemented: the loop of `condense_dm` runs, watched from the `track` that it is handed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from audit.data.load import load_pool, pool_checksum
from audit.engine.cells import Cell
from audit.games.settings import versions
from audit.specs.theory import Theory
from condensers.dm import DmConfig, match_distributions
from condensers.errors import BadData
from condensers.initial import INITS
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from condensers.registry import get_method, untracked

THREADS = 1  # of a unit: no byte depends on how many units are computed at a time
EXTRACTORS = ("linear", "linear-relu", "convnet")
LEFT_OUT = ("farthest", "typical")
# Learning rate per image of a class: the gradient at each of them is 1/ipc of the barycentre's.
RATE = {"linear": 0.1, "linear-relu": 0.1, "convnet": 1.0}
WIDTH = {"linear": 1024, "linear-relu": 1024, "convnet": 32}


@dataclass(frozen=True, kw_only=True)
class TheoryWork:
    """The condensations of one examination as units of work."""

    spec: Theory
    data_root: Path | None
    data_checksum: str
    kinds: tuple[tuple[str, int], ...]
    device: str = "cpu"

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One for each extractor and number of images."""
        shared = {
            "kind": "theory",
            "data": self.data_checksum,
            "iterations": self.spec.iterations,
            "seed": self.spec.seed,
            "threads": THREADS,
            "versions": versions(get_method("dm")),
        }
        return tuple(
            Cell.of({**shared, "extractor": extractor, "ipc": ipc}, "tensors") for extractor, ipc in self.kinds
        )

    def load(self) -> Pool:
        """The pool, if it is still what was examined."""
        pool = load_pool(self.spec.dataset, data_root=self.data_root, records=self.spec.records)
        if pool_checksum(pool) != self.data_checksum:
            raise BadData(f"{self.spec.dataset} has changed since this was started; start again")
        return pool

    def compute(self, pool: Pool, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """Condense by one extractor."""
        extractor, ipc = self.kinds[unit]
        self.cells[unit].write(folder, condense_watched(pool, self.spec, extractor, ipc, report))
        report(1.0)

    def file(self, unit: int) -> str:
        """The cell's."""
        return self.cells[unit].file


def condense_watched(
    pool: Pool, spec: Theory, extractor: str, ipc: int, report: Callable[[float], None] = lambda _: None
) -> dict[str, Tensor]:
    """The last images `[runs, m, …]` and the distances of the barycentres `[runs, steps + 1]` of the six runs."""
    torch.set_num_threads(THREADS)
    included = memberships(pool, spec.seed).repeat(len(INITS), 1)
    starts = [starting_images(pool, ipc, init, spec.seed) for init in INITS]
    first = torch.cat([start.expand(1 + len(LEFT_OUT), *start.shape) for start in starts])
    settings = DmConfig(
        ipc=ipc, iterations=spec.iterations, batch=pool.num_records, learning_rate=RATE[extractor] * ipc,
        extractor=extractor, width=WIDTH[extractor], depth=2, augmentation="none",
    )  # fmt: skip
    images, distances = watch_dm(pool, included, settings, first, spec.seed, report)
    return {"images": images, "distances": distances}


def memberships(pool: Pool, seed: int) -> Tensor:
    """Everybody, and everybody but one record of every class: the farthest from its barycentre, or any other."""
    rows = torch.ones((1 + len(LEFT_OUT), pool.num_records), dtype=torch.bool)
    for place, which in enumerate(LEFT_OUT, 1):
        rows[place, records_to_leave_out(pool, which, seed)] = False
    return rows


def watch_dm(
    pool: Pool,
    included: Tensor,
    config: DmConfig,
    start: Tensor,
    seed: int,
    report: Callable[[float], None] = lambda _: None,
) -> tuple[Tensor, Tensor]:
    """Run DM from the given images `[runs, m, …]`; the last images, and ‖T̄ − S̄‖ `[runs, steps + 1]` over classes."""
    means = torch.stack([class_means(pool, row) for row in included])
    distances: list[Tensor] = []

    def watching(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        for step in untracked(name, total, state):
            distances.append(_distances(state["images"], means, config.ipc))
            yield step
            report((step + 1) / total)
        distances.append(_distances(state["images"], means, config.ipc))

    randomness = Randomness(seed=seed, runs=tuple(range(len(included))))
    last = match_distributions(pool, included, start.clone(), config, randomness=randomness, track=watching)
    return last, torch.stack(distances, 1)


def class_means(pool: Pool, members: Tensor) -> Tensor:
    """T̄ of every class, `[classes, d]`, float64."""
    flat = pool.images.double().flatten(1)
    return torch.stack([flat[part][members[part]].mean(0) for part in pool.class_slices])


def _distances(images: Tensor, means: Tensor, ipc: int) -> Tensor:
    barycentres = images.double().view(len(images), means.shape[1], ipc, -1).mean(2)
    return (barycentres - means).norm(dim=-1).mean(1)


def records_to_leave_out(pool: Pool, which: str, seed: int) -> Tensor:
    """One record of every class: the farthest from its barycentre, or any other."""
    flat = pool.images.double().flatten(1)
    chosen = []
    for label, part in enumerate(pool.class_slices):
        order = (flat[part] - flat[part].mean(0)).norm(dim=1).argsort(descending=True)
        place = 0 if which == "farthest" else int(stream(seed, "left out", label).integers(1, len(order)))
        chosen.append(part.start + int(order[place]))
    return torch.tensor(chosen)


def starting_images(pool: Pool, ipc: int, init: str, seed: int) -> Tensor:
    """Noise, or records of which none is left out in any run: (35) is about records that no image starts from."""
    if init == "random":
        shape = (pool.num_classes * ipc, *pool.images.shape[1:])
        return torch.from_numpy(stream(seed, "theory", ipc).standard_normal(shape, dtype=np.float32))
    banned = {int(record) for which in LEFT_OUT for record in records_to_leave_out(pool, which, seed)}
    chosen = []
    for label, part in enumerate(pool.class_slices):
        order = stream(seed, "theory", ipc, label).permutation(part.stop - part.start) + part.start
        chosen += [record for record in order.tolist() if record not in banned][:ipc]
    return pool.images[torch.tensor(chosen)]
