"""A generator as a prior for synthetic images: DCGAN (Radford, Metz, Chintala, arXiv:1511.06434), conditional.

PSG with generator prior (Algorithm 2 of the supplement of Chen, Kerkouche, Fritz) trains its weights in place of the
pixels: x_i = G(z_i, y_i; φ) with z_i drawn once and fixed. Here z is public, as are the first weights.

Weights are stacked over runs like the networks of condensers/networks.py, so that all runs are one grouped convolution.
Batch norm takes its statistics over one run's synthetic images, hence nothing passes between runs. Read by us, since
the paper names DCGAN only: label and z enter side by side, two doublings from a quarter of the size, cropped where it
is no multiple of four; Adam with its usual moments.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.errors import BadConfig
from condensers.networks import Parameters
from condensers.randomness import draw_normal

DOUBLINGS = 2
SPREAD = 0.02  # of first weights, section 4 of arXiv:1511.06434
MOMENTS, SMALLEST = (0.9, 0.999), 1e-8  # Adam: Kingma & Ba, arXiv:1412.6980, Algorithm 1


@dataclass(frozen=True, kw_only=True)
class Generator:
    """What a generator looks like; `width` is the number of channels before the last doubling."""

    input_shape: tuple[int, ...]
    num_classes: int
    latent: int
    width: int

    def __post_init__(self) -> None:
        if len(self.input_shape) != 3:
            raise BadConfig("prior=generator: a DCGAN makes images; for tables use prior=none")

    @property
    def first_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of what the first layer makes."""
        height, width = (-(-size // 2**DOUBLINGS) for size in self.input_shape[1:])
        return 2 * self.width, height, width


def draw_generator(generator: Generator, stream: np.random.Generator, device: torch.device) -> Parameters:
    """First weights, with an axis of runs of length 1."""
    channels = [generator.first_shape[0], generator.width, generator.input_shape[0]]
    parameters = {
        "first.weight": SPREAD
        * draw_normal(stream, (generator.latent + generator.num_classes, prod(generator.first_shape)), device)
    }
    for block in range(DOUBLINGS):
        shape = (channels[block], channels[block + 1], 4, 4)
        parameters[f"norm{block}.weight"] = 1 + SPREAD * draw_normal(stream, (channels[block],), device)
        parameters[f"norm{block}.bias"] = torch.zeros(channels[block], device=device)
        parameters[f"up{block}.weight"] = SPREAD * draw_normal(stream, shape, device)
    parameters["up.bias"] = torch.zeros(channels[-1], device=device)
    return {name: value.unsqueeze(0) for name, value in parameters.items()}


def draw_codes(generator: Generator, labels: Tensor, stream: np.random.Generator) -> Tensor:
    """(z_i, one-hot y_i) of every synthetic image, `[images, latent + classes]`; z_i ~ N(0, I), Algorithm 2."""
    latent = draw_normal(stream, (len(labels), generator.latent), labels.device)
    return torch.cat([latent, F.one_hot(labels, generator.num_classes).to(latent)], 1)


def generate(generator: Generator, parameters: Parameters, codes: Tensor) -> Tensor:
    """G(z, y; φ): images `[runs, images, channels, height, width]` with pixels in (−1, 1)."""
    runs = len(parameters["up.bias"])
    first = torch.einsum("ic,rcf->irf", codes, parameters["first.weight"])
    x = first.reshape(len(codes), runs * generator.first_shape[0], *generator.first_shape[1:])
    for block in range(DOUBLINGS):
        scale, shift = (parameters[f"norm{block}.{name}"].flatten() for name in ("weight", "bias"))
        x = F.batch_norm(x, None, None, scale, shift, training=True).relu()
        bias = parameters["up.bias"].flatten() if block == DOUBLINGS - 1 else None
        x = F.conv_transpose2d(x, parameters[f"up{block}.weight"].flatten(0, 1), bias, stride=2, padding=1, groups=runs)
    height, width = generator.input_shape[1:]
    images = x[..., :height, :width].tanh()
    return images.reshape(len(codes), runs, *generator.input_shape).transpose(0, 1)


def adam_step(
    parameters: Parameters,
    first: Parameters,
    second: Parameters,
    gradients: Parameters,
    *,
    step: int,
    learning_rate: float,
) -> tuple[Parameters, Parameters, Parameters]:
    """One step of Adam, `step` counted from 1: the next weights and moments."""
    decay_first, decay_second = MOMENTS
    first = {name: decay_first * first[name] + (1 - decay_first) * gradients[name] for name in gradients}
    second = {name: decay_second * second[name] + (1 - decay_second) * gradients[name] ** 2 for name in gradients}
    moved = {}
    for name, value in parameters.items():
        mean, spread = first[name] / (1 - decay_first**step), second[name] / (1 - decay_second**step)
        moved[name] = value - learning_rate * mean / (spread.sqrt() + SMALLEST)
    return moved, first, second
