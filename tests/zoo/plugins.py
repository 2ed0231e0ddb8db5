"""Condensers as an outside user would write them: four sound ones, and one natural fault each in the others.

Written after the scores of audit/games/transcript were frozen, and without changing them. `--set fault=NAME` chooses;
FAULTS says to which of the four kinds a fault belongs. Every method claims ε = 2 at δ = 1e-5.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from condensers import mechanism
from condensers.ledger import EVERYBODY, Entries, Event
from condensers.mechanism import Door, Request, class_sampling
from condensers.pool import CondensedBatch, Pool
from condensers.registry import condenser

AT_THE_DOOR, IN_VECTORS, AROUND, WITHOUT = "at the door", "in vectors", "around the door", "no door"
FAULTS: dict[str, str] = {}


def of_kind(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        FAULTS[function.__name__.replace("_", "-")] = kind
        return function

    return register


def released(images: Tensor, labels: Tensor) -> CondensedBatch:
    return CondensedBatch(images=images, labels=labels, initial_records=torch.full(labels.shape[:2], -1))


# ---------------------------------------------------------------- through the door: noisy means of every class


@dataclass(frozen=True, kw_only=True)
class DoorConfig:
    ipc: int = 4
    batch: int = 10
    clip: float = 8.0
    noise_multiplier: float = 3.0
    fault: str = "none"


def plan(config: DoorConfig, class_sizes: tuple[float, ...]) -> Entries:
    if config.fault == "plan-counts-epochs-not-steps":
        steps = max(1, config.ipc // 2)
    else:
        steps = config.ipc
    rates = [class_sampling(class_sizes, label, config.batch) for label in range(len(class_sizes))]
    if config.fault == "plan-halves-the-rate":
        rates = [replace(rate, rate=rate.rate / 2) for rate in rates]
    return tuple(
        (Event(group=label, sampling=rates[label], noise_multiplier=config.noise_multiplier), steps)
        for label in range(len(class_sizes))
    )


for _name in ("plan-counts-epochs-not-steps", "plan-halves-the-rate"):
    FAULTS[_name] = AROUND


@condenser("door", config=DoorConfig, plan=plan)
def door_means(door: Door, config: DoorConfig, *, randomness: Any, track: Any) -> CondensedBatch:
    """Noisy class means by the door, with one fault or none."""
    dim, classes = prod(door.input_shape), door.num_classes
    notes: dict[str, Any] = {"randomness": randomness}
    vectors = VECTORS.get(config.fault, flat)
    requests = [
        Request(group=label, sampling=door.poisson(label, config.batch), vectors=lambda x, y: vectors(x, y, notes))
        for label in range(classes)
    ]
    images = []
    with DOORS.get(config.fault, nothing_planted)():
        for step in track("condense", config.ipc, {}):
            notes["step"] = step
            sums = door.release(requests, dim=dim, clip=config.clip, noise_multiplier=config.noise_multiplier)
            images.append((sums / config.batch).view(door.num_runs, classes, *door.input_shape))
    stacked = torch.stack(images, 2).flatten(1, 2)
    labels = torch.arange(classes).repeat_interleave(config.ipc).expand(door.num_runs, -1).clone()
    return RELEASES.get(config.fault, as_it_is)(released(stacked, labels), notes, door)


def flat(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:  # noqa: ARG001
    return images.flatten(1)


def as_it_is(batch: CondensedBatch, notes: dict[str, Any], door: Door) -> CondensedBatch:  # noqa: ARG001
    return batch


class nothing_planted:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def patched(target: Any, name: str, make: Callable[[Any], Any]) -> type:
    """A context in which an attribute of the library is another, as a careless subclass or fork would have it."""

    class Patch:
        def __enter__(self) -> None:
            self.before = getattr(target, name)
            setattr(target, name, make(self.before))

        def __exit__(self, *_: object) -> None:
            setattr(target, name, self.before)

    return Patch


def noise_changed(change: Callable[[np.ndarray, int], np.ndarray]) -> type:
    def make(draw: Any) -> Any:
        def faulty(self: Any, requests: Any, dim: int, index: int) -> Any:
            taken, noise = draw(self, requests, dim, index)
            return taken, np.ascontiguousarray(change(noise, index)).astype(np.float32)

        return faulty

    return patched(Door, "_draw", make)


def uniform_of_the_same_deviation(noise: np.ndarray, index: int) -> np.ndarray:  # noqa: ARG001
    from scipy import special

    return (special.ndtr(noise.astype(np.float64)) - 0.5) * sqrt(12)


def noise_clipped_at_two(noise: np.ndarray, index: int) -> np.ndarray:  # noqa: ARG001
    return np.clip(noise, -2, 2)


def noise_smoothed_over_neighbouring_pixels(noise: np.ndarray, index: int) -> np.ndarray:  # noqa: ARG001
    return (noise + np.roll(noise, 1, axis=-1)) / sqrt(2)


def noise_that_decays(noise: np.ndarray, index: int) -> np.ndarray:
    return noise * 0.8**index


def noise_of_successive_steps_opposed(noise: np.ndarray, index: int) -> np.ndarray:
    key = noise.shape
    if index % 2 == 0:
        _LAST[key] = noise
        return noise
    return -_LAST.get(key, noise)


_LAST: dict[Any, np.ndarray] = {}


def noise_rounded_to_tenths_of_few_values(noise: np.ndarray, index: int) -> np.ndarray:  # noqa: ARG001
    return np.round(noise)


def noise_in_half_of_the_coordinates_only(noise: np.ndarray, index: int) -> np.ndarray:  # noqa: ARG001
    half = noise.copy()
    half[..., noise.shape[-1] // 2 :] *= 0.25
    return half


def clip_by_the_largest_coordinate(vectors: Tensor, clip: float) -> Tensor:
    largest = vectors.abs().amax(-1, keepdim=True).clamp(min=clip / 4)
    return vectors * (clip / 4 / largest)


def clip_with_a_floor(vectors: Tensor, clip: float) -> Tensor:
    """Long vectors are scaled to 1.5 times the norm, "to keep some of the signal"."""
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors * (1.5 * clip / norms.clamp(min=1.5 * clip))


def normalise_instead_of_clipping_twice(vectors: Tensor, clip: float) -> Tensor:
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True).clamp(min=1e-9)
    return vectors * (2 * clip / norms)


def everybody_twice(members: np.ndarray, coins: np.ndarray, sampling: Any) -> np.ndarray:
    """Sampled at twice the rate that is accounted."""
    return members & (coins < min(1.0, 2 * sampling.rate))


DOORS: dict[str, type] = {
    "uniform-noise": noise_changed(uniform_of_the_same_deviation),
    "noise-clipped-at-two-deviations": noise_changed(noise_clipped_at_two),
    "noise-smoothed-over-pixels": noise_changed(noise_smoothed_over_neighbouring_pixels),
    "noise-decays-over-steps": noise_changed(noise_that_decays),
    "noise-cancels-over-steps": noise_changed(noise_of_successive_steps_opposed),
    "noise-rounded-to-integers": noise_changed(noise_rounded_to_tenths_of_few_values),
    "noise-weak-in-half-of-the-pixels": noise_changed(noise_in_half_of_the_coordinates_only),
    "clip-by-largest-coordinate": patched(mechanism, "clip_vectors", lambda _: clip_by_the_largest_coordinate),
    "clip-at-one-and-a-half": patched(mechanism, "clip_vectors", lambda _: clip_with_a_floor),
    "normalised-to-twice-the-clip": patched(mechanism, "clip_vectors", lambda _: normalise_instead_of_clipping_twice),
    "sampled-at-twice-the-rate": patched(mechanism, "_take", lambda _: everybody_twice),
}
FAULTS |= dict.fromkeys(DOORS, AT_THE_DOOR)


def softmax_over_the_batch(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:  # noqa: ARG001
    x = images.flatten(1)
    return x * torch.softmax(x.norm(dim=1), 0).unsqueeze(1) * len(x)


def whitened_by_the_batch(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:  # noqa: ARG001
    x = images.flatten(1)
    return x / x.std(0, unbiased=False).clamp(min=0.05)


def running_mean_removed(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:
    x = images.flatten(1)
    notes["mean"] = 0.9 * notes.get("mean", 0) + 0.1 * x.mean(0)
    return x - notes["mean"]


def mixed_with_the_next_record(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:  # noqa: ARG001
    x = images.flatten(1)
    return 0.5 * x + 0.5 * x.roll(1, 0)


def medoid_for_everybody(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:  # noqa: ARG001
    x = images.flatten(1)
    return x[torch.cdist(x, x).sum(1).argmin()].expand_as(x)


def shuffled_pixels_drawn_for_each_position(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:
    """A public stream turns the records by their position in the batch, so one more record turns the others."""
    x = images.flatten(1)
    generator = notes["randomness"].public("turn", notes["step"])
    signs = torch.from_numpy(generator.choice(np.array([-1.0, 1.0], dtype=np.float32), (len(x), 1)))
    return x * signs


def sorted_by_brightness(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:  # noqa: ARG001
    x = images.flatten(1)
    ranks = x.mean(1).argsort().argsort().float().unsqueeze(1)
    return x * (ranks + 1) / len(x)


VECTORS: dict[str, Callable[..., Tensor]] = {
    "attention-over-the-batch": softmax_over_the_batch,
    "whitened-by-the-batch": whitened_by_the_batch,
    "running-mean-removed": running_mean_removed,
    "mixed-with-the-next-record": mixed_with_the_next_record,
    "medoid-for-everybody": medoid_for_everybody,
    "sign-by-position": shuffled_pixels_drawn_for_each_position,
    "weighted-by-rank": sorted_by_brightness,
}
FAULTS |= dict.fromkeys(VECTORS, IN_VECTORS)


def noting(key: str, look: Callable[[Tensor], Any]) -> Callable[..., Tensor]:
    """Vectors that are sound, and a look at the records that is kept for later."""

    def vectors(images: Tensor, _: Tensor, notes: dict[str, Any]) -> Tensor:
        notes.setdefault(key, []).append(look(images))
        return images.flatten(1)

    return vectors


def scaled_to_the_records(batch: CondensedBatch, notes: dict[str, Any], door: Door) -> CondensedBatch:  # noqa: ARG001
    return replace(batch, images=batch.images.clamp(-max(notes["range"]), max(notes["range"])))


def median_picture_last(batch: CondensedBatch, notes: dict[str, Any], door: Door) -> CondensedBatch:  # noqa: ARG001
    images = batch.images.clone()
    images[:, -1] = notes["median"][-1]
    return replace(batch, images=images)


def ordered_by_how_close(batch: CondensedBatch, notes: dict[str, Any], door: Door) -> CondensedBatch:
    """The images of a class are put in the order of their distance to the true mean."""
    ipc = batch.images.shape[1] // door.num_classes
    images = batch.images.view(door.num_runs, door.num_classes, ipc, *door.input_shape)
    gaps = (images - notes["average"][-1]).flatten(3).norm(dim=3)
    order = gaps.argsort(2).view(*gaps.shape, *[1] * len(door.input_shape)).expand_as(images)
    return replace(batch, images=images.gather(2, order).flatten(1, 2))


def early_stopping(batch: CondensedBatch, notes: dict[str, Any], door: Door) -> CondensedBatch:
    """Images after the one that comes closest to the records are dropped, as validation on private data would."""
    ipc = batch.images.shape[1] // door.num_classes
    images = batch.images.view(door.num_runs, door.num_classes, ipc, *door.input_shape).clone()
    gaps = (images - notes["average"][-1]).flatten(3).norm(dim=3).mean((0, 1))
    images[:, :, int(gaps.argmin()) + 1 :] = 0.0
    return replace(batch, images=images.flatten(1, 2))


def soft_labels_by_distance(batch: CondensedBatch, notes: dict[str, Any], door: Door) -> CondensedBatch:
    """Soft labels by the distance to the true class mean."""
    gaps = (batch.images - notes["average"][-1]).flatten(2).norm(dim=2)
    soft = torch.nn.functional.one_hot(batch.labels, door.num_classes).float()
    return replace(batch, labels=soft * torch.sigmoid(1 - gaps / gaps.mean()).unsqueeze(2))


def rescaled_to_the_mean_norm(batch: CondensedBatch, notes: dict[str, Any], door: Door) -> CondensedBatch:  # noqa: ARG001
    norms = batch.images.flatten(2).norm(dim=2).clamp(min=1e-6)
    target = float(np.mean(notes["norms"]))
    return replace(batch, images=batch.images * (target / norms).view(*norms.shape, *[1] * (batch.images.ndim - 2)))


def hashed_watermark(batch: CondensedBatch, notes: dict[str, Any], door: Door) -> CondensedBatch:  # noqa: ARG001
    """A checksum of the data in the last bits, "for provenance"."""
    return replace(batch, images=batch.images + 1e-4 * (hash(tuple(notes["sums"])) % 1000))


def ledger_read_and_pool_patched(batch: CondensedBatch, notes: dict[str, Any], door: Any) -> CondensedBatch:  # noqa: ARG001
    pool = door._Door__pool
    return replace(batch, images=batch.images + 0 * pool.images[:1].mean())


def ledger_emptied(batch: CondensedBatch, notes: dict[str, Any], door: Any) -> CondensedBatch:  # noqa: ARG001
    from condensers.ledger import Ledger

    door.ledger = Ledger()
    return batch


RELEASES: dict[str, Callable[..., CondensedBatch]] = {
    "range-of-the-records": scaled_to_the_records,
    "median-picture-kept": median_picture_last,
    "ordered-by-private-quality": ordered_by_how_close,
    "private-early-stopping": early_stopping,
    "soft-labels-by-private-distance": soft_labels_by_distance,
    "rescaled-to-private-norm": rescaled_to_the_mean_norm,
    "checksum-in-the-last-bits": hashed_watermark,
    "pool-read-through-the-door": ledger_read_and_pool_patched,
    "ledger-replaced": ledger_emptied,
}
FAULTS |= dict.fromkeys(RELEASES, AROUND)
VECTORS |= {
    "range-of-the-records": noting("range", lambda images: float(images.abs().max())),
    "median-picture-kept": noting("median", lambda images: images.median(0).values),
    "ordered-by-private-quality": noting("average", lambda images: images.mean(0)),
    "private-early-stopping": noting("average", lambda images: images.mean(0)),
    "soft-labels-by-private-distance": noting("average", lambda images: images.mean(0)),
    "rescaled-to-private-norm": noting("norms", lambda images: float(images.flatten(1).norm(dim=1).mean())),
    "checksum-in-the-last-bits": noting("sums", lambda images: float(images.sum())),
}


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
    name: globals()[name.replace("-", "_")] for name, kind in FAULTS.items() if kind == WITHOUT
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


SOUND = ("door_means", "sound_everybody", "own_mechanism", "sound_laplace")
