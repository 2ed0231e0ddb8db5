"""DP-CGAN: Torkzadehmahani, Kairouz, Paten, Differentially Private Synthetic Data and Label Generation, CVPR-W 2019.

A conditional GAN whose discriminator is trained by DP-SGD: the gradient of the loss on every real record is clipped and
the sum is noisy. Gradients of the loss on generated images, whose labels are drawn in public here, are post-processing;
they are clipped one by one too. The generator learns from the discriminator alone. Settings of the released code
(reihaneh-torkzadehmahani/DP-CGAN at 639ce4d, DP_CGAN_RdpAcc.py): one hidden layer of 128, z of 100 uniform numbers, σ =
1.12, C = 1.1, batches of 600, SGD from .1 to .052 over 10 000 steps, Adam .001 for the generator.

`clipping="tensor"` is as published: each of the four tensors of the discriminator is clipped to C by itself and has
noise of σC, so that a record moves the whole by 2C. One sampled Gaussian release per step is accounted.

Differs from the released code: samples are Poisson samples, as is accounted; there they are slices of shuffled epochs.
Labels of generated images are public; there they are the labels of the private minibatch (runTensorFlow feeds `y_mb` to
both solvers), to which no noise is added.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.discriminator import discriminate, draw_discriminator, gradients_of_each, with_labels
from condensers.fields import check_choice, check_numbers
from condensers.generation import GeneratorConfig, State, Studio
from condensers.generator import adam_step, generate, named, under
from condensers.gradient_matching import unflatten_gradients
from condensers.initial import validate_noise
from condensers.ledger import EVERYBODY, Entries, Event
from condensers.mechanism import Door, Request, class_sampling
from condensers.networks import Parameters
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.registry import Track, condenser
from condensers.samples import clip_vectors

CLIPPING = ("record", "tensor")
OPTIMISERS = ("sgd", "adam")
CHUNK_BYTES = 1 << 29  # of gradients on generated images at a time
PRESETS: dict[str, dict[str, Any]] = {
    # Set by hand, without a recorded search; docs/generators.md has its accuracy on digits at seed 0.
    "quick": {
        "iterations": 400,
        "batch": 90,
        "batch_generated": 90,
        "width": 64,
        "generator_width": 128,
        "latent": 16,
        "generator_learning_rate": 2e-3,
        "optimiser": "adam",
        "first_moment": 0.5,
        "learning_rate": 2e-3,
        "last_learning_rate": 2e-3,
    },
    "worst-case": {
        "ipc": 1,
        "iterations": 5,
        "batch": 10,
        "batch_generated": 2,
        "width": 4,
        "generator_width": 2,
        "latent": 2,
        "learning_rate": 0.01,
        "last_learning_rate": 0.01,
    },
}


@dataclass(frozen=True, kw_only=True)
class DpCganConfig(GeneratorConfig):
    """30 304 steps are those after which the script's own accountant passes its target, ε = 9.6."""

    iterations: int = 30_304
    batch: int = 600
    batch_generated: int = 600
    clip: float = 1.1
    noise_multiplier: float = 1.12
    width: int = 128
    generator: str = "mlp"
    generator_width: int = 128
    latent: int = 100
    latent_kind: str = "uniform"
    learning_rate: float = 0.1
    last_learning_rate: float = 0.052
    saturates: int = 10_000
    generator_learning_rate: float = 0.001
    optimiser: str = "sgd"
    first_moment: float = 0.9
    clipping: str = "record"

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_noise(batch=self.batch, noise_multiplier=self.noise_multiplier)
        check_choice(self, "clipping", CLIPPING)
        check_choice(self, "optimiser", OPTIMISERS)
        check_numbers(
            self,
            at_least_one=("width", "saturates"),
            positive=("clip", "learning_rate", "last_learning_rate"),
            below_one=("first_moment",),
        )

    @property
    def moments(self) -> tuple[float, float]:
        """Of Adam."""
        return self.first_moment, 0.999

    def rate(self, step: int) -> float:
        """Falls along a line (`VaryRate`)."""
        share = min(1.0, step / self.saturates)
        return self.learning_rate + share * (self.last_learning_rate - self.learning_rate)


def plan_dp_cgan(config: DpCganConfig, class_sizes: tuple[float, ...]) -> Entries:
    """One release of the whole set per step, which is also what is claimed where tensors are clipped one by one."""
    sampling = class_sampling(class_sizes, EVERYBODY, config.batch)
    return ((Event(group=EVERYBODY, sampling=sampling, noise_multiplier=config.noise_multiplier), config.iterations),)


@condenser("dp-cgan", config=DpCganConfig, presets=PRESETS, plan=plan_dp_cgan, releases="generator")
def condense_dp_cgan(door: Door, config: DpCganConfig, *, randomness: PublicRandomness, track: Track) -> CondensedBatch:
    """A conditional GAN whose discriminator learns by DP-SGD (Torkzadehmahani et al.)."""
    generator, runs = config.shape(door.input_shape, door.num_classes), door.num_runs
    studio = Studio(generator=generator, config=config, randomness=randomness, runs=runs, device=door.device)
    stream = randomness.public("discriminator")
    first = draw_discriminator(door.input_shape, door.num_classes, config.width, stream, door.device)
    weights = {name: value.repeat(runs, *[1] * value.ndim) for name, value in first.items()}
    state = {**studio.start(), **named("D", weights)}
    if config.optimiser == "adam":
        still = {name: torch.zeros_like(value) for name, value in weights.items()}
        state.update({**named("D first", still), **named("D second", still)})
    release = _release_by_tensor if config.clipping == "tensor" else _release_whole
    for step in track("condense", config.iterations, state):
        labels = studio.labels(step, config.batch_generated)
        codes, judge = studio.codes(step, labels), under("D", state)
        fake = with_labels(studio.images(state, codes), labels.expand(runs, -1), door.num_classes)
        clipped = unflatten_gradients(mean_on_fake(judge, fake, config.clip), judge)
        noisy = release(door, config, judge)
        moved = _move(state, {name: noisy[name] / config.batch + clipped[name] for name in judge}, config, step)
        leaves = studio.leaves(state)
        made = with_labels(generate(generator, leaves, codes), labels.expand(runs, -1), door.num_classes)
        loss = F.softplus(-discriminate(moved, made)).mean(1).sum()
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        studio.move(state, dict(zip(leaves, gradients, strict=True)), step, moments=config.moments)
    return studio.released(studio.weights(state))


def mean_on_fake(judge: Parameters, fake: Tensor, clip: float) -> Tensor:
    """The mean `[runs, dim]` of the clipped gradients on generated images; runs go in parts of bounded memory."""
    names = tuple(sorted(judge))
    size = max(1, CHUNK_BYTES // (4 * fake.shape[1] * sum(judge[name][0].numel() for name in names)))
    parts = []
    for start in range(0, len(fake), size):
        own = {name: value[start : start + size] for name, value in judge.items()}
        found = flatten_each(gradients_of_each(own, fake[start : start + size], real=False), names)
        parts.append(clip_vectors(found, clip).mean(1))
    return torch.cat(parts)


def _move(state: State, gradients: Parameters, config: DpCganConfig, step: int) -> Parameters:
    """A step of the discriminator by SGD, as published, or by Adam."""
    judge, rate = under("D", state), config.rate(step)
    if config.optimiser == "sgd":
        moved = {name: judge[name] - rate * gradients[name] for name in judge}
    else:
        first, second = under("D first", state), under("D second", state)
        moved, first, second = adam_step(
            judge, first, second, gradients, step=step + 1, learning_rate=rate, moments=config.moments
        )
        state.update({**named("D first", first), **named("D second", second)})
    state.update(named("D", moved))
    return moved


def _release_whole(door: Door, config: DpCganConfig, judge: Parameters) -> Parameters:
    """Noisy sums of record gradients, clipped over all tensors."""
    sums = _ask(door, config, partial(_flat, judge=judge, names=tuple(sorted(judge))), judge, tuple(judge), None)
    return unflatten_gradients(sums, judge)


def _release_by_tensor(door: Door, config: DpCganConfig, judge: Parameters) -> Parameters:
    """As published: the same sample for all tensors, each clipped and noisy by itself, one of them accounted."""
    index, noisy = door.ledger.num_releases, {}
    for number, name in enumerate(judge):
        vectors = partial(_flat, judge=judge, names=(name,))
        sums = _ask(door, config, vectors, judge, (name,), index if number else None)
        noisy[name] = sums.view_as(judge[name])
    return noisy


def _ask(
    door: Door,
    config: DpCganConfig,
    vectors: Callable[[Tensor, Tensor], Tensor],
    judge: Parameters,
    names: tuple[str, ...],
    again: int | None,
) -> Tensor:
    request = Request(group=EVERYBODY, sampling=door.poisson(EVERYBODY, config.batch), vectors=vectors)
    sums = door.release(
        [request],
        dim=sum(judge[name][0].numel() for name in names),
        clip=config.clip,
        noise_multiplier=config.noise_multiplier,
        per_run=True,
        again=again,
    )
    return sums[:, 0]


def _flat(images: Tensor, labels: Tensor, *, judge: Parameters, names: tuple[str, ...]) -> Tensor:
    """Gradients of records under their run's discriminator, `[runs, records, dim]`."""
    classes = judge["first.weight"].shape[1] - images[0, 0].numel()
    return flatten_each(gradients_of_each(judge, with_labels(images, labels, classes), real=True), names)


def flatten_each(found: Parameters, names: tuple[str, ...]) -> Tensor:
    """One vector for every input, `[learners, k, dim]`."""
    return torch.cat([found[name].flatten(2) for name in names], 2)
