"""Dosser's signals: a public view of the records (network, augmentation, subspace) and the noisy sums seen through it.

DOS stores many of them once; SER finds the subspace from auxiliary images; PEA shows an image by its four quarters
(condensers/dosser.py names the paper).
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.augment import Augmentation, draw_augmentation, parse_strategy
from condensers.clock import NOISE_SOURCES
from condensers.dm import Embedder, augmented, embed_in_chunks, make_embedder, pulled_back
from condensers.errors import BadConfig
from condensers.mechanism import Door, Request
from condensers.networks import Network, Parameters, chunk_size, draw_parameters
from condensers.randomness import PublicRandomness, draw_normal, to_device
from condensers.samples import clip_vectors
from condensers.subspace import EVERYTHING, Subspace, find_subspace, find_subspace_roughly, subspace_dim

KEPT_BYTES = 1 << 30  # of subspaces that are kept for the next visit of their signal
SHARE, NOISE = "share", "noise"  # auxiliary images made of the records and paid for, or of public noise


class SignalSettings(Protocol):
    """What a view needs of the method's config."""

    @property
    def ipc(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def clip(self) -> float: ...
    @property
    def noise_multiplier(self) -> float: ...
    @property
    def ser(self) -> bool: ...
    @property
    def pca(self) -> str: ...
    @property
    def pea(self) -> bool: ...
    @property
    def subspace(self) -> int: ...
    @property
    def auxiliary(self) -> str: ...
    @property
    def auxiliary_images(self) -> int: ...
    @property
    def extractor(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def augmentation(self) -> str: ...
    @property
    def compiled(self) -> bool: ...
    @property
    def noise_source(self) -> str: ...
    @property
    def classes_per_millisecond(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class View:
    """𝓕 of Eq. (1) with the projection of section 3.4: all that is public about one signal."""

    embedder: Embedder
    network: Network
    parameters: Parameters
    drawn: list[Augmentation | None]
    subspace: Subspace
    dim: int

    def release(self, door: Door, config: SignalSettings, again: int | None = None) -> Tensor:
        """Noisy sums `[runs, classes, dim]`."""
        per_run = self.subspace.per_run
        requests = [
            Request(
                group=label,
                sampling=door.poisson(label, config.batch),
                vectors=partial(self._vectors, label=label, per_run=per_run),
            )
            for label in range(door.num_classes)
        ]
        return door.release(
            requests,
            dim=self.dim,
            clip=config.clip,
            noise_multiplier=config.noise_multiplier,
            per_run=per_run,
            again=again,
            noise_seeds=NOISE_SOURCES[config.noise_source],
            requests_per_seed=config.classes_per_millisecond,
        )

    def _vectors(self, images: Tensor, labels: Tensor, *, label: int, per_run: bool) -> Tensor:
        """Pᵀ f_θ(A_ζ(x)) of images `[records, …]`, or `[runs, records, …]`."""
        with torch.no_grad():
            flat = images.flatten(0, 1) if per_run else images
            features = embed_in_chunks(augmented(flat, self.drawn[label]), self.embedder, self.parameters, self.network)
            return self.subspace.project(features.view(*(labels.shape if per_run else (1, -1)), features.shape[1]))[
                slice(None) if per_run else 0
            ]

    def gradient(self, images: Tensor, signal: Tensor, config: SignalSettings) -> Tensor:
        """∂/∂Z of Σ_runs Σ_classes ‖μ̂ − (L/M) Σ_j clip(Pᵀ f(A(z_j)))‖², Eqs. (4)–(5) of section 3.4 on sums.

        A (class, run) pair is a unit; units go through the network in chunks, whose size changes nothing but rounding.
        """
        runs, num_classes = signal.shape[:2]
        leaf = images.detach().requires_grad_()
        by_class = leaf.view(runs, num_classes, config.ipc, *images.shape[2:]).transpose(0, 1).flatten(1, 2)
        shown = [expand_images(part) if config.pea else part for part in by_class]
        batch = torch.stack([augmented(part, drawn) for part, drawn in zip(shown, self.drawn, strict=True)])
        units = batch.view(num_classes * runs, -1, *images.shape[2:])
        targets = signal.transpose(0, 1).flatten(0, 1)
        count = units.shape[1]
        slope = torch.empty_like(units)
        size = max(1, chunk_size(self.network, images.device) // count)
        for start in range(0, len(units), size):
            part = units[start : start + size].detach().requires_grad_()
            features = self.embedder(self.parameters, part.flatten(0, 1)).view(len(part), count, -1)
            whose = torch.arange(start, start + len(part), device=images.device) % runs
            projected = clip_vectors(self.subspace.of_runs(whose).project(features), config.clip)
            gap = targets[start : start + size] - projected.sum(1) * (config.batch / count)
            (slope[start : start + size],) = torch.autograd.grad(gap.square().sum(), part)
        return pulled_back(slope, units, leaf)


class Views:
    """Makes the view of a signal from its public keys, the same whenever it is asked for.

    Finding the subspace takes most of it: auxiliary images under a new network, and their principal components. The
    subspaces of the last signals are kept as far as `KEPT_BYTES` reach, 260 of them at the paper's sizes; all class
    means that are shown to one object must be the same.
    """

    def __init__(self, door: Door, config: SignalSettings, randomness: PublicRandomness) -> None:
        self._randomness, self._device, self._config = randomness, door.device, config
        if config.pea and len(door.input_shape) != 3:
            raise BadConfig("pea=true: needs images; leave it out for tables")
        self._network = Network(
            kind=config.extractor,
            input_shape=door.input_shape,
            num_classes=door.num_classes,
            width=config.width,
            depth=config.depth,
        )
        self._embedder = make_embedder(self._network, compiled=config.compiled)
        self._operations = parse_strategy(config.augmentation) if len(door.input_shape) == 3 else ()
        self.dim = self._network.num_features
        self._kept: OrderedDict[int, Subspace] = OrderedDict()
        if config.ser:
            self._auxiliary = auxiliary_images(door, config, randomness, self._operations)
            self.dim = subspace_dim(config.subspace, config.auxiliary_images, self._network.num_features)

    def draw(self, index: int, means: Tensor) -> View:
        """The view of signal `index`; `means` are what the class means were once released as."""
        parameters = draw_parameters(self._network, [self._randomness.public("network", index)], self._device)
        drawn = [
            draw_augmentation(self._operations, self._randomness.public("augmentation", index, label))
            if self._operations
            else None
            for label in range(means.shape[1])
        ]
        return View(
            embedder=self._embedder,
            network=self._network,
            parameters=parameters,
            drawn=drawn,
            subspace=self._recall_subspace(index, parameters, means),
            dim=self.dim,
        )

    def _recall_subspace(self, index: int, parameters: Parameters, means: Tensor) -> Subspace:
        if index in self._kept:
            self._kept.move_to_end(index)
            return self._kept[index]
        found = self._find_subspace(index, parameters, means)
        if found.num_bytes:
            self._kept[index] = found
            while len(self._kept) > 1 and len(self._kept) * found.num_bytes > KEPT_BYTES:
                self._kept.popitem(last=False)
        return found

    def _find_subspace(self, index: int, parameters: Parameters, means: Tensor) -> Subspace:
        if not self._config.ser:
            return EVERYTHING
        images = self._auxiliary(means)
        with torch.no_grad():
            features = embed_in_chunks(images.flatten(0, 1), self._embedder, parameters, self._network)
        features = features.view(*images.shape[:2], -1)
        if self._config.pca == "exact":
            return find_subspace(features, self.dim)
        shape = (features.shape[2], self.dim)
        start = draw_normal(self._randomness.public("directions", index), shape, self._device)
        return find_subspace_roughly(features, start)


def auxiliary_images(
    door: Door, config: SignalSettings, randomness: PublicRandomness, operations: tuple[str, ...]
) -> Callable[[Tensor], Tensor]:
    """From the released class means to auxiliary images `[runs, images, …]`, or one run's worth if all share them."""
    count = config.auxiliary_images
    if config.auxiliary == SHARE:
        return partial(_vary_means, count=count, operations=operations, randomness=randomness)
    if config.auxiliary == NOISE:
        shared = draw_normal(randomness.public("auxiliary images"), (count, *door.input_shape), door.device)
    else:
        if door.auxiliary is None:
            raise BadConfig(
                f"auxiliary={config.auxiliary!r}: public images are not available here; choose {SHARE} or {NOISE}"
            )
        if len(door.auxiliary) < count:
            raise BadConfig(
                f"auxiliary_images={count}: {config.auxiliary} has {len(door.auxiliary)} images; choose at most "
                f"{len(door.auxiliary)}"
            )
        chosen = randomness.public("auxiliary images").choice(len(door.auxiliary), count, replace=False)
        shared = door.auxiliary[to_device(chosen, door.device)]
    return lambda _: shared.unsqueeze(0)


def _vary_means(means: Tensor, *, count: int, operations: tuple[str, ...], randomness: PublicRandomness) -> Tensor:
    """Class means `[runs, classes, …]` as they are, then under one public augmentation after another."""
    runs, num_classes = means.shape[:2]
    flat, parts = means.flatten(0, 1), []
    for turn in range(-(-count // num_classes)):
        drawn = draw_augmentation(operations, randomness.public("auxiliary augmentation", turn)) if operations else None
        parts.append(augmented(flat, drawn if turn else None).view(means.shape))
    return torch.stack(parts, 1).flatten(1, 2)[:, :count].reshape(runs, count, *means.shape[2:])


def expand_images(images: Tensor) -> Tensor:
    """PEA: the four quarters of each image, enlarged to its size, one after the other `[4·images, …]`."""
    height, width = images.shape[2:]
    rows, columns = (slice(0, height // 2), slice(height // 2, None)), (slice(0, width // 2), slice(width // 2, None))
    quarters = [
        F.interpolate(images[:, :, row, column], size=(height, width), mode="bilinear", align_corners=False)
        for row in rows
        for column in columns
    ]
    return torch.stack(quarters, 1).flatten(0, 1)
