"""The victims f_S: one network per run, trained on that run's synthetic set, all runs together.

Evaluation recipe of the DC/DSA/DM code base (Zhao & Bilen): SGD .01, momentum .9, weight decay 5e-4, batch 256, the
learning rate cut to a tenth half-way; 1000 epochs with augmentation, 300 without. Training is keyed by run: nobody
publishes its randomness.

Differs from the official code (VICO-UoE/DatasetCondensation at 53f63a6, utils.py, evaluate_synset): that trains for one
epoch more, cuts the rate two epochs later, and starts with a new momentum there.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from attacks import dc_augmentation
from condensers.augment import augment, draw_augmentation, parse_strategy
from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers
from condensers.networks import (
    PRECISIONS,
    Network,
    Parameters,
    chunk_size,
    classify,
    draw_parameters,
    fitting_network,
)
from condensers.normalisation import NORMALISATIONS, SYMMETRIC, Normalisation, normalise, official
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, to_device
from condensers.registry import Track, untracked

RECIPES = ("dsa", "dc", "psg")
# Where get_daparam names an augmentation: utils.py of DC's code has `dataset == "MNIST"`, utils/misc.py of PSG's has
# `"MNIST" in dataset`. There main.py of both sets epoch_eval_train to 1000, elsewhere to 300.
AUGMENTED = {"dc": ("mnist",), "psg": ("mnist", "fashion-mnist")}


@dataclass(frozen=True, kw_only=True)
class VictimConfig:
    """How a victim is trained; the defaults are the published recipe of DSA and DM.

    `recipe="dc"` is that of DC: 300 epochs without augmentation, on MNIST 1000 with an augmentation of its own,
    `augmentation="dc"` (attacks/dc_augmentation.py). `recipe="psg"` has the latter on FashionMNIST as well. Settings
    given beside a recipe go before it. With `normalisation="official"` networks see images in the numbers of that code
    base, so that crop and cutout fill with the mean pixel.
    """

    kind: str = "convnet"
    width: int = 128
    depth: int = 3
    epochs: int = 1000
    batch: int = 256
    learning_rate: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 5e-4
    augmentation: str = "color_crop_cutout_scale_rotate"
    recipe: str = "dsa"
    normalisation: str = "half"
    precision: str = "float32"

    def __post_init__(self) -> None:
        if self.augmentation != dc_augmentation.NAME:
            parse_strategy(self.augmentation, others=(dc_augmentation.NAME,))
        check_choice(self, "recipe", RECIPES)
        check_choice(self, "normalisation", NORMALISATIONS)
        check_choice(self, "precision", PRECISIONS)
        check_numbers(
            self, at_least_one=("width", "depth", "epochs", "batch"), positive=("learning_rate",), prefix="victim."
        )


PRESETS: dict[str, dict[str, object]] = {
    "paper": {},
    "dong": {},
    "quick": {"width": 32, "depth": 2, "epochs": 300, "augmentation": "none"},
}


def recipe_settings(recipe: str, dataset: str) -> dict[str, object]:
    """What a recipe changes in the settings, on a data set."""
    if recipe not in AUGMENTED:
        return {}
    if dataset in AUGMENTED[recipe]:
        return {"epochs": 1000, "augmentation": dc_augmentation.NAME}
    return {"epochs": 300, "augmentation": "none"}


def numbers_of(config: VictimConfig, dataset: str) -> Normalisation:
    """In which numbers victims see images of a data set."""
    return official(dataset) if config.normalisation == "official" else SYMMETRIC


def seen_images(images: Tensor, numbers: Normalisation) -> Tensor:
    """Images `[…, n, channels, height, width]` in [−1, 1], or rows of a table, in these numbers."""
    if numbers == SYMMETRIC:
        return images
    return normalise(images.reshape(-1, *images.shape[-3:]), numbers).view_as(images)


def victim_network(pool: Pool, config: VictimConfig) -> Network:
    """The architecture of a victim, as it fits the pool."""
    shape = tuple(pool.images.shape[1:])
    return fitting_network(
        shape,
        pool.num_classes,
        kind=config.kind,
        width=config.width,
        depth=config.depth,
        precision=config.precision,
    )


def train_victims(
    network: Network,
    synthetic: CondensedBatch,
    config: VictimConfig,
    *,
    randomness: Randomness,
    track: Track,
    numbers: Normalisation = SYMMETRIC,
) -> Parameters:
    """Train one network per run on the images in these numbers; returns their stacked parameters."""
    synthetic = replace(synthetic, images=seen_images(synthetic.images, numbers))
    generators = [randomness.private(position, "victim network") for position in range(len(synthetic.images))]
    drawn = draw_parameters(network, generators, synthetic.images.device)
    return train_stack(drawn, partial(classify, network), synthetic, config, randomness=randomness, track=track)


def train_stack(
    drawn: Parameters,
    logits_of: Callable[[Parameters, Tensor], Tensor],
    synthetic: CondensedBatch,
    config: VictimConfig,
    *,
    randomness: Randomness,
    track: Track,
) -> Parameters:
    """Train the stacked networks that `drawn` are the parameters of; `logits_of(parameters, images)` runs them."""
    images, labels = synthetic.images, synthetic.labels
    runs, num_images = images.shape[:2]
    names = list(drawn)
    state = {**drawn, **{f"velocity.{name}": torch.zeros_like(drawn[name]) for name in names}}
    for epoch in track("train", config.epochs, state):
        rate = config.learning_rate * (0.1 if epoch >= config.epochs // 2 else 1.0)
        order = _orders(randomness, runs, num_images, epoch) if num_images > config.batch else None
        for start in range(0, num_images, config.batch):
            if order is None:
                x, y = images, labels
            else:
                index = to_device(order[:, start : start + config.batch], images.device)
                row = torch.arange(runs, device=images.device).unsqueeze(1)
                x, y = images[row, index], labels[row, index]
            x = _augmented(x, config.augmentation, randomness, epoch, start)
            leaves = {name: state[name].detach().requires_grad_() for name in names}
            # Runs share no parameter, so the gradient of the sum is every run's own gradient.
            logits = logits_of(leaves, x).flatten(0, 1)
            loss = F.cross_entropy(logits, y.flatten(0, 1), reduction="sum") / x.shape[1]
            gradients = torch.autograd.grad(loss, list(leaves.values()))
            for name, gradient in zip(names, gradients, strict=True):
                velocity = state[f"velocity.{name}"]
                velocity.mul_(config.momentum).add_(gradient).add_(state[name], alpha=config.weight_decay)
                state[name].sub_(velocity, alpha=rate)
    return {name: state[name] for name in names}


def _orders(randomness: Randomness, runs: int, num_images: int, epoch: int) -> np.ndarray:
    return np.stack([randomness.private(r, "victim order", epoch).permutation(num_images) for r in range(runs)])


def _augmented(images: Tensor, strategy: str, randomness: Randomness, epoch: int, start: int) -> Tensor:
    """One operation per run and step, its numbers per image, as the official training loop does; DC's has its own."""
    runs, batch = images.shape[:2]
    if strategy == "none" or images.ndim != 5:
        return images
    generators = [randomness.private(position, "victim augmentation", epoch, start) for position in range(runs)]
    if strategy == dc_augmentation.NAME:
        return torch.stack([dc_augmentation.augment_each(*own) for own in zip(images, generators, strict=True)])
    operations = parse_strategy(strategy)
    drawn = [draw_augmentation(operations, generator, batch) for generator in generators]
    result = torch.empty_like(images)
    for operation in operations:
        positions = [i for i, one in enumerate(drawn) if one.operation == operation]
        if positions:
            together = type(drawn[0])(operation, np.concatenate([drawn[i].numbers for i in positions]))
            where = to_device(np.array(positions), images.device)
            result[where] = augment(images[where].flatten(0, 1), together).view(-1, *images.shape[1:])
    return result


SHIFTS = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))


def query_victims(
    network: Network,
    parameters: Parameters,
    pool: Pool,
    num_queries: int,
    numbers: Normalisation = SYMMETRIC,
    track: Track = untracked,
) -> tuple[Tensor, Tensor]:
    """What the adversary sees: φ = ln(p_y/(1 − p_y)) of every record under every victim, `[runs, records, queries]`.

    Also returns which records each victim classifies correctly, `[runs, records]`. φ as in Carlini et al.,
    arXiv:2112.03570, Algorithm 1, computed from logits. Query 0 is the record itself, the others are the record
    shifted by a pixel (their augmented queries, without mirrors, which digits do not bear).
    """
    runs, device = parameters["head.bias"].shape[0], pool.images.device
    # Wide networks on a CPU gain nothing from each other, and their activations are large.
    at_once = 1 if network.wide and device.type == "cpu" else runs
    size = chunk_size(network, device, networks=at_once)
    state = {
        "signals": torch.empty(runs, pool.num_records, num_queries, device=device),
        "correct": torch.empty(runs, pool.num_records, dtype=torch.bool, device=device),
    }
    starts = range(0, pool.num_records, size)
    questions = list(product(range(0, runs, at_once), range(num_queries), starts))
    with torch.no_grad():
        for step in track("query", len(questions), state):
            first, query, start = questions[step]
            whose, part = slice(first, first + at_once), slice(start, start + size)
            images = seen_images(_shifted(pool.images[part], SHIFTS[query]), numbers)
            logits = classify(network, {name: value[whose] for name, value in parameters.items()}, images.unsqueeze(0))
            state["signals"][whose, part, query] = logit_confidence(logits, pool.labels[part])
            if query == 0:
                state["correct"][whose, part] = logits.argmax(-1) == pool.labels[part]
    return state["signals"], state["correct"]


def logit_confidence(logits: Tensor, labels: Tensor) -> Tensor:
    """ln(p_y/(1 − p_y)) = z_y − ln Σ_{j≠y} e^{z_j}, without rounding p to 1."""
    index = labels.expand(logits.shape[:-1]).unsqueeze(-1)
    own = logits.gather(-1, index).squeeze(-1)
    return own - logits.scatter(-1, index, -torch.inf).logsumexp(-1)


def check_queries(num_queries: int, *, tabular: bool) -> None:
    """Refuse a number of queries that there are no shifts for."""
    most = 1 if tabular else len(SHIFTS)
    if not 1 <= num_queries <= most:
        raise BadConfig(f"--queries {num_queries}: must lie in 1…{most}" + (" for tables" if tabular else ""))


def _shifted(images: Tensor, shift: tuple[int, int]) -> Tensor:
    """Shift by whole pixels; what comes in is background (−1)."""
    if shift == (0, 0):
        return images
    down, right = shift
    height, width = images.shape[2:]
    padded = F.pad(images, (1, 1, 1, 1), value=-1.0)
    return padded[:, :, 1 - down : 1 - down + height, 1 - right : 1 - right + width]
