"""Where synthetic images start: public noise, or private records."""

import math

import numpy as np
import torch
from torch import Tensor

from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.randomness import PublicRandomness, Randomness, draw_normal, to_device

INITS = ("random", "real")


def validate_size(*, ipc: int, init: str) -> None:
    """What every config with `ipc` and `init` must satisfy."""
    if ipc < 1:
        raise BadConfig(f"--ipc {ipc}: at least 1 image per class is needed")
    if init not in INITS:
        raise BadConfig(f"--init {init!r} is not one of {', '.join(INITS)}")


def validate_private_size(*, ipc: int, init: str, batch: int, noise_multiplier: float) -> None:
    """What every config of a private method that releases images must satisfy."""
    validate_size(ipc=ipc, init=init)
    if init == "real":
        raise BadConfig("--init real: images that start from private records have no privacy left; use --init random")
    validate_noise(batch=batch, noise_multiplier=noise_multiplier)


def validate_noise(*, batch: int, noise_multiplier: float) -> None:
    """What every config of a private method must satisfy, whatever it releases."""
    if batch < 1:
        raise BadConfig(f"batch={batch}: must be at least 1")
    if not (noise_multiplier > 0 and math.isfinite(noise_multiplier)):
        raise BadConfig(f"noise_multiplier={noise_multiplier}: must be a positive number")


def check_members(pool: Pool, included: Tensor, randomness: Randomness, *, at_least: int, why: str) -> None:
    """Refuse a group of runs in which some run has too few members of a class."""
    for label, records in enumerate(pool.class_slices):
        counts = included[:, records].sum(1)
        fewest = int(counts.argmin())
        if int(counts[fewest]) < at_least:
            raise BadConfig(
                f"{why} needs {at_least} records of every class in every run, but run {randomness.runs[fewest]} has "
                f"{int(counts[fewest])} of class {label} (of {records.stop - records.start} in the pool, "
                "each in with probability ½); choose a smaller --ipc or a larger pool"
            )


def balanced_labels(num_classes: int, ipc: int, runs: int, device: torch.device) -> Tensor:
    """Labels `[runs, num_classes·ipc]`, class by class."""
    return torch.arange(num_classes, device=device).repeat_interleave(ipc).expand(runs, -1)


def initial_noise(
    num_images: int,
    input_shape: tuple[int, ...],
    runs: int,
    device: torch.device,
    randomness: Randomness | PublicRandomness,
) -> tuple[Tensor, Tensor]:
    """The same standard normal noise for every run, and −1 for its records."""
    shape = (num_images, *input_shape)
    noise = draw_normal(randomness.public("initial images"), shape, device)
    return noise.repeat(runs, *[1] * noise.ndim).view(runs, *shape), torch.full(
        (runs, num_images), -1, dtype=torch.int64, device=device
    )


def initial_records(pool: Pool, included: Tensor, ipc: int, randomness: Randomness) -> tuple[Tensor, Tensor]:
    """For each run, `ipc` of its members of each class, uniformly without replacement."""
    check_members(pool, included, randomness, at_least=ipc, why=f"--ipc {ipc} with real images")
    members = included.cpu().numpy()
    chosen = np.stack(
        [
            np.concatenate(
                [
                    generator.choice(np.flatnonzero(members[position, records]), ipc, replace=False) + records.start
                    for records in pool.class_slices
                ]
            )
            for position in range(len(randomness.runs))
            for generator in [randomness.private(position, "initial records")]
        ]
    )
    index = to_device(chosen, pool.images.device)
    return pool.images[index], index
