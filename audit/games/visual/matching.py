"""The nearest records of all synthetic images, by every distance; L2 takes seconds and is computed where needed."""

from collections.abc import Callable

import numpy as np

from attacks.nearest import Matches, Tables, match_tables, pairwise_euclidean
from audit.engine.executor import suited
from audit.engine.progress import ProgressBar
from audit.engine.store import DamagedShard, RunDirectory, read_tensors, write_tensors
from audit.engine.where import Where
from audit.games.visual.resolve import Resolved
from audit.games.visual.tables import RECORDS_PER_UNIT, Block, Compared, MatchWork, images_file
from condensers.errors import Incomplete
from condensers.pool import Pool

SECONDS_PER_RECORD = 0.05  # through VGG16, about


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
) -> dict[str, Tables]:
    """By distance, what reads the table of a class; missing tables are computed."""
    blocks = tuple(block for name in resolved.metrics for block in _blocks(name, resolved.pool, compared))
    config = resolved.config
    missing = [unit for unit, block in enumerate(blocks) if not _is_whole(directory, block, config.digest, say)]
    if missing:
        work = MatchWork(
            config=config, directory=directory.path, data_root=where.data_root, weights=where.weights, blocks=blocks
        )
        kept = {"images": compared.images, "labels": compared.labels}
        write_tensors(images_file(directory.path), kept, digest=config.digest)
        sizes = {unit: blocks[unit].records.stop - blocks[unit].records.start for unit in missing}
        named = " and ".join(resolved.metrics)
        with ProgressBar(f"comparing with {resolved.pool.num_records} records by {named}", sizes) as bar:
            loaded = (resolved.pool, resolved.metrics, compared)
            seconds = SECONDS_PER_RECORD * sum(sizes.values())
            suited(where.executor, missing, loaded, seconds).run(work, missing, directory.path, bar.update)

    def reader(name: str) -> Tables:
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
