"""Conditional generators, stacked over runs: networks that turn codes (z, one-hot y) into images.

- "dcgan": the generator of the released code of GS-WGAN and of PSG's prior (DingfanChen/Private-Set at 8277ee2,
  utils/gan_models.py): a linear layer to 4w channels of 4×4, transposed convolutions with kernels 5, 5 and 8 (the last
  of stride 2), cropped after the first, ReLU and pixel norm before each. There is no batch norm. That is for 28×28
  pixels; smaller images start from 2×2 with kernels 3, 3 and 4, larger ones crop later.
- "mlp": one hidden layer of ReLU (Torkzadehmahani et al., DP-CGAN); fit for tables too.
- "upsampling-bn", "mlp-bn" and "dcgan-bn": those with batch norm (condensers/batch_norm.py).

The output of "dcgan", "mlp" and "dcgan-bn" is squashed by tanh to the pool's [−1, 1]; GS-WGAN and DP-CGAN squash to
[0, 1], PSG's prior has no squashing. That of "upsampling-bn" and "mlp-bn" is squashed by a sigmoid, as in their
released codes, which is tanh(x/2) on [−1, 1].
Codes are public and the same in all runs, so that all runs are one grouped convolution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.batch_norm import KINDS as NORMED
from condensers.batch_norm import draw_normed, generate_normed
from condensers.errors import BadConfig
from condensers.networks import Parameters
from condensers.randomness import draw_normal, draw_uniform

KINDS = ("dcgan", "mlp", *NORMED)
FOR_TABLES = {"dcgan": "mlp", "upsampling-bn": "mlp-bn", "dcgan-bn": "mlp-bn"}  # instead of those that make images
LATENTS = ("normal", "uniform", "unit", "bernoulli")
MOMENTS, SMALLEST = (0.9, 0.999), 1e-8  # Adam: Kingma & Ba, arXiv:1412.6980, Algorithm 1
PIXEL_NORM = 1e-8
LEAST_FOR_LARGE_KERNELS = 16  # pixels


@dataclass(frozen=True, kw_only=True)
class Generator:
    """What a generator looks like; `width` is the channels before the last layer, or the hidden units."""

    input_shape: tuple[int, ...]
    num_classes: int
    latent: int
    width: int
    kind: str = "dcgan"
    squashed: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadConfig(f"generator={self.kind!r} is not one of {', '.join(KINDS)}")
        if self.kind in FOR_TABLES and len(self.input_shape) != 3:
            raise BadConfig(
                f"generator={self.kind}: it makes images, which do not fit records of a table; "
                f"use generator={FOR_TABLES[self.kind]}"
            )

    @property
    def normed(self) -> bool:
        """Whether it has batch norm."""
        return self.kind in NORMED

    @property
    def num_codes(self) -> int:
        return self.latent + self.num_classes

    @property
    def kernels(self) -> tuple[int, int, int]:
        return (5, 5, 8) if min(self.input_shape[1:]) >= LEAST_FOR_LARGE_KERNELS else (3, 3, 4)

    @property
    def cropped(self) -> tuple[int, int]:
        """Height and width after the first transposed convolution, so that the last one ends at or above the images."""
        second, third = self.kernels[1:]
        height, width = (max(1, -(-(size - third) // 2) + 2 - second) for size in self.input_shape[1:])
        return height, width

    @property
    def first_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of what the first layer makes."""
        first = self.kernels[0]
        least = 4 if first == 5 else 2
        height, width = (max(least, size + 1 - first) for size in self.cropped)
        return 4 * self.width, height, width


@dataclass(frozen=True, kw_only=True)
class Generators:
    """Generators of one kind, one for each run."""

    generator: Generator
    parameters: Parameters

    @staticmethod
    def joined(several: "Sequence[Generators]") -> "Generators":
        """Of several groups of runs, in turn."""
        names = several[0].parameters
        together = {name: torch.cat([each.parameters[name] for each in several]) for name in names}
        return Generators(generator=several[0].generator, parameters=together)


def draw_generator(generator: Generator, stream: np.random.Generator, device: torch.device) -> Parameters:
    """First weights, with an axis of runs of length 1; torch's default for linear layers and convolutions."""

    def uniform(shape: tuple[int, ...], fan_in: int) -> Tensor:
        return (2 * draw_uniform(stream, (1, *shape), device) - 1) / sqrt(fan_in)

    if generator.normed:
        return draw_normed(generator, stream, device)
    codes, width = generator.num_codes, generator.width
    if generator.kind == "mlp":
        size = prod(generator.input_shape)
        return {
            "first.weight": uniform((codes, width), codes), "first.bias": uniform((width,), codes),
            "last.weight": uniform((width, size), width), "last.bias": uniform((size,), width),
        }  # fmt: skip
    size = prod(generator.first_shape)
    parameters = {"first.weight": uniform((codes, size), codes), "first.bias": uniform((size,), codes)}
    channels = (4 * width, 2 * width, width, generator.input_shape[0])
    for block, kernel in enumerate(generator.kernels):
        # The fan-in of a transposed convolution, as torch counts it: its outputs times its kernel.
        fan_in = channels[block + 1] * kernel**2
        parameters[f"up{block}.weight"] = uniform((*channels[block : block + 2], kernel, kernel), fan_in)
        parameters[f"up{block}.bias"] = uniform((channels[block + 1],), fan_in)
    return parameters


def draw_codes(generator: Generator, labels: Tensor, stream: np.random.Generator, kind: str = "normal") -> Tensor:
    """(z_i, one-hot y_i) `[images, latent + classes]`; "uniform" is z in [−1, 1], "unit" in [0, 1]."""
    shape = (len(labels), generator.latent)
    if kind == "normal":
        latent = draw_normal(stream, shape, labels.device)
    else:
        latent = draw_uniform(stream, shape, labels.device)
        if kind == "uniform":
            latent = 2 * latent - 1
        elif kind == "bernoulli":
            latent = (latent < 0.5).to(latent)
    return torch.cat([latent, F.one_hot(labels, generator.num_classes).to(latent)], 1)


def generate(
    generator: Generator, parameters: Parameters, codes: Tensor, batches: Sequence[int] | None = None
) -> Tensor:
    """G(z, y; φ): images `[runs, images, …]`, of codes that all runs share, or `[runs, images, codes]` of their own.

    `batches` are the sizes of the batches that the codes consist of, where they are more than one; for batch norm.
    """
    runs = len(parameters["first.weight"])
    shared = codes.expand(runs, *codes.shape) if codes.ndim == 2 else codes
    if generator.normed:
        x = generate_normed(generator, parameters, shared, batches)
        if generator.squashed:
            x = x.tanh() if generator.kind == "dcgan-bn" else (x / 2).tanh()
        return x
    x = torch.baddbmm(parameters["first.bias"].unsqueeze(1), shared, parameters["first.weight"])
    if generator.kind == "mlp":
        x = torch.baddbmm(parameters["last.bias"].unsqueeze(1), x.relu(), parameters["last.weight"])
        x = x.view(runs, -1, *generator.input_shape)
        return x.tanh() if generator.squashed else x
    count = x.shape[1]
    x = x.transpose(0, 1).reshape(count, runs * generator.first_shape[0], *generator.first_shape[1:])
    for block in range(3):
        x = _pixel_norm(x.relu(), runs)
        weight, bias = (parameters[f"up{block}.{name}"].flatten(0, 1) for name in ("weight", "bias"))
        x = F.conv_transpose2d(x, weight, bias, stride=2 if block == 2 else 1, groups=runs)
        if block == 0:
            x = x[..., : generator.cropped[0], : generator.cropped[1]]
    height, width = generator.input_shape[1:]
    x = x[..., :height, :width].reshape(count, runs, *generator.input_shape).transpose(0, 1)
    return x.tanh() if generator.squashed else x


def _pixel_norm(x: Tensor, runs: int) -> Tensor:
    """Every pixel of a run over its root mean square across that run's channels."""
    by_run = x.view(len(x), runs, -1, *x.shape[2:])
    return (by_run * (by_run.square().mean(2, keepdim=True) + PIXEL_NORM).rsqrt()).view_as(x)


def adam_step(
    parameters: Parameters,
    first: Parameters,
    second: Parameters,
    gradients: Parameters,
    *,
    step: int,
    learning_rate: float,
    moments: tuple[float, float] = MOMENTS,
    weight_decay: float = 0.0,
) -> tuple[Parameters, Parameters, Parameters]:
    """One step of Adam, `step` counted from 1: the next weights and moments. The decay is a part of the gradient."""
    if weight_decay:
        gradients = {name: value.add(parameters[name], alpha=weight_decay) for name, value in gradients.items()}
    decay_first, decay_second = moments
    # The weights of all runs are larger than a cache: as few passes over them as the formulas allow.
    first = {name: first[name].lerp(gradients[name], 1 - decay_first) for name in gradients}
    second = {
        name: (decay_second * second[name]).addcmul_(gradients[name], gradients[name], value=1 - decay_second)
        for name in gradients
    }
    rate, spread = learning_rate / (1 - decay_first**step), 1 / sqrt(1 - decay_second**step)
    moved = {
        name: value.addcdiv(first[name], second[name].sqrt().mul_(spread).add_(SMALLEST), value=-rate)
        for name, value in parameters.items()
    }
    return moved, first, second


def named(prefix: str, parameters: Parameters) -> dict[str, Tensor]:
    """Parameters as a part of a loop's state."""
    return {f"{prefix}.{name}": value for name, value in parameters.items()}


def under(prefix: str, state: dict[str, Tensor]) -> Parameters:
    """The inverse of `named`."""
    return {name.removeprefix(f"{prefix}."): value for name, value in state.items() if name.startswith(f"{prefix}.")}
