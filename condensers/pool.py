"""What every method shares: the private pool and the synthetic sets made from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from condensers.errors import BadData
from condensers.generator import Generators
from condensers.networks import Stack


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The records of which every run condenses a random part.

    `images` are float32 `[records, channels, height, width]` with pixels in [−1, 1] by the fixed
    normalisation (x − .5)/.5, or `[records, features]` for tables. Records stand sorted by class,
    so that a class is a slice. `auxiliary` are public images of the same shape, for methods that ask for some.
    """

    name: str
    images: Tensor
    labels: Tensor
    num_classes: int
    auxiliary: Tensor | None = None

    def __post_init__(self) -> None:
        if self.images.ndim not in (2, 4) or self.labels.shape != self.images.shape[:1]:
            raise BadData(
                f"{self.name}: images {tuple(self.images.shape)} and labels {tuple(self.labels.shape)} "
                "do not fit; expected [n, channels, height, width] or [n, features], and [n]"
            )
        if self.labels.numel() and bool((self.labels[1:] < self.labels[:-1]).any()):
            raise BadData(f"{self.name}: records are not sorted by class; build the pool with sort_by_class")
        if self.auxiliary is not None and self.auxiliary.shape[1:] != self.images.shape[1:]:
            raise BadData(
                f"auxiliary images of shape {_times(self.auxiliary)} do not fit the records of {self.name}, "
                f"{_times(self.images)}; choose a public data set of that shape"
            )

    @property
    def num_records(self) -> int:
        return self.images.shape[0]

    @cached_property
    def class_slices(self) -> list[slice]:
        """The records of each class; read from the device once, not in every step."""
        ends = torch.bincount(self.labels, minlength=self.num_classes).cumsum(0).tolist()
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    def to(self, device: torch.device) -> "Pool":
        moved = Pool(
            name=self.name,
            images=self.images.to(device),
            labels=self.labels.to(device),
            num_classes=self.num_classes,
            auxiliary=None if self.auxiliary is None else self.auxiliary.to(device),
        )
        vars(moved)["class_slices"] = self.class_slices
        return moved


def _times(images: Tensor) -> str:
    return "×".join(map(str, images.shape[1:]))


def sort_by_class(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Order records by class, keeping their order within a class."""
    order = torch.sort(labels, stable=True).indices
    return images[order], labels[order]


@dataclass(frozen=True, kw_only=True)
class CondensedBatch:
    """What a group of runs released: synthetic sets, with the generators they were sampled from where there are any,
    or networks and empty sets.

    `images` `[runs, m, …]`; `labels` `[runs, m]`, or `[runs, m, classes]` where a method releases soft ones.
    `initial_records` `[runs, m]` says which record each image started from, −1 where it was noise.
    """

    images: Tensor
    labels: Tensor
    initial_records: Tensor
    networks: Stack | None = None
    generators: Generators | None = None

    @staticmethod
    def of_networks(networks: Stack) -> "CondensedBatch":
        """Networks, one for each run, and sets without an image."""
        bias = networks.parameters["head.bias"]
        none = torch.empty(len(bias), 0, dtype=torch.int64, device=bias.device)
        images = bias.new_empty(len(bias), 0, *networks.network.input_shape)
        return CondensedBatch(images=images, labels=none, initial_records=none, networks=networks)

    @staticmethod
    def joined(batches: "Sequence[CondensedBatch]") -> "CondensedBatch":
        """Of several groups of runs, in turn."""
        stacks = [batch.networks for batch in batches if batch.networks is not None]
        generators = [batch.generators for batch in batches if batch.generators is not None]
        return CondensedBatch(
            images=torch.cat([batch.images for batch in batches]),
            labels=torch.cat([batch.labels for batch in batches]),
            initial_records=torch.cat([batch.initial_records for batch in batches]),
            networks=Stack.joined(stacks) if stacks else None,
            generators=Generators.joined(generators) if generators else None,
        )
