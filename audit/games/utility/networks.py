"""The six networks on which condensed sets are compared: those of the DC/DSA/DM code base (Zhao & Bilen).

A network is a tuple of layers, and it is run in stacked form: parameters carry a leading axis of networks, images
`[networks or 1, batch, …]`; the networks of all seeds are one grouped convolution. Sizes, paddings and instance norm
(GroupNorm with one channel a group) are those of the official code.

Differs from it: images smaller than 32×32, 28×28 apart, do not survive the poolings of LeNet, AlexNet, VGG11 and
ResNet18 and are enlarged to 32×32 (bilinear); paddings that bring 28×28 to 32×32 go by the size, where the official
code goes by the number of channels; `divisor` divides the channels of the three large networks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.errors import BadConfig
from condensers.networks import Parameters, average_pool, convolve
from condensers.randomness import draw_uniform

ARCHITECTURES = ("convnet", "mlp", "lenet", "alexnet", "vgg11", "resnet18")
LARGE = ("alexnet", "vgg11", "resnet18")
NAMES = dict(zip(ARCHITECTURES, ("ConvNet", "MLP", "LeNet", "AlexNet", "VGG11", "ResNet18"), strict=True))
ENLARGED = 32
Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Convolution:
    channels: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    bias: bool = True


@dataclass(frozen=True)
class InstanceNorm:
    """GroupNorm with one channel a group."""


@dataclass(frozen=True)
class Relu:
    """max(x, 0)."""


@dataclass(frozen=True)
class Pooling:
    """ "average" or "largest" of squares of `size`."""

    kind: str
    size: int = 2


@dataclass(frozen=True)
class Dense:
    """A linear layer of everything before it."""

    width: int


@dataclass(frozen=True)
class Resize:
    """Bilinear, to a square of this side."""

    side: int


@dataclass(frozen=True, kw_only=True)
class Residual:
    """The sum of two ways; an empty shortcut is the identity."""

    inside: "Layers"
    shortcut: "Layers"


Layer = Convolution | InstanceNorm | Relu | Pooling | Dense | Resize | Residual
Layers = tuple[Layer, ...]


@dataclass(frozen=True, kw_only=True)
class EvaluationNetwork:
    """One of `ARCHITECTURES`, made for records of one shape."""

    name: str
    layers: Layers
    input_shape: Shape

    @property
    def resizes(self) -> bool:
        return any(isinstance(layer, Resize) for layer in self.layers)

    @property
    def num_parameters(self) -> int:
        return sum(prod(slot.shape) for slot in _slots(self.layers, self.input_shape))


def make_network(
    name: str, input_shape: Shape, num_classes: int, *, width: int = 128, depth: int = 3, divisor: int = 1
) -> EvaluationNetwork:
    """`width` and `depth` are those of ConvNet; `divisor` makes the large networks narrower."""
    if name not in ARCHITECTURES:
        raise BadConfig(f"--architectures {name}: not one of {', '.join(ARCHITECTURES)}, all")
    if len(input_shape) == 1 and name != "mlp":
        raise BadConfig(f"--architectures {name}: needs images; use mlp for tables")
    small = name not in ("convnet", "mlp") and input_shape[1:] != (28, 28) and min(input_shape[1:]) < ENLARGED
    first: Layers = (Resize(ENLARGED),) if small else ()
    padded = 2 if input_shape[1:] == (28, 28) else 0
    layers = {
        "convnet": lambda: _convnet(width, depth, padded),
        "mlp": lambda: (Dense(128), Relu(), Dense(128), Relu()),
        "lenet": lambda: _lenet(padded),
        "alexnet": lambda: _alexnet(padded, divisor),
        "vgg11": lambda: _vgg11(padded, divisor),
        "resnet18": lambda: _resnet18(divisor),
    }[name]()
    network = EvaluationNetwork(name=name, layers=(*first, *layers, Dense(num_classes)), input_shape=input_shape)
    if any(0 in slot.shape for slot in _slots(network.layers, input_shape)):
        raise BadConfig(
            f"{NAMES[name]} of depth {depth} reduces {input_shape[1]}×{input_shape[2]} pixels to nothing; choose a "
            "smaller depth"
        )
    return network


def _convnet(width: int, depth: int, padded: int) -> Layers:
    return tuple(
        layer
        for block in range(depth)
        for layer in (
            Convolution(channels=width, padding=1 + (padded if block == 0 else 0)),
            InstanceNorm(),
            Relu(),
            Pooling("average"),
        )
    )


def _lenet(padded: int) -> Layers:
    return (
        *(Convolution(channels=6, kernel=5, padding=padded), Relu(), Pooling("largest")),
        *(Convolution(channels=16, kernel=5, padding=0), Relu(), Pooling("largest")),
        *(Dense(120), Relu(), Dense(84), Relu()),
    )


def _alexnet(padded: int, divisor: int) -> Layers:
    return (
        *(Convolution(channels=128 // divisor, kernel=5, padding=2 + padded), Relu(), Pooling("largest")),
        *(Convolution(channels=192 // divisor, kernel=5, padding=2), Relu(), Pooling("largest")),
        *(layer for width in (256, 192, 192) for layer in (Convolution(channels=width // divisor), Relu())),
        Pooling("largest"),
    )


def _vgg11(padded: int, divisor: int) -> Layers:
    layers: list[Layer] = []
    for widths in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for width in widths:
            padding = 1 + (padded if not layers else 0)
            layers += [Convolution(channels=width // divisor, padding=padding), InstanceNorm(), Relu()]
        layers.append(Pooling("largest"))
    return tuple(layers)


def _resnet18(divisor: int) -> Layers:
    layers: list[Layer] = [Convolution(channels=64 // divisor, bias=False), InstanceNorm(), Relu()]
    before = 64
    for width, first_stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (first_stride, 1):
            channels = width // divisor
            shortcut: Layers = (
                (Convolution(channels=channels, kernel=1, stride=stride, padding=0, bias=False), InstanceNorm())
                if stride != 1 or before != width
                else ()
            )
            inside: Layers = (
                *(Convolution(channels=channels, stride=stride, bias=False), InstanceNorm(), Relu()),
                *(Convolution(channels=channels, bias=False), InstanceNorm()),
            )
            layers += [Residual(inside=inside, shortcut=shortcut), Relu()]
            before = width
    return (*layers, Pooling("average", 4))


@dataclass(frozen=True, kw_only=True)
class _Slot:
    """A parameter: uniform within ±1/√fan_in (torch's default), or a constant."""

    name: str
    shape: Shape
    fan_in: int = 0
    constant: float = 0.0


def _slots(layers: Layers, shape: Shape) -> list[_Slot]:
    slots: list[_Slot] = []
    _follow(layers, shape, "", slots)
    return slots


def _follow(layers: Layers, shape: Shape, prefix: str, slots: list[_Slot]) -> Shape:
    """Enter the parameters of `layers` for one record of `shape`; returns the shape that comes out."""
    for position, layer in enumerate(layers):
        name = f"{prefix}{position}"
        match layer:
            case Convolution():
                fan_in = shape[0] * layer.kernel**2
                weight = (layer.channels, shape[0], layer.kernel, layer.kernel)
                slots.append(_Slot(name=f"{name}.weight", shape=weight, fan_in=fan_in))
                if layer.bias:
                    slots.append(_Slot(name=f"{name}.bias", shape=(layer.channels,), fan_in=fan_in))
                shape = (
                    layer.channels,
                    *(max(0, (side + 2 * layer.padding - layer.kernel) // layer.stride + 1) for side in shape[1:]),
                )
            case InstanceNorm():
                slots.append(_Slot(name=f"{name}.weight", shape=shape[:1], constant=1.0))
                slots.append(_Slot(name=f"{name}.bias", shape=shape[:1]))
            case Dense():
                fan_in = prod(shape)
                slots.append(_Slot(name=f"{name}.weight", shape=(layer.width, fan_in), fan_in=fan_in))
                slots.append(_Slot(name=f"{name}.bias", shape=(layer.width,), fan_in=fan_in))
                shape = (layer.width,)
            case Pooling():
                shape = (shape[0], *(side // layer.size for side in shape[1:]))
            case Resize():
                shape = (shape[0], layer.side, layer.side)
            case Residual():
                _follow(layer.shortcut, shape, f"{name}.shortcut.", slots)
                shape = _follow(layer.inside, shape, f"{name}.inside.", slots)
    return shape


def draw_networks(
    network: EvaluationNetwork, generators: Sequence[np.random.Generator], device: torch.device
) -> Parameters:
    """Random networks, one per generator, stacked."""
    stacks: list[Parameters] = [
        dict(_draw(_slots(network.layers, network.input_shape), generator, device)) for generator in generators
    ]
    return {name: torch.stack([stack[name] for stack in stacks]) for name in stacks[0]}


def _draw(slots: list[_Slot], generator: np.random.Generator, device: torch.device) -> Iterator[tuple[str, Tensor]]:
    for slot in slots:
        if slot.fan_in:
            yield slot.name, (2 * draw_uniform(generator, slot.shape, device) - 1) / sqrt(slot.fan_in)
        else:
            yield slot.name, torch.full(slot.shape, slot.constant, device=device)


def run_networks(network: EvaluationNetwork, parameters: Parameters, images: Tensor) -> Tensor:
    """Logits `[networks, batch, classes]` of images `[networks or 1, batch, …]`."""
    count = len(next(iter(parameters.values())))
    images = images.expand(count, *images.shape[1:])
    # [networks, batch, channels, …] → [batch, networks·channels, …]
    x = images.transpose(0, 1).flatten(1, 2) if images.ndim == 5 else images
    return _run(network.layers, parameters, x, "", count)


def _run(layers: Layers, parameters: Parameters, x: Tensor, prefix: str, count: int) -> Tensor:
    for position, layer in enumerate(layers):
        weight, bias = (parameters.get(f"{prefix}{position}.{kind}") for kind in ("weight", "bias"))
        match layer:
            case Convolution():
                assert weight is not None
                x = convolve(x, weight, bias, stride=layer.stride, padding=layer.padding, groups=count)
            case InstanceNorm():
                assert weight is not None
                assert bias is not None
                x = F.group_norm(x, x.shape[1], weight.flatten(), bias.flatten())
            case Relu():
                x = x.relu()
            case Pooling(kind="average"):
                x = average_pool(x) if layer.size == 2 else F.avg_pool2d(x, layer.size)
            case Pooling():
                x = F.max_pool2d(x, layer.size)
            case Resize():
                x = F.interpolate(x, size=(layer.side, layer.side), mode="bilinear", align_corners=False)
            case Dense():
                assert weight is not None
                assert bias is not None
                if x.ndim == 4:
                    x = x.reshape(len(x), count, -1).transpose(0, 1)
                x = torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))
            case Residual():
                name = f"{prefix}{position}"
                inside = _run(layer.inside, parameters, x, f"{name}.inside.", count)
                x = inside + _run(layer.shortcut, parameters, x, f"{name}.shortcut.", count)
    return x
