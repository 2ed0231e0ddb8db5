"""DPMix: Lee et al., Synthesizing Differentially Private Datasets using Random Mixing (2019), as Zheng & Li
(Differentially Private Dataset Condensation, section IV) compare it: every synthetic image is the noisy mean of L
records drawn without replacement from the whole set, and its label the noisy mean of their labels.

Read by us, since the paper compared against leaves it open: M mixtures for each class; image and label are one release
of the vector (x/√d, y), whose parts have norm 1 at most, so that the clipping norm is √2; σ_X = σ_Y = 1 are relative to
what replacing a record does to either part, which makes the noise multiplier of the whole 1/√2.

The noise is on the sum and the divisor is the L of the configuration, not the number of records that were met.
"""

from dataclasses import dataclass
from math import prod, sqrt

import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.errors import BadConfig
from condensers.initial import validate_private_size
from condensers.ledger import EVERYBODY, Entries, Event, FixedSize
from condensers.mechanism import Door, Request
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.registry import Track, condenser


@dataclass(frozen=True, kw_only=True)
class DpmixConfig:
    """Settings of section IV of Zheng & Li: M = L = 50, σ_X = σ_Y = 1."""

    ipc: int = 50
    init: str = "random"
    batch: int = 50
    noise_multiplier: float = sqrt(0.5)

    def __post_init__(self) -> None:
        validate_private_size(ipc=self.ipc, init=self.init, batch=self.batch, noise_multiplier=self.noise_multiplier)


def plan_dpmix(config: DpmixConfig, class_sizes: tuple[float, ...]) -> Entries:
    """M releases for each class, each of the whole set."""
    event = Event(
        group=EVERYBODY, sampling=_sampling(class_sizes, config.batch), noise_multiplier=config.noise_multiplier
    )
    return ((event, config.ipc * len(class_sizes)),)


def _sampling(class_sizes: tuple[float, ...], batch: int) -> FixedSize:
    population = int(sum(class_sizes))
    if batch > population:
        raise BadConfig(f"batch={batch}: must lie in 1…{population}, the expected number of records in a run")
    return FixedSize(batch=batch, population=population)


@condenser(
    "dpmix",
    config=DpmixConfig,
    presets={"quick": {"batch": 20}, "worst-case": {"ipc": 5, "batch": 10}},
    plan=plan_dpmix,
)
def condense_dpmix(
    door: Door,
    config: DpmixConfig,
    *,
    randomness: PublicRandomness,  # noqa: ARG001
    track: Track,
) -> CondensedBatch:
    """Noisy means of random records, labels mixed and noisy too (Lee et al.)."""
    pixels, num_classes = prod(door.input_shape), door.num_classes

    def pairs(images: Tensor, labels: Tensor) -> Tensor:
        """(x/√d, y); an image longer than √d is clipped by itself, so that it does not shorten its label."""
        flat = images.flatten(1) / sqrt(pixels)
        norms = torch.linalg.vector_norm(flat, dim=1, keepdim=True).clamp(min=1.0)
        return torch.cat([flat / norms, F.one_hot(labels, num_classes).to(flat.dtype)], 1)

    request = Request(group=EVERYBODY, sampling=_sampling(door.class_sizes, config.batch), vectors=pairs)
    size = num_classes * config.ipc
    state = {
        "images": torch.zeros(door.num_runs, size, *door.input_shape, device=door.device),
        "labels": torch.zeros(door.num_runs, size, num_classes, device=door.device),
    }
    for step in track("condense", size, state):
        sums = door.release(
            [request], dim=pixels + num_classes, clip=sqrt(2.0), noise_multiplier=config.noise_multiplier
        )
        mixed, labels = sums[:, 0].split([pixels, num_classes], 1)
        state["images"][:, step] = mixed.view(-1, *door.input_shape) * (sqrt(pixels) / config.batch)
        state["labels"][:, step] = labels / config.batch
    return CondensedBatch(
        images=state["images"],
        labels=state["labels"],
        initial_records=torch.full((door.num_runs, size), -1, device=door.device),
    )
