"""What the door works on besides single records: whole samples, and disjoint shards with a learner behind the door.

A *batch request* is a function of a whole sample, clipped as one vector. However the function treats the sample, one
record more or less turns a vector of norm C at most into another one of norm C at most: the sensitivity is 2C, and it
is enforced by the clipping, not believed. Poisson sampling amplifies it as it does a sum: given who else is in the
sample, outputs are (1 − q) N(a, s²) + q N(b, s²) against N(a, s²) with ‖a − b‖ ≤ 2C, and divergences are jointly
convex.

A *shard request* divides the places of the pool into disjoint shards. A learner for each shard (a discriminator) learns
from the records of its shard alone and stays behind the door. A release draws one shard of the run in private and
releases `count` vectors that its learner makes, each clipped to C. One record touches the learner of one shard, which
is drawn with probability 1/shards, and moves the `count` vectors together by 2C√count at most. That is the subsampled
Gaussian of fixed size 1 out of `shards`, whatever the record is replaced by, nobody included.

Every learner learns before every release, whoever is drawn. Were the drawn one alone to learn, as in GS-WGAN, the
learners would remember who was drawn and later releases could give that away, on which the amplification counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from torch import Tensor

from condensers.errors import BadConfig
from condensers.ledger import EVERYBODY, FixedSize, Group, Poisson, Sampling
from condensers.networks import Parameters
from condensers.pool import Pool
from condensers.randomness import Randomness, seeded_noise, to_device

# Images `[units, places, …]`, labels and presence `[units, places]`; who is not present is blank (0, label 0).
BatchVector = Callable[[Tensor, Tensor, Tensor], Tensor]
Learn = Callable[[Parameters, Tensor, Tensor, Tensor], Parameters]


@dataclass(frozen=True, kw_only=True)
class BatchRequest:
    """A noisy function of a whole sample: `vector` turns the samples of all runs into `[runs, dim]`."""

    group: Group
    sampling: Poisson
    vector: BatchVector

    @property
    def sensitivity(self) -> float:
        """In clipping norms."""
        return 2.0


@dataclass(frozen=True, kw_only=True)
class ShardRequest:
    """`count` noisy vectors of the learner of one shard.

    `start` is a learner before it has seen anything, without an axis of learners. `learn` moves learners `[units, …]`,
    a multiple of the runs with those of one run together, by the records of their shards; `vectors` makes
    `[runs, count, dim]` of one learner per run. All three are public functions of earlier releases. A loop can go on
    from a checkpoint if `door.start_learners` was called before it.
    """

    shards: int
    count: int
    start: Parameters
    learn: Learn
    vectors: Callable[[Parameters], Tensor]
    group: Group = EVERYBODY

    @property
    def sampling(self) -> FixedSize:
        """One shard out of all of them."""
        return FixedSize(batch=1, population=self.shards)

    @property
    def sensitivity(self) -> float:
        """In clipping norms: all vectors of a release may turn round."""
        return 2.0 * sqrt(self.count)


def check_shards(shards: int, class_sizes: tuple[float, ...]) -> None:
    """Refuse shards into which the records cannot be divided; the number of records is public."""
    if not 2 <= shards <= sum(class_sizes):
        raise BadConfig(
            f"shards={shards}: {sum(class_sizes):g} records cannot be divided into that many shards of at least "
            f"one record; choose 2…{int(sum(class_sizes))}"
        )


@dataclass(frozen=True, kw_only=True)
class Padded:
    """Records of several units, filled up with blanks: images `[units, places, …]`, labels and presence beside."""

    images: Tensor
    labels: Tensor
    present: Tensor


def gather(pool: Pool, chosen: np.ndarray, first: int = 0) -> Padded:
    """The chosen records, bool `[units, records from first on]`, of every unit; blanks where it has fewer."""
    device = pool.images.device
    counts = chosen.sum(1)
    order = np.argsort(~chosen, axis=1, kind="stable")[:, : max(1, counts.max(initial=0))]
    present = to_device(np.arange(order.shape[1]) < counts[:, None], device)
    where = to_device(order + first, device)
    images = pool.images[where]
    images = torch.where(present.view(*present.shape, *[1] * (images.ndim - 2)), images, 0.0)
    return Padded(images=images, labels=pool.labels[where].masked_fill(~present, 0), present=present)


def shard_members(members: np.ndarray, shards: int, randomness: Randomness) -> np.ndarray:
    """Members by shard, bool `[runs · shards, records]`. A record's shard is public and depends on nobody else."""
    num_records = members.shape[1]
    place = np.empty(num_records, dtype=np.int64)
    place[randomness.public("shards").permutation(num_records)] = np.arange(num_records) * shards // num_records
    return (members[:, None] & (place == np.arange(shards)[:, None])[None]).reshape(-1, num_records)


def take(members: np.ndarray, coins: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Who of the members is in the sample, bool `[runs, records]`."""
    match sampling:
        case Poisson(rate=rate):
            return members & (coins < rate)
        case FixedSize(batch=batch, population=population):
            places = batch * coins.shape[1] // population  # rounded down: never a higher rate than is accounted
            return members & (np.argsort(np.argsort(coins, axis=1), axis=1) < places)


def draw_shards(randomness: Randomness, request: ShardRequest, dim: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    """The unit of the shard that is drawn in every run, and standard normal noise `[runs, count, dim]`."""
    runs = len(randomness.runs)
    drawn = np.arange(runs) * request.shards
    noise = np.empty((runs, request.count, dim), dtype=np.float32)
    for run, generator in enumerate(randomness.each_private("door", index)):
        drawn[run] += generator.integers(request.shards)
        generator.standard_normal(dtype=np.float32, out=noise[run])
    return drawn, noise


def draw_from_seeds(
    randomness: Randomness, shape: tuple[int, int, int], index: int, noise_seeds: int, requests_per_seed: int
) -> np.ndarray:
    """Noise `[runs, requests, dim]`, a function of one of so many seeds for each block of requests."""
    runs, requests, dim = shape
    num_blocks = -(-requests // requests_per_seed)
    drawn = [
        generator.integers(noise_seeds, size=num_blocks) for generator in randomness.each_private("noise seeds", index)
    ]
    seeds = np.repeat(np.array(drawn), requests_per_seed, axis=1)[:, :requests]
    return seeded_noise(seeds.ravel(), dim).reshape(runs, requests, dim)


def clip_vectors(vectors: Tensor, clip: float) -> Tensor:
    """Scale vectors along the last axis to norm `clip` at most; what has no finite norm counts as zero."""
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    scaled, finite = vectors * (clip / norms.clamp(min=clip)), norms.isfinite()
    if vectors.device.type == "cpu" and finite.all():  # a look that costs less than a pass over long vectors
        return scaled
    return torch.where(finite, scaled, 0.0)


def sensitivity(sampling: Sampling) -> float:
    """Of a sum, in clipping norms: to replace a record is to remove one and to add one."""
    return 2.0 if isinstance(sampling, FixedSize) else 1.0
