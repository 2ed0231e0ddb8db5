"""What the adversary of the transcript expects of releases that are not sums over records (condensers/samples.py).

The canary is alone, so a release is about a known vector without it and about another known one with it: of a batch
request, the functions of the empty sample and of the canary; of a shard request, the vectors of a learner that never
met a record and of one that met the canary. Learners are functions of their shard and of earlier releases, which the
adversary knows, so it trains both beside the door.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from condensers.mechanism import Release
from condensers.networks import Parameters
from condensers.pool import Pool
from condensers.samples import BatchRequest, ShardRequest, clip_vectors


class WholeSamples:
    """Expected vectors `[runs + 1, dim]`, in clipping norms, without the canary of each run and with it.

    The last run is nobody's, unless runs are made one by one (`alone`). Listeners share one such object: learners go on
    from release to release, so what is expected of a release is found once.
    """

    def __init__(self, pool: Pool, canaries: np.ndarray, *, alone: bool = False) -> None:
        where = torch.from_numpy(canaries if alone else np.append(canaries, canaries[0])).unsqueeze(1)
        self._images, self._labels = pool.images[where], pool.labels[where]
        self._learners: list[Parameters] = []
        self._latest: tuple[Release, tuple[Tensor, Tensor]] | None = None

    def expect(self, release: Release, request: BatchRequest | ShardRequest) -> tuple[Tensor, Tensor]:
        if self._latest is None or self._latest[0] is not release:
            if isinstance(request, BatchRequest):
                self._latest = release, self._batch(request, release.clip)
            else:
                self._latest = release, self._shard(request, release.clip)
        return self._latest[1]

    def _samples(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """The empty sample and the canary's, blanks for who is absent."""
        present = torch.ones_like(self._labels, dtype=torch.bool)
        blank = torch.zeros_like(self._images)
        return [(blank, torch.zeros_like(self._labels), ~present), (self._images, self._labels, present)]

    def _batch(self, request: BatchRequest, clip: float) -> tuple[Tensor, Tensor]:
        without, present = (_clipped(request.vector(*sample), clip) for sample in self._samples())
        return without, present

    def _shard(self, request: ShardRequest, clip: float) -> tuple[Tensor, Tensor]:
        runs = len(self._labels)
        if not self._learners:
            start = {name: value.expand(runs, *value.shape) for name, value in request.start.items()}
            self._learners = [start, start]
        learn: Callable[..., Parameters] = request.learn
        self._learners = [
            learn(learners, *sample) for learners, sample in zip(self._learners, self._samples(), strict=True)
        ]
        without, present = (_clipped(request.vectors(learners), clip).flatten(1) for learners in self._learners)
        return without, present


def _clipped(vectors: Tensor, clip: float) -> Tensor:
    return clip_vectors(vectors, clip).double() / clip
