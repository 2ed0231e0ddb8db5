"""DP-KIP: Vinaroz, Park, Differentially Private Kernel Inducing Points for Data Distillation, arXiv:2301.13389.

KIP (condensers/kip.py) with DP-Adam on the images: the gradient of every record's loss at all synthetic images is
clipped, the sum is noisy, Adam is post-processing. Settings of the released code (ParkLabML/DP-KIP at da198c8,
dpkip_inf_ntk.py and README): the tangent kernel of one hidden layer, C = 1e-6, batches of 50, 10 epochs, Adam .01,
ridge 1e-6. The kernel of an infinitely wide network stands for its width of 1024.

`start="records"` is as published for MNIST: the images start from real private records, and nothing accounts for it.

Differs from the released code: batches are Poisson samples, as is accounted (there they are slices of shuffled epochs);
there is no ZCA and no normalisation by statistics of the records, which would be private too.
"""

from dataclasses import dataclass
from functools import partial
from math import pi, prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.generator import adam_step
from condensers.initial import balanced_labels, initial_noise, validate_private_size
from condensers.ledger import EVERYBODY, Entries, Event, Poisson
from condensers.mechanism import Door, Request, class_sampling
from condensers.ntk import B_VARIANCE, W_VARIANCE
from condensers.pool import CondensedBatch
from condensers.randomness import PublicRandomness
from condensers.registry import Track, condenser
from condensers.samples import BatchRequest

STARTS = ("noise", "records")
PARALLEL = 1e-12  # inputs at a smaller squared sine count as parallel, as in condensers/ntk.py
NO_NOISE = 1e-9  # of the faulty start, which is released as it is
CHUNK_BYTES = 32 << 20
PRESETS: dict[str, dict[str, Any]] = {
    # Set by hand, without a recorded search; docs/generators.md has its accuracy on digits at seed 0.
    "quick": {"iterations": 150, "batch": 100, "learning_rate": 0.1, "clip": 1e-3},
    "worst-case": {"ipc": 1, "iterations": 5, "batch": 10},
}


@dataclass(frozen=True, kw_only=True)
class DpKipConfig:
    """12 000 steps are 10 epochs of 60 000 records in batches of 50; σ is what ε = 1 takes there."""

    ipc: int = 1
    init: str = "random"
    iterations: int = 12_000
    batch: int = 50
    clip: float = 1e-6
    noise_multiplier: float = 0.888
    learning_rate: float = 0.01
    ridge: float = 1e-6
    start: str = "noise"

    def __post_init__(self) -> None:
        validate_private_size(ipc=self.ipc, init=self.init, batch=self.batch, noise_multiplier=self.noise_multiplier)
        check_choice(self, "start", STARTS)
        check_numbers(self, at_least_one=("iterations",), positive=("clip", "learning_rate", "ridge"))


def plan_dp_kip(config: DpKipConfig, class_sizes: tuple[float, ...]) -> Entries:
    """One release of the whole set per step; real records at the start, which are not accounted for."""
    sampling = class_sampling(class_sizes, EVERYBODY, config.batch)
    event = Event(group=EVERYBODY, sampling=sampling, noise_multiplier=config.noise_multiplier)
    entries = [(event, config.iterations)]
    if config.start == "records":
        whole = Poisson(rate=1.0)
        faulty = Event(group=EVERYBODY, sampling=whole, noise_multiplier=NO_NOISE, accounted=False, of="batch")
        entries.append((faulty, 1))
    return tuple(entries)


@condenser("dp-kip", config=DpKipConfig, presets=PRESETS, plan=plan_dp_kip)
def condense_dp_kip(door: Door, config: DpKipConfig, *, randomness: PublicRandomness, track: Track) -> CondensedBatch:
    """Kernel inducing points by DP-Adam on the images (Vinaroz, Park)."""
    if door.device.type == "mps":
        raise BadConfig("--device mps: dp-kip computes in float64, which MPS does not support; use --device cpu")
    size = door.num_classes * config.ipc
    images, records = initial_noise(size, door.input_shape, door.num_runs, door.device, randomness)
    labels = balanced_labels(door.num_classes, config.ipc, door.num_runs, door.device)
    targets = F.one_hot(labels[0], door.num_classes).double() - 1 / door.num_classes
    zeros = torch.zeros_like(images)
    state = {"images": images, "first moment": zeros, "second moment": zeros}
    dim = size * prod(door.input_shape)
    sampling = door.poisson(EVERYBODY, config.batch)
    for step in track("condense", config.iterations, state):
        if step == 0 and config.start == "records":
            state["images"] = _take_records(door, config, labels[0], state["images"])
        vectors = partial(record_gradients, own=state["images"], targets=targets, ridge=config.ridge)
        request = Request(group=EVERYBODY, sampling=sampling, vectors=vectors)
        sums = door.release(
            [request], dim=dim, clip=config.clip, noise_multiplier=config.noise_multiplier, per_run=True,
            chunk=max(1, CHUNK_BYTES // (8 * dim * door.num_runs)),
        )  # fmt: skip
        # In units of the clipping norm, since Adam's smallest spread is no part of what the paper tunes.
        gradient = {"images": (sums[:, 0] / (config.batch * config.clip)).view_as(images)}
        moved, first, second = adam_step(
            {"images": state["images"]}, {"images": state["first moment"]}, {"images": state["second moment"]},
            gradient, step=step + 1, learning_rate=config.learning_rate,
        )  # fmt: skip
        state["images"], state["first moment"] = moved["images"], first["images"]
        state["second moment"] = second["images"]
    return CondensedBatch(images=state["images"], labels=labels, initial_records=records)


def record_gradients(images: Tensor, labels: Tensor, *, own: Tensor, targets: Tensor, ridge: float) -> Tensor:
    """∇_S ½ mean_c (y − K_xS (K_SS + λI)⁻¹ Y_S)² of every record, `[runs, records, images · pixels]`.

    Written out by hand, since all records of a run share K_SS: with A = (K_SS + λI)⁻¹ Y_S and the error r, the loss
    moves by A r at K_xS and by −(K_SS + λI)⁻¹ K_Sx (A r)ᵀ at K_SS, and Θ(x, s) by multiples of x and s at s.
    """
    support, records = own.flatten(2).double(), images.flatten(2).double()
    size, pixels, classes = support.shape[1], support.shape[2], targets.shape[1]
    eye = torch.eye(size, dtype=support.dtype, device=support.device)
    among, at_product, at_norm = _kernel_and_slopes(support, support)
    regularised = among + ridge * among.diagonal(dim1=1, dim2=2).mean(1).view(-1, 1, 1) * eye
    weights = torch.linalg.solve(regularised, targets.expand(len(support), -1, -1))
    across, across_product, across_norm = _kernel_and_slopes(records, support)  # [runs, records, images]
    wanted = F.one_hot(labels, classes).double() - 1 / classes
    error = (across @ weights - wanted) / classes
    outer = error @ weights.mT  # A r: the slope at K_xS
    solved = torch.linalg.solve(regularised, across.mT).mT
    inner = -solved.unsqueeze(3) * outer.unsqueeze(2)  # the slope at K_SS, of every record
    inner = inner + (ridge / size) * inner.diagonal(dim1=2, dim2=3).sum(2)[..., None, None] * eye
    symmetric = inner + inner.mT
    # Multiples of the images at each image: from pairs, from its own norm, and from K(s, s) = 2q + b².
    apart = 1 - eye
    pairs = (symmetric * apart) * at_product.mT.unsqueeze(1) * (W_VARIANCE / pixels)
    norms = ((symmetric * apart) * at_norm.mT.unsqueeze(1)).sum(3) + outer * across_norm
    diagonal = inner.diagonal(dim1=2, dim2=3) * W_VARIANCE
    pairs = pairs + torch.diag_embed((norms + diagonal) * (2 * W_VARIANCE / pixels))
    along = outer * across_product * (W_VARIANCE / pixels)
    found = along.unsqueeze(3) * records.unsqueeze(2) + pairs @ support.unsqueeze(1)
    return found.flatten(2).float()


def _kernel_and_slopes(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Θ `[runs, n, m]` for one hidden layer, and its slopes in the covariance and in the variance of the right image.

    `fc_ntk` of condensers/ntk.py, of which Θ = W²(T + cṪ) + b². Parallel inputs have no slope, as there.
    """
    scale = W_VARIANCE / left.shape[-1]
    covariance = left @ right.mT * scale + B_VARIANCE
    right_variance = right.square().sum(-1).unsqueeze(-2) * scale + B_VARIANCE
    product = (left.square().sum(-1).unsqueeze(-1) * scale + B_VARIANCE) * right_variance
    root = (product - covariance.square()).clamp(min=0.0)
    root = root.masked_fill(root <= PARALLEL * product, 0.0).sqrt()
    slope = torch.atan2(root, -covariance) / (2 * pi)
    steep = torch.where(root > 0, 1 / root.clamp(min=1e-300), 0.0)
    kernel = W_VARIANCE * (root / (2 * pi) + 2 * slope * covariance) + B_VARIANCE
    at_product = W_VARIANCE * (2 * slope + covariance * steep / (2 * pi))
    at_norm = W_VARIANCE * (root - covariance.square() * steep) / (4 * pi * right_variance)
    return kernel, at_product, at_norm


def _take_records(door: Door, config: DpKipConfig, labels: Tensor, noise: Tensor) -> Tensor:
    """As published: the first records of every class, as they are; noise where a class has too few."""

    def first(images: Tensor, own: Tensor, present: Tensor) -> Tensor:
        chosen = noise.clone()
        for place, label in enumerate(labels.tolist()):
            of_class = present & (own == label)
            turn = of_class & (of_class.cumsum(1) == place % config.ipc + 1)
            found = torch.einsum("rk,rk...->r...", turn.float(), images)
            chosen[:, place] = torch.where(turn.any(1).view(-1, *[1] * (images.ndim - 2)), found, chosen[:, place])
        return chosen.flatten(1)

    request = BatchRequest(group=EVERYBODY, sampling=Poisson(rate=1.0), vector=first)
    sums, _ = door.release_batch(request, dim=noise[0].numel(), clip=1e6, noise_multiplier=NO_NOISE, accounted=False)
    return sums.view_as(noise)
