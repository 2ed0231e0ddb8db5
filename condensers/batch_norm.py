"""Generators with batch norm, stacked over runs, as the released codes of DP-MERF, DP-HP and DP-Sinkhorn have them.

- "upsampling-bn": `ConvCondGen` (ParkLabML/DP-MERF at e4ae72d, code_balanced/models_gen.py; the same class in
  ParkLabML/DP-HP at e9aec76, dp_mehp/all_aux_files.py): a hidden layer, a linear layer to 16 channels of 7×7, each
  with batch norm over every single feature, then twice a bilinear up-sampling and a convolution of kernel 5, to 8
  channels and to the image's.
- "mlp-bn": `FCCondGen` of the same files: two hidden layers of ReLU with batch norm; fit for tables too.
- "dcgan-bn": `ConvCondGenerator` (nv-tlabs/DP-Sinkhorn_code at 2571a60, src/architecture/dcgan.py): labels embedded in
  8 numbers, transposed convolutions to 4w channels of 7×7, 2w of 14×14 and w of 28×28, each with batch norm over
  channels and a leaky ReLU, then a convolution of kernel 3.

First weights are torch's default, as there. Images end at 4 times the first height and width and are cropped, so 32×32
pixels start from 8×8; the released codes have other networks for them (`ConvCondGenSVHN`, average pooling).

A batch is normalised by its own statistics in training. Released generators have fixed statistics among their
parameters ("norm0.mean", …): averages over batches of public codes under the last weights, so that an image does not
depend on its batch. The released codes of DP-MERF and DP-HP keep a running average of what they met in training; that
of DP-Sinkhorn (finalize_result.py, load_checkpoint_for_eval) normalises every generated batch by itself.

A bias before a batch norm has no effect, and a gradient of zero but for rounding, which Adam would take for a
direction: here it keeps its first value.
"""

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.networks import Parameters
from condensers.randomness import draw_normal, draw_uniform

if TYPE_CHECKING:
    from condensers.generator import Generator

KINDS = ("mlp-bn", "upsampling-bn", "dcgan-bn")
LABEL_NUMBERS = 8  # `--embed_dim` of DP-Sinkhorn's README
CHANNELS, KERNEL = (16, 8), 5  # `--n-channels` and `--kernel-sizes` of mnist_sr_gen.py
SLOPE = 0.2
Norm = Callable[[Tensor, int], Tensor]


def _first_size(generator: "Generator") -> tuple[int, int]:
    """Height and width before the image is doubled twice."""
    height, width = (-(-size // 4) for size in generator.input_shape[1:])
    return height, width


def draw_normed(generator: "Generator", stream: np.random.Generator, device: torch.device) -> Parameters:
    """First weights, with an axis of runs of length 1."""
    drawn: Parameters = {}

    def add(name: str, shape: tuple[int, ...], fan_in: int, bias: int = 0) -> None:
        drawn[f"{name}.weight"] = (2 * draw_uniform(stream, (1, *shape), device) - 1) / sqrt(fan_in)
        if bias:
            drawn[f"{name}.bias"] = (2 * draw_uniform(stream, (1, bias), device) - 1) / sqrt(fan_in)

    def add_norm(number: int, size: int) -> None:
        drawn[f"norm{number}.weight"] = torch.ones(1, size, device=device)
        drawn[f"norm{number}.bias"] = torch.zeros(1, size, device=device)

    width, channels = generator.width, generator.input_shape[0]
    if generator.kind == "dcgan-bn":
        area = prod(_first_size(generator))
        drawn["labels.weight"] = draw_normal(stream, (1, generator.num_classes, LABEL_NUMBERS), device)
        # The fan-in of a transposed convolution, as torch counts it: its outputs times its kernel.
        add("first", (generator.latent + LABEL_NUMBERS, 4 * width * area), 4 * width * area)
        add_norm(0, 4 * width)
        for block, own in enumerate((2 * width, width)):
            add(f"up{block}", (2 * own, own, 4, 4), own * 16)
            add_norm(block + 1, own)
        add("last", (channels, width, 3, 3), width * 9, channels)
        return drawn
    codes, table = generator.num_codes, generator.kind == "mlp-bn"
    middle = width if table else CHANNELS[0] * prod(_first_size(generator))
    add("first", (codes, width), codes, width)
    add_norm(0, width)
    add("second", (width, middle), width, middle)
    add_norm(1, middle)
    if table:
        add("last", (width, prod(generator.input_shape)), width, prod(generator.input_shape))
        return drawn
    for block, (inputs, outputs) in enumerate(((CHANNELS[0], CHANNELS[1]), (CHANNELS[1], channels))):
        add(f"conv{block}", (outputs, inputs, KERNEL, KERNEL), inputs * KERNEL**2, outputs)
    return drawn


def generate_normed(
    generator: "Generator", parameters: Parameters, codes: Tensor, batches: Sequence[int] | None = None
) -> Tensor:
    """Images `[runs, images, …]` before they are squashed, of codes `[runs, images, codes]`.

    The images are normalised by the fixed statistics among the parameters, or else batch by batch; `batches` are the
    sizes of the batches that the codes consist of, one after the other.
    """

    def fixed(x: Tensor, number: int) -> Tensor:
        mean, variance = (parameters[f"norm{number}.{name}"].flatten() for name in ("mean", "variance"))
        return F.batch_norm(x, mean, variance, *_scale(parameters, number))

    def by_batch(x: Tensor, number: int) -> Tensor:
        parts = x.split(list(batches)) if batches else (x,)
        scale = _scale(parameters, number)
        return torch.cat([F.batch_norm(part, None, None, *scale, training=True) for part in parts])

    return _forward(generator, parameters, codes, fixed if "norm0.mean" in parameters else by_batch)


def batch_statistics(generator: "Generator", parameters: Parameters, codes: Tensor) -> Parameters:
    """Mean and unbiased variance `[runs, features]` at every batch norm, of one batch of codes that all runs share."""
    found: Parameters = {}
    runs = len(parameters["first.weight"])

    def measure(x: Tensor, number: int) -> Tensor:
        mean, variance = x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1])
        normed = F.batch_norm(x, mean, variance, *_scale(parameters, number), training=True, momentum=1.0)
        found[f"norm{number}.mean"], found[f"norm{number}.variance"] = mean.view(runs, -1), variance.view(runs, -1)
        return normed

    with torch.no_grad():
        _forward(generator, parameters, codes.expand(runs, *codes.shape), measure)
    return found


def _scale(parameters: Parameters, number: int) -> tuple[Tensor, Tensor]:
    return parameters[f"norm{number}.weight"].flatten(), parameters[f"norm{number}.bias"].flatten()


def _forward(generator: "Generator", parameters: Parameters, codes: Tensor, norm: Norm) -> Tensor:
    """`norm` normalises `[images, runs · features, …]`, so that every run has statistics of its own."""
    runs, count = codes.shape[:2]

    def linear_before_norm(x: Tensor, name: str) -> Tensor:
        weight, bias = parameters[f"{name}.weight"], parameters.get(f"{name}.bias")
        if bias is None:
            return torch.bmm(x, weight)
        return torch.baddbmm((bias.detach() + 0 * bias).unsqueeze(1), x, weight)

    def convolve(x: Tensor, name: str) -> Tensor:
        weight, bias = (parameters[f"{name}.{part}"].flatten(0, 1) for part in ("weight", "bias"))
        return F.conv2d(x, weight, bias, padding=weight.shape[2] // 2, groups=runs)

    def normed_features(x: Tensor, number: int) -> Tensor:
        return norm(x.transpose(0, 1).flatten(1), number)

    if generator.kind == "dcgan-bn":
        latent, labels = codes[..., : generator.latent], codes[..., generator.latent :]
        x = linear_before_norm(torch.cat([latent, labels @ parameters["labels.weight"]], 2), "first")
        x = x.transpose(0, 1).reshape(count, runs * 4 * generator.width, *_first_size(generator))
        x = F.leaky_relu(norm(x, 0), SLOPE)
        for block in range(2):
            x = F.conv_transpose2d(
                x, parameters[f"up{block}.weight"].flatten(0, 1), stride=2, padding=1, groups=runs
            )  # fmt: skip
            x = F.leaky_relu(norm(x, block + 1), SLOPE)
        x = convolve(x, "last")
    else:
        x = normed_features(linear_before_norm(codes, "first"), 0).relu()
        x = normed_features(linear_before_norm(x.view(count, runs, -1).transpose(0, 1), "second"), 1)
        if generator.kind == "mlp-bn":
            x = x.relu().view(count, runs, -1).transpose(0, 1)
            x = torch.baddbmm(parameters["last.bias"].unsqueeze(1), x, parameters["last.weight"])
            return x.view(runs, count, *generator.input_shape)
        x = _doubled(x.view(count, runs * CHANNELS[0], *_first_size(generator)))
        x = convolve(_doubled(convolve(x, "conv0").relu()), "conv1")
    height, width = generator.input_shape[1:]
    return x[..., :height, :width].reshape(count, runs, *generator.input_shape).transpose(0, 1)


def _doubled(x: Tensor) -> Tensor:
    """Height and width (`UpsamplingBilinear2d`)."""
    return F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True)
