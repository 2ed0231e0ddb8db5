"""LPIPS, the learned perceptual distance of Zhang et al., arXiv:1801.03924 (version 0.1 of its weights).

Dong et al. (arXiv:2206.00240, section 5.4) compare synthetic with real images by it, on VGG16; AlexNet is beside it.
The backbones are torchvision's, the linear heads those that the `lpips` package ships.

Differs from that package: it runs the backbone anew for every pair. With unit-normalised features y and heads w ≥ 0
the distance is Σ_l 1/(H_l W_l) Σ_hw ‖√w_l ⊙ (y_l − y′_l)‖² (Eq. (1)), a squared distance of vectors that depend on one
image each. So every image passes the backbone once, pairs are matrix products, and features live in memory for one
block of records only: of 60 000 images they would be 120 GB, and they are as private as the images.

One channel is repeated to three. Images whose shorter side is below 64 pixels, the side of the patches that people
judged for LPIPS, are enlarged to it bilinearly. Values beyond [−1, 1] are compared as they are.
"""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from condensers.errors import BadData, BadInput

SMALLEST_SIDE = 64
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)
_TINY = 1e-10
RECORDS_AT_ONCE = 16
_BYTES_OF_IMAGES = 256 << 20

Tick = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Convolution:
    """One convolution with its ReLU, number `index` of torchvision's `features`.

    `pooled` is the kernel of a max pool of stride 2 before it, 0 where there is none; `tapped` features enter LPIPS.
    """

    index: int
    num_in: int
    num_out: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    pooled: int = 0
    tapped: bool = False

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {
            f"features.{self.index}.weight": (self.num_out, self.num_in, self.kernel, self.kernel),
            f"features.{self.index}.bias": (self.num_out,),
        }


BACKBONES: dict[str, tuple[Convolution, ...]] = {
    "vgg16": (
        Convolution(index=0, num_in=3, num_out=64),
        Convolution(index=2, num_in=64, num_out=64, tapped=True),
        Convolution(index=5, num_in=64, num_out=128, pooled=2),
        Convolution(index=7, num_in=128, num_out=128, tapped=True),
        Convolution(index=10, num_in=128, num_out=256, pooled=2),
        Convolution(index=12, num_in=256, num_out=256),
        Convolution(index=14, num_in=256, num_out=256, tapped=True),
        Convolution(index=17, num_in=256, num_out=512, pooled=2),
        Convolution(index=19, num_in=512, num_out=512),
        Convolution(index=21, num_in=512, num_out=512, tapped=True),
        Convolution(index=24, num_in=512, num_out=512, pooled=2),
        Convolution(index=26, num_in=512, num_out=512),
        Convolution(index=28, num_in=512, num_out=512, tapped=True),
    ),
    "alexnet": (
        Convolution(index=0, num_in=3, num_out=64, kernel=11, stride=4, padding=2, tapped=True),
        Convolution(index=3, num_in=64, num_out=192, kernel=5, padding=2, pooled=3, tapped=True),
        Convolution(index=6, num_in=192, num_out=384, pooled=3, tapped=True),
        Convolution(index=8, num_in=384, num_out=256, tapped=True),
        Convolution(index=10, num_in=256, num_out=256, tapped=True),
    ),
}
_HEADS = {"vgg16": "vgg", "alexnet": "alex"}


def backbone_shapes(network: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a backbone's tensors."""
    return {name: shape for layer in BACKBONES[network] for name, shape in layer.shapes.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Perceptual:
    """A backbone and, for each tapped layer, the roots of its head's weights."""

    network: str
    parameters: Mapping[str, Tensor]
    roots: tuple[Tensor, ...]


def load_perceptual(network: str, parameters: Mapping[str, Tensor], device: torch.device) -> Perceptual:
    """LPIPS on the given backbone, whose tensors are checked, with the heads of the `lpips` package."""
    check_backbone(network, parameters, where=f"weights of {network}")
    return Perceptual(
        network=network,
        parameters={name: parameters[name].to(device) for name in backbone_shapes(network)},
        roots=tuple(head.sqrt().to(device) for head in load_heads(network)),
    )


def check_backbone(network: str, parameters: Mapping[str, Tensor], *, where: str) -> None:
    """Refuse tensors that are not this backbone's: in one line, the first that is wrong."""
    for name, shape in backbone_shapes(network).items():
        if name not in parameters:
            raise BadData(f"{where}: lacks {name}; torchvision's names for {network} are needed")
        tensor = parameters[name]
        if tuple(tensor.shape) != shape:
            raise BadData(f"{where}: {name} has shape {list(tensor.shape)}; {network} needs {list(shape)}")
        if tensor.dtype != torch.float32:
            raise BadData(f"{where}: {name} is {str(tensor.dtype).removeprefix('torch.')}; float32 is needed")
        if not bool(tensor.isfinite().all()):
            raise BadData(f"{where}: {name} holds numbers that are not finite")


def load_heads(network: str) -> tuple[Tensor, ...]:
    """The linear heads, one weight per channel of each tapped layer, from the installed `lpips` package."""
    spec = importlib.util.find_spec("lpips")
    places = (spec.submodule_search_locations if spec else None) or []
    paths = [
        path for place in places if (path := Path(place) / "weights" / "v0.1" / f"{_HEADS[network]}.pth").is_file()
    ]
    if not paths:
        raise BadInput("LPIPS needs the package lpips, which is not installed: pip install lpips")
    heads = torch.load(paths[0], map_location="cpu", weights_only=True)
    tapped = [layer for layer in BACKBONES[network] if layer.tapped]
    found = [heads.get(f"lin{number}.model.1.weight") for number in range(len(tapped))]
    for layer, head in zip(tapped, found, strict=True):
        if head is None or head.shape != (1, layer.num_out, 1, 1) or not bool((head >= 0).all()):
            raise BadData(f"{paths[0].name} of the installed lpips package is not what version 0.1 of LPIPS ships")
    return tuple(head.flatten() for head in found)


def fits_images(shape: tuple[int, ...]) -> bool:
    """Whether records of this shape are pictures that LPIPS can see."""
    return len(shape) == 3 and shape[0] in (1, 3)


def embed(metric: Perceptual, images: Tensor) -> list[Tensor]:
    """Of each tapped layer the vectors `[images, channels · height · width]`; squared distances add up to LPIPS."""
    hidden = _prepare(images)
    roots, vectors = iter(metric.roots), []
    for layer in BACKBONES[metric.network]:
        if layer.pooled:
            hidden = functional.max_pool2d(hidden, layer.pooled, stride=2)
        weight, bias = (metric.parameters[name] for name in layer.shapes)
        hidden = functional.conv2d(hidden, weight, bias, stride=layer.stride, padding=layer.padding).relu_()
        if layer.tapped:
            # Clamped: a pixel without features has no slope there, where that of the root would be infinite.
            length = hidden.square().sum(1, keepdim=True).clamp_min(_TINY**2).sqrt() + _TINY
            scale = next(roots) / (hidden.shape[2] * hidden.shape[3]) ** 0.5  # Eq. (1), arXiv:1801.03924
            vectors.append((hidden / length * scale[:, None, None]).flatten(1))
    return vectors


def pairwise_lpips(metric: Perceptual, images: Tensor, records: Tensor, *, tick: Tick = lambda _: None) -> Tensor:
    """LPIPS of every image to every record, `[images, records]`; `tick` is told how many records are done.

    Records are embedded in blocks of 16. No number depends on how many blocks are given at a time.
    """
    device = metric.roots[0].device
    distances = torch.empty((len(images), len(records)), dtype=torch.float64, device="cpu")
    for rows, vectors in _image_blocks(metric, images.to(device)):
        for start in range(0, len(records), RECORDS_AT_ONCE):
            columns = slice(start, min(start + RECORDS_AT_ONCE, len(records)))
            with torch.inference_mode():
                distances[rows, columns] = _squared_distances(vectors, embed(metric, records[columns].to(device))).cpu()
            tick(columns.stop - columns.start)
    return distances


def _image_blocks(metric: Perceptual, images: Tensor) -> Iterator[tuple[slice, list[Tensor]]]:
    """Images with their vectors, as many at a time as have vectors of 256 MiB."""
    with torch.inference_mode():
        size = sum(4 * vectors.shape[1] for vectors in embed(metric, images[:1]))
        most = max(1, _BYTES_OF_IMAGES // size)
        for start in range(0, len(images), most):
            rows = slice(start, min(start + most, len(images)))
            parts = [embed(metric, part) for part in images[rows].split(RECORDS_AT_ONCE)]
            yield rows, [torch.cat(layer) for layer in zip(*parts, strict=True)]


def _squared_distances(images: list[Tensor], records: list[Tensor]) -> Tensor:
    """Σ over layers of ‖a‖² + ‖b‖² − 2ab, not below 0, in float64."""
    total = torch.zeros((len(images[0]), len(records[0])), dtype=torch.float64, device=images[0].device)
    for first, second in zip(images, records, strict=True):
        lengths = first.square().sum(1).double()[:, None] + second.square().sum(1).double()[None]
        total += lengths - 2 * (first @ second.T).double()
    return total.clamp_min_(0)


def _prepare(images: Tensor) -> Tensor:
    if images.shape[1] == 1:
        images = images.expand(-1, 3, -1, -1)
    height, width = images.shape[2:]
    if min(height, width) < SMALLEST_SIDE:
        factor = SMALLEST_SIDE / min(height, width)
        size = (round(factor * height), round(factor * width))
        images = functional.interpolate(images, size=size, mode="bilinear", align_corners=False)
    shift, scale = (torch.tensor(values, device=images.device)[:, None, None] for values in (_SHIFT, _SCALE))
    return (images - shift) / scale
