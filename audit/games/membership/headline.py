"""Which estimator makes the headline of an audit, and on what its numbers of guesses are chosen.

Decided here, before any score is seen (docs/estimators.md has the evidence): `one-run-dp` where delta > 0, `one-run`
where it is 0. The numbers of guesses are chosen on cross-fitted fit runs where there are enough of them; else on the
first half of the test runs; else, with a single run, a grid declared beforehand is tested.
"""

from collections.abc import Callable

import numpy as np

from audit.accounting.curve import tradeoff_curve
from audit.accounting.ledger import ledger_event
from audit.games.membership.crossfit import CrossFitted
from audit.statistics.estimators.coin_curve import refute_curve_from_coins, surprise
from audit.statistics.estimators.evidence import Floats, RecordEvidence
from audit.statistics.estimators.guesses import GuessCounts
from audit.statistics.estimators.one_run import SELECTION_STEPS, bound_epsilon_one_run_records, one_run_lower_bounds
from audit.statistics.estimators.one_run_dp import bound_epsilon_one_run_dp, one_run_dp_lower_bounds
from audit.statistics.estimators.other_runs import choose_on_other_runs
from audit.statistics.estimators.recursion import least_wrong_of_curve
from audit.statistics.estimators.thresholds import SELECTION_SIGNIFICANCE, FromOtherRuns, Grid, Split, ThresholdChoice
from condensers.ledger import Entries
from reports.records.coin_test import CoinTest
from reports.records.schema import EpsilonBound

SOURCE = "cross-fitted fit runs"
_BOUNDS: dict[str, tuple[Callable[..., EpsilonBound], Callable[..., Floats]]] = {
    "one-run": (bound_epsilon_one_run_records, one_run_lower_bounds),
    "one-run-dp": (bound_epsilon_one_run_dp, one_run_dp_lower_bounds),
}


def headline_estimator(delta: float) -> str:
    """At delta 0 the one-run bound is the sharper of the two."""
    return "one-run-dp" if delta > 0.0 else "one-run"


def bound_coins(
    members: np.ndarray,
    scores: np.ndarray,
    *,
    delta: float,
    confidence: float,
    fitted: CrossFitted | None = None,
    num_tries: int = 1,
    estimator: str | None = None,
) -> EpsilonBound:
    """The lower bound from the test runs `[test runs, records]`; by default the headline's."""
    bound, lower_bounds = _BOUNDS[estimator or headline_estimator(delta)]

    def objective(guesses: GuessCounts) -> Floats:
        return lower_bounds(
            num_coins=guesses.num_coins,
            num_guesses=guesses.num_guesses,
            num_correct=guesses.num_correct,
            delta=delta,
            significance=SELECTION_SIGNIFICANCE,
            num_steps=SELECTION_STEPS,
        )

    return bound(
        RecordEvidence(members=members, scores=scores),
        delta=delta,
        confidence=confidence,
        choice=_choose(members, fitted, objective),
        num_tries=num_tries,
    )


def bound_again(bound: EpsilonBound, members: np.ndarray, scores: np.ndarray, *, confidence: float) -> EpsilonBound:
    """The same estimator with the same choice on other scores of the same audit, or at another confidence."""
    choice: ThresholdChoice = Split(seed=None) if len(members) > 1 else Grid()
    if bound.guess_fractions is not None:
        positive, negative = bound.guess_fractions
        choice = FromOtherRuns(positive_fraction=positive, negative_fraction=negative, source=SOURCE)
    return _BOUNDS[bound.estimator][0](
        RecordEvidence(members=members, scores=scores),
        delta=bound.delta,
        confidence=confidence,
        choice=choice,
        num_tries=bound.num_tries,
    )


def hold_ledger(
    ledger: Entries,
    members: np.ndarray,
    scores: np.ndarray,
    *,
    confidence: float,
    fitted: CrossFitted | None = None,
    num_tries: int = 1,
) -> CoinTest:
    """Hold the test runs against the whole curve that the privacy loss distribution proves for the ledger."""
    curve = tradeoff_curve(ledger_event(ledger))
    least_wrong = least_wrong_of_curve(curve)
    return refute_curve_from_coins(
        RecordEvidence(members=members, scores=scores),
        curve,
        confidence=confidence,
        choice=_choose(members, fitted, lambda guesses: surprise(least_wrong, guesses)),
        num_tries=num_tries,
    )


def _choose(
    members: np.ndarray, fitted: CrossFitted | None, objective: Callable[[GuessCounts], Floats]
) -> ThresholdChoice:
    if fitted is not None:
        known, scored = fitted.coins
        return choose_on_other_runs(known, scored, objective, num_tested=members.size, source=SOURCE)
    return Split(seed=None) if len(members) > 1 else Grid()
