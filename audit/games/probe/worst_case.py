"""The cost of `audit worst-case`: the whole audit with the fewest trials, and one larger group of runs.

What does not grow with the trials (contracts, the choice of the canary, tests, pages) is measured by the small audit;
what a run costs follows from the two sizes of a group, and what learning costs per run from the larger one.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from audit.engine.executor import Executor, InProcess, OnProgress, Work
from audit.engine.store import RunDirectory
from audit.engine.where import Where
from audit.games.probe.cost import Cost
from audit.games.probe.loops import NOTHING, Seconds, now
from audit.games.probe.membership import peak_memory
from audit.games.transcript.experiment import LEAST_TRIALS, Experiment
from audit.games.transcript.record import draw_worst_case, run_worst_case
from audit.games.transcript.runs import compute_group
from audit.games.transcript.work import Units, WorstCaseWork

LARGER_GROUP = 1000  # runs, behind a door; a tenth of it where each run is made by itself


class _Timed:
    """Computes in this process and keeps how long groups and fits took, and which work they were of."""

    def __init__(self) -> None:
        self.on_groups, self.on_fits, self.num_groups = NOTHING, NOTHING, 0
        self.work: WorstCaseWork | None = None

    def num_workers(self, device: str) -> int:
        return 1

    def run(self, work: Work, units: Sequence[int], folder: Path, on_progress: OnProgress) -> None:
        assert isinstance(work, WorstCaseWork)
        groups = [unit for unit in units if work.units.fit(unit) is None]
        before = now()
        InProcess().run(work, groups, folder, on_progress)
        between = now()
        InProcess().run(work, [unit for unit in units if unit not in groups], folder, on_progress)
        self.on_groups, self.on_fits = between - before, now() - between
        self.work, self.num_groups = work, len(groups)


def probe_worst_case(experiment: Experiment, command: str, executor: Executor, say: Callable[[str], None]) -> Cost:
    """Measure for some seconds; the cost of the whole audit."""
    started = now()
    own = started.processor  # imports: the audit will spend it again, and so will every worker
    torch.set_num_threads(1)
    least = replace(experiment, trials=LEAST_TRIALS)
    timed = _Timed()
    say(f"probing an audit with {LEAST_TRIALS} trials")
    with tempfile.TemporaryDirectory() as folder:
        before = now()
        report = run_worst_case(least, command, Where(out=Path(folder), executor=timed), lambda _line: None)
        draw_worst_case(report, RunDirectory(Path(report.run_directory)))
        fixed = now() - before - timed.on_groups - timed.on_fits
    units: list[Seconds] = []
    if timed.work is not None:
        work = timed.work
        designs = tuple(dict.fromkeys(group.design for group in work.units.groups))
        whole = Units.of(experiment, designs, one_by_one=work.one_by_one)
        groups, small = whole.groups, work.units.groups
        size = min(LARGER_GROUP // (10 if work.one_by_one else 1), max(group.num_runs for group in groups))
        say(f"probing a group of {size} runs")
        larger, per_fit = _larger_group(experiment, work, designs[0], size)
        per_small = timed.on_groups.times(1 / timed.num_groups)
        first = small[0].num_runs
        slope = (larger - per_small).times(1 / max(1, size - first)) if size > first else per_small.times(1 / first)
        if slope.processor <= 0:
            slope = larger.times(1 / size)
        offset = larger - slope.times(size)
        units = [offset + slope.times(group.num_runs) for group in groups]
        for fit in whole.fits:
            units.append(per_fit.times(sum(group.num_runs for group in groups if fit.reads(group)) / size))
    workers = executor.num_workers("cpu")
    starting = own * (1 + min(workers, len(units)))
    return Cost(
        what=f"worst-case of {experiment.trials} trials of {experiment.method.name}, level {experiment.level}",
        unit_seconds=tuple(max(0.0, unit.clock) for unit in units),
        start_seconds=own if units else 0.0,
        rest_seconds=fixed.clock + own,
        processor_seconds=sum((unit.processor for unit in units), fixed.processor) + starting,
        worker_memory=peak_memory(),
        driver_memory=peak_memory(),
        workers=workers,
        probe_seconds=(now() - started).clock,
    )


def _larger_group(experiment: Experiment, work: WorstCaseWork, design: str, size: int) -> tuple[Seconds, Seconds]:
    """Time of one group of so many runs, and of one fit that learns scores from it."""
    units = Units.of(experiment, (design,), one_by_one=work.one_by_one)
    before = now()
    found = compute_group(experiment, replace(units.groups[0], num_runs=size), work.length, one_by_one=work.one_by_one)
    computed = now()
    for fit in units.fits:
        fit.compute([found])
    return computed - before, (now() - computed).times(1 / max(1, len(units.fits)))
