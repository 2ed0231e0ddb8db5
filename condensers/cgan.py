"""A conditional GAN without privacy: the baseline of Dong et al. (arXiv:2206.00240, Table 2 and appendix E.4).

Mirza & Osindero, arXiv:1411.1784, with the loss of Goodfellow et al. that does not saturate. Every run trains a
discriminator on minibatches of its members and a generator against it. Dong et al. give neither architecture nor
settings: those of DCGAN (arXiv:1511.06434: Adam 2e-4, β₁ = .5, a generator with batch norm) are taken, the generator
"dcgan-bn" of condensers/batch_norm.py and the perceptron of condensers/discriminator.py. The perceptron sees one-hot
labels times `label_weight` beside the pixels: with a weight of 1, ten labels are so little of 794 inputs that images
have variety long before they have the class that was asked for. First weights and codes are public, minibatches belong
to a run.

The discriminator of a run without members sees generated images alone.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.discriminator import discriminate, draw_discriminator, with_labels
from condensers.fields import check_numbers
from condensers.generation import GeneratorConfig, State, Studio
from condensers.generator import Generator, adam_step, generate, named, under
from condensers.networks import Parameters
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, to_device
from condensers.registry import Track, condenser

MOMENTS = (0.5, 0.999)  # section 4 of arXiv:1511.06434


@dataclass(frozen=True, kw_only=True)
class CganConfig(GeneratorConfig):
    """`iterations` steps of both networks on minibatches of `batch`; 20 000 are 43 epochs of 60 000 records."""

    iterations: int = 20_000
    batch: int = 128
    batch_generated: int = 128
    generator: str = "dcgan-bn"
    latent: int = 100
    width: int = 512
    label_weight: float = 10.0
    learning_rate: float = 2e-4
    generator_learning_rate: float = 2e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, at_least_one=("batch", "width"), positive=("learning_rate", "label_weight"))


# Set by hand, without a recorded search; docs/generators.md has its accuracy on digits at seed 0.
PRESETS = {
    "quick": {
        "iterations": 1500,
        "batch": 64,
        "batch_generated": 64,
        "latent": 16,
        "width": 64,
        "label_weight": 1.0,
        "generator": "mlp",
        "generator_width": 128,
        "learning_rate": 2e-3,
        "generator_learning_rate": 2e-3,
    }
}


@condenser("cgan", config=CganConfig, presets=PRESETS, releases="generator")
def condense_cgan(
    pool: Pool, included: Tensor, config: CganConfig, *, randomness: Randomness, track: Track
) -> CondensedBatch:
    """Conditional GAN without privacy, a baseline (Dong et al.)."""
    shape, runs, device = tuple(pool.images.shape[1:]), len(randomness.runs), pool.images.device
    generator = config.shape(shape, pool.num_classes)
    studio = Studio(generator=generator, config=config, randomness=randomness, runs=runs, device=device)
    first = draw_discriminator(shape, pool.num_classes, config.width, randomness.public("discriminator"), device)
    weights = {name: value.repeat(runs, *[1] * value.ndim) for name, value in first.items()}
    still = {name: torch.zeros_like(value) for name, value in weights.items()}
    state = {**studio.start(), **named("D", weights), **named("D first", still), **named("D second", still)}
    members = [np.flatnonzero(row) for row in included.cpu().numpy()]
    for step in track("condense", config.iterations, state):
        chosen = _minibatches(members, config.batch, randomness, step)
        present = to_device(np.array([[float(len(own) > 0)] for own in members], dtype=np.float32), device)
        where = to_device(chosen, device)
        real = with_labels(pool.images[where], pool.labels[where], pool.num_classes, config.label_weight)
        labels = studio.labels(step, config.batch_generated)
        codes = studio.codes(step, labels)
        fake = _labelled(studio.images(state, codes), labels, generator, config)
        _move_discriminator(state, real, present, fake, config, step)
        own, judge = studio.leaves(state), under("D", state)
        made = _labelled(generate(generator, own, codes), labels, generator, config)
        loss = F.softplus(-discriminate(judge, made)).mean(1).sum()
        gradients = torch.autograd.grad(loss, list(own.values()))
        studio.move(state, dict(zip(own, gradients, strict=True)), step, moments=MOMENTS)
    return studio.released(studio.weights(state))


def _minibatches(members: list[np.ndarray], batch: int, randomness: Randomness, step: int) -> np.ndarray:
    """Members of every run, drawn with replacement, `[runs, batch]`; record 0 stands where a run has none."""
    chosen = np.zeros((len(members), batch), dtype=np.int64)
    for row, own, stream in zip(chosen, members, randomness.each_private("minibatch", step), strict=True):
        if len(own):
            row[:] = own[stream.integers(len(own), size=batch)]
    return chosen


def _labelled(images: Tensor, labels: Tensor, generator: Generator, config: CganConfig) -> Tensor:
    """Generated images beside their labels, which all runs share."""
    return with_labels(images, labels.expand(len(images), -1), generator.num_classes, config.label_weight)


def _move_discriminator(
    state: State, real: Tensor, present: Tensor, fake: Tensor, config: CganConfig, step: int
) -> None:
    """A step of Adam on −ln D(x) − ln(1 − D(G(z)))."""
    own: Parameters = {name: value.detach().requires_grad_() for name, value in under("D", state).items()}
    on_real = (F.softplus(-discriminate(own, real)) * present).mean(1)
    loss = (on_real + F.softplus(discriminate(own, fake)).mean(1)).sum()
    gradients = dict(zip(own, torch.autograd.grad(loss, list(own.values())), strict=True))
    moved = adam_step(
        under("D", state), under("D first", state), under("D second", state), gradients, step=step + 1,
        learning_rate=config.learning_rate, moments=MOMENTS,
    )  # fmt: skip
    for prefix, values in zip(("D", "D first", "D second"), moved, strict=True):
        state.update(named(prefix, values))
