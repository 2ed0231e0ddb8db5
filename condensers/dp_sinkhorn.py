"""DP-Sinkhorn: Cao et al., Don't Generate Me, NeurIPS 2021, arXiv:2111.01177.

A generator is trained on the Sinkhorn loss between its images and a Poisson sample of the records. What is private is
the gradient of the loss at the generated images: a function of the whole sample, clipped as one vector to C, of
sensitivity 2C, with noise of 2σC. The rest of the way, through the generator, is post-processing. Settings of the
released code's README (nv-tlabs/DP-Sinkhorn_code at 2571a60) for MNIST: σ = 1.1 (.9 on FashionMNIST), C = .5, batches
of 50, cost "l1+l2" with m = 1, labels times 15, regularisation .05, semi-debiased by a fifth of the batch, Adam 1e-5
with a weight decay of 1e-5 (sinkhorn_poisson.py), z of 16 uniform numbers in [0, 1], until ε = 10. The alternates that
the debiasing takes are moved by the gradient of their own term, which no record has a part in: it is clipped to C and
has no noise (sinkhorn_poisson.py, clip_img_grads_hook).

`size="realised"` is as published: as many images are generated as the Poisson sample has records, so that the size of
the released gradient tells the size of the sample, on which the amplification counts.

Differs from the released code: labels are balanced, and batch norm has fixed statistics in the release
(condensers/batch_norm.py). With `size="realised"` images and alternates beyond the size of the sample are made too:
they take part in the statistics of batch norm, and in nothing else.
"""

from dataclasses import dataclass
from math import ceil, prod, sqrt
from typing import Any

import torch
from torch import Tensor

from condensers.fields import check_choice, check_numbers
from condensers.generation import GeneratorConfig, Studio
from condensers.initial import validate_noise
from condensers.ledger import EVERYBODY, Entries, Event
from condensers.mechanism import Door, class_sampling
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.registry import Track, condenser
from condensers.samples import BatchRequest, clip_vectors
from condensers.sinkhorn import transport_cost, transport_plan

SIZES = ("fixed", "realised")
VALUES_AT_ONCE = 1 << 24
PRESETS: dict[str, dict[str, Any]] = {
    # Set by hand, without a recorded search; docs/generators.md has its accuracy on digits at seed 0.
    "quick": {
        "iterations": 200,
        "batch": 60,
        "batch_generated": 50,
        "generator": "mlp",
        "generator_width": 100,
        "generator_learning_rate": 5e-3,
        "latent_kind": "uniform",
        "weight_decay": 0.0,
        "sinkhorn_iterations": 20,
    },
    "worst-case": {
        "ipc": 1,
        "iterations": 3,
        "batch": 2,
        "batch_generated": 2,
        "generator": "mlp",
        "generator_width": 2,
        "latent": 2,
        "latent_kind": "uniform",
        "weight_decay": 0.0,
        "sinkhorn_iterations": 5,
    },
}


@dataclass(frozen=True, kw_only=True)
class DpSinkhornConfig(GeneratorConfig):
    """The released code stops when its accountant reaches ε = 10, or after 3000 epochs. On 60 000 records
    that is after 3.6 million steps at σ = 1.1, after 1.82 million at σ = .9.
    """

    iterations: int = 3_600_000
    batch: int = 50
    batch_generated: int = 50
    clip: float = 0.5
    noise_multiplier: float = 1.1
    generator: str = "dcgan-bn"
    latent: int = 16
    latent_kind: str = "unit"
    generator_learning_rate: float = 1e-5
    weight_decay: float = 1e-5
    mixture: float = 1.0
    label_weight: float = 15.0
    regularisation: float = 0.05
    debias: float = 0.2
    sinkhorn_iterations: int = 50
    size: str = "fixed"

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_noise(batch=self.batch, noise_multiplier=self.noise_multiplier)
        check_choice(self, "size", SIZES)
        check_numbers(
            self,
            at_least_one=("sinkhorn_iterations",),
            positive=("clip", "regularisation", "label_weight"),
            not_negative=("weight_decay",),
            below_one=("debias",),
        )

    @property
    def num_generated(self) -> int:
        """Of a step; where the sample decides, as many as it has but with negligible probability (six deviations)."""
        return self.batch + ceil(6 * sqrt(self.batch)) if self.size == "realised" else self.batch_generated

    @property
    def batches(self) -> tuple[int, ...]:
        """The images, and the alternates that the debiasing takes, which the released code makes in a second pass."""
        alternates = int(self.debias * self.num_generated)
        return (self.num_generated, alternates) if alternates else (self.num_generated,)

    @property
    def label_gap(self) -> float:
        """The cost between points of different labels."""
        return 2 * self.label_weight**2 + 2 * self.mixture * self.label_weight


def plan_dp_sinkhorn(config: DpSinkhornConfig, class_sizes: tuple[float, ...]) -> Entries:
    """One release of a sample of the whole set per step."""
    sampling = class_sampling(class_sizes, EVERYBODY, config.batch)
    event = Event(group=EVERYBODY, sampling=sampling, noise_multiplier=config.noise_multiplier, of="batch")
    return ((event, config.iterations),)


@condenser("dp-sinkhorn", config=DpSinkhornConfig, presets=PRESETS, plan=plan_dp_sinkhorn, releases="generator")
def condense_dp_sinkhorn(
    door: Door, config: DpSinkhornConfig, *, randomness: PublicRandomness, track: Track
) -> CondensedBatch:
    """A generator trained on noisy gradients of the Sinkhorn loss at its images (Cao et al.)."""
    generator = config.shape(door.input_shape, door.num_classes)
    studio = Studio(generator=generator, config=config, randomness=randomness, runs=door.num_runs, device=door.device)
    count, pixels = config.num_generated, prod(door.input_shape)
    alternates = sum(config.batches) - count
    state = studio.start()
    for step in track("condense", config.iterations, state):
        labels = studio.labels(step, count)
        codes = torch.cat([studio.codes(step, labels), studio.codes(step, labels[:alternates], "alternate codes")])
        traced = studio.traced_images(state, codes)
        made = traced[1].detach().flatten(2)
        all_labels = torch.cat([labels, labels[:alternates]])

        def vector(
            images: Tensor, own: Tensor, present: Tensor, made: Tensor = made, labels: Tensor = all_labels
        ) -> Tensor:
            """∂/∂x of 2 W(x, records) − W(x, generated) at the first `count` images; 0 where the sample is empty."""
            found = sinkhorn_gradient(config, made, labels, images.flatten(2), own, present)[:, :count]
            return torch.where(present.any(1).view(-1, 1, 1), found, 0.0).flatten(1)

        request = BatchRequest(group=EVERYBODY, sampling=door.poisson(EVERYBODY, config.batch), vector=vector)
        noisy, sizes = door.release_batch(
            request,
            dim=count * pixels,
            clip=config.clip,
            noise_multiplier=config.noise_multiplier,
            reveal_size=config.size == "realised",
        )
        gradient = noisy.view(door.num_runs, count, pixels)
        if sizes is not None:
            gradient = gradient * (torch.arange(count, device=door.device) < sizes.unsqueeze(1)).unsqueeze(2)
        at_alternates = alternates_gradient(config, made, all_labels, sizes)
        public = clip_vectors(at_alternates.flatten(1), config.clip).view_as(at_alternates)
        through = torch.cat([gradient, public], 1).view(door.num_runs, -1, *door.input_shape)
        studio.move_along(state, traced, through, step, weight_decay=config.weight_decay)
    return studio.released(studio.weights(state))


def sinkhorn_gradient(
    config: DpSinkhornConfig, made: Tensor, labels: Tensor, images: Tensor, own: Tensor, present: Tensor
) -> Tensor:
    """∂/∂x of 2 W(x, records) − W(x, x′) at all generated points, `[runs, points, pixels]`.

    x are the first points; with `size="realised"` as many as there are records. Runs go in parts of bounded memory.
    """
    count = config.num_generated
    alternates = made.shape[1] - count
    width = max(1, max(images.shape[1], count) * count * made.shape[2])
    size, parts = max(1, VALUES_AT_ONCE // width), []
    for start in range(0, len(made), size):
        part = slice(start, start + size)
        # Double precision: costs are thousands of times the regularisation that they are divided by.
        leaf, seen, here = made[part].detach().double().requires_grad_(), images[part].double(), present[part].double()
        counts = _counts(config, leaf, here.sum(1))
        weights = _weights(config, leaf, counts)
        shares = here / here.sum(1, keepdim=True).clamp(min=1)
        to_records = (labels[:count, None] != own[part].unsqueeze(1)) * config.label_gap
        cost = transport_cost(leaf[:, :count], seen, to_records, config.mixture)
        loss = 2 * (_plan(config, cost, weights, shares) * cost).sum()
        if alternates:
            loss = loss - _cost_to_itself(config, leaf, labels, counts)
        (found,) = torch.autograd.grad(loss, leaf)
        parts.append(found.to(made.dtype))
    return torch.cat(parts)


def alternates_gradient(config: DpSinkhornConfig, made: Tensor, labels: Tensor, sizes: Tensor | None) -> Tensor:
    """∂/∂x of −W(x, x′) at the alternates, `[runs, alternates, pixels]`; of generated points alone.

    `sizes` of the samples decide how many points count with `size="realised"`, where they are revealed.
    """
    count = config.num_generated
    found = torch.zeros_like(made[:, count:])
    size = max(1, VALUES_AT_ONCE // (count * count * made.shape[2]))
    for start in range(0, len(made) if found.shape[1] else 0, size):
        part = slice(start, start + size)
        leaf = made[part].detach().double().requires_grad_()
        counts = _counts(config, leaf, None if sizes is None else sizes[part])
        (gradient,) = torch.autograd.grad(-_cost_to_itself(config, leaf, labels, counts), leaf)
        found[part] = gradient[:, count:]
    return found


def _cost_to_itself(config: DpSinkhornConfig, made: Tensor, labels: Tensor, counts: Tensor) -> Tensor:
    """W(x, x′), summed over runs.

    x′ are the points x without the first ones, a share `debias` of them, and as many alternates instead
    (sinkhorn_poisson.py: gen_feat[n_regen:]).
    """
    count, weights = config.num_generated, _weights(config, made, counts)
    number = torch.arange(count, device=made.device)
    moved = (config.debias * counts.double()).long()  # in double precision, as the number of alternates in `batches`
    place = number + moved.unsqueeze(1)
    place = torch.where(place < counts.unsqueeze(1), place, count + place - counts.unsqueeze(1))
    place = torch.where(number < counts.unsqueeze(1), place, number)  # the others have no weight
    apart = (labels[:count, None] != labels[place].unsqueeze(1)) * config.label_gap
    others = made.gather(1, place.unsqueeze(2).expand(-1, -1, made.shape[2]))
    cost = transport_cost(made[:, :count], others, apart, config.mixture)
    return (_plan(config, cost, weights, weights) * cost).sum()


def _counts(config: DpSinkhornConfig, made: Tensor, sizes: Tensor | None) -> Tensor:
    """How many points x every run has: all, or as many as its sample has records."""
    count = config.num_generated
    if config.size == "fixed" or sizes is None:
        return torch.full((len(made),), count, device=made.device)
    return sizes.long().clamp(max=count)


def _weights(config: DpSinkhornConfig, made: Tensor, counts: Tensor) -> Tensor:
    """Of the points x, `[runs, points]`: equal among those that count."""
    taken = torch.arange(config.num_generated, device=made.device) < counts.unsqueeze(1)
    return taken.to(made.dtype) / counts.clamp(min=1).unsqueeze(1)


def _plan(config: DpSinkhornConfig, cost: Tensor, left: Tensor, right: Tensor) -> Tensor:
    return transport_plan(
        cost.detach(), left, right, regularisation=config.regularisation, iterations=config.sinkhorn_iterations
    )
