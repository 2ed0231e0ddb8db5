"""What methods that train a generator share: its start, a step of Adam, and what is released of it.

First weights and codes are public and the same in all runs. A method releases the generator with its sampler, and a set
that was sampled from it: `ipc` images per class, of public codes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from condensers.batch_norm import batch_statistics
from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.generator import KINDS as GENERATORS
from condensers.generator import (
    LATENTS,
    MOMENTS,
    Generator,
    Generators,
    adam_step,
    draw_codes,
    draw_generator,
    generate,
    named,
    under,
)
from condensers.initial import balanced_labels, validate_size
from condensers.networks import Parameters
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness, Randomness

State = dict[str, Tensor]
GENERATOR, FIRST, SECOND = "generator", "first moment", "second moment"
BATCHES_FOR_STATISTICS = 20  # a running average with torch's momentum of .1 has the weight of 19 batches


@dataclass(frozen=True, kw_only=True)
class GeneratorConfig:
    """Fields of every method that trains a generator. `batch_generated` images are made per step."""

    ipc: int = 10
    init: str = "random"
    iterations: int = 3000
    batch_generated: int = 100
    generator: str = "dcgan"
    generator_width: int = 64
    latent: int = 10
    latent_kind: str = "normal"
    generator_learning_rate: float = 0.01

    def __post_init__(self) -> None:
        validate_size(ipc=self.ipc, init=self.init)
        if self.init == "real":
            raise BadConfig(
                "--init real: a generator is initialised with random weights, not with records; use --init random"
            )
        check_choice(self, "generator", GENERATORS)
        check_choice(self, "latent_kind", LATENTS)
        check_numbers(
            self,
            at_least_one=("iterations", "batch_generated", "generator_width", "latent"),
            positive=("generator_learning_rate",),
        )

    @property
    def batches(self) -> tuple[int, ...]:
        """Sizes of the batches of images that are made, and normalised, per step."""
        return (self.batch_generated,)

    def shape(self, input_shape: tuple[int, ...], num_classes: int) -> Generator:
        """The generator that makes such records."""
        found = Generator(
            input_shape=input_shape,
            num_classes=num_classes,
            latent=self.latent,
            width=self.generator_width,
            kind=self.generator,
        )
        if found.normed and min(self.batches) < 2:
            raise BadConfig(
                f"generator={self.generator}: batch norm needs batches of 2 images or more, not {min(self.batches)}; "
                "raise batch_generated"
            )
        return found


def check_generator(config: object, input_shape: tuple[int, ...], num_classes: int) -> None:
    """Refuse, before anything is computed, a generator that cannot make such records; others' configs have none."""
    if isinstance(config, GeneratorConfig):
        config.shape(input_shape, num_classes)


@dataclass(frozen=True, kw_only=True)
class Studio:
    """Generators of all runs in the course of their training; what changes is in the loop's state."""

    generator: Generator
    config: GeneratorConfig
    randomness: PublicRandomness | Randomness
    runs: int
    device: torch.device

    def start(self) -> State:
        """First weights and Adam's moments of every run."""
        first = draw_generator(self.generator, self.randomness.public("generator"), self.device)
        weights = {name: value.repeat(self.runs, *[1] * (value.ndim - 1)) for name, value in first.items()}
        still = {name: torch.zeros_like(value) for name, value in weights.items()}
        return {**named(GENERATOR, weights), **named(FIRST, still), **named(SECOND, still)}

    def labels(self, step: int, count: int) -> Tensor:
        """Of the images of a step, each class as often as any other, as far as the count allows."""
        turn = int(self.randomness.public("generated labels", step).integers(self.generator.num_classes))
        return (torch.arange(count, device=self.device) + turn) % self.generator.num_classes

    def codes(self, step: int, labels: Tensor, purpose: str = "generator codes") -> Tensor:
        stream = self.randomness.public(purpose, step)
        return draw_codes(self.generator, labels, stream, self.config.latent_kind)

    def weights(self, state: State) -> Parameters:
        return under(GENERATOR, state)

    def images(self, state: State, codes: Tensor) -> Tensor:
        with torch.no_grad():
            return generate(self.generator, self.weights(state), codes, self.config.batches)

    def leaves(self, state: State) -> Parameters:
        return {name: value.detach().requires_grad_() for name, value in self.weights(state).items()}

    def move(
        self,
        state: State,
        gradients: Parameters,
        step: int,
        learning_rate: float | None = None,
        moments: tuple[float, float] = MOMENTS,
        weight_decay: float = 0.0,
    ) -> None:
        """Adam; `step` is counted from 0."""
        rate = self.config.generator_learning_rate if learning_rate is None else learning_rate
        moved = adam_step(
            self.weights(state), under(FIRST, state), under(SECOND, state), gradients, step=step + 1,
            learning_rate=rate, moments=moments, weight_decay=weight_decay,
        )  # fmt: skip
        for prefix, values in zip((GENERATOR, FIRST, SECOND), moved, strict=True):
            state.update(named(prefix, values))

    def traced_images(self, state: State, codes: Tensor) -> tuple[Parameters, Tensor]:
        """Images with the weights that they can be differentiated by, for `move_along`."""
        own = self.leaves(state)
        return own, generate(self.generator, own, codes, self.config.batches)

    def move_along(
        self,
        state: State,
        traced: tuple[Parameters, Tensor],
        at_images: Tensor,
        step: int,
        moments: tuple[float, float] = MOMENTS,
        weight_decay: float = 0.0,
    ) -> None:
        """A step along a gradient at the images of `traced_images`, `[runs, images, …]`."""
        own, made = traced
        gradients = torch.autograd.grad(made, list(own.values()), at_images)
        found = dict(zip(own, gradients, strict=True))
        self.move(state, found, step, moments=moments, weight_decay=weight_decay)

    def released(self, weights: Parameters) -> CondensedBatch:
        """The generators, and the set that is sampled from each."""
        if self.generator.normed:
            weights = {**weights, **self.statistics(weights)}
        labels = balanced_labels(self.generator.num_classes, self.config.ipc, self.runs, self.device)
        codes = self.codes(0, labels[0], "released codes")
        with torch.no_grad():
            images = generate(self.generator, weights, codes)
        return CondensedBatch(
            images=images,
            labels=labels,
            initial_records=torch.full(labels.shape, -1, dtype=torch.int64, device=self.device),
            generators=Generators(generator=self.generator, parameters=weights),
        )

    def statistics(self, weights: Parameters) -> Parameters:
        """What batch norms of released generators subtract and divide by: averages over batches of public codes."""
        found = []
        for number in range(BATCHES_FOR_STATISTICS):
            labels = self.labels(number, self.config.batches[0])
            codes = self.codes(number, labels, "codes for statistics")
            found.append(batch_statistics(self.generator, weights, codes))
        return {name: torch.stack([each[name] for each in found]).mean(0) for name in found[0]}
