"""In which numbers pixels stand: p in [0, 1] is written as (p − mean)/std, by channel.

Inside this program mean and std are ½, whatever the data. The DC/DSA/DM code base (Zhao & Bilen) uses constants of each
public data set, which PSG took over; they are in `OFFICIAL`, and are no statistic of the records at hand. A method with
the setting `normalisation="official"` works on records in these numbers (registry.py), so that crop and cutout fill
with the mean pixel and noise starts there; what it releases is brought back.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from condensers.errors import BadData

NORMALISATIONS = ("half", "official")


@dataclass(frozen=True, kw_only=True)
class Normalisation:
    """One number for all channels, or one for each."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or len(self.mean) not in (1, 3):
            raise BadData(f"mean {self.mean} and std {self.std}: expected one or three numbers each")
        if not all(0 < deviation < float("inf") for deviation in self.std):
            raise BadData(f"std {self.std}: every number must be positive and finite")
        if not all(abs(mean) < float("inf") for mean in self.mean):
            raise BadData(f"mean {self.mean}: every number must be finite")


SYMMETRIC = Normalisation(mean=(0.5,), std=(0.5,))
UNIT = Normalisation(mean=(0.0,), std=(1.0,))
OFFICIAL = {
    "mnist": Normalisation(mean=(0.1307,), std=(0.3081,)),
    "fashion-mnist": Normalisation(mean=(0.2861,), std=(0.3530,)),
    "svhn": Normalisation(mean=(0.4377, 0.4438, 0.4728), std=(0.1980, 0.2010, 0.1970)),
    "cifar10": Normalisation(mean=(0.4914, 0.4822, 0.4465), std=(0.2023, 0.1994, 0.2010)),
}


def official(dataset: str | None) -> Normalisation:
    """What existing condensation code expects of this data set; [−1, 1] where it does not know the set."""
    return OFFICIAL.get(dataset or "", SYMMETRIC)


def normalise(images: Tensor, wanted: Normalisation) -> Tensor:
    """From [−1, 1] to `wanted`; equal to the bit where that is [−1, 1] too, else rounded once."""
    return _convert(images, SYMMETRIC, wanted)


def to_symmetric(images: Tensor, stated: Normalisation) -> Tensor:
    """The inverse of `normalise`."""
    return _convert(images, stated, SYMMETRIC)


def _convert(images: Tensor, source: Normalisation, target: Normalisation) -> Tensor:
    if source == target:
        return images
    exact = images.double()
    pixels = exact * _by_channel(source.std, exact) + _by_channel(source.mean, exact)
    return ((pixels - _by_channel(target.mean, exact)) / _by_channel(target.std, exact)).to(images.dtype)


def _by_channel(numbers: tuple[float, ...], images: Tensor) -> Tensor:
    """To broadcast over `[n, channels, height, width]`, or over a table."""
    if len(numbers) > 1 and (images.ndim != 4 or images.shape[1] != len(numbers)):
        raise BadData(f"a normalisation of {len(numbers)} channels does not fit images {tuple(images.shape)}")
    column = torch.tensor(numbers, dtype=torch.float64, device=images.device)
    return column.view(1, -1, *[1] * (images.ndim - 2))
