"""The one door: the only way a private record reaches a method.

A private method is handed this and never the pool. It asks for a release: a function that turns each record into a
vector, how to sample, a clipping norm, a noise multiplier. The door samples, clips each vector, sums per run, adds
Gaussian noise (the sampled Gaussian mechanism, Mironov, Talwar, Zhang, arXiv:1908.10530) and writes the event to its
ledger. The function itself is given records; a method must keep nothing of them, which a contract checks
(audit/games/contracts.py). What it makes of releases and of public facts is post-processing.

The class sizes N_c are public, as in Theorems III.1 and III.2 of Zheng & Li (Differentially Private Dataset
Condensation), which hold the rates L/N_c fixed between neighbours. In the membership game a run has a random part of
the pool; there N_c is the probability of being in times the class's size in the pool, whoever is in. The rate is no
function of the members, which is all that the theorems need: that about L records are in a sample is a matter of
utility only.

Samples of fixed size speak of replacing a record, in a set whose size is public. There every record of the pool has a
place in every run, and whoever is not in is replaced by a blank, whose vector is zero: to be in or out is then one of
the replacements that the guarantee covers. Where N of the pool's P places are expected to be taken, a batch of L·P/N
places holds L records on average, at the rate L/N.

Two published faults are made here as well, and are marked in ledger and release so that an audit can refute them by
measurement: noise scaled by the largest norm of the sample (`noise_by="batch-max"`, Dyn-PSG), and releases that the
proof leaves out (`accounted=False`, the last round of PSG's code).

`vectors` must treat every record by itself (no batch norm, no sorting): the sensitivity counts on it, and a contract
test checks it for every method. Sums and noise are float32, so the guarantee is that of the real-valued mechanism
(cf. Mironov, On Significance of the Least Significant Bits for Differential Privacy, 2012).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from condensers.errors import BadConfig
from condensers.ledger import EVERYBODY, Event, FixedSize, Group, Ledger, Poisson, Sampling
from condensers.networks import Network, Parameters, draw_parameters
from condensers.pool import Pool
from condensers.randomness import Randomness, seeded_noise, to_device

CHUNK_BYTES = 64 << 20  # of vectors held at a time

# Images `[records, …]` and labels `[records]` to vectors `[records, dim]`; where every run has a network of its own,
# images `[runs, records, …]` and labels `[runs, records]` to vectors `[runs, records, dim]`.
Vectors = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A noisy sum that a method asks for."""

    group: Group
    sampling: Sampling
    vectors: Vectors


@dataclass(frozen=True, kw_only=True)
class Release:
    """What a listener is told: all that the adversary of the transcript sees. `sums` are `[runs, requests, dim]`.

    `requests` are in it since their functions are public (networks, augmentations): the adversary can apply them to
    any record it has in mind.
    """

    index: int
    requests: tuple[Request, ...]
    clip: float
    noise_multiplier: float
    per_run: bool
    sums: Tensor
    noise_by: str = "clip"
    accounted: bool = True
    noise_seeds: int | None = None


Listener = Callable[[Release], None]
Track = Callable[[str, int, dict[str, Tensor]], Iterator[int]]


class Door:
    """Holds the private records of a group of runs. Its public attributes are public knowledge."""

    def __init__(
        self,
        pool: Pool,
        included: Tensor,
        *,
        class_sizes: tuple[float, ...],
        randomness: Randomness,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.num_classes = pool.num_classes
        self.input_shape = tuple(pool.images.shape[1:])
        self.device = pool.images.device
        self.num_runs = len(randomness.runs)
        self.class_sizes = class_sizes
        self.auxiliary = pool.auxiliary
        self.ledger = Ledger()
        self.__pool = pool
        self.__members = included.cpu().numpy()
        self.__randomness = randomness
        self.__listeners = tuple(listeners)

    def poisson(self, group: Group, batch: int) -> Poisson:
        """The sample of which `batch` records are expected."""
        return class_sampling(self.class_sizes, group, batch)

    def draw_networks(self, network: Network) -> Parameters:
        """A random network for each run, stacked, from the run's private stream; no record has a part in it."""
        return draw_parameters(network, self.__randomness.each_private("network"), self.device)

    def release(
        self,
        requests: Sequence[Request],
        *,
        dim: int,
        clip: float,
        noise_multiplier: float,
        per_run: bool = False,
        chunk: int | None = None,
        noise_by: str = "clip",
        accounted: bool = True,
        again: int | None = None,
        noise_seeds: int | None = None,
        requests_per_seed: int = 1,
    ) -> Tensor:
        """Noisy sums `[runs, requests, dim]` of the clipped vectors of fresh samples.

        Without `per_run` a record's vector is the same in every run, and is computed once for all runs that sampled
        it. `chunk` bounds how many vectors (of one run, with `per_run`) are held at a time.

        Unsound, for faults of published code that are to be audited: `again` takes the sample of that earlier release
        under new noise and enters nothing in the ledger; `noise_seeds` draws the noise of a request from a generator
        that was seeded with one of so many numbers, which `requests_per_seed` consecutive requests share.
        """
        if not clip > 0:
            raise BadConfig(f"clip={clip:g}: must be positive")
        sound = accounted and noise_by == "clip" and again is None and noise_seeds is None
        if self.__randomness.from_operating_system and not sound:
            raise BadConfig("a variant as published keeps no guarantee: it can be audited, not used for a release")
        events = [
            Event(
                group=request.group,
                sampling=request.sampling,
                noise_multiplier=noise_multiplier,
                noise_by=noise_by,
                accounted=accounted,
            )
            for request in requests
        ]
        index = self.ledger.num_releases
        runs_at_a_time = self.num_runs if per_run else 1
        size = chunk or max(1, CHUNK_BYTES // (4 * dim * runs_at_a_time))
        taken, noise = self._draw(requests, dim, index)
        if again is not None:
            taken, events = self._draw(requests, dim, again)[0], []
        if noise_seeds is not None:
            noise = self._draw_from_seeds(len(requests), dim, index, noise_seeds, requests_per_seed)
        add_up = self._sum_per_run if per_run else self._sum_shared
        sums = torch.zeros(self.num_runs, len(requests), dim, device=self.device)
        norms = torch.full((self.num_runs, len(requests), 1), clip, device=self.device)
        for position, (request, sample) in enumerate(zip(requests, taken, strict=True)):
            add_up(sums[:, position], request, sample, clip, size)
            if noise_by == "batch-max":
                norms[:, position, 0] = self._largest_norms(request, sample, clip, size, per_run=per_run)
        scales = [noise_multiplier * sensitivity(request.sampling) for request in requests]
        sums += to_device(noise, self.device) * norms * torch.tensor(scales, device=self.device).view(1, -1, 1)
        self.ledger.write(events)
        release = Release(
            index=index,
            requests=tuple(requests),
            clip=clip,
            noise_multiplier=noise_multiplier,
            per_run=per_run,
            sums=sums,
            noise_by=noise_by,
            accounted=accounted,
            noise_seeds=noise_seeds,
        )
        for listener in self.__listeners:
            listener(release)
        return sums

    def keep_ledger(self, track: Track) -> Track:
        """A track that keeps the ledger with the loop's state: who resumes goes on with its counts and streams."""

        def kept(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
            state["ledger"] = self.ledger.to_tensor()
            restored = False
            for step in track(name, total, state):
                if not restored:
                    self.ledger, restored = Ledger.from_tensor(state["ledger"]), True
                yield step
                state["ledger"] = self.ledger.to_tensor()
            if not restored:
                self.ledger = Ledger.from_tensor(state["ledger"])

        return kept

    def _records(self, group: Group) -> slice:
        return slice(0, self.__pool.num_records) if group is None else self.__pool.class_slices[group]

    def _draw(self, requests: Sequence[Request], dim: int, index: int) -> tuple[list[np.ndarray], np.ndarray]:
        """Who of which run takes part, bool `[runs, records of the group]` for each request; and standard normal noise.

        Every record of a group has a coin in every run, so that a member more or less changes no other's.
        """
        members = [self.__members[:, self._records(request.group)] for request in requests]
        ends = np.cumsum([part.shape[1] for part in members])
        coins = np.empty((self.num_runs, ends[-1]))
        noise = np.empty((self.num_runs, len(requests), dim), dtype=np.float32)
        for run, generator in enumerate(self.__randomness.each_private("door", index)):
            generator.random(out=coins[run])
            generator.standard_normal(dtype=np.float32, out=noise[run])
        parts = np.split(coins, ends[:-1], axis=1)
        return [_take(*each) for each in zip(members, parts, (r.sampling for r in requests), strict=True)], noise

    def _draw_from_seeds(
        self, requests: int, dim: int, index: int, noise_seeds: int, requests_per_seed: int
    ) -> np.ndarray:
        """Noise `[runs, requests, dim]`, a function of one of so many seeds for each block of requests."""
        num_blocks = -(-requests // requests_per_seed)
        drawn = [
            generator.integers(noise_seeds, size=num_blocks)
            for generator in self.__randomness.each_private("noise seeds", index)
        ]
        seeds = np.repeat(np.array(drawn), requests_per_seed, axis=1)[:, :requests]
        return seeded_noise(seeds.ravel(), dim).reshape(self.num_runs, requests, dim)

    def _sum_shared(self, sums: Tensor, request: Request, sample: np.ndarray, clip: float, size: int) -> None:
        for weights, clipped in self._clipped_shared(request, sample, clip, size):
            sums += weights @ clipped

    def _sum_per_run(self, sums: Tensor, request: Request, sample: np.ndarray, clip: float, size: int) -> None:
        for weights, clipped in self._clipped_per_run(request, sample, clip, size):
            sums += torch.einsum("rk,rkd->rd", weights, clipped)

    def _largest_norms(self, request: Request, sample: np.ndarray, clip: float, size: int, *, per_run: bool) -> Tensor:
        """S_dyn of Dyn-PSG: the largest clipped norm in each run's sample, 0 where that is empty; it is private."""
        parts = (self._clipped_per_run if per_run else self._clipped_shared)(request, sample, clip, size)
        largest = torch.zeros(self.num_runs, device=self.device)
        for weights, clipped in parts:
            largest = torch.maximum(largest, (weights * torch.linalg.vector_norm(clipped, dim=-1)).amax(1))
        return largest

    def _clipped_shared(
        self, request: Request, sample: np.ndarray, clip: float, size: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Part by part: in whose sample records are, `[runs, part]`, and their clipped vectors, `[part, dim]`."""
        union = np.flatnonzero(sample.any(0))
        first = self._records(request.group).start
        for start in range(0, len(union), size):
            part = union[start : start + size]
            where = to_device(part + first, self.device)
            vectors = request.vectors(self.__pool.images[where], self.__pool.labels[where])
            yield to_device(sample[:, part].astype(np.float32), self.device), clip_vectors(vectors, clip)

    def _clipped_per_run(
        self, request: Request, sample: np.ndarray, clip: float, size: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """As `_clipped_shared`, with vectors `[runs, part, dim]` of each run's own network."""
        first = self._records(request.group).start
        counts = sample.sum(1)
        # The sampled records first, filled up with others of weight 0.
        order = np.argsort(~sample, axis=1, kind="stable")[:, : counts.max(initial=0)]
        weights = (np.arange(order.shape[1]) < counts[:, None]).astype(np.float32)
        for start in range(0, order.shape[1], size):
            where = to_device(order[:, start : start + size] + first, self.device)
            vectors = request.vectors(self.__pool.images[where], self.__pool.labels[where])
            yield to_device(weights[:, start : start + size], self.device), clip_vectors(vectors, clip)


def _take(members: np.ndarray, coins: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Who of the members is in the sample, bool `[runs, records]`."""
    match sampling:
        case Poisson(rate=rate):
            return members & (coins < rate)
        case FixedSize(batch=batch, population=population):
            places = batch * coins.shape[1] // population  # rounded down: never a higher rate than is accounted
            return members & (np.argsort(np.argsort(coins, axis=1), axis=1) < places)


def class_sampling(class_sizes: tuple[float, ...], group: Group, batch: int) -> Poisson:
    """Poisson sampling of a class at L/N_c (Algorithms 1 and 2 of Zheng & Li), of everybody at B/N; N_c public."""
    size, whole = (sum(class_sizes), "the whole set") if group is EVERYBODY else (class_sizes[group], f"class {group}")
    if not 1 <= batch <= size:
        raise BadConfig(
            f"batch={batch}: must lie in 1…{int(size)}, since {whole} counts {size:g} records "
            "(in the membership game half of those in the pool); choose a smaller batch or a larger pool"
        )
    return Poisson(rate=batch / size)


def clip_vectors(vectors: Tensor, clip: float) -> Tensor:
    """Scale vectors along the last axis to norm `clip` at most; what has no finite norm counts as zero."""
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return torch.where(norms.isfinite(), vectors * (clip / norms.clamp(min=clip)), 0.0)


def sensitivity(sampling: Sampling) -> float:
    """In clipping norms: to replace a record is to remove one and to add one."""
    return 2.0 if isinstance(sampling, FixedSize) else 1.0
