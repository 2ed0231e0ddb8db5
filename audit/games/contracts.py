"""What every method that uses the door must keep: checked in seconds, without statistics, before anything is measured.

1. replay: what it makes of the same releases in front of *other* records is the same to the byte, and so is what it
   asks for, clipping norms and noise included: nothing of the records reaches the output but through the door.
2. one by one: the vector of a record does not depend on who else is in the batch, nor on earlier calls: the clipping
   norm bounds what one record changes. Whole samples and shards are clipped as such, which asks nothing of vectors.
3. groups: a run by itself gives what it gives among others; else every run is audited by itself, as it is released.
4. ledger: what was released equals what the ledger says, and both equal the plan, on which the noise was calibrated.
   (That ledgers are equal whoever is in is checked by runs.py over all runs.)

A built-in variant that repeats a published fault says so at the door and is refused for a release; there the fourth
contract is not held against it, since the measurement is to show the fault.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from audit.games.neighbours import IN_THE_DOMAIN, neighbouring_pools
from condensers.errors import BadConfig, BrokenContract
from condensers.ledger import Entries, Event
from condensers.mechanism import Door, Listener, Release, Request
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, stream
from condensers.registry import Method, condense_through
from condensers.samples import BatchRequest, ShardRequest
from reports.records.worst_case import ContractCheck

NUM_RUNS = 5
RELEASES_LOOKED_AT = 4
FIRST_RUN = 1 << 41  # numbers that no audited run has
TOLERANCE = 1e-3  # of the largest number: rounding differs with the number of runs and records at once
REPLAY, ONE_BY_ONE, GROUPS, LEDGER, LEDGERS = "replay", "one by one", "groups", "ledger", "equal ledgers"


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A method with its settings, and small pools of its shape, on which contracts are checked."""

    method: Method
    config: Any
    class_sizes: tuple[float, ...]
    input_shape: tuple[int, ...]
    seed: int
    auxiliary: Tensor | None = None

    def pool(self) -> Pool:
        shape, classes = self.input_shape, len(self.class_sizes)
        made = neighbouring_pools(shape, classes, self.seed, IN_THE_DOMAIN, "ordinary")
        return replace(made, auxiliary=self.auxiliary)

    def members(self, pool: Pool) -> Tensor:
        """Every record in every run with probability ½."""
        return torch.from_numpy(stream(self.seed, "contracts").random((NUM_RUNS, pool.num_records)) < 0.5)

    def condense(self, pool: Pool, members: Tensor, runs: tuple[int, ...], door: "DoorOf") -> CondensedBatch:
        randomness = Randomness(seed=self.seed, runs=runs)
        made = door(pool, members, class_sizes=self.class_sizes, randomness=randomness)
        _seed_globally(self.seed)
        return condense_through(made, self.method, pool, self.config, randomness=randomness)


DoorOf = Callable[..., Door]


class _DoorRecorder:
    """Makes a door and keeps what passed it."""

    def __init__(self) -> None:
        self.releases: list[Release] = []
        self._door: Door | None = None

    def door(self, *arguments: Any, **keywords: Any) -> Door:
        listener: Listener = lambda release: self.releases.append(replace(release, sums=release.sums.clone()))  # noqa: E731
        self._door = Door(*arguments, **keywords, listeners=[listener])
        return self._door

    @property
    def ledger(self) -> Entries:
        """As it stands when everything is done: a resumed loop brings its own."""
        assert self._door is not None
        return self._door.ledger.entries


class _ReplayingDoor(Door):
    """Behind it stand other records, yet it says again what another door once released."""

    def __init__(self, recorded: Iterator[Release], *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords, listeners=[self._find])
        self._recorded = recorded

    def release(self, requests: Any, **keywords: Any) -> Tensor:
        super().release(requests, **keywords)
        return self._found.sums.clone()

    def release_batch(self, request: BatchRequest, **keywords: Any) -> tuple[Tensor, Tensor | None]:
        super().release_batch(request, **keywords)
        return self._found.sums[:, 0].clone(), self._found.sizes

    def release_shards(self, request: ShardRequest, **keywords: Any) -> Tensor:
        super().release_shards(request, **keywords)
        return self._found.sums.view(self.num_runs, request.count, -1).clone()

    def _find(self, release: Release) -> None:
        recorded = next(self._recorded, None)
        if recorded is None or _asked(recorded) != _asked(release):
            raise BrokenContract("its requests to the door depend on the records (contract: replay)")
        self._found = recorded


def _asked(release: Release) -> tuple[Any, ...]:
    """All that a method says of a release that it asks for, but for functions."""
    requests = [(type(request), request.group, request.sampling) for request in release.requests]
    scale = release.clip, release.noise_multiplier, release.noise_by, release.noise_seeds, release.sums.shape
    return requests, scale, release.per_run, release.accounted, release.sizes is None, release.apart


def check_contracts(bench: Bench) -> tuple[ContractCheck, ...]:
    """Every contract with its outcome, as far as one broken before it does not make it pointless."""
    try:
        pool = bench.pool()
        members, recorder, runs = bench.members(pool), _DoorRecorder(), tuple(range(FIRST_RUN, FIRST_RUN + NUM_RUNS))
        batch = bench.condense(pool, members, runs, recorder.door)
        if not recorder.releases:
            raise BadConfig(
                f"--method {bench.method.name}: it has a plan but never calls door.release, so nothing is claimed "
                "for what it releases; audit it with --level set --claim EPSILON"
            )
        return (
            _replay(bench, pool, members, runs, batch, recorder.releases),
            _one_by_one(pool, recorder.releases),
            _groups(bench, pool, members, runs, batch),
            _ledger(bench, recorder),
        )
    except BrokenContract as broken:
        return (ContractCheck(name=REPLAY, held=False, sentence=_sentence(str(broken))),)


def broken(checks: tuple[ContractCheck, ...]) -> ContractCheck | None:
    """The first contract that is broken; a method that needs groups of one breaks none."""
    return next((check for check in checks if check.held is False and check.name != GROUPS), None)


def _replay(
    bench: Bench, pool: Pool, members: Tensor, runs: tuple[int, ...], first: CondensedBatch, recorded: list[Release]
) -> ContractCheck:
    turned = pool.images.flip(0)
    # Records of other signs, of another size and brightness, blank ones, and some far off in several directions, to
    # which other images are the nearest: a statistic, or a choice by it, that is the same for one is not for all.
    far = torch.from_numpy(stream(0, "far records").choice([-10.0, 10.0], (4, *pool.images.shape[1:]))).to(turned)
    for images in (-turned, 0.37 * turned + 0.21, torch.zeros_like(turned), *(turned + pattern for pattern in far)):
        sentence = _replayed(bench, replace(pool, images=images), ~members, runs, first, recorded)
        if sentence:
            return ContractCheck(name=REPLAY, held=False, sentence=_sentence(sentence))
    if bool((first.initial_records >= 0).any()):
        sentence = "The method states that its images were initialised with private records."
        return ContractCheck(name=REPLAY, held=False, sentence=sentence)
    return _held(REPLAY, "With the same releases and other records the output is byte-identical.")


def _replayed(
    bench: Bench, others: Pool, members: Tensor, runs: tuple[int, ...], first: CondensedBatch, recorded: list[Release]
) -> str:
    """Empty where these records make no difference; else the sentence that says which."""
    left = iter(recorded)
    try:
        again = bench.condense(
            others, members, runs, lambda *arguments, **keywords: _ReplayingDoor(left, *arguments, **keywords)
        )
    except BrokenContract as error:
        return str(error)
    if next(left, None) is not None:
        return "The number of its requests to the door depends on the records"
    if same_release(first, again, 0.0):
        return ""
    return (
        "Its output depends on records that did not pass through the door: with the same releases and other records "
        "the output is different"
    )


def _one_by_one(pool: Pool, releases: list[Release]) -> ContractCheck:
    looked = releases[: RELEASES_LOOKED_AT - 1] + releases[-1:]
    for release in looked:
        for request in release.requests:
            if type(request) is not Request:
                continue
            chosen = slice(0, pool.num_records) if request.group is None else pool.class_slices[request.group]
            images, labels = pool.images[chosen], pool.labels[chosen]
            said = _vectors_of_each(request, images, labels, release.per_run, len(release.sums))
            if said:
                return ContractCheck(name=ONE_BY_ONE, held=said == _RANDOM or False, sentence=said)
    return _held(ONE_BY_ONE, "The vector of a record does not depend on the other records in the batch.")


_RANDOM = "Its vectors use a global random generator, so it was not examined whether records are treated one by one."


def _vectors_of_each(request: Request, images: Tensor, labels: Tensor, per_run: bool, num_runs: int) -> str:
    """Empty where every record is treated by itself; else the sentence that says what is wrong."""

    def vectors(rows: Tensor, seed: int = 0) -> Tensor:
        _seed_globally(seed)
        if per_run:
            return request.vectors(
                images[rows].expand(num_runs, *images[rows].shape), labels[rows].expand(num_runs, -1)
            )
        return request.vectors(images[rows], labels[rows])

    everybody = torch.arange(len(labels))
    whole = vectors(everybody)
    if not _close(whole, vectors(everybody)):
        return "`vectors` is not a function of the records: a second call returns other vectors (contract: one by one)."
    if not _close(whole, vectors(everybody, seed=1)):
        return _RANDOM
    backwards = vectors(everybody.flip(0)).flip(-2)
    for rows, part in ((everybody, backwards), *((row.view(1), vectors(row.view(1))) for row in everybody[:4])):
        if not _close(whole[..., rows, :], part):
            return (
                "The vector of a record depends on the other records of its batch, so that clipping it does not bound "
                "what one record changes (contract: one by one)."
            )
    return ""


def _groups(
    bench: Bench, pool: Pool, members: Tensor, runs: tuple[int, ...], together: CondensedBatch
) -> ContractCheck:
    alone = bench.condense(pool, members[2:3], runs[2:3], Door)
    if same_release(_row(together, 2), alone, TOLERANCE):
        return _held(GROUPS, "A run gives the same result alone as in a group.")
    return ContractCheck(
        name=GROUPS,
        held=False,
        sentence="A run gives another result alone than in a group, so every run is audited alone.",
    )


def _ledger(bench: Bench, recorder: _DoorRecorder) -> ContractCheck:
    assert bench.method.plan is not None
    events = [
        Event(
            group=request.group,
            sampling=request.sampling,
            noise_multiplier=release.noise_multiplier,
            noise_by=release.noise_by,
            accounted=release.accounted,
            of=_OF[type(request)],
        )
        for release in recorder.releases
        for request in release.requests
    ]
    released = as_entries(Counter(events))
    marked = any(_marked(release) for release in recorder.releases) or released != recorder.ledger
    if marked and not bench.method.plugin:
        return ContractCheck(
            name=LEDGER, held=None, sentence="This variant is marked as unsound: it is measured, but not checked."
        )
    if marked:
        sentence = "It asks the door for releases that are not accounted for, or whose noise depends on the records."
        return ContractCheck(name=LEDGER, held=False, sentence=sentence)
    counts: Counter[Event] = Counter()
    for event, count in bench.method.plan(bench.config, bench.class_sizes):
        counts[event] += count
    planned = as_entries(counts)
    if planned != released:
        return ContractCheck(
            name=LEDGER,
            held=False,
            sentence=f"The plan, by which the noise is calibrated, differs from what ran: planned {_told(planned)}; "
            f"released {_told(released)}.",
        )
    return _held(LEDGER, "What was released, the ledger and the plan are the same.")


_OF = {Request: "records", BatchRequest: "batch", ShardRequest: "shard"}


def as_entries(counts: Counter[Event]) -> Entries:
    return tuple(sorted(counts.items(), key=repr))


def _marked(release: Release) -> bool:
    told = release.sizes is not None or release.apart
    return told or not release.accounted or release.noise_by != "clip" or release.noise_seeds is not None


def _told(entries: Entries) -> str:
    """In a few words."""
    counts = ", ".join(
        f"{count} × σ {event.noise_multiplier:.4g} at rate {event.sampling.rate:.4g} of "
        f"{'all records' if event.group is None else f'class {event.group}'}"
        for event, count in entries[:3]
    )
    return counts + (f" and {len(entries) - 3} more" if len(entries) > 3 else "") if entries else "nothing"


def same_release(one: CondensedBatch, other: CondensedBatch, tolerance: float) -> bool:
    """Whether two groups of runs released the same images, labels, networks and generators."""
    pairs = [(one.images, other.images), (one.labels, other.labels)]
    for mine, theirs in ((one.networks, other.networks), (one.generators, other.generators)):
        if mine is not None and theirs is not None:
            pairs += [(tensor, theirs.parameters[name]) for name, tensor in mine.parameters.items()]
    return all(_close(*pair, tolerance) for pair in pairs)


def _close(one: Tensor, other: Tensor, tolerance: float = TOLERANCE) -> bool:
    if one.shape != other.shape:
        return False
    if not tolerance:
        return torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))
    one, other = torch.nan_to_num(one.double()), torch.nan_to_num(other.double())
    scale = max(1e-12, float(one.abs().max()) if one.numel() else 0.0)
    return bool(((one - other).abs() <= tolerance * scale).all())


def _row(batch: CondensedBatch, row: int) -> CondensedBatch:
    part = slice(row, row + 1)
    networks, generators = batch.networks, batch.generators
    if networks is not None:
        networks = replace(networks, parameters={name: t[part] for name, t in networks.parameters.items()})
    if generators is not None:
        generators = replace(generators, parameters={name: t[part] for name, t in generators.parameters.items()})
    return CondensedBatch(
        images=batch.images[part],
        labels=batch.labels[part],
        initial_records=batch.initial_records[part],
        networks=networks,
        generators=generators,
    )


def _seed_globally(seed: int) -> None:
    """Methods of one's own may draw from torch's generator; here that must not tell two calls apart."""
    torch.manual_seed(seed)


def _held(name: str, sentence: str) -> ContractCheck:
    return ContractCheck(name=name, held=True, sentence=sentence)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
