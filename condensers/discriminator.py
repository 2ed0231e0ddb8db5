"""Conditional discriminators, stacked over learners: D(x, y) of one hidden layer (Torkzadehmahani et al., DP-CGAN).

The records enter flat, beside their one-hot label. Differs from GS-WGAN, whose discriminators are convolutional with
spectral norm: many small ones have to be trained together here.
"""

from math import prod, sqrt

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.networks import Parameters
from condensers.randomness import draw_normal


def draw_discriminator(
    input_shape: tuple[int, ...], num_classes: int, width: int, stream: np.random.Generator, device: torch.device
) -> Parameters:
    """First weights without an axis of learners: N(0, 2/fan-in), biases 0 (`xavier_init` of the released code)."""
    inputs = prod(input_shape) + num_classes
    return {
        "first.weight": sqrt(2 / inputs) * draw_normal(stream, (inputs, width), device),
        "first.bias": torch.zeros(width, device=device),
        "last.weight": sqrt(2 / width) * draw_normal(stream, (width, 1), device),
        "last.bias": torch.zeros(1, device=device),
    }


def with_labels(images: Tensor, labels: Tensor, num_classes: int, weight: float = 1.0) -> Tensor:
    """Images `[learners, k, …]` flat, beside their labels `[learners, k]`, one-hot times a weight."""
    flat = images.flatten(2)
    return torch.cat([flat, weight * F.one_hot(labels, num_classes).to(flat.dtype)], 2)


def discriminate(parameters: Parameters, inputs: Tensor) -> Tensor:
    """Logits `[learners, k]` of inputs `[learners, k, inputs]`."""
    hidden = torch.baddbmm(parameters["first.bias"].unsqueeze(1), inputs, parameters["first.weight"]).relu()
    return torch.baddbmm(parameters["last.bias"].unsqueeze(1), hidden, parameters["last.weight"]).squeeze(2)


def gradients_of_each(parameters: Parameters, inputs: Tensor, *, real: bool) -> Parameters:
    """∇ of −ln σ(D(x)), or of −ln(1 − σ(D(x))) for what is not `real`, of every input by itself: `[learners, k, …]`."""
    before = torch.baddbmm(parameters["first.bias"].unsqueeze(1), inputs, parameters["first.weight"])
    hidden = before.relu()
    logits = torch.baddbmm(parameters["last.bias"].unsqueeze(1), hidden, parameters["last.weight"])
    slope = logits.sigmoid() - float(real)  # the chain rule written out
    inner = slope * parameters["last.weight"].transpose(1, 2) * (before > 0)
    return {
        "first.weight": inputs.unsqueeze(3) * inner.unsqueeze(2),
        "first.bias": inner,
        "last.weight": (slope * hidden).unsqueeze(3),
        "last.bias": slope,
    }
