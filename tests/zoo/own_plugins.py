"""Own mechanisms without a door, sound or with one fault, and a sound method of everybody; see zoo/plugins.py."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor
from zoo.kinds import FAULTS, WITHOUT, of_kind, released

from condensers.ledger import EVERYBODY, Entries, Event
from condensers.mechanism import Door, Request, class_sampling
from condensers.pool import CondensedBatch, Pool
from condensers.registry import condenser


@dataclass(frozen=True, kw_only=True)
class EverybodyConfig:
    ipc: int = 1
    batch: int = 10
    clip: float = 4.0
    noise_multiplier: float = 3.0


def plan_everybody(config: EverybodyConfig, class_sizes: tuple[float, ...]) -> Entries:
    sampling = class_sampling(class_sizes, EVERYBODY, config.batch)
    return ((Event(group=EVERYBODY, sampling=sampling, noise_multiplier=config.noise_multiplier), 3),)


@condenser("everybody", config=EverybodyConfig, plan=plan_everybody)
def sound_everybody(door: Door, config: EverybodyConfig, *, randomness: Any, track: Any) -> CondensedBatch:  # noqa: ARG001
    """Sound: a linear map of class and picture by three releases of everybody, the mean of which is released."""
    dim, classes = prod(door.input_shape), door.num_classes

    def vectors(images: Tensor, labels: Tensor) -> Tensor:
        hot = torch.nn.functional.one_hot(labels, classes).float()
        return (hot.unsqueeze(2) * images.flatten(1).unsqueeze(1)).flatten(1)

    request = Request(group=EVERYBODY, sampling=door.poisson(EVERYBODY, config.batch), vectors=vectors)
    total = torch.zeros(door.num_runs, classes * dim)
    for _ in range(3):
        total += door.release([request], dim=classes * dim, clip=config.clip, noise_multiplier=config.noise_multiplier)[
            :, 0
        ]
    images = torch.tanh(total / config.batch).view(door.num_runs, classes, *door.input_shape)
    return released(images, torch.arange(classes).expand(door.num_runs, -1).clone())


# ---------------------------------------------------------------- no door: own mechanisms with a claimed ε


@dataclass(frozen=True, kw_only=True)
class OwnConfig:
    ipc: int = 1
    sigma: float = 2.1  # (2, 1e-5) by the Gaussian mechanism on a sum of norm 1: σ ≥ 1.99
    clip: float = 1.0
    fault: str = "none"


@condenser("own", config=OwnConfig)
def own_mechanism(pool: Pool, included: Tensor, config: OwnConfig, *, randomness: Any, track: Any) -> CondensedBatch:  # noqa: ARG001
    """Gaussian sums of every class by an own mechanism, with one fault or none."""
    images = []
    for run in range(len(included)):
        generator = randomness.private(run, "noise")
        sums = [
            OWN.get(config.fault, gaussian_sum)(
                pool.images[records][included[run, records]].flatten(1), generator, config
            )
            for records in pool.class_slices
        ]
        images.append(torch.stack(sums).view(pool.num_classes, *pool.images.shape[1:]))
    labels = torch.arange(pool.num_classes).expand(len(included), -1).clone()
    batch = released(torch.stack(images), labels)
    return AFTER.get(config.fault, lambda batch, *_: batch)(batch, pool, included)


def normal(generator: np.random.Generator, dim: int) -> Tensor:
    return torch.from_numpy(generator.standard_normal(dim, dtype=np.float32))


def clipped(x: Tensor, clip: float) -> Tensor:
    return x * (clip / x.norm(dim=1, keepdim=True).clamp(min=clip))


def gaussian_sum(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    return clipped(x, config.clip).sum(0) + config.sigma * config.clip * normal(generator, x.shape[1])


@of_kind(WITHOUT)
def variance_for_deviation(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    """σ²/4 is taken for σ."""
    return clipped(x, config.clip).sum(0) + config.sigma**2 / 4 * config.clip * normal(generator, x.shape[1])


@of_kind(WITHOUT)
def noise_before_the_sum_of_clipped(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    """Noise is added to one record and the sum is clipped afterwards, to the same norm times the number of records."""
    total = x.sum(0)
    return clipped((total + config.sigma * config.clip * normal(generator, x.shape[1])).unsqueeze(0), 4.0)[0]


@of_kind(WITHOUT)
def scaled_by_the_number_of_records(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    """The mean by the true number, with the noise of the sum divided by it as well."""
    return gaussian_sum(x, generator, config) / max(1, len(x))


@of_kind(WITHOUT)
def laplace_with_l2_sensitivity(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    """Laplace noise of scale clip/ε where the clip is in L2."""
    noise = torch.from_numpy(generator.laplace(0, config.clip / 2.0, x.shape[1]).astype(np.float32))
    return clipped(x, config.clip).sum(0) + noise


@of_kind(WITHOUT)
def clip_by_the_median_norm(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    """The clipping norm is the median norm of the private records, and so is the noise."""
    clip = float(x.norm(dim=1).median()) if len(x) else config.clip
    return clipped(x, max(clip, 1e-3)).sum(0) + config.sigma * clip * normal(generator, x.shape[1])


@of_kind(WITHOUT)
def noise_only_where_there_are_records(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    return gaussian_sum(x, generator, config) if len(x) else torch.zeros(x.shape[1])


@of_kind(WITHOUT)
def noise_seeded_by_a_constant(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:  # noqa: ARG001
    return gaussian_sum(x, np.random.default_rng(1234), config)


@of_kind(WITHOUT)
def sharper_with_more_records(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    """Less noise for larger classes, "whose members are hidden among more"."""
    total = clipped(x, config.clip).sum(0)
    return total + config.sigma * config.clip / sqrt(max(1, len(x))) * normal(generator, x.shape[1])


@of_kind(WITHOUT)
def winsorised_by_private_quantiles(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    low, high = (x.amin(0), x.amax(0)) if len(x) else (torch.zeros(x.shape[1]),) * 2
    return torch.maximum(torch.minimum(gaussian_sum(x, generator, config), high), low)


@of_kind(WITHOUT)
def released_twice(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    """The mean of eight releases, each accounted as if it were the only one."""
    return torch.stack([gaussian_sum(x, generator, config) for _ in range(8)]).mean(0)


@of_kind(WITHOUT)
def nearest_record_first(x: Tensor, generator: np.random.Generator, config: OwnConfig) -> Tensor:
    """The noisy sum is replaced by the record that is nearest to it, "to look real"."""
    noisy = gaussian_sum(x, generator, config)
    return x[(x - noisy).norm(dim=1).argmin()] if len(x) else noisy


OWN: dict[str, Callable[..., Tensor]] = {
    name: globals()[name.replace("-", "_")]
    for name, kind in FAULTS.items()
    if kind == WITHOUT and name.replace("-", "_") in globals()  # a second import finds those of below in FAULTS
}


def empty_classes_left_out(batch: CondensedBatch, pool: Pool, included: Tensor) -> CondensedBatch:
    """Classes without records have label 0."""
    some = torch.stack([included[:, records].any(1) for records in pool.class_slices], 1)
    return replace(batch, labels=torch.where(some, batch.labels, 0))


AFTER: dict[str, Callable[..., CondensedBatch]] = {
    "empty-classes-left-out": empty_classes_left_out,
}
FAULTS |= dict.fromkeys(AFTER, WITHOUT)


@dataclass(frozen=True, kw_only=True)
class LaplaceConfig:
    ipc: int = 1
    scale: float = 0.5  # of the L1 sensitivity 1: ε = 2


@condenser("laplace", config=LaplaceConfig)
def sound_laplace(
    pool: Pool,
    included: Tensor,
    config: LaplaceConfig,
    *,
    randomness: Any,
    track: Any,  # noqa: ARG001
) -> CondensedBatch:
    """Sound: class sums clipped in L1, with Laplace noise."""
    x = pool.images.flatten(1)
    x = x / x.abs().sum(1, keepdim=True).clamp(min=1)
    images = torch.empty(len(included), pool.num_classes, x.shape[1])
    for run in range(len(included)):
        generator = randomness.private(run, "laplace")
        for label, records in enumerate(pool.class_slices):
            noise = generator.laplace(0, config.scale, x.shape[1]).astype(np.float32)
            images[run, label] = x[records][included[run, records]].sum(0) + torch.from_numpy(noise)
    labels = torch.arange(pool.num_classes).expand(len(included), -1).clone()
    return released(images.view(len(included), -1, *pool.images.shape[1:]), labels)
