"""Everybody is in: a method with its settings for one pool, and its condensation, once for each run."""

from dataclasses import dataclass
from typing import Any

import torch

from audit.games.membership.coins import ColumnOfCoins
from condensers.errors import BadConfig
from condensers.ledger import Ledger
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness
from condensers.registry import Method, Track, condense_runs, untracked


@dataclass(frozen=True, kw_only=True)
class Condensation:
    """A method with its complete configuration, for one pool."""

    method: Method
    config: Any
    class_sizes: tuple[float, ...]


def true_class_sizes(pool: Pool) -> tuple[float, ...]:
    return tuple(float(records.stop - records.start) for records in pool.class_slices)


def condense_all(
    condensation: Condensation,
    pool: Pool,
    randomness: Randomness,
    track: Track = untracked,
    chosen: ColumnOfCoins | None = None,
) -> tuple[CondensedBatch, Ledger | None]:
    """Condense everybody, or who was chosen, once for each run of `randomness`."""
    shape, device = (len(randomness.runs), pool.num_records), pool.images.device
    if chosen is None:
        included = torch.ones(shape, dtype=torch.bool, device=device)
    else:
        included = torch.from_numpy(chosen.members).to(device).expand(shape)
    batch, ledger = condense_runs(
        condensation.method,
        pool,
        included,
        condensation.config,
        class_sizes=condensation.class_sizes,
        randomness=randomness,
        track=track,
    )
    if not bool(batch.images.isfinite().all() & batch.labels.isfinite().all()):
        raise BadConfig(
            f"{condensation.method.name} diverged: its images are not finite; choose a smaller --set learning_rate"
        )
    return batch, ledger
