"""Groups of runs as units of work, and the runs of a whole audit from whichever of them are there."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from audit.engine.progress import ProgressBar
from audit.engine.store import DamagedShard, RunDirectory, explain_failure, read_tensors, write_tensors
from audit.engine.where import Where
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.runs import Group, Transcript, compute_group, gather, groups_of
from condensers.errors import BadData
from condensers.registry import get_method


@dataclass(frozen=True, kw_only=True)
class GroupWork:
    """The groups of all designs as units of work. The method travels by name: its code is loaded by each worker."""

    method: str
    plugin: str
    settings: dict[str, Any]
    others: dict[str, Any]
    designs: tuple[str, ...]
    length: float
    one_by_one: bool

    @property
    def device(self) -> str:
        """Small pools are not worth an accelerator."""
        return "cpu"

    def load(self) -> tuple[Experiment, tuple[Group, ...]]:
        """The experiment with its method."""
        torch.set_num_threads(1)
        method = get_method(self.method)
        if method.plugin != self.plugin:
            raise BadData(f"{self.method} has changed since this run was started; start a new one")
        experiment = Experiment(method=method, config=method.config(**self.settings), **self.others)
        return experiment, all_groups(experiment, self.designs, one_by_one=self.one_by_one)

    def compute(
        self,
        loaded: tuple[Experiment, tuple[Group, ...]],
        unit: int,
        folder: Path,
        report: Callable[[float], None],
    ) -> None:
        """Compute one group and keep its scores."""
        experiment, groups = loaded
        found = compute_group(experiment, groups[unit], self.length, one_by_one=self.one_by_one, report=report)
        write_tensors(RunDirectory(folder).shard(unit), found, digest=experiment.digest)
        report(1.0)

    def file(self, unit: int) -> str:
        """Relative to the run directory."""
        return RunDirectory(Path()).shard(unit).as_posix()


def all_groups(experiment: Experiment, designs: tuple[str, ...], *, one_by_one: bool) -> tuple[Group, ...]:
    return tuple(group for design in designs for group in groups_of(experiment, design, one_by_one=one_by_one))


def compute_runs(
    experiment: Experiment,
    designs: tuple[str, ...],
    length: float,
    directory: RunDirectory,
    where: Where,
    say: Callable[[str], None],
    *,
    one_by_one: bool,
) -> dict[str, Transcript]:
    """Compute the groups that are missing; what was seen, by design."""
    groups = all_groups(experiment, designs, one_by_one=one_by_one)
    missing = [unit for unit in range(len(groups)) if not _is_whole(directory, experiment, unit, say)]
    total = sum(group.num_runs for group in groups)
    if missing:
        sizes = {unit: groups[unit].num_runs for unit in missing}
        if len(missing) < len(groups):
            say(f"resuming {directory.path}: {total - sum(sizes.values())} of {total} runs are done")
        work = GroupWork(
            method=experiment.method.name,
            plugin=experiment.method.plugin,
            settings=asdict(experiment.config),
            others={name: value for name, value in vars(experiment).items() if name not in ("method", "config")},
            designs=designs,
            length=length,
            one_by_one=one_by_one,
        )
        with ProgressBar(f"condensing {sum(sizes.values())} runs", sizes) as bar:
            where.executor.run(work, missing, directory.path, bar.update)
    say("learning scores")
    found = {}
    for design in designs:
        units = [unit for unit, group in enumerate(groups) if group.design == design]
        found[design] = gather([read_tensors(directory.shard(unit), digest=experiment.digest) for unit in units])
    return found


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
