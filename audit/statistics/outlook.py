"""What a report sets beside the measurement: what the guarantee allows, and what more runs would buy."""

from typing import Any

import numpy as np

from audit.accounting.curve import TradeoffCurve, point_curve, tradeoff_curve
from audit.accounting.ledger import ledger_event
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.evidence import RunCounts
from audit.statistics.estimators.one_run import one_run_lower_bounds
from audit.statistics.estimators.one_run_dp import one_run_dp_lower_bounds
from audit.statistics.roc import CURVE_GRID
from condensers.ledger import Entries
from reports.records.schema import EpsilonBound, Outlook, Tradeoff
from reports.words.rounding import small

MULTIPLES = (1, 2, 4, 8, 16)
_LARGEST_EPSILON = 600.0  # allows everything that a grid of rates can tell


def tradeoff_of_ledger(entries: Entries) -> Tradeoff:
    """What the privacy loss distribution proves for what ran; a false positive is a record left out, called present.

    It binds the rates over many records as well: each obeys the curve, which is concave in the true positive rate, so
    their means do.
    """
    return curve_on_grid(
        tradeoff_curve(ledger_event(entries), directed=True),
        "trade-off curve of what ran, by its privacy loss distribution",
    )


def tradeoff_of_point(epsilon: float, delta: float) -> Tradeoff:
    """The two lines of (ε, δ)-DP."""
    return curve_on_grid(
        point_curve(min(epsilon, _LARGEST_EPSILON), delta), f"the claimed (ε, δ) = ({epsilon:g}, {small(delta)}) alone"
    )


def curve_on_grid(curve: TradeoffCurve, source: str) -> Tradeoff:
    """As a record keeps it."""
    allowed = 1.0 - curve.false_negative_rate(CURVE_GRID)
    return Tradeoff(
        false_positive_rate=tuple(CURVE_GRID.tolist()), true_positive_rate=tuple(allowed.tolist()), source=source
    )


def look_ahead(bound: EpsilonBound, *, num_runs: int, num_test_runs: int) -> tuple[Outlook, ...]:
    """The one-run bound of this audit, were it larger: with no guess wrong, and with guesses as good as now."""
    lower_bounds = {"one-run": one_run_lower_bounds, "one-run-dp": one_run_dp_lower_bounds}.get(bound.estimator)
    if lower_bounds is None or not {"coins", "guesses", "correct"} <= bound.counts.keys():
        return ()
    significance = (1.0 - bound.confidence) / bound.num_tries
    coins, guesses, correct = (
        np.array([multiple * bound.counts[name] for multiple in MULTIPLES]) for name in ("coins", "guesses", "correct")
    )
    settings: dict[str, Any] = {"delta": bound.delta, "significance": significance}
    lowers = lower_bounds(num_coins=coins, num_guesses=guesses, num_correct=correct, **settings)
    ceilings = lower_bounds(num_coins=coins, num_guesses=coins, num_correct=coins, **settings)
    return tuple(
        Outlook(
            num_runs=multiple * num_runs,
            num_test_runs=multiple * num_test_runs,
            num_trials=int(num_coins),
            ceiling=float(ceiling),
            lower_at_same_rates=float(lower),
        )
        for multiple, num_coins, ceiling, lower in zip(MULTIPLES, coins, ceilings, lowers, strict=True)
    )


def look_ahead_runs(bound: EpsilonBound, *, num_runs: int) -> tuple[Outlook, ...]:
    """The Clopper-Pearson bound of this audit, were it larger: without an error, and with the error rates of now."""

    def lower(multiple: int, *, flawless: bool) -> float:
        counts = {name: multiple * count for name, count in bound.counts.items()}
        members = counts["true_positives"] + counts["false_negatives"]
        others = counts["true_negatives"] + counts["false_positives"]
        missed, alarms = (0, 0) if flawless else (counts["false_negatives"], counts["false_positives"])
        return bound_epsilon_clopper_pearson(
            RunCounts(
                true_positives=members - missed,
                false_negatives=missed,
                false_positives=alarms,
                true_negatives=others - alarms,
            ),
            delta=bound.delta,
            confidence=bound.confidence,
            num_tries=bound.num_tries,
        ).lower

    return tuple(
        Outlook(
            num_runs=multiple * num_runs,
            num_test_runs=multiple * bound.num_trials,
            num_trials=multiple * bound.num_trials,
            ceiling=lower(multiple, flawless=True),
            lower_at_same_rates=lower(multiple, flawless=False),
        )
        for multiple in MULTIPLES
    )
