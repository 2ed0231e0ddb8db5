"""How far synthetic images are from the records that they started from: what is left of a record for an attack."""

import numpy as np
import torch
from torch import Tensor

from audit.engine.store import RunDirectory
from audit.games.membership.config import AuditConfig
from audit.games.membership.shard import num_shards, read_shard
from condensers.pool import Pool
from reports.records.schema import Displacement

MOST_PAIRS = 1000  # of each class


def measure_displacement(directory: RunDirectory, config: AuditConfig, pool: Pool) -> Displacement | None:
    """Over the images of all runs that started from a record; None where none did."""
    found = []
    for index in range(num_shards(config)):
        shard = read_shard(directory, config, index)
        found.append(distances_moved(shard["images"], shard["initial_records"], pool))
    moved = torch.cat(found).numpy()
    if not len(moved):
        return None
    apart = distances_within_classes(pool).numpy()
    return Displacement(
        median=float(np.median(moved)),
        quartiles=(float(np.quantile(moved, 0.25)), float(np.quantile(moved, 0.75))),
        num_images=len(moved),
        between_records=float(np.median(apart)) if len(apart) else None,
    )


def distances_moved(images: Tensor, initial_records: Tensor, pool: Pool) -> Tensor:
    """L2 distances, pixels in [−1, 1], of images `[runs, images, …]` from their first records (−1: none)."""
    started = initial_records >= 0
    return (images[started] - pool.images[initial_records[started]]).flatten(1).norm(dim=1)


def distances_within_classes(pool: Pool) -> Tensor:
    """L2 distances of pairs of records of one class, each record with the next one."""
    return torch.cat(
        [
            (pool.images[records][1 : MOST_PAIRS + 1] - pool.images[records][:-1][:MOST_PAIRS]).flatten(1).norm(dim=1)
            for records in pool.class_slices
        ]
    )
