"""The runs of an audit of the worst case, in groups: a group is the unit of work and of storage.

A group is a fixed number of consecutive runs of one design, computed on one thread, so that no byte depends on how many
workers there are, on their order or on a restart. Behind a door the runs of a group are computed together, unless a
contract finds that they then differ; without a door every run is made by itself, with randomness that is its own in
every respect, as if somebody else had made it.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from audit.games.neighbours import DESIGNS, LENGTHS, Trials, make_trials
from audit.games.transcript.adversary import Eavesdropper
from audit.games.transcript.experiment import LEAST_TRIALS, Experiment
from audit.games.transcript.features import Features
from audit.games.transcript.noise import NoiseRecorder
from audit.games.transcript.observe import Recorder, describe_model, describe_set
from condensers.errors import BadConfig, BrokenContract
from condensers.ledger import Entries, Ledger
from condensers.mechanism import Listener, Release
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, stream
from condensers.registry import Track, condense_runs, untracked

RUNS_AT_ONCE = 4096
RUNS_ONE_BY_ONE = 256
LEARNED_RUNS = 8192  # of a design, from which scores are learned and on which they are tested
# What the others look for is seen in few runs.
SHARE_OF_RUNS = {"alone": 1.0, "opposed": 0.25, "ordinary": 0.25, "replaced": 1.0}
SHARE_OF_OTHERS = 0.25
TRIAL_RUNS = 16  # by which the adversary chooses its canary
# Numbers of the runs of designs that were added later: no two runs of an experiment share private streams.
FIRST_OF_OTHERS = 50


@dataclass(frozen=True, kw_only=True)
class Group:
    """Trials `first` and after of a design, under the run numbers `start` and after; `reference` has no records."""

    design: str
    first: int
    num_runs: int
    start: int
    reference: int


def groups_of(experiment: Experiment, design: str, *, one_by_one: bool = False) -> tuple[Group, ...]:
    """The groups of one design."""
    place = list(DESIGNS).index(design)
    share = SHARE_OF_RUNS.get(design, SHARE_OF_OTHERS) if len(experiment.designs) > 1 else 1.0
    total = max(LEAST_TRIALS, int(experiment.trials * share))
    if not DESIGNS[design] or experiment.level != "transcript":
        total = min(total, max(LEARNED_RUNS, LEAST_TRIALS))
    origin = (place if design in SHARE_OF_RUNS else FIRST_OF_OTHERS + place) * 2 * experiment.trials
    size = RUNS_ONE_BY_ONE if one_by_one else RUNS_AT_ONCE
    return tuple(
        Group(
            design=design,
            first=first,
            num_runs=min(size, total - first),
            start=origin + first,
            reference=origin + first + experiment.trials,
        )
        for first in range(0, total, size)
    )


def choose_length(experiment: Experiment) -> float:
    """The canary whose clipped vectors are longest in a few runs that are not tested."""
    if not experiment.method.private:
        return 1.0
    first = 2 * len(SHARE_OF_RUNS) * experiment.trials
    typical = []
    for number, length in enumerate(LENGTHS):
        start = first + number * (TRIAL_RUNS + 1)
        group = Group(design="alone", first=0, num_runs=TRIAL_RUNS, start=start, reference=start + TRIAL_RUNS)
        typical.append(float(compute_group(experiment, group, length, learned=False)["typical"]))
    return LENGTHS[int(np.argmax(typical))]


def compute_group(
    experiment: Experiment,
    group: Group,
    length: float,
    *,
    one_by_one: bool = False,
    learned: bool = True,
    report: Callable[[float], None] = lambda _: None,
) -> dict[str, Tensor]:
    """Run the real method before and after the canary; scores and columns of what is seen."""
    pool = experiment.pool(group.design, length)
    classes = len(experiment.class_sizes)
    trials = make_trials(group.design, group.first, group.num_runs, classes, pool.num_records // classes)
    learned = learned and group.first < LEARNED_RUNS
    if one_by_one or not experiment.method.private:
        return _each_by_itself(experiment, pool, trials, group, learned, report)
    return _together(experiment, pool, trials, group, learned, report)


def _together(
    experiment: Experiment, pool: Pool, trials: Trials, group: Group, learned: bool, report: Callable[[float], None]
) -> dict[str, Tensor]:
    members = trials.members(pool)
    watch = _Watch(experiment, pool, trials, learned)
    empty = ~members[:-1].any(1).numpy()
    noise = NoiseRecorder(empty, watch.whole) if group.design == "alone" and group.first == 0 else None
    runs = (*range(group.start, group.start + group.num_runs), group.reference)
    randomness = Randomness(seed=experiment.seed, runs=runs)
    listeners: list[Listener] = [*watch.listeners, *([noise] if noise else [])]
    batch, ledger = condense_seeded(experiment, pool, members, randomness, listeners, _reporting(report))
    assert ledger is not None
    if not ledger.num_releases:
        raise BadConfig(
            f"--method {experiment.method.name}: it never calls door.release, so nothing is claimed for what it "
            "releases"
        )
    return {
        **watch.heard(),
        **(released_columns(experiment, pool, trials, batch, randomness) if learned else {}),
        "has canary": torch.from_numpy(trials.has_canary),
        "ledger": ledger.to_tensor(),
        **(noise.tensors() if noise and learned else {}),
    }


def _each_by_itself(
    experiment: Experiment, pool: Pool, trials: Trials, group: Group, learned: bool, report: Callable[[float], None]
) -> dict[str, Tensor]:
    private, members = experiment.method.private, trials.members(pool)
    reference: list[Release] = []
    if private:
        alone = Randomness(seed=experiment.seed, runs=(group.reference,))
        condense_seeded(experiment, pool, members[-1:], alone, [reference.append])
    parts, batches = [], []
    for row in range(group.num_runs):
        watch = _Watch(experiment, pool, trials.only([row]), learned, [release.sums for release in reference])
        randomness = Randomness(seed=experiment.seed, runs=(group.start + row,), independent=not private)
        batch, ledger = condense_seeded(experiment, pool, members[row : row + 1], randomness, watch.listeners)
        parts.append({**watch.heard(), **({} if ledger is None else {"ledger": ledger.to_tensor()})})
        batches.append(batch)
        report((row + 1) / group.num_runs)
    same_ledgers([part["ledger"] for part in parts if "ledger" in part])
    joined = {name: torch.cat([part[name] for part in parts]) for name in parts[0] if name.startswith(_RUNWISE)}
    if learned:
        joined |= _released_columns(experiment, pool, trials, batches, group)
    return {
        **joined,
        "shortest": torch.stack([part["shortest"] for part in parts]).amin(),
        "typical": torch.stack([part["typical"] for part in parts]).mean(),
        "has canary": torch.from_numpy(trials.has_canary),
        **({"ledger": parts[0]["ledger"]} if "ledger" in parts[0] else {}),
    }


_RUNWISE = ("score ", "transcript ", "set ", "model ")


class _Watch:
    """All that looks at a group of runs at the audit's level."""

    def __init__(
        self,
        experiment: Experiment,
        pool: Pool,
        trials: Trials,
        learned: bool,
        reference: list[Tensor] | None = None,
    ) -> None:
        self._experiment, self._pool, self._trials, self._learned = experiment, pool, trials, learned
        self._ear = Eavesdropper(pool, trials, reference)
        self.whole = self._ear.whole
        self._recorder = Recorder(pool, trials, self._ear)
        self.listeners: list[Listener] = [self._ear] if experiment.method.private else []
        if learned and "transcript" in experiment.observations:
            self.listeners.append(self._recorder)

    def heard(self) -> dict[str, Tensor]:
        """Scores and columns of what passed the door."""
        found: dict[str, Tensor] = {
            "shortest": torch.tensor(self._ear.shortest, dtype=torch.float64),
            "typical": torch.tensor(self._ear.typical, dtype=torch.float64),
        }
        if self._experiment.level == "transcript":
            found |= {f"score {name}": torch.from_numpy(values) for name, values in self._ear.scores().items()}
            if self._recorder in self.listeners:
                found |= {f"transcript {family}": columns for family, columns in self._recorder.features().items()}
        return found


def released_columns(
    experiment: Experiment, pool: Pool, trials: Trials, batch: CondensedBatch, randomness: Randomness
) -> dict[str, Tensor]:
    """Columns of what was released, as far as the audit's level sees it."""
    families: dict[str, Features] = {}
    if "set" in experiment.observations:
        families["set"] = describe_set(batch, pool, trials)
    if "model" in experiment.observations:
        families["model"] = describe_model(batch, pool, trials, randomness)
    return {
        f"{kind} {family}": columns.float()
        for kind, features in families.items()
        for family, columns in features.items()
    }


def _released_columns(
    experiment: Experiment, pool: Pool, trials: Trials, batches: list[CondensedBatch], group: Group
) -> dict[str, Tensor]:
    """As `released_columns`, for runs that were made one by one; their sets may differ in size."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for row, batch in enumerate(batches):
        by_shape.setdefault((*batch.images.shape[1:], *batch.labels.shape[1:]), []).append(row)
    columns: dict[str, Tensor] = {}
    for rows in by_shape.values():
        together = CondensedBatch.joined([batches[row] for row in rows])
        randomness = Randomness(seed=experiment.seed, runs=tuple(group.start + row for row in rows))
        found = released_columns(experiment, pool, trials.only(rows), together, randomness)
        for name, values in found.items():
            columns.setdefault(name, torch.zeros(len(batches), values.shape[1]))[rows] = values
    return columns


def condense_seeded(
    experiment: Experiment,
    pool: Pool,
    members: Tensor,
    randomness: Randomness,
    listeners: list[Listener],
    track: Track = untracked,
) -> tuple[CondensedBatch, Ledger | None]:
    """Methods of one's own may draw from global generators, which belong to the run here."""
    drawn = stream(experiment.seed, "global generators", *randomness.runs[:1]).integers(1 << 31, size=3)
    torch.manual_seed(int(drawn[0]))
    np.random.seed(int(drawn[1]))  # noqa: NPY002
    random.seed(int(drawn[2]))
    return condense_runs(
        experiment.method,
        pool,
        members,
        experiment.config,
        class_sizes=experiment.class_sizes,
        randomness=randomness,
        listeners=listeners,
        track=track,
    )


def _reporting(report: Callable[[float], None]) -> Track:
    def track(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:  # noqa: ARG001
        for step in range(total):
            yield step
            report((step + 1) / total)

    return track


def same_ledgers(stored: list[Tensor]) -> Entries | None:
    """The one ledger of these runs; BrokenContract if there are several."""
    ledgers = {Ledger.from_tensor(tensor).entries for tensor in stored}
    if len(ledgers) > 1:
        raise BrokenContract("runs wrote different ledgers: the accounting depends on the records (equal ledgers)")
    return ledgers.pop() if ledgers else None
