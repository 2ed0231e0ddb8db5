"""LDPDC: Zheng & Li, Differentially Private Dataset Condensation, Algorithm 1 and Theorem III.1.

Every synthetic image is the noisy sum of a Poisson sample of its class over the expected size of the sample. The
sensitivity is that of the largest image, b√d with pixels in [−b, b], b = 1; the noise multiplier is σ̃ = σ/(b√d).

Differs from the paper: nothing is assumed of the pixels; the door clips every image to norm b√d, which leaves images
in [−1, 1] as they are and makes the theorem hold for any others (tables too).
"""

from dataclasses import dataclass
from math import prod, sqrt

import torch

from condensers.initial import balanced_labels, validate_private_size
from condensers.ledger import Entries, Event
from condensers.mechanism import Door, Request, class_sampling
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.registry import Track, condenser


@dataclass(frozen=True, kw_only=True)
class LdpdcConfig:
    """Defaults of section V-A: M = L = 50, σ̃ = 1."""

    ipc: int = 50
    init: str = "random"
    batch: int = 50
    noise_multiplier: float = 1.0

    def __post_init__(self) -> None:
        validate_private_size(ipc=self.ipc, init=self.init, batch=self.batch, noise_multiplier=self.noise_multiplier)


def plan_ldpdc(config: LdpdcConfig, class_sizes: tuple[float, ...]) -> Entries:
    """M releases of every class (Theorem III.1)."""
    return tuple(
        (
            Event(
                group=label,
                sampling=class_sampling(class_sizes, label, config.batch),
                noise_multiplier=config.noise_multiplier,
            ),
            config.ipc,
        )
        for label in range(len(class_sizes))
    )


@condenser(
    "ldpdc",
    config=LdpdcConfig,
    presets={"quick": {"batch": 20}, "worst-case": {"ipc": 10, "batch": 10}},
    plan=plan_ldpdc,
)
def condense_ldpdc(
    door: Door,
    config: LdpdcConfig,
    *,
    randomness: PublicRandomness,  # noqa: ARG001
    track: Track,
) -> CondensedBatch:
    """Noisy sums of Poisson samples of a class, with a privacy guarantee (Zheng & Li)."""
    dim = prod(door.input_shape)
    requests = [
        Request(group=label, sampling=door.poisson(label, config.batch), vectors=lambda images, _: images.flatten(1))
        for label in range(door.num_classes)
    ]
    shape = (door.num_runs, door.num_classes, config.ipc, *door.input_shape)
    state = {"images": torch.zeros(shape, device=door.device)}
    for step in track("condense", config.ipc, state):
        sums = door.release(requests, dim=dim, clip=sqrt(dim), noise_multiplier=config.noise_multiplier)
        state["images"][:, :, step] = sums.view(*shape[:2], *door.input_shape) / config.batch  # Eq. (7)
    return CondensedBatch(
        images=state["images"].flatten(1, 2),
        labels=balanced_labels(door.num_classes, config.ipc, door.num_runs, door.device),
        initial_records=torch.full((door.num_runs, shape[1] * config.ipc), -1, device=door.device),
    )
