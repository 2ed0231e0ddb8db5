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

There are two more kinds of request, for functions of a whole sample and for disjoint shards (condensers/samples.py),
under the same discipline: the door samples, clips, adds noise and writes the ledger.

Published faults are made here as well, and are marked in ledger and release so that an audit can refute them by
measurement: noise scaled by the largest norm of the sample (`noise_by="batch-max"`, Dyn-PSG), releases that the proof
leaves out (`accounted=False`), the size of a sample told (`reveal_size`, DP-Sinkhorn), and vectors of one draw that are
accounted as draws of their own (`apart`, GS-WGAN).

`vectors` must treat every record by itself (no batch norm, no sorting): the sensitivity counts on it, and a contract
test checks it for every method. Sums and noise are float32, so the guarantee is that of the real-valued mechanism
(cf. Mironov, On Significance of the Least Significant Bits for Differential Privacy, 2012).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from condensers.errors import BadConfig
from condensers.ledger import EVERYBODY, Event, Group, Ledger, Poisson, Sampling
from condensers.networks import Network, Parameters, draw_parameters
from condensers.pool import Pool
from condensers.randomness import Randomness, to_device
from condensers.samples import (
    BatchRequest,
    Padded,
    ShardRequest,
    check_shards,
    clip_vectors,
    draw_from_seeds,
    draw_shards,
    gather,
    sensitivity,
    shard_members,
    take,
)
from condensers.sums import Vectors, add_up, clipped_per_run, clipped_shared, largest_norms

CHUNK_BYTES = 64 << 20  # of vectors held at a time
BEHIND_THE_DOOR = "behind the door."  # of a checkpoint: the learners of shards, which no method may look at


@dataclass(frozen=True, kw_only=True)
class Request:
    """A noisy sum that a method asks for."""

    group: Group
    sampling: Sampling
    vectors: Vectors

    @property
    def sensitivity(self) -> float:
        """In clipping norms."""
        return sensitivity(self.sampling)


@dataclass(frozen=True, kw_only=True)
class Release:
    """What a listener is told: all that the adversary of the transcript sees. `sums` are `[runs, requests, dim]`.

    The vectors of a shard request stand one after the other in `dim`. `sizes` `[runs]` of the samples are told by the
    fault `reveal_size` alone.

    `requests` are in it since their functions are public (networks, augmentations): the adversary can apply them to
    any record it has in mind.
    """

    index: int
    requests: tuple[Request | BatchRequest | ShardRequest, ...]
    clip: float
    noise_multiplier: float
    per_run: bool
    sums: Tensor
    noise_by: str = "clip"
    accounted: bool = True
    noise_seeds: int | None = None
    sizes: Tensor | None = None
    apart: bool = False


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
        self.__shards: Padded | None = None
        self.__learners: Parameters = {}

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
        self._check(clip, sound=accounted and noise_by == "clip" and again is None and noise_seeds is None)
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
            shape = (self.num_runs, len(requests), dim)
            noise = draw_from_seeds(self.__randomness, shape, index, noise_seeds, requests_per_seed)
        sums = torch.zeros(self.num_runs, len(requests), dim, device=self.device)
        norms = torch.full((self.num_runs, len(requests), 1), clip, device=self.device)
        for position, (request, sample) in enumerate(zip(requests, taken, strict=True)):
            parts = partial(
                (clipped_per_run if per_run else clipped_shared),
                self.__pool, self._records(request.group).start, request.vectors, sample, clip, size,
            )  # fmt: skip
            add_up(sums[:, position], parts())
            if noise_by == "batch-max":
                norms[:, position, 0] = largest_norms(parts(), self.num_runs, self.device)
        scales = np.array([noise_multiplier * request.sensitivity for request in requests], dtype=np.float32)
        sums += to_device(noise, self.device) * norms * to_device(scales, self.device).view(1, -1, 1)
        self.ledger.write(events)
        self._tell(
            Release(
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
        )
        return sums

    def release_batch(
        self,
        request: BatchRequest,
        *,
        dim: int,
        clip: float,
        noise_multiplier: float,
        accounted: bool = True,
        reveal_size: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """One noisy vector `[runs, dim]` of a fresh sample of every run, of sensitivity 2C.

        Unsound, to be audited: `accounted=False`, and `reveal_size`, which also returns the sizes `[runs]`.
        """
        self._check(clip, sound=accounted and not reveal_size)
        event = Event(
            group=request.group, sampling=request.sampling, noise_multiplier=noise_multiplier, accounted=accounted,
            of="batch",
        )  # fmt: skip
        index = self.ledger.num_releases
        (sample,), noise = self._draw([request], dim, index)
        records = gather(self.__pool, sample, self._records(request.group).start)
        found = clip_vectors(request.vector(records.images, records.labels, records.present), clip)
        sums = found + to_device(noise[:, 0], self.device) * (noise_multiplier * clip * request.sensitivity)
        sizes = records.present.sum(1) if reveal_size else None
        self.ledger.write([event])
        told = Release(
            index=index, requests=(request,), clip=clip, noise_multiplier=noise_multiplier, per_run=True,
            sums=sums.unsqueeze(1), accounted=accounted, sizes=sizes,
        )  # fmt: skip
        self._tell(told)
        return sums, sizes

    def start_learners(self, shards: int, start: Parameters) -> None:
        """Give every shard of every run its learner before a loop, whose checkpoints then have a place for them."""
        learners = self.num_runs * shards
        self.__learners = {name: value.expand(learners, *value.shape) for name, value in start.items()}

    def release_shards(
        self, request: ShardRequest, *, dim: int, clip: float, noise_multiplier: float, apart: bool = False
    ) -> Tensor:
        """Noisy vectors `[runs, count, dim]` of the learner of a shard that is drawn afresh in every run.

        Unsound, to be audited: with `apart`, each vector gets the noise of a release of its own, and the ledger says
        that each was drawn by itself.
        """
        self._check(clip, sound=not apart)
        check_shards(request.shards, self.class_sizes)
        event = Event(group=request.group, sampling=request.sampling, noise_multiplier=noise_multiplier, of="shard")
        index = self.ledger.num_releases
        if self.__shards is None:
            by_shard = shard_members(self.__members, request.shards, self.__randomness)
            self.__shards = gather(self.__pool, by_shard)
        if not self.__learners:
            self.start_learners(request.shards, request.start)
        records = self.__shards
        self.__learners = request.learn(self.__learners, records.images, records.labels, records.present)
        drawn, noise = draw_shards(self.__randomness, request, dim, index)
        units = to_device(drawn, self.device)
        found = clip_vectors(request.vectors({name: value[units] for name, value in self.__learners.items()}), clip)
        together = 2.0 if apart else request.sensitivity
        sums = found + to_device(noise, self.device) * (noise_multiplier * clip * together)
        self.ledger.write([event] * (request.count if apart else 1))
        told = Release(
            index=index, requests=(request,), clip=clip, noise_multiplier=noise_multiplier, per_run=True,
            sums=sums.flatten(1).unsqueeze(1), apart=apart,
        )  # fmt: skip
        self._tell(told)
        return sums

    def keep_ledger(self, track: Track) -> Track:
        """A track that keeps the ledger with the loop's state: who resumes goes on with its counts and streams."""

        def keep(state: dict[str, Tensor]) -> None:
            state["ledger"] = self.ledger.to_tensor()
            state.update({BEHIND_THE_DOOR + name: value for name, value in self.__learners.items()})

        def restore(state: dict[str, Tensor]) -> None:
            self.ledger = Ledger.from_tensor(state["ledger"])
            kept = {name: value for name, value in state.items() if name.startswith(BEHIND_THE_DOOR)}
            self.__learners = {name.removeprefix(BEHIND_THE_DOOR): value for name, value in kept.items()}

        def kept(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
            keep(state)
            restored = False
            for step in track(name, total, state):
                if not restored:
                    restore(state)
                    restored = True
                yield step
                keep(state)
            if not restored:
                restore(state)

        return kept

    def _check(self, clip: float, *, sound: bool) -> None:
        if not clip > 0:
            raise BadConfig(f"clip={clip:g}: must be positive")
        if self.__randomness.from_operating_system and not sound:
            raise BadConfig(
                "a variant as published has no privacy guarantee: it can be audited, but not used for a release"
            )

    def _tell(self, release: Release) -> None:
        for listener in self.__listeners:
            listener(release)

    def _records(self, group: Group) -> slice:
        return slice(0, self.__pool.num_records) if group is None else self.__pool.class_slices[group]

    def _draw(
        self, requests: Sequence[Request | BatchRequest], dim: int, index: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
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
        return [take(*each) for each in zip(members, parts, (r.sampling for r in requests), strict=True)], noise


def class_sampling(class_sizes: tuple[float, ...], group: Group, batch: int) -> Poisson:
    """Poisson sampling of a class at L/N_c (Algorithms 1 and 2 of Zheng & Li), of everybody at B/N; N_c public."""
    size, whole = (sum(class_sizes), "the whole set") if group is EVERYBODY else (class_sizes[group], f"class {group}")
    if not 1 <= batch <= size:
        raise BadConfig(
            f"batch={batch}: must lie in 1…{int(size)}, since {whole} has {size:g} records (in the membership "
            "game half of those in the pool); choose a smaller batch or a larger pool"
        )
    return Poisson(rate=batch / size)
