"""GS-WGAN: Chen, Orekondy, Fritz, Gradient-Sanitized Wasserstein GAN, NeurIPS 2020.

Discriminators on disjoint shards of the records; a generator that sees of them only the clipped and noisy gradients at
the images that it made. A step draws one shard, so a record takes part with probability 1/shards. Settings of the
released code (DingfanChen/GS-WGAN at 62e77b3): 1000 shards, 2000 steps of discriminators alone and 20 000 steps, five
critic steps each, C = 1, σ = 1.07, batches of 32, gradient penalty 10, Adam 1e-4 with moments .5 and .9, average of the
generator's weights .999.

The 32 gradients of a step all come from the one discriminator that was drawn: one record may turn all of them round,
which is a sensitivity of 2C√32, and the noise multiplier here is relative to that. `accounting="apart"` is as
published: noise of 2σC on each gradient, and a ledger that holds each for a draw of its own.

Differs from the released code. There each discriminator is warmed up beside a generator of its own
(source/pretrain.py), here on images of the first, untrained generator; there every other release has 28 gradients. All
discriminators learn at every step, whoever is drawn (condensers/samples.py says why); they learn from all records of
their shard; they are small perceptrons without spectral norm; the generator is that of condensers/generator.py, not the
residual one.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from condensers.discriminator import discriminate, draw_discriminator, with_labels
from condensers.fields import check_choice, check_numbers
from condensers.generation import GENERATOR, GeneratorConfig, Studio
from condensers.generator import adam_step, named, under
from condensers.initial import validate_noise
from condensers.ledger import EVERYBODY, Entries, Event, FixedSize
from condensers.mechanism import Door
from condensers.networks import Parameters
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness, draw_uniform
from condensers.registry import Track, condenser
from condensers.samples import ShardRequest, check_shards

ACCOUNTING = ("together", "apart")
MOMENTS = (0.5, 0.9)
SMALL_SCORES = 0.001  # L_epsilon of the released code: keeps the scores of records near 0
PRESETS: dict[str, dict[str, Any]] = {
    # Set by hand, without a recorded search; docs/generators.md has its accuracy on digits at seed 0.
    "quick": {
        "iterations": 300,
        "warm_up": 20,
        "critic_steps": 2,
        "shards": 10,
        "batch_generated": 16,
        "generator": "mlp",
        "generator_width": 64,
        "width": 32,
        "learning_rate": 5e-3,
        "generator_learning_rate": 5e-3,
        "average": 0.98,
    },
    # Noise and gradients per step as published. 20 shards and 8 steps, for 1000 and 20 000, keep what the published
    # accounting claims: its curve depends on steps/shards² (docs/generators.md). Gradients always reach the small clip.
    "worst-case": {
        "ipc": 1,
        "iterations": 8,
        "warm_up": 8,
        "critic_steps": 1,
        "shards": 20,
        "batch": 10,
        "clip": 0.1,
        "generator": "mlp",
        "generator_width": 2,
        "latent": 2,
        "width": 16,
        "learning_rate": 0.1,
    },
}


@dataclass(frozen=True, kw_only=True)
class GsWganConfig(GeneratorConfig):
    """`batch_generated` gradients per step; `batch` has no meaning but that of the other methods' public rate.

    σ = 1.07 is as published, for each gradient; relative to the sensitivity of a step it is 1.07/√32 = .189.
    """

    iterations: int = 20_000
    warm_up: int = 2000
    critic_steps: int = 5
    shards: int = 1000
    batch: int = 1
    batch_generated: int = 32
    clip: float = 1.0
    noise_multiplier: float = 1.07
    penalty: float = 10.0
    width: int = 64
    latent: int = 10
    latent_kind: str = "bernoulli"
    learning_rate: float = 1e-4
    generator_learning_rate: float = 1e-4
    average: float = 0.999
    accounting: str = "together"

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_noise(batch=self.batch, noise_multiplier=self.noise_multiplier)
        check_choice(self, "accounting", ACCOUNTING)
        check_numbers(
            self,
            at_least_one=("critic_steps", "shards", "width"),
            positive=("clip", "penalty", "learning_rate"),
            below_one=("average",),
        )
        if self.warm_up < 0:
            check_numbers(self, at_least_one=("warm_up",))


def plan_gs_wgan(config: GsWganConfig, class_sizes: tuple[float, ...]) -> Entries:
    """One release per step of one shard out of all; as published, one for every gradient."""
    check_shards(config.shards, class_sizes)
    sampling = FixedSize(batch=1, population=config.shards)
    event = Event(group=EVERYBODY, sampling=sampling, noise_multiplier=config.noise_multiplier, of="shard")
    return ((event, config.iterations * (config.batch_generated if config.accounting == "apart" else 1)),)


@condenser("gs-wgan", config=GsWganConfig, presets=PRESETS, plan=plan_gs_wgan, releases="generator")
def condense_gs_wgan(door: Door, config: GsWganConfig, *, randomness: PublicRandomness, track: Track) -> CondensedBatch:
    """A Wasserstein GAN whose generator sees noisy gradients of discriminators on shards (Chen, Orekondy, Fritz)."""
    generator, runs, classes = config.shape(door.input_shape, door.num_classes), door.num_runs, door.num_classes
    studio = Studio(generator=generator, config=config, randomness=randomness, runs=runs, device=door.device)
    stream = randomness.public("discriminator")
    weights = draw_discriminator(door.input_shape, classes, config.width, stream, door.device)
    still = {name: torch.zeros_like(value) for name, value in weights.items()}
    learner = {**named("D", weights), **named("first", still), **named("second", still)}
    door.start_learners(config.shards, learner)
    state = studio.start()
    state.update(named("average", studio.weights(state)))
    for step in track("condense", config.iterations, state):
        labels = studio.labels(step, config.batch_generated)
        codes = studio.codes(step, labels)
        traced = studio.traced_images(state, codes)
        made = traced[1].detach()

        def learn(
            learners: Parameters, images: Tensor, own: Tensor, present: Tensor, made: Tensor = made, step: int = step
        ) -> Parameters:
            return _learn(learners, images, own, present, made, config, classes, randomness, step)

        def gradients(learners: Parameters, made: Tensor = made, labels: Tensor = labels) -> Tensor:
            """∂/∂x of −D(x, y) at every generated image."""
            leaf = made.detach().requires_grad_()
            scores = discriminate(under("D", learners), with_labels(leaf, labels.expand(len(leaf), -1), classes))
            (found,) = torch.autograd.grad(-scores.sum(), leaf)
            return found.flatten(2)

        request = ShardRequest(
            shards=config.shards, count=config.batch_generated, start=learner, learn=learn, vectors=gradients
        )
        noisy = door.release_shards(
            request,
            dim=made[0, 0].numel(),
            clip=config.clip,
            noise_multiplier=config.noise_multiplier,
            apart=config.accounting == "apart",
        )
        studio.move_along(state, traced, noisy.view_as(made) / config.batch_generated, step, MOMENTS)
        kept = min(1 - 1 / (step + 1), config.average)  # `exp_mov_avg`
        now, before = under(GENERATOR, state), under("average", state)
        state.update(named("average", {name: kept * before[name] + (1 - kept) * now[name] for name in now}))
    return studio.released(under("average", state))


def _learn(
    learners: Parameters,
    images: Tensor,
    labels: Tensor,
    present: Tensor,
    made: Tensor,
    config: GsWganConfig,
    classes: int,
    randomness: PublicRandomness,
    step: int,
) -> Parameters:
    """Critic steps of discriminators `[units, …]` on the records of their shards and on images made with their labels.

    Generated images are paired with records in turn, under the record's label, as in the released code.
    """
    units, places = labels.shape
    turn = torch.arange(places, device=labels.device) % made.shape[1]
    fakes = made.detach().repeat_interleave(units // len(made), 0)[:, turn]
    share = present / present.sum(1, keepdim=True).clamp(min=1)
    # The discriminator of a shard without records learns from the first generated image alone. A mean over all places
    # would depend on other shards: there are as many places as the fullest shard has records.
    first = torch.zeros_like(share)
    first[:, 0] = 1.0
    fake_share = torch.where(present.any(1, keepdim=True), share, first)
    real, fake = with_labels(images, labels, classes), with_labels(fakes, labels, classes)
    for turn_of_critic in range(config.critic_steps + (config.warm_up if step == 0 else 0)):
        mixing = draw_uniform(randomness.public("interpolation", step, turn_of_critic), (1, places, 1), labels.device)
        own = {name: value.detach().requires_grad_() for name, value in under("D", learners).items()}
        scores = discriminate(own, real)
        between = (mixing * real + (1 - mixing) * fake).detach().requires_grad_()
        (slopes,) = torch.autograd.grad(discriminate(own, between).sum(), between, create_graph=True)
        lengths = (slopes[..., : images[0, 0].numel()].square().sum(2) + 1e-12).sqrt()
        loss = (
            (discriminate(own, fake) * fake_share).sum()
            - (scores * share).sum()
            + config.penalty * ((lengths - 1).square() * fake_share).sum()
            + SMALL_SCORES * (scores.square() * share).sum()
        )
        found = dict(zip(own, torch.autograd.grad(loss, list(own.values())), strict=True))
        # All discriminators have learned in every step so far, and longer in the first.
        count = step * config.critic_steps + (config.warm_up if step else 0) + turn_of_critic + 1
        moved = adam_step(
            under("D", learners), under("first", learners), under("second", learners), found, step=count,
            learning_rate=config.learning_rate, moments=MOMENTS,
        )  # fmt: skip
        learners = {}
        for prefix, values in zip(("D", "first", "second"), moved, strict=True):
            learners |= named(prefix, values)
    return learners
