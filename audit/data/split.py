"""What is condensed and what a set is tested on: the official test split, else a quarter of the records held out.

The quarter is the same for every seed and command, so that a set made with `audit condense --hold-out` has not seen
what `audit utility` tests on.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from audit.data.load import load_pool, load_test
from condensers.errors import BadData
from condensers.pool import Pool
from condensers.randomness import stream

HELD_OUT = 4  # one record in so many, of every class
SEED = 0  # not the person's: the split belongs to the data set


@dataclass(frozen=True, kw_only=True)
class Split:
    """Records to condense, and others to test on. `official` says that the data set came with this division."""

    train: Pool
    test: Pool
    official: bool


def load_split(dataset: str, *, data_root: Path | None = None, records: int | None = None) -> Split:
    """`records` bounds what is condensed, not the official test split."""
    pool = load_pool(dataset, data_root=data_root, records=records)
    test = load_test(dataset, data_root=data_root)
    if test is None:
        train, test = hold_out(pool)
        return Split(train=train, test=test, official=False)
    return Split(train=pool, test=test, official=True)


def hold_out(pool: Pool) -> tuple[Pool, Pool]:
    """Three quarters and one quarter of every class, drawn by a fixed key."""
    held = np.zeros(pool.num_records, dtype=bool)
    for label, records in enumerate(pool.class_slices):
        size = records.stop - records.start
        if size < 2:
            raise BadData(f"{pool.name}: class {label} has {size} record; at least 2 are needed to hold one out")
        chosen = stream(SEED, "held-out records", label).permutation(size)[: max(1, size // HELD_OUT)]
        held[chosen + records.start] = True
    return _part(pool, ~held), _part(pool, held)


def _part(pool: Pool, rows: np.ndarray) -> Pool:
    index = torch.from_numpy(np.flatnonzero(rows))
    return replace(pool, images=pool.images[index], labels=pool.labels[index])
