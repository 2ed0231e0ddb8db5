"""The nearest records of all synthetic images, by every distance.

LPIPS passes every record through a deep network: blocks of the records of one class are units of work, each of which
leaves a table of distances to the images of that class. L2 takes seconds and is computed where it is needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from attacks.nearest import Matches, match_tables, pairwise_euclidean
from attacks.perceptual import RECORDS_AT_ONCE, Perceptual, pairwise_lpips
from audit.data.load import load_pool, pool_checksum
from audit.engine.executor import suited
from audit.engine.progress import ProgressBar
from audit.engine.store import DamagedShard, RunDirectory, read_tensors, write_tensors
from audit.engine.where import Where
from audit.games.visual.config import VisualConfig
from audit.games.visual.resolve import Resolved, find_metrics
from condensers.errors import BadData, Incomplete
from condensers.pool import Pool

# A multiple of the records that are embedded together, so that a table's bytes do not depend on the blocks.
RECORDS_PER_UNIT = 128 * RECORDS_AT_ONCE


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """Images `[sets, m, …]` with hard labels `[sets, m]`, −1 beyond the end of a smaller set."""

    images: Tensor
    labels: Tensor

    def of_class(self, label: int) -> Tensor:
        """The images of one class, set after set."""
        return self.images[self.labels == label]


@dataclass(frozen=True, kw_only=True)
class Block:
    """Records of one class by one distance: a unit of work."""

    distance: str
    label: int
    records: slice

    @property
    def file(self) -> str:
        """Where its table is, below the run directory."""
        return f"shards/{self.distance}.{self.label:05d}.{self.records.start:08d}.table.safetensors"


Loaded = tuple[Pool, Mapping[str, Perceptual], Compared]


@dataclass(frozen=True, kw_only=True)
class MatchWork:
    """The tables of perceptual distances as units of work; the images lie in the run directory."""

    config: VisualConfig
    directory: Path
    data_root: Path | None
    weights: tuple[Path, ...]
    blocks: tuple[Block, ...]

    @property
    def device(self) -> str:
        """That of the configuration."""
        return self.config.device

    def load(self) -> Loaded:
        """Pool, backbones and images, if they are still what the run was started with."""
        config = self.config
        pool = load_pool(config.dataset, data_root=self.data_root, records=config.records)
        if pool_checksum(pool) != config.data_checksum:
            raise BadData(f"{config.dataset} has changed since this run was started; start a new one")
        kept = read_tensors(_images_file(self.directory), digest=config.digest)
        return pool, find_metrics(config, self.weights), Compared(images=kept["images"], labels=kept["labels"])

    def compute(self, loaded: Loaded, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """The table of one block."""
        torch.set_num_threads(1)
        pool, metrics, compared = loaded
        block = self.blocks[unit]
        records, done = pool.images[block.records], 0

        def tick(count: int) -> None:
            nonlocal done
            done += count
            report(min(1.0, done / len(records)))

        table = pairwise_lpips(metrics[block.distance], compared.of_class(block.label), records, tick=tick)
        write_tensors(folder / block.file, {"distances": table}, digest=self.config.digest)
        report(1.0)

    def file(self, unit: int) -> str:
        """The table's."""
        return self.blocks[unit].file


def match_all(
    resolved: Resolved, compared: Compared, directory: RunDirectory, where: Where, say: Callable[[str], None]
) -> dict[str, Matches]:
    """The matches of every set by every distance."""
    config, pool = resolved.config, resolved.pool
    tables = _perceptual_tables(resolved, compared, directory, where, say)
    labels = compared.labels.numpy()

    def euclidean(label: int, run: np.ndarray, position: np.ndarray) -> np.ndarray:
        return pairwise_euclidean(compared.images[run, position], pool.images[pool.class_slices[label]]).numpy()

    return {name: match_tables(labels, pool, tables.get(name, euclidean)) for name in config.distances}


def _perceptual_tables(
    resolved: Resolved, compared: Compared, directory: RunDirectory, where: Where, say: Callable[[str], None]
) -> dict[str, Callable[[int, np.ndarray, np.ndarray], np.ndarray]]:
    """By distance, what reads the table of a class; missing tables are computed."""
    blocks = tuple(block for name in resolved.metrics for block in _blocks(name, resolved.pool, compared))
    config = resolved.config
    missing = [unit for unit, block in enumerate(blocks) if not _is_whole(directory, block, config.digest, say)]
    if missing:
        work = MatchWork(
            config=config, directory=directory.path, data_root=where.data_root, weights=where.weights, blocks=blocks
        )
        kept = {"images": compared.images, "labels": compared.labels}
        write_tensors(_images_file(directory.path), kept, digest=config.digest)
        sizes = {unit: blocks[unit].records.stop - blocks[unit].records.start for unit in missing}
        named = " and ".join(resolved.metrics)
        with ProgressBar(f"comparing with {resolved.pool.num_records} records by {named}", sizes) as bar:
            loaded = (resolved.pool, resolved.metrics, compared)
            suited(where.executor, missing, loaded).run(work, missing, directory.path, bar.update)

    def reader(name: str) -> Callable[[int, np.ndarray, np.ndarray], np.ndarray]:
        def table(label: int, _run: np.ndarray, _position: np.ndarray) -> np.ndarray:
            own = [block for block in blocks if (block.distance, block.label) == (name, label)]
            return np.concatenate([_read(directory, block, config.digest) for block in own], axis=1)

        return table

    return {name: reader(name) for name in resolved.metrics}


def _blocks(name: str, pool: Pool, compared: Compared) -> list[Block]:
    """The records of every class that has images, by at most so many at a time."""
    return [
        Block(distance=name, label=label, records=slice(start, min(start + RECORDS_PER_UNIT, place.stop)))
        for label, place in enumerate(pool.class_slices)
        if bool((compared.labels == label).any())
        for start in range(place.start, place.stop, RECORDS_PER_UNIT)
    ]


def _is_whole(directory: RunDirectory, block: Block, digest: str, say: Callable[[str], None]) -> bool:
    path = directory.path / block.file
    if not path.exists():
        return False
    try:
        read_tensors(path, digest=digest)
    except DamagedShard as damage:
        say(f"damaged table: {damage}; computing it again")
        return False
    return True


def _read(directory: RunDirectory, block: Block, digest: str) -> np.ndarray:
    try:
        return read_tensors(directory.path / block.file, digest=digest)["distances"].numpy()
    except DamagedShard as damage:
        raise Incomplete(f"damaged table: {damage}; run the same command again to redo it") from None


def _images_file(directory: Path) -> Path:
    return RunDirectory(directory).shards / "images.safetensors"
