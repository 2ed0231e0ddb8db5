"""The units of work of an audit of the worst case: its groups of runs, and the fits that learn scores from them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from audit.engine.progress import ProgressBar
from audit.engine.store import DamagedShard, RunDirectory, explain_failure, read_tensors, write_tensors
from audit.engine.where import Where
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.runs import Group, compute_group, groups_of
from audit.games.transcript.transcripts import Fit, Transcript, fits_of, gather
from condensers.errors import BadData
from condensers.plugins import source_files
from condensers.registry import get_method

FIT_SIZE = 1000  # of the progress bar: a fit takes about as long as so many runs


@dataclass(frozen=True)
class Units:
    """All units of an audit: the groups of all designs, then the fits, each after the groups that it reads."""

    groups: tuple[Group, ...]
    fits: tuple[Fit, ...]

    @staticmethod
    def of(experiment: Experiment, designs: tuple[str, ...], *, one_by_one: bool) -> "Units":
        return Units(
            groups=tuple(group for design in designs for group in groups_of(experiment, design, one_by_one=one_by_one)),
            fits=tuple(fit for design in designs for fit in fits_of(experiment, design)),
        )

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How much work each unit is."""
        return dict(enumerate([*(group.num_runs for group in self.groups), *(FIT_SIZE for _ in self.fits)]))

    def fit(self, unit: int) -> Fit | None:
        """The fit that a unit is; None for a group."""
        return None if unit < len(self.groups) else self.fits[unit - len(self.groups)]

    def needs(self, unit: int) -> tuple[int, ...]:
        """Groups that a fit reads."""
        fit = self.fit(unit)
        return () if fit is None else tuple(other for other, group in enumerate(self.groups) if fit.reads(group))


@dataclass(frozen=True, kw_only=True)
class WorstCaseWork:
    """Groups and fits as units of work. The method travels by name: its code is loaded by each worker."""

    method: str
    plugin: str
    settings: dict[str, Any]
    others: dict[str, Any]
    digest: str
    units: Units
    length: float
    one_by_one: bool

    @property
    def device(self) -> str:
        """Small pools are not worth an accelerator."""
        return "cpu"

    @property
    def loads_in_workers(self) -> bool:
        """There are no records to send, and an own method is known to a worker by its name alone."""
        return True

    @property
    def sources(self) -> tuple[Path, ...]:
        """The file of an own method, which must travel to workers on other machines."""
        return source_files(self.method)

    def load(self) -> Experiment:
        """The experiment with its method."""
        torch.set_num_threads(1)
        method = get_method(self.method)
        if method.plugin != self.plugin:
            raise BadData(f"{self.method} has changed since this run was started; start a new one")
        return Experiment(method=method, config=method.config(**self.settings), **self.others)

    def needs(self, unit: int) -> tuple[int, ...]:
        """Groups that a fit reads."""
        return self.units.needs(unit)

    def compute(self, loaded: Experiment, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """Compute one group or one fit and keep its scores."""
        directory, fit = RunDirectory(folder), self.units.fit(unit)
        if fit is None:
            group = self.units.groups[unit]
            found = compute_group(loaded, group, self.length, one_by_one=self.one_by_one, report=report)
        else:
            found = fit.compute([read_tensors(directory.shard(n), digest=self.digest) for n in self.needs(unit)])
        write_tensors(directory.shard(unit), found, digest=self.digest)
        report(1.0)

    def file(self, unit: int) -> str:
        """Relative to the run directory."""
        return RunDirectory(Path()).shard(unit).as_posix()


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
    """Compute the groups and fits that are missing; what was seen, by design."""
    units, digest = Units.of(experiment, designs, one_by_one=one_by_one), experiment.digest
    missing = [unit for unit in units.sizes if not _is_whole(directory, digest, unit, say)]
    if missing:
        total = sum(group.num_runs for group in units.groups)
        left = sum(group.num_runs for unit, group in enumerate(units.groups) if unit in missing)
        if len(missing) < len(units.sizes):
            say(f"resuming {directory.path}: {total - left} of {total} runs are done")
        work = WorstCaseWork(
            method=experiment.method.name,
            plugin=experiment.method.plugin,
            settings=asdict(experiment.config),
            others={name: value for name, value in vars(experiment).items() if name not in ("method", "config")},
            digest=digest,
            units=units,
            length=length,
            one_by_one=one_by_one,
        )
        title = f"condensing {left} runs and learning scores" if left else "learning scores"
        with ProgressBar(title, {unit: units.sizes[unit] for unit in missing}) as bar:
            where.executor.run(work, missing, directory.path, bar.update)
    return {design: _read(directory, digest, units, design) for design in designs}


def _read(directory: RunDirectory, digest: str, units: Units, design: str) -> Transcript:
    def found(unit: int) -> dict[str, Tensor]:
        return read_tensors(directory.shard(unit), digest=digest)

    parts = [found(unit) for unit, group in enumerate(units.groups) if group.design == design]
    fits = enumerate(units.fits, start=len(units.groups))
    return gather(parts, {fit: found(unit) for unit, fit in fits if fit.design == design})


def _is_whole(directory: RunDirectory, digest: str, unit: int, say: Callable[[str], None]) -> bool:
    path = directory.shard(unit)
    if not path.exists():
        return False
    try:
        read_tensors(path, digest=digest)
    except DamagedShard as damage:
        say(f"damaged shard: {damage}; computing its runs again")
        with explain_failure(path):
            path.unlink(missing_ok=True)
        return False
    return True
