"""The runs of an audit of the worst case, in groups: a group is the unit of work and of storage.

A group is a fixed number of consecutive runs of one design, computed on one thread, so that no byte depends on how many
workers there are, on their order or on a restart.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from audit.engine.progress import ProgressBar
from audit.engine.store import DamagedShard, RunDirectory, explain_failure, read_tensors, write_tensors
from audit.engine.where import Where
from audit.games.transcript.adversary import DESIGNS, LENGTHS, SCORES, Eavesdropper, make_trials, neighbouring_pools
from audit.games.transcript.experiment import LEAST_TRIALS, Experiment
from audit.statistics.estimators.evidence import RunEvidence
from condensers.errors import BadConfig, BadData
from condensers.ledger import Entries, Ledger
from condensers.randomness import Randomness
from condensers.registry import Track, condense_runs, get_method, untracked

RUNS_AT_ONCE = 4096
# What the others look for is seen in few runs.
SHARE_OF_RUNS = {"alone": 1.0, "opposed": 0.25, "ordinary": 0.25, "replaced": 1.0}
TRIAL_RUNS = 16  # by which the adversary chooses its canary


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """Scores of one design by name, who had the canary, and the ledger of the runs."""

    scores: dict[str, np.ndarray]
    has_canary: np.ndarray
    shortest: float
    typical: float
    ledger: Entries

    def evidence(self, score: str) -> RunEvidence:
        values = self.scores[score]
        return RunEvidence(member_scores=values[self.has_canary], non_member_scores=values[~self.has_canary])


@dataclass(frozen=True, kw_only=True)
class Group:
    """Trials `first` and after of a design, under the run numbers `start` and after; `reference` has no records."""

    design: str
    first: int
    num_runs: int
    start: int
    reference: int


def groups_of(experiment: Experiment, design: str) -> tuple[Group, ...]:
    """No two runs of an experiment share private streams: designs and references have numbers of their own."""
    place = list(DESIGNS).index(design)
    total = max(LEAST_TRIALS, int(experiment.trials * SHARE_OF_RUNS[design]))
    return tuple(
        Group(
            design=design,
            first=first,
            num_runs=min(RUNS_AT_ONCE, total - first),
            start=place * 2 * experiment.trials + first,
            reference=place * 2 * experiment.trials + first + experiment.trials,
        )
        for first in range(0, total, RUNS_AT_ONCE)
    )


def choose_length(experiment: Experiment) -> float:
    """The canary whose clipped vectors are longest in a few runs that are not tested."""
    first = 2 * len(DESIGNS) * experiment.trials
    typical = []
    for number, length in enumerate(LENGTHS):
        start = first + number * (TRIAL_RUNS + 1)
        group = Group(design="alone", first=0, num_runs=TRIAL_RUNS, start=start, reference=start + TRIAL_RUNS)
        typical.append(float(compute_group(experiment, group, length)["typical"]))
    return LENGTHS[int(np.argmax(typical))]


def compute_group(experiment: Experiment, group: Group, length: float, track: Track = untracked) -> dict[str, Tensor]:
    """Run the real method before and after the canary and score what is heard at the door."""
    num_classes = len(experiment.class_sizes)
    pool = neighbouring_pools(experiment.input_shape, num_classes, experiment.seed, length)
    trials = make_trials(group.design, group.first, group.num_runs, num_classes)
    eavesdropper = Eavesdropper(pool, trials)
    _, ledger = condense_runs(
        experiment.method,
        pool,
        trials.members(pool),
        experiment.config,
        class_sizes=experiment.class_sizes,
        randomness=Randomness(
            seed=experiment.seed, runs=(*range(group.start, group.start + group.num_runs), group.reference)
        ),
        listeners=[eavesdropper],
        track=track,
    )
    if ledger is None or not ledger.num_releases:
        raise BadConfig(f"--method {experiment.method.name}: it releases nothing through the door, nothing is claimed")
    return {
        **{f"score {name}": torch.from_numpy(values) for name, values in eavesdropper.scores().items()},
        "has canary": torch.from_numpy(trials.has_canary),
        "shortest": torch.tensor(eavesdropper.shortest, dtype=torch.float64),
        "typical": torch.tensor(eavesdropper.typical, dtype=torch.float64),
        "ledger": ledger.to_tensor(),
    }


def gather(parts: list[dict[str, Tensor]]) -> Transcript:
    """What the groups of one design found, in the order of their runs."""
    ledgers = {Ledger.from_tensor(part["ledger"]).entries for part in parts}
    if len(ledgers) != 1:
        raise RuntimeError("runs of one method wrote different ledgers: the accounting depends on the records")
    names = [name for name in SCORES if f"score {name}" in parts[0]]
    return Transcript(
        scores={name: torch.cat([part[f"score {name}"] for part in parts]).numpy() for name in names},
        has_canary=torch.cat([part["has canary"] for part in parts]).numpy(),
        shortest=min(float(part["shortest"]) for part in parts),
        typical=float(np.mean([float(part["typical"]) for part in parts])),
        ledger=ledgers.pop(),
    )


def listen(experiment: Experiment, design: str, length: float = LENGTHS[0]) -> Transcript:
    """All runs of one design, in this process."""
    return gather([compute_group(experiment, group, length) for group in groups_of(experiment, design)])


@dataclass(frozen=True, kw_only=True)
class GroupWork:
    """The groups of all designs as units of work. The method travels by name: its code is loaded by each worker."""

    method: str
    plugin: str
    settings: dict[str, Any]
    others: dict[str, Any]
    length: float

    @property
    def device(self) -> str:
        """Small pools are not worth an accelerator."""
        return "cpu"

    @staticmethod
    def of(experiment: Experiment, length: float) -> "GroupWork":
        others = {name: value for name, value in vars(experiment).items() if name not in ("method", "config")}
        return GroupWork(
            method=experiment.method.name,
            plugin=experiment.method.plugin,
            settings=asdict(experiment.config),
            others=others,
            length=length,
        )

    def load(self) -> tuple[Experiment, tuple[Group, ...]]:
        """The experiment with its method."""
        torch.set_num_threads(1)
        method = get_method(self.method)
        if method.plugin != self.plugin:
            raise BadData(f"{self.method} has changed since this run was started; start a new one")
        experiment = Experiment(method=method, config=method.config(**self.settings), **self.others)
        return experiment, all_groups(experiment)

    def compute(
        self,
        loaded: tuple[Experiment, tuple[Group, ...]],
        unit: int,
        folder: Path,
        report: Callable[[float], None],
    ) -> None:
        """Compute one group and keep its scores."""
        experiment, groups = loaded

        def track(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:  # noqa: ARG001
            for step in range(total):
                yield step
                report((step + 1) / total)

        found = compute_group(experiment, groups[unit], self.length, track)
        write_tensors(RunDirectory(folder).shard(unit), found, digest=experiment.digest)
        report(1.0)

    def file(self, unit: int) -> str:
        """Relative to the run directory."""
        return RunDirectory(Path()).shard(unit).as_posix()


def all_groups(experiment: Experiment) -> tuple[Group, ...]:
    return tuple(group for design in experiment.designs for group in groups_of(experiment, design))


def compute_runs(
    experiment: Experiment, length: float, directory: RunDirectory, where: Where, say: Callable[[str], None]
) -> dict[str, Transcript]:
    """Compute the groups that are missing; what was heard, by design."""
    groups = all_groups(experiment)
    missing = [unit for unit in range(len(groups)) if not _is_whole(directory, experiment, unit, say)]
    total = sum(group.num_runs for group in groups)
    if missing:
        sizes = {unit: groups[unit].num_runs for unit in missing}
        if len(missing) < len(groups):
            say(f"resuming {directory.path}: {total - sum(sizes.values())} of {total} runs are done")
        with ProgressBar(f"condensing {sum(sizes.values())} runs", sizes) as bar:
            where.executor.run(GroupWork.of(experiment, length), missing, directory.path, bar.update)
    stored = [read_tensors(directory.shard(unit), digest=experiment.digest) for unit in range(len(groups))]
    return {
        design: gather([part for part, group in zip(stored, groups, strict=True) if group.design == design])
        for design in experiment.designs
    }


def _is_whole(directory: RunDirectory, experiment: Experiment, unit: int, say: Callable[[str], None]) -> bool:
    path = directory.shard(unit)
    if not path.exists():
        return False
    try:
        read_tensors(path, digest=experiment.digest)
    except DamagedShard as damage:
        say(f"damaged shard: {damage}; computing its runs again")
        with explain_failure(path):
            path.unlink(missing_ok=True)
        return False
    return True
