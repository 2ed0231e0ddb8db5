"""Which records look most like a synthetic image: the matching attack of Dong et al. (arXiv:2206.00240, section 5.4).

They show the three real images nearest to a synthetic one and leave the judgement to the eye. Here every synthetic
image also makes one guess, that its nearest record is a member. An image takes the nearest record *of its class* that
no earlier image of the set has taken, so that the guesses of one set are about distinct records and their number is
known before anything is seen. Records are compared with the images alone; who is a member is not asked.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from condensers.errors import BadData
from condensers.pool import Pool

NUM_SHOWN = 3
_RECORDS_AT_ONCE = 4096

# (images [a, …], records [b, …]) -> distances [a, b]
Pairwise = Callable[[Tensor, Tensor], Tensor]
# (label, runs, positions of its images) -> distances [images, records of the class]
Tables = Callable[[int, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True, eq=False)
class Matches:
    """The records nearest to each image of each set; −1 and infinity where a class has too few records.

    `records` and `distances` are `[runs, images, 3]`, nearest first. `guesses` `[runs, images]` are the distinct
    records that are guessed to be members. `nearness` `[runs, records]` is minus the distance of a record to the
    nearest image of its class: higher = member.
    """

    records: np.ndarray
    distances: np.ndarray
    guesses: np.ndarray
    nearness: np.ndarray

    @property
    def num_displaced(self) -> int:
        """Images whose nearest record an earlier image had taken."""
        return int((self.guesses != self.records[..., 0]).sum())


def visual_matches(images: Tensor, labels: Tensor, pool: Pool, pairwise: Pairwise) -> Matches:
    """Match sets `images` `[runs, m, …]` with `labels` `[runs, m]`, or soft ones, to the records of their classes."""

    def table(label: int, run: np.ndarray, position: np.ndarray) -> np.ndarray:
        return pairwise(images[run, position], pool.images[pool.class_slices[label]]).cpu().numpy()

    return match_tables(check_sets(images, labels, pool).cpu().numpy(), pool, table)


def match_tables(hard: np.ndarray, pool: Pool, table_of: Tables) -> Matches:
    """Match images with `hard` labels `[runs, m]`, −1 where a smaller set has none, by tables of their distances.

    `table_of(label, run, position)` has a row for each of these images and a column for each record of the class.
    """
    runs, per_run = hard.shape
    records = np.full((runs, per_run, NUM_SHOWN), -1, dtype=np.int64)
    distances = np.full((runs, per_run, NUM_SHOWN), np.inf)
    guesses = np.full((runs, per_run), -1, dtype=np.int64)
    nearness = np.full((runs, pool.num_records), -np.inf)
    for label, place in enumerate(pool.class_slices):
        run, position = np.nonzero(hard == label)
        if not run.size or place.start == place.stop:
            continue
        table = table_of(label, run, position)
        shown = min(NUM_SHOWN, table.shape[1])
        order = _lowest(table, shown)
        records[run, position, :shown] = order + place.start
        distances[run, position, :shown] = np.take_along_axis(table, order, axis=1)
        for which in np.unique(run):
            rows = table[run == which]
            taken = take_distinct(rows)
            guesses[which, position[run == which]] = np.where(taken >= 0, taken + place.start, -1)
            nearness[which, place] = -rows.min(0)
    return Matches(records=records, distances=distances, guesses=guesses, nearness=nearness)


def take_distinct(table: np.ndarray) -> np.ndarray:
    """For each row in turn the column of its lowest value that no earlier row took; −1 where none is left."""
    taken = np.full(len(table), -1, dtype=np.int64)
    free = np.ones(table.shape[1], dtype=bool)
    for row, values in enumerate(table[: table.shape[1]]):
        taken[row] = np.argmin(np.where(free, values, np.inf))
        free[taken[row]] = False
    return taken


def pairwise_euclidean(images: Tensor, records: Tensor) -> Tensor:
    """L2 of every image to every record, `[images, records]`: in float64, equal images to within 10⁻⁶ of 0."""
    rows = images.flatten(1).double()
    lengths = rows.square().sum(1)
    distances = torch.empty((len(rows), len(records)), dtype=torch.float64, device=images.device)
    for start in range(0, len(records), _RECORDS_AT_ONCE):
        columns = slice(start, min(start + _RECORDS_AT_ONCE, len(records)))
        block = records[columns].flatten(1).double()
        part = torch.addmm(block.square().sum(1)[None], rows, block.T, alpha=-2).add_(lengths[:, None])
        distances[:, columns] = part.clamp_min_(0).sqrt_()
    return distances


def check_sets(images: Tensor, labels: Tensor, pool: Pool) -> Tensor:
    """Hard labels `[runs, m]`, or one line about why these sets cannot be compared with the pool."""
    if images.ndim < 3 or images.shape[2:] != pool.images.shape[1:]:
        raise BadData(
            f"synthetic records have shape {list(images.shape[2:])}, those of {pool.name} {list(pool.images.shape[1:])}"
        )
    hard = labels.argmax(-1) if labels.ndim == 3 else labels
    if hard.shape != images.shape[:2]:
        raise BadData(f"{list(images.shape[:2])} synthetic records but labels {list(hard.shape)}")
    if hard.numel() and not 0 <= int(hard.min()) <= int(hard.max()) < pool.num_classes:
        raise BadData(
            f"synthetic labels run from {int(hard.min())} to {int(hard.max())}; {pool.name} has classes "
            f"0…{pool.num_classes - 1}"
        )
    if not bool(images.isfinite().all()):
        raise BadData("synthetic records hold numbers that are not finite")
    return hard


def _lowest(table: np.ndarray, count: int) -> np.ndarray:
    """Columns of the `count` lowest values of each row, lowest first, of equals the first."""
    found = np.empty((len(table), count), dtype=np.int64)
    for row, values in enumerate(table):
        left = values.copy()
        for rank in range(count):
            found[row, rank] = np.argmin(left)
            left[found[row, rank]] = np.inf
    return found
