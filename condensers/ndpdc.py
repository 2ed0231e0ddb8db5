"""NDPDC: Zheng & Li, Differentially Private Dataset Condensation, Algorithm 2 and Theorem III.2.

Distribution matching on clipped features: every step draws a public random network and moves the synthetic images so
that the sum of their clipped features approaches the noisy sum of those of a Poisson sample. The number of synthetic
images costs no privacy.

Differs from the official code, in all cases towards the paper and its proof: the noise is scaled by the clipping norm
G (Eq. (9)), the clipping factor of synthetic features is differentiated like the rest of line "Norm Clipping", and the
noise comes from a stream of its own, where the official code draws it from a generator that the augmentation has just
reseeded from the clock. As published, for audits only: `noise_source="clock"`, see condensers/clock.py. (Without
augmentation the official code's noise depends on a clock seed too: that of the network, which is drawn in every step.)
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from condensers.augment import Augmentation, draw_augmentation, parse_strategy
from condensers.clock import NOISE_SOURCES, check_noise_source
from condensers.dm import Embedder, augmented, embed_in_chunks, make_embedder, matching_gradient
from condensers.fields import check_choice, check_numbers
from condensers.initial import balanced_labels, initial_noise, validate_private_size
from condensers.ledger import Entries, Event
from condensers.mechanism import Door, Request, class_sampling
from condensers.networks import KINDS, Network, Parameters, draw_parameters
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.registry import Track, condenser
from condensers.samples import clip_vectors


@dataclass(frozen=True, kw_only=True)
class NdpdcConfig:
    """Defaults of section V-A: M = L = 50, I = 10 000, G = σ = η = 1; momentum as in the official code.

    `noise_source` "clock" is as published, and keeps no claim: every noise is a function of a seed below 100 000, and
    blocks of `classes_per_millisecond` consecutive classes share theirs in every step.
    """

    ipc: int = 50
    init: str = "random"
    iterations: int = 10000
    batch: int = 50
    clip: float = 1.0
    noise_multiplier: float = 1.0
    learning_rate: float = 1.0
    momentum: float = 0.5
    extractor: str = "convnet"
    width: int = 128
    depth: int = 3
    augmentation: str = "color_crop_cutout_scale_rotate"
    compiled: bool = False
    noise_source: str = "stream"
    classes_per_millisecond: int = 1

    def __post_init__(self) -> None:
        check_noise_source(self)
        validate_private_size(ipc=self.ipc, init=self.init, batch=self.batch, noise_multiplier=self.noise_multiplier)
        parse_strategy(self.augmentation)
        check_choice(self, "extractor", KINDS)
        check_numbers(
            self,
            at_least_one=("iterations", "width", "depth"),
            positive=("clip", "learning_rate"),
            below_one=("momentum",),
        )


def plan_ndpdc(config: NdpdcConfig, class_sizes: tuple[float, ...]) -> Entries:
    """I releases of every class (Theorem III.2)."""
    return tuple(
        (
            Event(
                group=label,
                sampling=class_sampling(class_sizes, label, config.batch),
                noise_multiplier=config.noise_multiplier,
            ),
            config.iterations,
        )
        for label in range(len(class_sizes))
    )


@condenser(
    "ndpdc",
    config=NdpdcConfig,
    presets={
        "quick": {"iterations": 300, "width": 32, "depth": 2, "batch": 20, "learning_rate": 0.1},
        "worst-case": {"ipc": 1, "iterations": 10, "batch": 10, "extractor": "linear", "width": 16},
    },
    plan=plan_ndpdc,
)
def condense_ndpdc(door: Door, config: NdpdcConfig, *, randomness: PublicRandomness, track: Track) -> CondensedBatch:
    """Distribution matching of clipped features with a privacy guarantee (Zheng & Li)."""
    num_images = door.num_classes * config.ipc
    images, records = initial_noise(num_images, door.input_shape, door.num_runs, door.device, randomness)
    network = Network(
        kind=config.extractor,
        input_shape=door.input_shape,
        num_classes=door.num_classes,
        width=config.width,
        depth=config.depth,
    )
    embedder = make_embedder(network, compiled=config.compiled)
    operations = parse_strategy(config.augmentation) if len(door.input_shape) == 3 else ()

    def combine(features: Tensor) -> Tensor:
        """(L/M) Σ_j r̃(s_j), line "Compute Loss": the loss is on sums, not on means."""
        return clip_vectors(features, config.clip).sum(1) * (config.batch / config.ipc)

    state = {"images": images, "velocity": torch.zeros_like(images)}
    for step in track("condense", config.iterations, state):
        parameters = draw_parameters(network, [randomness.public("network", step)], door.device)
        drawn = [
            draw_augmentation(operations, randomness.public("augmentation", step, label)) if operations else None
            for label in range(door.num_classes)
        ]
        requests = [
            Request(
                group=label,
                sampling=door.poisson(label, config.batch),
                vectors=partial(_features, drawn=drawn[label], embedder=embedder, parameters=parameters, net=network),
            )
            for label in range(door.num_classes)
        ]
        sums = door.release(
            requests,
            dim=network.num_features,
            clip=config.clip,
            noise_multiplier=config.noise_multiplier,
            noise_seeds=NOISE_SOURCES[config.noise_source],
            requests_per_seed=config.classes_per_millisecond,
        )
        gradient = matching_gradient(
            state["images"], sums, config.ipc, drawn, embedder, parameters, network, combine=combine
        )
        state["velocity"].mul_(config.momentum).add_(gradient)
        state["images"].sub_(state["velocity"], alpha=config.learning_rate)
    return CondensedBatch(
        images=state["images"],
        labels=balanced_labels(door.num_classes, config.ipc, door.num_runs, door.device),
        initial_records=records,
    )


def _features(
    images: Tensor,
    labels: Tensor,  # noqa: ARG001
    *,
    drawn: Augmentation | None,
    embedder: Embedder,
    parameters: Parameters,
    net: Network,
) -> Tensor:
    """Φ_θ(A_w(x)), line "Compute Representations"."""
    with torch.no_grad():
        return embed_in_chunks(augmented(images, drawn), embedder, parameters, net)
