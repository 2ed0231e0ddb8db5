"""Condensers that use the door, as an outside user would write them: sound, or with one natural fault.

Written after the scores of audit/games/transcript were frozen, and without changing them. `--set fault=NAME` chooses;
zoo/kinds.py says to which of the four kinds a fault belongs. Every method claims ε = 2 at δ = 1e-5.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor
from zoo.kinds import AROUND, AT_THE_DOOR, FAULTS, IN_VECTORS, released

from condensers import mechanism
from condensers.ledger import Entries, Event
from condensers.mechanism import Door, Request, class_sampling
from condensers.pool import CondensedBatch
from condensers.registry import condenser


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
