"""From the specification of a test to its evidence. Nothing is printed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from audit.accounting.account import account
from audit.claims.effect import Effect, measure_effects
from audit.claims.record import Evidence
from audit.engine.where import Where
from audit.games.run import run
from audit.games.scope import scope_of_report, scope_of_worst_case
from audit.games.theory.examine import examine
from audit.gate.run import scores_of
from audit.specs.account import Account
from audit.specs.membership import Membership
from audit.specs.pictures import Visual
from audit.specs.spec import Spec
from audit.specs.theory import Theory
from audit.specs.worst_case import WorstCase
from reports.records.scope import KNOWN, Scope
from reports.records.visual import VisualReport

Say = Callable[[str], None]


def collect(spec: Spec, where: Where, say: Say) -> Evidence:
    """Run what is asked for."""
    match spec:
        case Effect():
            effects = measure_effects(spec, say)
            return Evidence(
                record=effects, scope=Scope(dataset=effects.dataset, network=spec.extractor, randomness=KNOWN)
            )
        case Theory():
            return _theory(spec, replace(where, out=where.out / "theory"), say)
        case Account():
            return Evidence(record=account(spec))
        case Visual():
            seen = run(spec, where, say)
            assert isinstance(seen, VisualReport)
            return Evidence(record=seen, scope=scope_of_report(seen))
        case WorstCase():
            record = run(spec, where, say)
            return Evidence(record=record, scope=scope_of_worst_case(record))
        case Membership():
            report = run(spec, where, say)
            members, scores = scores_of(report)
            draws = _draws(report, len(members))
            return Evidence(record=report, members=members, scores=scores, draws=draws, scope=scope_of_report(report))
    raise TypeError(f"{type(spec).__name__} is no specification that claims are tested with")


def _draws(record: Any, num_test_runs: int) -> np.ndarray:
    """Which public draw each test run had: they take turns (audit/games/membership/game.py)."""
    return np.arange(num_test_runs) % record.config["public_draws"]


def _theory(spec: Theory, where: Where, say: Say) -> Evidence:
    """Measured and not drawn: several seeds would have the same figures."""
    report = examine(spec, where, say)
    return Evidence(
        record=report,
        scope=Scope(
            dataset=report.dataset, members_per_class=report.class_size, steps=spec.iterations, randomness=KNOWN
        ),
    )
