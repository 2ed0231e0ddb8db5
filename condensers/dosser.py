"""Dosser: Zheng et al., Improving Noise Efficiency in Privacy-preserving Dataset Distillation.

DOS (section 3.2): I₁ noisy sums of features are released once; I₂ optimisation steps then draw from them, which is
post-processing. SER (section 3.3): features are projected on the principal components of auxiliary images before they
are clipped. PEA (Zhao et al., Improved Distribution Matching): an image stands for its four quarters, enlarged.

Networks, augmentations and projections are made again from their public keys whenever they are needed; what is stored
is the noisy sums, I₁ × classes × subspace for a run, whatever I₂.

Differs from the paper: Eqs. (2)–(3), read literally, put noise of scale σ on the mean over L, L times too much; the
noise belongs on the sum, with scale σK, which is what the official code and the accounting do. The loss is on sums, as
in the official code. Differs from the official code: the noise of a sum is drawn once, from a stream of its own, as
the proof needs; the clipping factor of synthetic features is differentiated (Eq. (1)); and auxiliary images are by
default not those of a generative model but made here: the noisy mean image of every class, one release of all its
records, under public random augmentations. Its noise multiplier is `auxiliary_noise` times that of the sums; with that
ratio fixed, one number, the noise multiplier, decides the cost of both, and `--epsilon` solves for it. The default 4.3
splits ε about as the paper does on MNIST (.2 for the auxiliary images); the ledger composes both, which costs less than
the sum of Theorem 2.

The official code stores clean sums, with the seed of each augmentation, and adds the noise in the optimisation steps.
With augmentation and more than one image per class (its defaults, and the paper's tables), the step augments with the
stored seed right before it draws the noise. That seeds the generator, so every visit of a signal adds the same noise,
and one release per signal is the right count; but the noise is a function of a clock seed (`noise_source="clock"`).
Without augmentation, or at one image per class, no step seeds the generator, and every visit adds fresh noise
(`fresh_noise`). Both variants are for audits only. Repository, commit and order of events: audit/claims/accusations.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod, sqrt

import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.augment import Augmentation, draw_augmentation, parse_strategy
from condensers.clock import NOISE_SOURCES, check_noise_source
from condensers.dm import Embedder, augmented, embed_in_chunks, make_embedder
from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.initial import balanced_labels, initial_noise, validate_private_size
from condensers.ledger import Entries, Event, Poisson
from condensers.mechanism import Door, Request, class_sampling
from condensers.networks import KINDS, Network, Parameters, chunk_size, draw_parameters
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness, draw_normal, to_device
from condensers.registry import Track, condenser
from condensers.samples import clip_vectors
from condensers.subspace import Subspace, find_subspace, subspace_dim

SHARE, NOISE = "share", "noise"


@dataclass(frozen=True, kw_only=True)
class DosserConfig:
    """Defaults of section 4.1; learning rate, momentum, ema and σ (ε = 1 on CIFAR-10) of the official code.

    `iterations` is I₁, `optimisation_steps` I₂, `subspace` the most dimensions that are kept. `auxiliary` is "share"
    (noisy class means, paid for), "noise" (public random images) or the name or path of a public data set.
    The quick preset was chosen by looking at digits.

    Two variants are what the official code does; they are there to be audited and keep no claim. `noise_source`
    "clock", with augmentation and ipc > 1: the noise of every sum is a function of a seed below 100 000, and blocks of
    `classes_per_millisecond` consecutive classes share theirs (the model: condensers/clock.py). `fresh_noise`, without
    augmentation or at ipc 1: every further visit of a signal releases its sum again under fresh noise, which is about
    I₂ releases of which I₁ are accounted. (A signal that no step draws is released here and not in the official code.)
    """

    ipc: int = 50
    init: str = "random"
    iterations: int = 10_000
    optimisation_steps: int = 200_000
    batch: int = 50
    clip: float = 1.0
    noise_multiplier: float = 4.2969
    learning_rate: float = 1.0
    momentum: float = 0.5
    ema: float = 0.99
    subspace: int = 500
    auxiliary: str = SHARE
    auxiliary_checksum: str = ""
    auxiliary_images: int = 1000
    auxiliary_noise: float = 4.3
    pea: bool = False
    extractor: str = "convnet"
    width: int = 128
    depth: int = 3
    augmentation: str = "color_crop_cutout_scale_rotate"
    compiled: bool = False
    noise_source: str = "stream"
    classes_per_millisecond: int = 1
    fresh_noise: bool = False

    def __post_init__(self) -> None:
        check_noise_source(self)
        validate_private_size(ipc=self.ipc, init=self.init, batch=self.batch, noise_multiplier=self.noise_multiplier)
        parse_strategy(self.augmentation)
        check_choice(self, "extractor", KINDS)
        check_numbers(
            self,
            at_least_one=("iterations", "optimisation_steps", "subspace", "width", "depth"),
            positive=("clip", "learning_rate", "auxiliary_noise"),
            below_one=("momentum", "ema"),
        )
        if self.auxiliary_images < 2:
            raise BadConfig(f"auxiliary_images={self.auxiliary_images}: a subspace takes at least 2")
        reseeded = self.ipc > 1 and bool(parse_strategy(self.augmentation))
        if self.fresh_noise and reseeded:
            raise BadConfig(
                f"fresh_noise=true: with an augmentation and ipc={self.ipc} the official code seeds the generator "
                "before it draws the noise, so every visit adds the same noise; set augmentation=none, ipc=1, or "
                "noise_source=clock"
            )
        if self.noise_source == "clock" and not reseeded:
            raise BadConfig(
                f"noise_source=clock: with augmentation={self.augmentation} and ipc={self.ipc} no step of the official "
                "code seeds the generator; set an augmentation and ipc of at least 2, or fresh_noise=true"
            )

    @property
    def public_auxiliary(self) -> str | None:
        """The public data set whose images the door must be given."""
        return None if self.auxiliary in (SHARE, NOISE) else self.auxiliary


def plan_dosser(config: DosserConfig, class_sizes: tuple[float, ...]) -> Entries:
    """I₁ releases of every class, and one of its mean image where the auxiliary images are made of the records."""
    entries = []
    for label in range(len(class_sizes)):
        sampling = class_sampling(class_sizes, label, config.batch)
        sums = Event(group=label, sampling=sampling, noise_multiplier=config.noise_multiplier)
        entries.append((sums, config.iterations))
        if config.auxiliary == SHARE:
            noise = config.noise_multiplier * config.auxiliary_noise
            entries.append((Event(group=label, sampling=Poisson(rate=1.0), noise_multiplier=noise), 1))
    return tuple(entries)


@condenser(
    "dosser",
    config=DosserConfig,
    presets={
        "quick": {
            "iterations": 50,
            "optimisation_steps": 500,
            "batch": 20,
            "learning_rate": 0.05,
            "subspace": 20,
            "auxiliary_images": 30,
            "auxiliary_noise": 1.0,
            "width": 32,
            "depth": 2,
        },
        "worst-case": {
            "ipc": 2,
            "iterations": 10,
            "optimisation_steps": 20,
            "batch": 10,
            "subspace": 8,
            "auxiliary": NOISE,
            "auxiliary_images": 32,
            "extractor": "linear",
            "width": 16,
        },
    },
    plan=plan_dosser,
)
def condense_dosser(door: Door, config: DosserConfig, *, randomness: PublicRandomness, track: Track) -> CondensedBatch:
    """Feature matching in a subspace, sampled once and optimised at length, with a privacy guarantee (Zheng et al.)."""
    views = Views(door, config, randomness)
    images, records = initial_noise(
        door.num_classes * config.ipc, door.input_shape, door.num_runs, door.device, randomness
    )
    signals = torch.zeros(door.num_runs, config.iterations, door.num_classes, views.dim, device=door.device)
    state = {
        "images": images,
        "velocity": torch.zeros_like(images),
        "average": images.clone(),
        "signals": signals,
        "means": torch.zeros(door.num_runs, door.num_classes, *door.input_shape, device=door.device),
        "used": torch.zeros(config.iterations, dtype=torch.bool, device=door.device),
    }
    first = 1 if config.auxiliary == SHARE else 0
    for step in track("condense", first + config.iterations + config.optimisation_steps, state):
        if step < first:
            state["means"] = release_class_means(door, config)
        elif step < first + config.iterations:
            index = step - first
            view = views.draw(index, state["means"])
            state["signals"][:, index] = view.release(door, config)  # Eqs. (2)–(3)
        else:
            optimise(door, config, views, state, step - first - config.iterations, randomness)
    if not config.pea:
        images, ipc = state["average"], config.ipc
    else:
        images, ipc = expand_images(state["average"].flatten(0, 1)), 4 * config.ipc
        images, records = images.view(door.num_runs, -1, *door.input_shape), records.repeat_interleave(4, 1)
    labels = balanced_labels(door.num_classes, ipc, door.num_runs, door.device)
    return CondensedBatch(images=images, labels=labels, initial_records=records)


def release_class_means(door: Door, config: DosserConfig) -> Tensor:
    """The noisy mean image of every class and run, from all its records; pixels in [−1, 1]."""
    pixels = prod(door.input_shape)
    requests = [
        Request(group=label, sampling=Poisson(rate=1.0), vectors=lambda images, _: images.flatten(1))
        for label in range(door.num_classes)
    ]
    noise = config.noise_multiplier * config.auxiliary_noise
    sums = door.release(requests, dim=pixels, clip=sqrt(pixels), noise_multiplier=noise)
    sizes = torch.tensor(door.class_sizes, device=door.device, dtype=sums.dtype).view(1, -1, 1)
    return (sums / sizes).clamp(-1, 1).view(door.num_runs, door.num_classes, *door.input_shape)


def optimise(
    door: Door,
    config: DosserConfig,
    views: "Views",
    state: dict[str, Tensor],
    step: int,
    randomness: PublicRandomness,
) -> None:
    """Section 3.2.2: one step of the optimiser for every class, on a signal drawn at random.

    As in the official code one optimiser holds the images of all classes: its step for one class moves those of the
    others by their momentum, so that class k has k such moves before its own and the rest after it.
    """
    index = int(randomness.public("signal", step).integers(config.iterations))  # "Signal Retrieval"
    view = views.draw(index, state["means"])
    signal = state["signals"][:, index]
    if config.fresh_noise and bool(state["used"][index]):
        signal = view.release(door, config, again=index + (config.auxiliary == SHARE))
    state["used"][index] = True
    images, velocity = state["images"], state["velocity"]
    shape = (1, door.num_classes * config.ipc, *[1] * len(door.input_shape))
    turns = torch.arange(door.num_classes, device=images.device).repeat_interleave(config.ipc).view(shape)

    def coast(moves: Tensor) -> None:
        """Steps without a gradient: Σ_{j=1…moves} mʲ velocities."""
        left = torch.pow(torch.tensor(config.momentum, device=images.device), moves)
        images.sub_(velocity * (config.momentum * (1 - left) / (1 - config.momentum)), alpha=config.learning_rate)
        velocity.mul_(left)

    coast(turns)
    gradient = view.gradient(images, signal, config)
    velocity.mul_(config.momentum).add_(gradient)
    images.sub_(velocity, alpha=config.learning_rate)
    coast(door.num_classes - 1 - turns)
    state["average"].mul_(config.ema).add_(images, alpha=1 - config.ema)


@dataclass(frozen=True, kw_only=True)
class View:
    """𝓕 of Eq. (1) with the projection of section 3.4: all that is public about one signal."""

    embedder: Embedder
    network: Network
    parameters: Parameters
    drawn: list[Augmentation | None]
    subspace: Subspace
    dim: int

    def release(self, door: Door, config: DosserConfig, again: int | None = None) -> Tensor:
        """Noisy sums `[runs, classes, dim]`."""
        per_run = len(self.subspace.basis) > 1
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

    def gradient(self, images: Tensor, signal: Tensor, config: DosserConfig) -> Tensor:
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
        (through,) = torch.autograd.grad(units, leaf, slope)
        return through


class Views:
    """Makes the view of a signal from its public keys, the same whenever it is asked for."""

    def __init__(self, door: Door, config: DosserConfig, randomness: PublicRandomness) -> None:
        self._randomness, self._device, self._config = randomness, door.device, config
        if config.pea and len(door.input_shape) != 3:
            raise BadConfig("pea=true: tables have no quarters; leave it out")
        self._network = Network(
            kind=config.extractor,
            input_shape=door.input_shape,
            num_classes=door.num_classes,
            width=config.width,
            depth=config.depth,
        )
        self._embedder = make_embedder(self._network, compiled=config.compiled)
        self._operations = parse_strategy(config.augmentation) if len(door.input_shape) == 3 else ()
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
        images = self._auxiliary(means)
        with torch.no_grad():
            features = embed_in_chunks(images.flatten(0, 1), self._embedder, parameters, self._network)
        subspace = find_subspace(features.view(*images.shape[:2], -1), self.dim)
        return View(
            embedder=self._embedder,
            network=self._network,
            parameters=parameters,
            drawn=drawn,
            subspace=subspace,
            dim=self.dim,
        )


def auxiliary_images(
    door: Door, config: DosserConfig, randomness: PublicRandomness, operations: tuple[str, ...]
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
                f"auxiliary={config.auxiliary!r}: public images are not read here; choose {SHARE} or {NOISE}"
            )
        if len(door.auxiliary) < count:
            raise BadConfig(
                f"auxiliary_images={count}: {config.auxiliary} has {len(door.auxiliary)} images; choose at most that"
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
