"""Distribution matching (Zhao & Bilen, arXiv:2110.04181, Algorithm 1; Eq. (6) of Dong et al., arXiv:2206.00240).

Every step draws a random network and moves the synthetic images so that their class-mean embeddings approach those
of the real ones. The network is public randomness shared by all runs, hence the records are embedded once per step,
the class means of all runs are one masked matrix product, and all runs' synthetic images are one batch.

Differs from the official code: it draws minibatches by a permutation of its own per run. Here one public
permutation of each class is drawn per step and a run takes the first `batch` of its members in it: for every run a
uniform subset without replacement, while the union over the runs stays small. Runs whose images of a class are still
the same take their step together (distinct.py), as most do where few records are in doubt. A class without a member in
a run adds no term to that run's loss, so its images stay as they started.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from condensers.augment import Augmentation, augment, draw_augmentation, parse_strategy
from condensers.distinct import Distinct
from condensers.fields import check_choice, check_numbers
from condensers.initial import balanced_labels, has_members, initial_noise, initial_records, validate_size
from condensers.networks import KINDS, PRECISIONS, Network, Parameters, chunk_size, draw_parameters, embed
from condensers.normalisation import NORMALISATIONS
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, to_device
from condensers.registry import Track, condenser

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"iterations": 300, "width": 32, "depth": 2},
}


@dataclass(frozen=True, kw_only=True)
class DmConfig:
    """Defaults are the official ones, except that images start from noise."""

    ipc: int = 1
    init: str = "random"
    iterations: int = 20000
    batch: int = 256
    learning_rate: float = 1.0
    momentum: float = 0.5
    extractor: str = "convnet"
    width: int = 128
    depth: int = 3
    augmentation: str = "color_crop_cutout_scale_rotate"
    compiled: bool = False
    normalisation: str = "half"
    precision: str = "float32"

    def __post_init__(self) -> None:
        validate_size(ipc=self.ipc, init=self.init)
        parse_strategy(self.augmentation)
        check_choice(self, "extractor", KINDS)
        check_choice(self, "normalisation", NORMALISATIONS)
        check_choice(self, "precision", PRECISIONS)
        check_numbers(
            self,
            at_least_one=("iterations", "batch", "width", "depth"),
            positive=("learning_rate",),
            below_one=("momentum",),
        )


@condenser("dm", config=DmConfig, presets=PRESETS)
def condense_dm(
    pool: Pool, included: Tensor, config: DmConfig, *, randomness: Randomness, track: Track
) -> CondensedBatch:
    """Distribution matching: class-mean embeddings under random networks."""
    if config.init == "real":
        images, records = initial_records(pool, included, config.ipc, randomness)
    else:
        num_images, runs = pool.num_classes * config.ipc, len(randomness.runs)
        images, records = initial_noise(num_images, tuple(pool.images.shape[1:]), runs, pool.images.device, randomness)
    return CondensedBatch(
        images=match_distributions(pool, included, images, config, randomness=randomness, track=track),
        labels=balanced_labels(pool.num_classes, config.ipc, len(randomness.runs), pool.images.device),
        initial_records=records,
    )


def match_distributions(
    pool: Pool, included: Tensor, images: Tensor, config: DmConfig, *, randomness: Randomness, track: Track
) -> Tensor:
    """Move the images `[runs, classes · ipc, …]` for all iterations; the images at the end."""
    network = Network(
        kind=config.extractor,
        input_shape=tuple(pool.images.shape[1:]),
        num_classes=pool.num_classes,
        width=config.width,
        depth=config.depth,
        precision=config.precision,
    )
    embedder = make_embedder(network, compiled=config.compiled)
    operations = parse_strategy(config.augmentation) if pool.images.ndim == 4 else ()
    members = included.cpu().numpy()
    present = has_members(pool, included).repeat_interleave(config.ipc, 1)
    state = {"images": images, "velocity": torch.zeros_like(images)}
    distinct, following = Distinct(images, pool.num_classes), 0

    def batches_of(step: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return [
            class_minibatch(members[:, records], config.batch, randomness, step, label)
            for label, records in enumerate(pool.class_slices)
        ]

    for step in track("condense", config.iterations, state):
        for earlier in range(following, step):  # of a loop that goes on where it was
            distinct.split(batches_of(earlier))
        following = step + 1
        parameters = draw_parameters(network, [randomness.public("network", step)], pool.images.device)
        drawn = [
            draw_augmentation(operations, randomness.public("augmentation", step, label)) if operations else None
            for label in range(pool.num_classes)
        ]
        batches = batches_of(step)
        distinct.split(batches)
        means = real_class_means(pool, batches, drawn, embedder, parameters, network)
        gradient = distinct_gradient(distinct, state["images"], means, config, drawn, embedder, parameters, network)
        gradient[~present] = 0.0
        state["velocity"].mul_(config.momentum).add_(gradient)
        state["images"].sub_(state["velocity"], alpha=config.learning_rate)
    return state["images"]


@dataclass(frozen=True, kw_only=True)
class Embedder:
    """Features `[images, features]` of images under one network; `compiled` for each number of images by itself."""

    embed: Callable[[Parameters, Tensor], Tensor]
    compiled: bool

    def __call__(self, parameters: Parameters, images: Tensor) -> Tensor:
        return self.embed(parameters, images)


def make_embedder(network: Network, *, compiled: bool) -> Embedder:
    def embed_batch(parameters: Parameters, images: Tensor) -> Tensor:
        return embed(network, parameters, images.unsqueeze(0)).squeeze(0)

    return Embedder(embed=torch.compile(embed_batch, dynamic=False) if compiled else embed_batch, compiled=compiled)


def real_class_means(
    pool: Pool,
    batches: list[tuple[np.ndarray, np.ndarray]],
    drawn: list[Augmentation | None],
    embedder: Embedder,
    parameters: Parameters,
    network: Network,
) -> Tensor:
    """Mean embedding `[runs, classes, features]` of each run's minibatch of each class; 0 where that is empty."""
    chosen = [order + records.start for (order, _), records in zip(batches, pool.class_slices, strict=True)]
    weights = [shares(taken) for _, taken in batches]
    real = [pool.images[to_device(index, pool.images.device)] for index in chosen]
    images = torch.cat(augmented_classes(real, drawn))
    with torch.no_grad():
        features = embed_in_chunks(images, embedder, parameters, network)
    parts = features.split([len(index) for index in chosen])
    return torch.stack([to_device(w, images.device) @ part for w, part in zip(weights, parts, strict=True)], 1)


def class_minibatch(
    members: np.ndarray, batch: int, randomness: Randomness, step: int, label: int
) -> tuple[np.ndarray, np.ndarray]:
    """Records of one class that some run uses at this step, and which run uses which (`[runs, records]`)."""
    num_records = members.shape[1]
    if members.sum(1).max() <= batch:
        return _used(np.arange(num_records), members)
    order = randomness.public("minibatch", step, label).permutation(num_records)
    # Every run is full within a few minibatches, far before the end of a large class: only so much of it is looked at.
    looked = 2 * batch
    while (inside := members[:, order[:looked]]).sum(1).min() < batch and looked < num_records:
        looked *= 2
    return _used(order[:looked], inside & (np.cumsum(inside, axis=1) <= batch))


def _used(order: np.ndarray, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Without the records that no run takes, which of a single run are many. One is kept where all are such."""
    some = np.flatnonzero(taken.any(axis=0))
    if not len(some):
        some = np.zeros(1, dtype=np.intp)
    return order[some], taken[:, some].astype(np.float32)


def shares(taken: np.ndarray) -> np.ndarray:
    """The weight of each record in its run's mean, float32 `[runs, records]`; 0 where a run took none."""
    return taken / np.maximum(taken.sum(1, keepdims=True, dtype=np.float32), 1)


def distinct_gradient(
    distinct: Distinct,
    images: Tensor,
    means: Tensor,
    config: DmConfig,
    drawn: list[Augmentation | None],
    embedder: Embedder,
    parameters: Parameters,
    network: Network,
) -> Tensor:
    """The matching gradient of all runs, computed once for those that agree in a class."""
    runs, num_classes = means.shape[:2]
    size = distinct.largest
    if config.compiled:  # few shapes, each of which is compiled
        size = min(runs, 1 << (size - 1).bit_length())
    if size == runs:
        return matching_gradient(images, means, config.ipc, drawn, embedder, parameters, network)
    of_class = torch.arange(num_classes, device=images.device)
    chosen = to_device(distinct.representatives(size), images.device)
    by_class = images.view(runs, num_classes, config.ipc, *images.shape[2:])
    few = by_class[chosen, of_class].flatten(1, 2)
    gradient = matching_gradient(few, means[chosen, of_class], config.ipc, drawn, embedder, parameters, network)
    groups = to_device(distinct.groups, images.device)
    return gradient.view(size, num_classes, config.ipc, *images.shape[2:])[groups, of_class].flatten(1, 2)


def matching_gradient(
    images: Tensor,
    means: Tensor,
    ipc: int,
    drawn: list[Augmentation | None],
    embedder: Embedder,
    parameters: Parameters,
    network: Network,
    combine: Callable[[Tensor], Tensor] = lambda features: features.mean(1),
) -> Tensor:
    """∂/∂S of Σ_runs Σ_classes ‖mean ψ(T_c) − mean ψ(S_c)‖², Eq. (6) of arXiv:2206.00240.

    `combine` makes one vector of a class's features `[units, ipc, features]`; the mean, unless told otherwise.

    A (run, class) pair is a unit of its own, so units go through the network in chunks whose size changes nothing
    but rounding.
    """
    runs, num_classes = means.shape[:2]
    leaf = images.detach().requires_grad_()
    by_class = leaf.view(runs, num_classes, ipc, *images.shape[2:]).transpose(0, 1)
    batch = torch.stack(augmented_classes([images_of_class.flatten(0, 1) for images_of_class in by_class], drawn))
    units = batch.view(num_classes * runs, ipc, *images.shape[2:])
    targets = means.transpose(0, 1).reshape(num_classes * runs, -1)
    gradient = torch.empty_like(units)
    size = max(1, chunk_size(network, images.device) // ipc)
    for start in range(0, len(units), size):
        part = units[start : start + size].detach().requires_grad_()
        features = embedder(parameters, part.flatten(0, 1)).view(len(part), ipc, -1)
        gap = targets[start : start + size] - combine(features)
        (gradient[start : start + size],) = torch.autograd.grad(gap.square().sum(), part)
    return pulled_back(gradient, units, leaf)


def pulled_back(gradient: Tensor, outputs: Tensor, leaf: Tensor) -> Tensor:
    """The gradient at `outputs` as one at the leaf from which they were computed.

    As the gradient of an inner product: given `grad_outputs`, torch imports sympy, for which every process would wait.
    """
    (found,) = torch.autograd.grad((outputs * gradient).sum(), leaf)
    return found


def augmented(images: Tensor, drawn: Augmentation | None) -> Tensor:
    return images if drawn is None else augment(images, drawn)


def augmented_classes(batches: list[Tensor], drawn: list[Augmentation | None]) -> list[Tensor]:
    """The images of each class by its own draw; classes that drew the same operation go through it together."""
    results = list(batches)
    for operation in dict.fromkeys(one.operation for one in drawn if one is not None):
        same = [(label, one) for label, one in enumerate(drawn) if one is not None and one.operation == operation]
        sizes = [len(batches[label]) for label, _ in same]
        numbers = np.concatenate([one.numbers.repeat(size, 0) for (_, one), size in zip(same, sizes, strict=True)])
        together = augment(torch.cat([batches[label] for label, _ in same]), Augmentation(operation, numbers))
        for (label, _), images in zip(same, together.split(sizes), strict=True):
            results[label] = images
    return results


def embed_in_chunks(images: Tensor, embedder: Embedder, parameters: Parameters, network: Network) -> Tensor:
    """Embed in chunks of about one size; a compiled network meets exactly one, for which the last chunk is padded."""
    size = min(chunk_size(network, images.device), len(images))
    if not embedder.compiled:
        parts = images.tensor_split(-(-len(images) // size))
        return torch.cat([_embed_part(part, embedder, parameters, network) for part in parts])
    padded = torch.cat([images, images[: -len(images) % size]])
    return torch.cat([embedder(parameters, part) for part in padded.split(size)])[: len(images)]


def _embed_part(images: Tensor, embedder: Embedder, parameters: Parameters, network: Network) -> Tensor:
    """An image that a wide network would see alone stands beside itself.

    Alone it would be computed by other operations than among others. Of a blank image they differ by a fifth of the
    clipping norm of NDPDC, since instance norms enlarge rounding: one record more would move the vector of another.
    """
    if len(images) > 1 or not network.wide:
        return embedder(parameters, images)
    return embedder(parameters, images.expand(2, *images.shape[1:]))[:1]
