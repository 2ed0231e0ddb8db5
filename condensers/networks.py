"""Networks in functional, stacked form: parameters carry a leading axis of networks, images one of runs.

`embed` and `classify` take `[networks, batch, …]`. One network serves many runs when its axis has length 1 (the
random networks of DM); one network per run is trained together with all others by grouped convolutions (the victims).
Images of axis length 1 are shown to every network.

ConvNet: Gidaris & Komodakis' blocks as used by Zhao & Bilen (arXiv:2110.04181): 3×3 convolution, instance norm
(GroupNorm with one channel a group), ReLU, 2×2 average pooling. `linear` and `linear-relu` are the extractors of
Dong et al. (arXiv:2206.00240), Appendices A and D.

In bfloat16 the operands and results of convolutions and products are rounded to it, forward and backward; norms,
pooling and parameters stay in float32, as under torch's autocast. `bfloat16-emulated` rounds and computes in float32,
which every device can.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod, sqrt
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers import wide, winograd
from condensers.errors import BadConfig
from condensers.randomness import draw_normal, draw_uniform

KINDS = ("convnet", "linear", "linear-relu")
PRECISIONS = ("float32", "bfloat16", "bfloat16-emulated")
MOST_PARAMETERS = 1 << 28  # a gibibyte; the largest network of the papers has a thousandth of it

Parameters = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Network:
    """What a network looks like; its parameters are drawn by `draw_parameters`."""

    kind: str
    input_shape: tuple[int, ...]
    num_classes: int
    width: int
    depth: int
    precision: str = "float32"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadConfig(f"network {self.kind!r} is not one of {', '.join(KINDS)}")
        if self.kind == "convnet" and len(self.input_shape) != 3:
            raise BadConfig("a convnet needs images; for tables choose linear or linear-relu")
        if self.kind == "convnet" and min(self._spatial_sizes()[-1]) < 1:
            raise BadConfig(
                f"depth {self.depth} halves {self.input_shape[1]}×{self.input_shape[2]} pixels to nothing; "
                "choose a smaller depth"
            )
        if self.num_parameters > MOST_PARAMETERS:
            raise BadConfig(
                f"width={self.width}, depth={self.depth}: the network would have {self.num_parameters:.3g} "
                f"parameters; at most {MOST_PARAMETERS:.3g} are allowed"
            )

    @property
    def num_features(self) -> int:
        if self.kind != "convnet":
            return self.width
        return self.width * prod(self._spatial_sizes()[-1])

    @property
    def num_parameters(self) -> int:
        """Weights of all layers, without biases and norms."""
        if self.kind != "convnet":
            first = self.width * prod(self.input_shape)
        else:
            first = 9 * self.width * (self.input_shape[0] + (self.depth - 1) * self.width)
        return first + self.num_classes * self.num_features

    @property
    def wide(self) -> bool:
        """Whether its features may be those of `wide.py`, which go network by network."""
        return self.kind == "convnet" and self.width >= winograd.FEWEST_CHANNELS

    @property
    def first_padding(self) -> int:
        # The official ConvNet pads 28×28 images to 32×32 in its first convolution.
        return 3 if self.input_shape[1:] == (28, 28) else 1

    def _spatial_sizes(self) -> list[tuple[int, int]]:
        """Height and width after each block."""
        height, width = (size + 2 * (self.first_padding - 1) for size in self.input_shape[1:])
        sizes = []
        for _ in range(self.depth):
            height, width = height // 2, width // 2
            sizes.append((height, width))
        return sizes


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Networks of one architecture, one for each run."""

    network: Network
    parameters: Parameters

    @staticmethod
    def joined(stacks: "Sequence[Stack]") -> "Stack":
        """Of several groups of runs, in turn."""
        names = stacks[0].parameters
        together = {name: torch.cat([stack.parameters[name] for stack in stacks]) for name in names}
        return Stack(network=stacks[0].network, parameters=together)


def fitting_network(
    input_shape: tuple[int, ...], num_classes: int, *, kind: str, width: int, depth: int, precision: str = "float32"
) -> Network:
    """The classifier that fits the records: tables get a perceptron with one hidden layer."""
    fits = kind if len(input_shape) == 3 else "linear-relu"
    return Network(
        kind=fits, input_shape=input_shape, num_classes=num_classes, width=width, depth=depth, precision=precision
    )


def draw_parameters(network: Network, generators: Iterable[np.random.Generator], device: torch.device) -> Parameters:
    """Random networks, one per generator, stacked; torch's default initialisation of convolutions and linear layers."""
    stacks = [_draw_one(network, generator, device) for generator in generators]
    if len(stacks) == 1:
        return {name: value.unsqueeze(0) for name, value in stacks[0].items()}
    return {name: torch.stack([stack[name] for stack in stacks]) for name in stacks[0]}


def _draw_one(network: Network, generator: np.random.Generator, device: torch.device) -> Parameters:
    def uniform(shape: tuple[int, ...], fan_in: int) -> Tensor:
        return (2 * draw_uniform(generator, shape, device) - 1) / sqrt(fan_in)

    parameters: Parameters = {}
    width = network.width
    if network.kind == "convnet":
        channels = network.input_shape[0]
        for block in range(network.depth):
            parameters[f"conv{block}.weight"] = uniform((width, channels, 3, 3), 9 * channels)
            parameters[f"conv{block}.bias"] = uniform((width,), 9 * channels)
            parameters[f"norm{block}.weight"] = torch.ones(width, device=device)
            parameters[f"norm{block}.bias"] = torch.zeros(width, device=device)
            channels = width
    else:
        # Differs from the paper: θ_ij ~ N(0, 1/width), not N(0, 1) (Appendix A, arXiv:2206.00240), which
        # divides the loss by the width, so that one learning rate serves every width.
        gain = sqrt((2 if network.kind == "linear-relu" else 1) / width)
        parameters["linear.weight"] = gain * draw_normal(generator, (width, prod(network.input_shape)), device)
    parameters["head.weight"] = uniform((network.num_classes, network.num_features), network.num_features)
    parameters["head.bias"] = uniform((network.num_classes,), network.num_features)
    return parameters


def embed(network: Network, parameters: Parameters, images: Tensor) -> Tensor:
    """Features `[networks, batch, num_features]` of images `[networks or 1, batch, …]`."""
    if network.kind == "convnet":
        return _embed_convnet(network, parameters, images)
    operands = images.flatten(2), parameters["linear.weight"].transpose(1, 2)
    features = _rounding(torch.matmul, network.precision)(*operands)
    return features.relu() if network.kind == "linear-relu" else features


def classify(network: Network, parameters: Parameters, images: Tensor) -> Tensor:
    """Logits `[networks, batch, num_classes]`."""
    features = embed(network, parameters, images)
    operands = parameters["head.bias"].unsqueeze(1), features, parameters["head.weight"].transpose(1, 2)
    return _rounding(torch.baddbmm, network.precision)(*operands)


def _embed_convnet(network: Network, parameters: Parameters, images: Tensor) -> Tensor:
    num_networks = parameters["head.bias"].shape[0]
    shown_to_all, batch = images.shape[0] == 1, images.shape[1]
    # One image is what torch.func's vmap shows, for which torch's own operations are faster.
    if batch > 1 and embeds_wide(network, images):
        return _embed_one_by_one(network, parameters, images)
    # [networks, batch, channels, …] → [batch, networks·channels, …]: one grouped convolution for all networks.
    x = images[0] if shown_to_all else images.transpose(0, 1).flatten(1, 2)
    for block in range(network.depth):
        x = _rounding(convolve, network.precision)(
            x,
            parameters[f"conv{block}.weight"],
            parameters[f"conv{block}.bias"],
            padding=network.first_padding if block == 0 else 1,
            groups=1 if block == 0 and shown_to_all else num_networks,
        )
        x = F.group_norm(
            x,
            num_networks * network.width,
            parameters[f"norm{block}.weight"].flatten(),
            parameters[f"norm{block}.bias"].flatten(),
        )
        x = average_pool(x.relu_())
    return x.reshape(batch, num_networks, -1).transpose(0, 1)


def embeds_wide(network: Network, images: Tensor) -> bool:
    """Whether `wide.py` computes features of images `[networks or 1, batch, …]`."""
    return (
        network.kind == "convnet"
        and network.precision == "float32"
        and wide.saves_time(images[0], width=network.width, depth=network.depth, padding=network.first_padding)
    )


def _embed_one_by_one(network: Network, parameters: Parameters, images: Tensor) -> Tensor:
    found = []
    for place in range(len(parameters["head.bias"])):
        own = {name: value[place] for name, value in parameters.items()}
        shown = images[0 if len(images) == 1 else place]
        found.append(wide.embed_wide(own, shown, depth=network.depth, padding=network.first_padding))
    return torch.stack(found)


def convolve(
    x: Tensor, weight: Tensor, bias: Tensor | None, *, groups: int, padding: int = 1, stride: int = 1
) -> Tensor:
    """Images `[batch, groups · channels, …]` by `[networks, outputs, channels, …]`; groups are 1 or the networks."""
    plain = weight.shape[-2:] == (3, 3) and padding == stride == 1 and groups == len(weight)
    if not (plain and winograd.saves_time(x, weight[0])):
        together = None if bias is None else bias.flatten()
        return F.conv2d(x, weight.flatten(0, 1), together, padding=padding, stride=stride, groups=groups)
    biases = [None] * groups if bias is None else bias
    of_networks = zip(x.unflatten(1, (groups, -1)).unbind(1), weight, biases, strict=True)
    found = [winograd.convolve(*each) for each in of_networks]
    return found[0] if groups == 1 else torch.cat(found, 1)


def check_precision(precision: str, device: torch.device) -> None:
    """Refuse bfloat16 where no kernels for it can be relied upon."""
    # What a CPU says of itself is no proof: virtual machines name instructions that they refuse to execute.
    if precision == "bfloat16" and not (device.type == "cuda" and torch.cuda.is_bf16_supported()):
        raise BadConfig(
            f"precision=bfloat16: not supported on {device.type} here; choose bfloat16-emulated, which rounds in "
            "the same way"
        )


def _rounding(operation: Callable[..., Tensor], precision: str) -> Callable[..., Tensor]:
    """The operation with tensors and result of this precision; the result is float32 again."""
    if precision == "float32":
        return operation
    emulated = precision == "bfloat16-emulated"

    def rounded(*operands: Tensor, **settings: Any) -> Tensor:
        check_precision(precision, operands[0].device)
        narrow = [operand.bfloat16() for operand in operands]
        result = operation(*([one.float() for one in narrow] if emulated else narrow), **settings)
        return (result.bfloat16() if emulated else result).float()

    return rounded


def average_pool(x: Tensor) -> Tensor:
    """The means of 2×2 pixels, of an odd last row or column nothing.

    On a CPU as a product of each pair of rows with a matrix of quarters and zeros, which takes a seventh of the time of
    torch's loop (docs/performance.md) and rounds as it does: a product adds up in the order of the pixels.
    """
    height, width = x.shape[-2:]
    if x.device.type != "cpu" or height % 2 or width % 2 or torch.compiler.is_compiling():
        return F.avg_pool2d(x, 2)
    halved = x.reshape(-1, 2 * width) @ _quarters(width).to(x.dtype)
    return halved.view(*x.shape[:-2], height // 2, width // 2)


@cache
def _quarters(width: int) -> Tensor:
    """`[2 · width, width / 2]`: what each pixel of a pair of rows adds to each mean."""
    pooled = np.arange(2 * width) % width // 2
    return torch.from_numpy((pooled[:, None] == np.arange(width // 2)).astype(np.float32) / 4)


def chunk_size(network: Network, device: torch.device, *, networks: int = 1) -> int:
    """Images to push through at a time.

    On a CPU the widest activation of a chunk should stay in cache (measured in docs/performance.md), of a wide network
    in a larger one, for the transforms of its weights are shared by the images of a chunk; on a GPU it should fill a
    small part of the memory that is free in total.
    """
    if network.kind == "convnet":
        pixels = prod(size + 2 * (network.first_padding - 1) for size in network.input_shape[1:])
        widest = 4 * networks * network.width * pixels
    else:
        widest = 4 * networks * max(network.width, prod(network.input_shape))
    if device.type == "cuda":
        room = torch.cuda.get_device_properties(device).total_memory // 32
    else:
        room = (16 if network.wide else 4) << 20
    return max(1, room // widest)
