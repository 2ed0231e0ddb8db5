"""What PSG optimises: the pixels of the synthetic images, or the weights of a generator with fixed codes as prior.

With the prior, x_i = G(z_i, y_i; φ) with z_i drawn once and fixed; z and the first weights are public. The generator is
that of the released code, whose output is not squashed (condensers/generator.py).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from condensers.errors import BadConfig
from condensers.generator import Generator, adam_step, draw_codes, draw_generator, generate, named, under
from condensers.initial import initial_noise
from condensers.mechanism import Door
from condensers.randomness import PublicRandomness

LATENT = 10


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """What is optimised: its first state, the images it stands for, and how a gradient at the images moves it."""

    state: dict[str, Tensor]
    images: Callable[[dict[str, Tensor]], Tensor]
    move: Callable[[dict[str, Tensor], Tensor, int], None]


def optimise_pixels(
    door: Door, labels: Tensor, randomness: PublicRandomness, *, learning_rate: float, momentum: float
) -> Synthetic:
    """The images themselves; SGD with momentum (C.3)."""
    images, _ = initial_noise(labels.shape[1], door.input_shape, door.num_runs, door.device, randomness)

    def move(state: dict[str, Tensor], gradient: Tensor, _: int) -> None:
        state["velocity"].mul_(momentum).add_(gradient)
        state["images"].sub_(state["velocity"], alpha=learning_rate)

    return Synthetic(
        state={"images": images, "velocity": torch.zeros_like(images)},
        images=lambda state: state["images"],
        move=move,
    )


def optimise_generator(
    door: Door, labels: Tensor, randomness: PublicRandomness, *, width: int, learning_rate: float
) -> Synthetic:
    """A generator's weights, its codes fixed and public (Algorithm 2, "zi is fixed"); Adam (C.3)."""
    if len(door.input_shape) != 3:
        raise BadConfig("prior=generator: it makes images, which do not fit records of a table; use prior=none")
    generator = Generator(
        input_shape=door.input_shape,
        num_classes=door.num_classes,
        latent=LATENT,
        width=width,
        squashed=False,
    )
    codes = draw_codes(generator, labels[0], randomness.public("generator codes"))
    first = draw_generator(generator, randomness.public("generator"), door.device)
    weights = {name: value.repeat(door.num_runs, *[1] * (value.ndim - 1)) for name, value in first.items()}
    still = {name: torch.zeros_like(value) for name, value in weights.items()}

    def images(state: dict[str, Tensor]) -> Tensor:
        with torch.no_grad():
            return generate(generator, under("generator", state), codes)

    def move(state: dict[str, Tensor], gradient: Tensor, step: int) -> None:
        own = {name: value.detach().requires_grad_() for name, value in under("generator", state).items()}
        moved = torch.autograd.grad(generate(generator, own, codes), list(own.values()), gradient)
        weights, first, second = adam_step(
            under("generator", state),
            under("first moment", state),
            under("second moment", state),
            dict(zip(own, moved, strict=True)),
            step=step + 1,
            learning_rate=learning_rate,
        )
        state.update({**named("generator", weights), **named("first moment", first), **named("second moment", second)})

    start = {**named("generator", weights), **named("first moment", still), **named("second moment", still)}
    return Synthetic(state=start, images=images, move=move)
