"""Gradient matching (Zhao, Mopuri, Bilen, Dataset Condensation with Gradient Matching, arXiv:2006.05929, Algorithm 1).

Every iteration draws a random network, and in turn moves the synthetic images so that, class by class, the gradient
which they give the network approaches that of the real ones, and trains the network on the synthetic images.

Until it is trained for the first time, the network of an iteration is public randomness shared by all runs (at one
image per class that is always so). Then the gradient of every record is computed once, and the gradients of all runs'
minibatches are one masked matrix product. Afterwards every run has a network of its own.

Differs from the official code: minibatches of real images are drawn as in condensers/dm.py, and the order and the
augmentation of the images on which a network is trained are public randomness as well. The networks have no batch
norm, so its statistics need no freezing. A class without a member in a run adds no term to that run's loss, so its
images stay as they started.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import grad, vmap

from condensers.augment import Augmentation, augment, draw_augmentation
from condensers.dm import augmented, class_minibatch, shares
from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.gradient_matching import flatten_gradients, gradient_distance, unflatten_gradients
from condensers.initial import balanced_labels, initial_noise, initial_records, validate_size
from condensers.networks import KINDS, Network, Parameters, chunk_size, classify, draw_parameters
from condensers.normalisation import NORMALISATIONS
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, to_device
from condensers.registry import Track, condenser

GRADIENT_BYTES = 64 << 20  # of records' gradients held at a time
# (outer, inner) by images per class, `get_loops` of the official code (VICO-UoE/DatasetCondensation).
OFFICIAL_LOOPS = {1: (1, 1), 10: (10, 50), 20: (20, 25), 30: (30, 20), 40: (40, 15), 50: (50, 10)}
TRAINING_BYTES = 256 << 20  # of activations of the networks that are trained together


@dataclass(frozen=True, kw_only=True)
class DcConfig:
    """Defaults are the official ones.

    `loops` are the outer and inner loops of Algorithm 1, as in "10x50": steps of the images with one network, and
    epochs that the network is trained in between. "paper" is the official schedule.
    """

    ipc: int = 1
    init: str = "random"
    iterations: int = 1000
    loops: str = "paper"
    batch: int = 256
    learning_rate: float = 0.1
    momentum: float = 0.5
    network_learning_rate: float = 0.01
    network_batch: int = 256
    extractor: str = "convnet"
    width: int = 128
    depth: int = 3
    normalisation: str = "half"

    def __post_init__(self) -> None:
        validate_size(ipc=self.ipc, init=self.init)
        parse_loops(self.loops, self.ipc)
        check_choice(self, "extractor", KINDS)
        check_choice(self, "normalisation", NORMALISATIONS)
        check_numbers(
            self,
            at_least_one=("iterations", "batch", "network_batch", "width", "depth"),
            positive=("learning_rate", "network_learning_rate"),
            below_one=("momentum",),
        )


def parse_loops(loops: str, ipc: int) -> tuple[int, int]:
    """Outer and inner loops. The official code states them for some ipc; for others, as many as ipc, and 500/ipc."""
    if loops == "paper":
        return OFFICIAL_LOOPS.get(ipc, (ipc, max(1, 500 // ipc)))
    outer, times, inner = loops.partition("x")
    if not (times and outer.isdecimal() and inner.isdecimal() and int(outer) and int(inner)):
        raise BadConfig(f"loops={loops!r}: write paper or OUTERxINNER, both at least 1, such as 10x50")
    return int(outer), int(inner)


# Few steps at a high rate, each with a fresh network.
QUICK = {"iterations": 150, "loops": "1x1", "learning_rate": 1.0, "width": 32, "depth": 2}


@condenser("dc", config=DcConfig, presets={"quick": QUICK})
def condense_dc(
    pool: Pool, included: Tensor, config: DcConfig, *, randomness: Randomness, track: Track
) -> CondensedBatch:
    """Gradient matching: class by class, under networks that are trained on the images (Zhao et al.)."""
    return match_gradients(pool, included, config, (), randomness=randomness, track=track)


def match_gradients(
    pool: Pool,
    included: Tensor,
    config: DcConfig,
    operations: tuple[str, ...],
    *,
    randomness: Randomness,
    track: Track,
) -> CondensedBatch:
    """Algorithm 1 with siamese augmentation by one of `operations`, if there are any."""
    runs, device, input_shape = len(randomness.runs), pool.images.device, tuple(pool.images.shape[1:])
    if config.init == "real":
        images, records = initial_records(pool, included, config.ipc, randomness)
    else:
        images, records = initial_noise(pool.num_classes * config.ipc, input_shape, runs, device, randomness)
    labels = balanced_labels(pool.num_classes, config.ipc, runs, device)
    network = Network(
        kind=config.extractor,
        input_shape=input_shape,
        num_classes=pool.num_classes,
        width=config.width,
        depth=config.depth,
    )
    outer, inner = parse_loops(config.loops, config.ipc)
    members = included.cpu().numpy()
    state = {"images": images, "velocity": torch.zeros_like(images)}
    for iteration in track("condense", config.iterations, state):
        parameters = draw_parameters(network, [randomness.public("network", iteration)], device)
        for turn in range(outer):
            step = iteration * outer + turn
            gradient = matching_gradient(
                state["images"], pool, members, config, operations, randomness, step, network, parameters
            )
            state["velocity"].mul_(config.momentum).add_(gradient)
            state["images"].sub_(state["velocity"], alpha=config.learning_rate)
            if turn + 1 < outer:
                order = training_batches(labels.shape[1], inner, config.network_batch, operations, randomness, step)
                parameters = train_networks(network, parameters, state["images"], labels, list(order), config)
    return CondensedBatch(images=state["images"], labels=labels, initial_records=records)


def matching_gradient(
    images: Tensor,
    pool: Pool,
    members: np.ndarray,
    config: DcConfig,
    operations: tuple[str, ...],
    randomness: Randomness,
    step: int,
    network: Network,
    parameters: Parameters,
) -> Tensor:
    """∂/∂S of Σ_runs Σ_classes D(∇ℓ(S_c), ∇ℓ(T_c)), lines 8 to 12 of Algorithm 1; classes in turn, to spare memory."""
    by_class = images.view(len(images), pool.num_classes, config.ipc, *images.shape[2:])
    gradient = torch.empty_like(by_class)
    size = max(1, chunk_size(network, images.device) // config.ipc)
    for label, records in enumerate(pool.class_slices):
        drawn = draw_augmentation(operations, randomness.public("augmentation", step, label)) if operations else None
        order, taken = class_minibatch(members[:, records], config.batch, randomness, step, label)
        real = augmented(pool.images[to_device(order + records.start, images.device)], drawn)
        of_shared = parameters["head.bias"].shape[0] == 1
        # Gradients of single records serve all runs that share a network; one run is served by that of its minibatch.
        targets = shared_target if of_shared and len(images) > 1 else separate_targets
        target = targets(network, parameters, real, label, taken)
        for start in range(0, len(images), size):
            part = slice(start, start + size)
            leaf = by_class[part, label].detach().requires_grad_()
            shown = augmented(leaf.flatten(0, 1), drawn).view(leaf.shape)
            own = parameters if of_shared else {name: value[part] for name, value in parameters.items()}
            found = weight_gradients(network, own, shown, label)
            distance = gradient_distance({name: value[part] for name, value in target.items()}, found)
            (gradient[part, label],) = torch.autograd.grad(distance.sum(), leaf)
        gradient[to_device(taken.sum(1) == 0, images.device), label] = 0.0
    return gradient.view(images.shape)


def weight_gradients(network: Network, parameters: Parameters, images: Tensor, label: int) -> Parameters:
    """Gradients of the mean loss of each unit's images `[units, images, …]` of one class, stacked by unit.

    `parameters` are those of one network for all units, or of one for each. Only weights that have rows are
    differentiated: the others do not count in the distance.
    """
    weights = {name: value for name, value in parameters.items() if value.ndim > 2}
    others = {name: value for name, value in parameters.items() if value.ndim <= 2}
    if parameters["head.bias"].shape[0] == 1:
        axis, weights, others = None, _only(weights), _only(others)
    else:
        axis = 0

    def loss(weights: Parameters, others: Parameters, images: Tensor) -> Tensor:
        one = {name: value.unsqueeze(0) for name, value in (weights | others).items()}
        logits = classify(network, one, images.unsqueeze(0)).squeeze(0)
        return logits.logsumexp(1).mean() - logits[:, label].mean()

    return vmap(grad(loss), in_dims=(axis, axis, 0))(weights, others, images)


def _only(parameters: Parameters) -> Parameters:
    return {name: value.squeeze(0) for name, value in parameters.items()}


def shared_target(network: Network, parameters: Parameters, real: Tensor, label: int, taken: np.ndarray) -> Parameters:
    """Gradient of each run's minibatch (`taken`, `[runs, records]`) under one network for all; 0 of an empty one."""
    weights = to_device(shares(taken), real.device)
    num_weights = sum(value.numel() for value in parameters.values() if value.ndim > 2)
    size = max(1, min(8 * chunk_size(network, real.device), GRADIENT_BYTES // (4 * num_weights)))
    total = torch.zeros(len(taken), num_weights, device=real.device)
    for start in range(0, len(real), size):
        each = weight_gradients(network, parameters, real[start : start + size].unsqueeze(1), label)
        total.addmm_(weights[:, start : start + size], flatten_gradients(each))
    return unflatten_gradients(total, {name: value for name, value in parameters.items() if value.ndim > 2})


def separate_targets(
    network: Network, parameters: Parameters, real: Tensor, label: int, taken: np.ndarray
) -> Parameters:
    """Gradient of each run's minibatch under its own network, 0 of an empty one; run by run, faster than grouped."""
    size = 8 * chunk_size(network, real.device)
    targets = []
    for run, row in enumerate(taken):
        own = {name: value[run : run + 1] for name, value in parameters.items()}
        if not row.any():
            targets.append({name: torch.zeros_like(value) for name, value in own.items() if value.ndim > 2})
            continue
        chosen = real[to_device(np.flatnonzero(row), real.device)]
        parts = [(weight_gradients(network, own, part.unsqueeze(0), label), len(part)) for part in chosen.split(size)]
        shares = [{name: value * (num / len(chosen)) for name, value in part.items()} for part, num in parts]
        targets.append({name: torch.cat([share[name] for share in shares]).sum(0, keepdim=True) for name in shares[0]})
    return {name: torch.cat([target[name] for target in targets]) for name in targets[0]}


Batch = tuple[np.ndarray, Augmentation | None]


def training_batches(
    num_images: int,
    epochs: int,
    batch: int,
    operations: tuple[str, ...],
    randomness: Randomness,
    step: int,
) -> Iterator[Batch]:
    """Which images the networks see in which order, and one operation for each batch, its numbers per image."""
    for epoch in range(epochs):
        order = randomness.public("inner order", step, epoch).permutation(num_images)
        for start in range(0, num_images, batch):
            index = order[start : start + batch]
            generator = randomness.public("inner augmentation", step, epoch, start)
            yield index, draw_augmentation(operations, generator, len(index)) if operations else None


def train_networks(
    network: Network, parameters: Parameters, images: Tensor, labels: Tensor, batches: list[Batch], config: DcConfig
) -> Parameters:
    """Line 14 of Algorithm 1: every run's network after plain SGD on its synthetic images; groups of runs in turn."""
    most = max(len(index) for index, _ in batches)
    pixels = prod(network.input_shape[1:]) if network.kind == "convnet" else 1
    size = max(1, TRAINING_BYTES // (8 * 4 * network.width * pixels * most))
    trained = []
    for start in range(0, len(images), size):
        part = slice(start, start + size)
        runs = len(images[part])
        own = {
            name: (value.expand(runs, *value.shape[1:]) if value.shape[0] == 1 else value[part]).clone()
            for name, value in parameters.items()
        }
        for index, drawn in batches:
            where = to_device(index, images.device)
            x, y = _augmented_alike(images[part][:, where], drawn), labels[part][:, where]
            leaves = {name: value.detach().requires_grad_() for name, value in own.items()}
            # Runs share no parameter, so the gradient of the sum is every run's own gradient.
            logits = classify(network, leaves, x).flatten(0, 1)
            loss = F.cross_entropy(logits, y.flatten(), reduction="sum") / len(index)
            for value, gradient in zip(own.values(), torch.autograd.grad(loss, list(leaves.values())), strict=True):
                value.sub_(gradient, alpha=config.network_learning_rate)
        trained.append(own)
    return {name: torch.cat([own[name] for own in trained]) for name in parameters}


def _augmented_alike(images: Tensor, drawn: Augmentation | None) -> Tensor:
    """The numbers of an image are the same in every run."""
    if drawn is None:
        return images
    repeated = Augmentation(drawn.operation, np.tile(drawn.numbers, (len(images), 1)))
    return augment(images.flatten(0, 1), repeated).view(images.shape)
