"""A random real subset of the same size: the naive baseline of Dong et al. ("real data", §5.1, arXiv:2206.00240).

A run with fewer members of a class than images releases all of them, and public noise in the other places.
"""

from dataclasses import dataclass

from torch import Tensor

from condensers.errors import BadConfig
from condensers.initial import balanced_labels, initial_records, validate_size
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness
from condensers.registry import Track, condenser


@dataclass(frozen=True, kw_only=True)
class RealConfig:
    """Size of the subset. It releases records as they are: there is no other `init`."""

    ipc: int = 1
    init: str = "real"

    def __post_init__(self) -> None:
        validate_size(ipc=self.ipc, init=self.init)
        if self.init != "real":
            raise BadConfig(f"--init {self.init}: the method real releases records as they are; leave --init out")


@condenser("real", config=RealConfig, presets={"quick": {}})
def condense_real(
    pool: Pool,
    included: Tensor,
    config: RealConfig,
    *,
    randomness: Randomness,
    track: Track,  # noqa: ARG001
) -> CondensedBatch:
    """Random real subset of the same size: what condensation must beat."""
    images, records = initial_records(pool, included, config.ipc, randomness)
    labels = balanced_labels(pool.num_classes, config.ipc, len(randomness.runs), pool.images.device)
    return CondensedBatch(images=images, labels=labels, initial_records=records)
