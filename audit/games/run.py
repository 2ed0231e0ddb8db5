"""From a specification to its record."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

from audit.engine.where import Where
from audit.specs.membership import Membership, ReleasedSets
from audit.specs.worst_case import WorstCase
from reports.records import schema
from reports.records.worst_case import WorstCaseReport

Say = Callable[[str], None]


@overload
def run(spec: Membership, where: Where, say: Say) -> schema.Report: ...
@overload
def run(spec: WorstCase, where: Where, say: Say) -> WorstCaseReport: ...


def run(spec: Any, where: Where, say: Say) -> Any:
    """Run or resume what the specification asks for; the record of it."""
    match spec:
        case WorstCase():
            return _run_worst_case(spec, where, say)
        case Membership():
            from audit.games.membership.foreign import resolve_foreign
            from audit.games.membership.pipeline import run_audit
            from audit.games.membership.resolve import resolve_config

            if isinstance(spec, ReleasedSets) and spec.synthetic:
                config, pool, foreign = resolve_foreign(spec, where.data_root)
                return run_audit(config, pool, where, say, foreign)
            config, pool = resolve_config(spec, where.data_root)
            return run_audit(config, pool, where, say)
    raise TypeError(f"{type(spec).__name__} is no specification of an audit that can be run here")


def _run_worst_case(spec: WorstCase, where: Where, say: Say) -> WorstCaseReport:
    from audit.engine.store import RunDirectory
    from audit.games.transcript.record import draw_worst_case, run_worst_case
    from audit.games.transcript.resolve import resolve_experiment

    experiment = resolve_experiment(spec, where.data_root)
    asked = spec.but(trials=experiment.trials, level=experiment.level)
    report = run_worst_case(experiment, asked.command(), where, say)
    say("drawing the report")
    draw_worst_case(report, RunDirectory(Path(report.run_directory)))
    return report
