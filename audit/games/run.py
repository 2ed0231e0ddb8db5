"""From a specification to its record."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from audit.engine.where import Where
from audit.specs.attribute import Attribute
from audit.specs.condense import Condense
from audit.specs.continual import Continual
from audit.specs.membership import Membership, OwnModels, ReleasedSets
from audit.specs.pictures import Visual
from audit.specs.theory import Theory
from audit.specs.utility import Utility
from audit.specs.worst_case import WorstCase
from reports.records import schema
from reports.records.attribute import AttributeReport
from reports.records.theory import TheoryReport
from reports.records.utility import ContinualReport, UtilityReport
from reports.records.visual import NearestReport, VisualReport
from reports.records.worst_case import WorstCaseReport

if TYPE_CHECKING:
    from audit.games.release import Release

Say = Callable[[str], None]


@overload
def run(spec: Membership, where: Where, say: Say) -> schema.Report: ...
@overload
def run(spec: WorstCase, where: Where, say: Say) -> WorstCaseReport: ...
@overload
def run(spec: Visual, where: Where, say: Say) -> VisualReport | NearestReport: ...
@overload
def run(spec: Attribute, where: Where, say: Say) -> AttributeReport: ...
@overload
def run(spec: Utility, where: Where, say: Say) -> UtilityReport: ...
@overload
def run(spec: Continual, where: Where, say: Say) -> ContinualReport: ...
@overload
def run(spec: Condense, where: Where, say: Say) -> "Release": ...
@overload
def run(spec: Theory, where: Where, say: Say) -> TheoryReport: ...


def run(spec: Any, where: Where, say: Say) -> Any:
    """Run or resume what the specification asks for; the record of it."""
    match spec:
        case WorstCase():
            return _run_worst_case(spec, where, say)
        case Visual():
            from audit.games.visual.released import run_released
            from audit.games.visual.resolve import resolve_visual
            from audit.games.visual.run import run_visual

            resolved = resolve_visual(spec, where)
            return (run_released if spec.synthetic else run_visual)(resolved, where, say)
        case Attribute():
            from audit.games.attribute.run import run_attribute

            return run_attribute(spec, where, say)
        case Utility():
            from audit.games.utility.run import run_utility

            return run_utility(spec, where, say)
        case Continual():
            from audit.games.utility.continual import run_continual

            return run_continual(spec, where, say)
        case Condense():
            from audit.games.release import release_set

            return release_set(spec, where, say)
        case Theory():
            from audit.games.theory.examine import run_theory

            return run_theory(spec, where, say)
        case OwnModels() if spec.scores is not None:
            from audit.games.models.run import run_models
            from audit.games.models.signals import read_signals

            return run_models(spec, read_signals(Path(spec.scores)), where, say)
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
