"""Canaries: records planted into the pool, each in every run with probability ½ like any other.

A claim of privacy is about the worst record, which ordinary data need not hold. Four kinds (Nasr et al. 2021,
arXiv:2101.04535, and Jagielski et al. 2020, arXiv:2006.07709, plant such records into training sets):

- mislabelled: a copy of a record of another class;
- outlier: uniform noise, or a record of the class with its range turned over, by turns;
- blank: one value everywhere, drawn for each;
- crafted: patterns of extreme values along directions in which the class hardly varies, chosen so that together they
  move the class's mean as far as possible relative to all other records: greedily, the largest Mahalanobis distance
  (D-optimal design) in pixels and in the embeddings of public random networks.

The canary's label is its number modulo the classes. Canaries stand behind the ordinary records of their class, so who
is one follows from the labels and the counts alone.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from condensers.errors import BadConfig
from condensers.networks import Network, draw_parameters, embed
from condensers.pool import Pool, sort_by_class
from condensers.randomness import stream
from condensers.spelling import did_you_mean

KINDS = ("mislabelled", "outlier", "blank", "crafted")
ORDINARY = "ordinary"
MOST_CANARIES = 10_000
NUM_NETWORKS, NUM_CANDIDATES = 4, 200
RIDGE = 0.05
CPU = torch.device("cpu")


def parse_canaries(text: str) -> dict[str, int]:
    """Counts by kind, in the order of `KINDS`, of a text such as "mislabelled:50,crafted:50"."""
    counts: dict[str, int] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        kind, _, number = part.partition(":")
        if kind not in KINDS:
            raise BadConfig(
                f"--canaries {part}: {kind!r} is not one of {', '.join(KINDS)}; write it as KIND:COUNT"
                f"{did_you_mean(kind, KINDS)}"
            )
        if kind in counts:
            raise BadConfig(f"--canaries {text}: {kind} is given twice")
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= MOST_CANARIES:
            raise BadConfig(f"--canaries {part}: the count must be a whole number in 1…{MOST_CANARIES}")
        counts[kind] = int(number)
    return {kind: counts[kind] for kind in KINDS if kind in counts}


def spell_canaries(counts: dict[str, int]) -> str:
    """The one way of writing it."""
    return ",".join(f"{kind}:{count}" for kind, count in counts.items())


def canary_kinds(labels: np.ndarray, num_classes: int, counts: dict[str, int]) -> np.ndarray:
    """The kind of every record of a pool with canaries: 0 ordinary, else 1 + its place in `counts`."""
    kinds = np.zeros(len(labels), dtype=np.int64)
    planted_labels, planted_kinds = _planted(num_classes, counts)
    for label in range(num_classes):
        own = planted_kinds[planted_labels == label]
        if len(own):
            kinds[np.flatnonzero(labels == label)[-len(own) :]] = own
    return kinds


def plant_canaries(pool: Pool, counts: dict[str, int], seed: int) -> Pool:
    """The pool with canaries behind the records of each class."""
    if not counts:
        return pool
    if "mislabelled" in counts and pool.num_classes < 2:
        raise BadConfig("--canaries mislabelled: needs records of at least two classes")
    labels, kinds = _planted(pool.num_classes, counts)
    images = torch.empty(len(labels), *pool.images.shape[1:], device=CPU)
    for place, kind in enumerate(counts, start=1):
        chosen = np.flatnonzero(kinds == place)
        images[torch.from_numpy(chosen)] = _MAKERS[kind](pool, labels[chosen], seed)
    together = torch.cat([pool.images.cpu(), images])
    images, sorted_labels = sort_by_class(together, torch.cat([pool.labels.cpu(), torch.from_numpy(labels)]))
    return replace(pool, images=images, labels=sorted_labels)


def _planted(num_classes: int, counts: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and kinds of the canaries, in the order in which they are made."""
    total = sum(counts.values())
    kinds = np.repeat(np.arange(1, len(counts) + 1), list(counts.values()))
    return np.arange(total, dtype=np.int64) % num_classes, kinds


def _range(pool: Pool) -> tuple[Tensor, Tensor]:
    """Least and greatest values: of the fixed normalisation for images, of each column for tables."""
    if pool.images.ndim == 4:
        low = torch.full(tuple(pool.images.shape[1:]), -1.0, device=CPU)
        return low, -low
    return pool.images.cpu().amin(0), pool.images.cpu().amax(0)


def _mislabelled(pool: Pool, labels: np.ndarray, seed: int) -> Tensor:
    generator = stream(seed, "mislabelled canaries")
    classes = pool.labels.cpu().numpy()
    chosen = [int(generator.choice(np.flatnonzero(classes != label))) for label in labels]
    return pool.images.cpu()[chosen]


def _outliers(pool: Pool, labels: np.ndarray, seed: int) -> Tensor:
    low, high = _range(pool)
    generator = stream(seed, "outlier canaries")
    uniform = torch.from_numpy(generator.random((len(labels), *low.shape), dtype=np.float32))
    images = low + (high - low) * uniform
    for number, label in enumerate(labels):
        records = pool.class_slices[label]
        if number % 2 and records.stop > records.start:
            images[number] = low + high - pool.images[int(generator.integers(records.start, records.stop))].cpu()
    return images


def _blanks(pool: Pool, labels: np.ndarray, seed: int) -> Tensor:
    low, high = _range(pool)
    levels = stream(seed, "blank canaries").random(len(labels), dtype=np.float32)
    return low + (high - low) * torch.from_numpy(levels).view(-1, *[1] * low.ndim)


def _crafted(pool: Pool, labels: np.ndarray, seed: int) -> Tensor:
    low, high = _range(pool)
    network = _public_network(pool)
    networks = [
        draw_parameters(network, [stream(seed, "crafting network", number)], CPU) for number in range(NUM_NETWORKS)
    ]
    images = torch.empty(len(labels), *low.shape, device=CPU)
    for label in np.unique(labels):
        chosen = torch.from_numpy(np.flatnonzero(labels == label))
        own = pool.images[pool.class_slices[label]].cpu()
        generator = stream(seed, "crafted canaries", int(label))
        candidates = _extremes(own, NUM_CANDIDATES + len(chosen), low, high, generator)
        images[chosen] = candidates[_spread(*_describe(own, candidates, network, networks), len(chosen))]
    return images


def _public_network(pool: Pool) -> Network:
    shape = tuple(pool.images.shape[1:])
    if len(shape) == 1:
        return Network(kind="linear-relu", input_shape=shape, num_classes=pool.num_classes, width=64, depth=1)
    return Network(kind="convnet", input_shape=shape, num_classes=pool.num_classes, width=8, depth=1)


def _describe(
    own: Tensor, candidates: Tensor, network: Network, networks: list[dict[str, Tensor]]
) -> tuple[Tensor, Tensor]:
    """Pixels and embeddings of the class's records and of the candidates, less the class's mean, of equal weight."""
    both = torch.cat([own, candidates])
    with torch.no_grad():
        parts = [both.flatten(1), *(embed(network, parameters, both.unsqueeze(0))[0] for parameters in networks)]
    centred = [part.double() - part[: max(1, len(own))].double().mean(0) for part in parts]
    scaled = [part / (part.square().sum(1).mean().sqrt() + 1e-12) for part in centred]
    together = torch.cat(scaled, 1)
    return together[: len(own)], together[len(own) :]


def _spread(own: Tensor, candidates: Tensor, count: int) -> list[int]:
    """Greedy D-optimal choice: each adds the most to the determinant of the scatter of the class and those chosen.

    In the dual form: distances under (XᵀX + ρ)⁻¹ come from inner products alone.
    """
    ridge = RIDGE * float(own.square().sum(1).mean() if len(own) else 1.0) + 1e-12
    inner = candidates @ candidates.T
    if len(own):
        crossed = candidates @ own.T
        inner = inner - crossed @ torch.linalg.solve(
            own @ own.T + ridge * torch.eye(len(own), dtype=torch.float64, device=CPU), crossed.T
        )
    left = inner / ridge
    chosen: list[int] = []
    for _ in range(count):
        distances = left.diagonal().clone()
        distances[chosen] = -1.0
        best = int(distances.argmax())
        chosen.append(best)
        # Sherman & Morrison: the scatter has the chosen one in it from now on.
        left = left - torch.outer(left[:, best], left[best]) / (1 + left[best, best])
    return chosen


def _extremes(own: Tensor, count: int, low: Tensor, high: Tensor, generator: np.random.Generator) -> Tensor:
    """Lowest or highest value everywhere, by the sign of noise that is large where the class varies little."""
    flat = own.flatten(1).double()
    centred = flat - flat.mean(0) if len(flat) else flat
    covariance = centred.T @ centred / max(1, len(flat))
    ridge = RIDGE * float(covariance.diagonal().mean()) + 1e-12
    noise = torch.from_numpy(generator.standard_normal((len(covariance), count)))
    shaped = torch.linalg.solve(covariance + ridge * torch.eye(len(covariance), dtype=torch.float64, device=CPU), noise)
    return torch.where(shaped.T.view(count, *low.shape) > 0, high, low)


_MAKERS = {"mislabelled": _mislabelled, "outlier": _outliers, "blank": _blanks, "crafted": _crafted}
