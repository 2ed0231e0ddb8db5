"""Tables of perceptual distances between images and records as units of work.

LPIPS passes every record through a deep network: blocks of the records of one class are units, each of which leaves a
table of distances to all images of that class.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from attacks.perceptual import RECORDS_AT_ONCE, Perceptual, load_perceptual, pairwise_lpips
from audit.data.load import load_pool, pool_checksum
from audit.data.weights import Weights, find_weights
from audit.engine.store import RunDirectory, read_tensors, write_tensors
from audit.games.visual.config import NETWORKS, VisualConfig
from condensers.errors import BadData
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
        kept = read_tensors(images_file(self.directory), digest=config.digest)
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


def images_file(directory: Path) -> Path:
    """Where the images that are compared lie while the tables are computed."""
    return RunDirectory(directory).shards / "images.safetensors"


def find_metrics(config: VisualConfig, files: tuple[Path, ...]) -> dict[str, Perceptual]:
    """The perceptual distances of a configuration, from the very weights that it names."""
    found = {}
    for name in config.distances:
        if name not in NETWORKS:
            continue
        weights = find_weights(NETWORKS[name], files)
        if weights is None or weights.checksum != config.weights[NETWORKS[name]]:
            raise BadData(f"the weights of {NETWORKS[name]} have changed since this run was started; start a new one")
        found[name] = metric_of(weights, config.device)
    return found


def metric_of(weights: Weights, device: str) -> Perceptual:
    """LPIPS on this backbone, where it is computed."""
    return load_perceptual(weights.network, weights.tensors, torch.device(device))
