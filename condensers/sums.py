"""Sums of the clipped vectors of samples, many runs at once, in parts of bounded memory."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from condensers.pool import Pool
from condensers.randomness import to_device
from condensers.samples import clip_vectors

# Images `[records, …]` and labels `[records]` to vectors `[records, dim]`; where every run has a network of its own,
# images `[runs, records, …]` and labels `[runs, records]` to vectors `[runs, records, dim]`.
Vectors = Callable[[Tensor, Tensor], Tensor]
# Weights `[runs, part]` of a part of the records, and their clipped vectors `[part, dim]` or `[runs, part, dim]`.
Parts = Iterator[tuple[Tensor, Tensor]]


def add_up(sums: Tensor, parts: Parts) -> None:
    """Add to `sums` `[runs, dim]` in place."""
    for weights, clipped in parts:
        sums += weights @ clipped if clipped.ndim == 2 else torch.einsum("rk,rkd->rd", weights, clipped)


def largest_norms(parts: Parts, runs: int, device: torch.device) -> Tensor:
    """S_dyn of Dyn-PSG: the largest clipped norm in each run's sample, 0 where that is empty; it is private."""
    largest = torch.zeros(runs, device=device)
    for weights, clipped in parts:
        largest = torch.maximum(largest, (weights * torch.linalg.vector_norm(clipped, dim=-1)).amax(1))
    return largest


def clipped_shared(pool: Pool, first: int, vectors: Vectors, sample: np.ndarray, clip: float, size: int) -> Parts:
    """Vectors that are the same in every run, each computed once. `first` is the record that column 0 speaks of."""
    union = np.flatnonzero(sample.any(0))
    for start in range(0, len(union), size):
        part = union[start : start + size]
        where = to_device(part + first, pool.images.device)
        found = vectors(pool.images[where], pool.labels[where])
        yield to_device(sample[:, part].astype(np.float32), pool.images.device), clip_vectors(found, clip)


def clipped_per_run(pool: Pool, first: int, vectors: Vectors, sample: np.ndarray, clip: float, size: int) -> Parts:
    """As `clipped_shared`, with vectors of each run's own network."""
    counts = sample.sum(1)
    # The sampled records first, filled up with others of weight 0.
    order = np.argsort(~sample, axis=1, kind="stable")[:, : counts.max(initial=0)]
    weights = (np.arange(order.shape[1]) < counts[:, None]).astype(np.float32)
    for start in range(0, order.shape[1], size):
        where = to_device(order[:, start : start + size] + first, pool.images.device)
        found = vectors(pool.images[where], pool.labels[where])
        yield to_device(weights[:, start : start + size], pool.images.device), clip_vectors(found, clip)
