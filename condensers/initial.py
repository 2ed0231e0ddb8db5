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
        raise BadConfig(
            "--init real: images initialised with private records are not differentially private; use --init random"
        )
    validate_noise(batch=batch, noise_multiplier=noise_multiplier)


def validate_noise(*, batch: int, noise_multiplier: float) -> None:
    """What every config of a private method must satisfy, whatever it releases."""
    if batch < 1:
        raise BadConfig(f"batch={batch}: must be at least 1")
    if not (noise_multiplier > 0 and math.isfinite(noise_multiplier)):
        raise BadConfig(f"noise_multiplier={noise_multiplier}: must be a positive number")


def check_real_start(class_sizes: tuple[float, ...], *, ipc: int, init: str | None) -> None:
    """Refuse more real images per class than a run has records of it on average. No run's coins are looked at."""
    smallest = min(class_sizes)
    if init == "real" and ipc > max(1.0, smallest):
        raise BadConfig(
            f"--ipc {ipc} with real images: the smallest class has {smallest:g} records per run on average; "
            f"choose --ipc {max(1, int(smallest))} or less, or a larger pool"
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
    """For each run, `ipc` of its members of each class, uniformly without replacement.

    A run with fewer members of a class takes them all, and its other images of the class are the public noise that
    `initial_noise` would put there, with −1 for their records: to refuse such a run would condition its coins.
    """
    members, device = included.cpu().numpy(), pool.images.device
    num_images, input_shape = pool.num_classes * ipc, tuple(pool.images.shape[1:])
    chosen = np.full((len(randomness.runs), num_images), -1)
    for position in range(len(randomness.runs)):
        generator = randomness.private(position, "initial records")
        for label, records in enumerate(pool.class_slices):
            own = np.flatnonzero(members[position, records]) + records.start
            start = generator.choice(own, min(ipc, len(own)), replace=False) if len(own) else own
            chosen[position, label * ipc : label * ipc + len(start)] = start
    index = to_device(chosen, device)
    noise = draw_normal(randomness.public("initial images"), (num_images, *input_shape), device)
    real = (index >= 0).view(*index.shape, *[1] * len(input_shape))
    return torch.where(real, pool.images[index.clamp(min=0)], noise), index


def has_members(pool: Pool, included: Tensor) -> Tensor:
    """Which classes have a member in which run, bool `[runs, classes]`."""
    return torch.stack([included[:, records].any(1) for records in pool.class_slices], 1)
