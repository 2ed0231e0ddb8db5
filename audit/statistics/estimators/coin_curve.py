"""Test of a claim against its whole trade-off curve, from membership coins: the recursion of arXiv:2410.22235 with
the curve that is claimed.

An (epsilon, delta) point at delta = 1e-5 allows far more right guesses than the curve that an accountant proves.

Assumption: as one_run.py, and of the mechanism only what the claim itself states: that this curve bounds every test of
one coin, in both directions. Guarantee: a true claim is refuted with probability at most 1 - confidence, and the
p-value is at most t with probability at most t; recursion.py has the argument. Unit: records (coins).
"""

from typing import TYPE_CHECKING

import numpy as np

from audit.statistics.estimators.evidence import (
    Floats,
    RecordEvidence,
    check_confidence,
    check_num_tries,
    require_records,
)
from audit.statistics.estimators.guesses import ASSUMPTIONS, GuessCounts, count_guesses
from audit.statistics.estimators.looks import share_significance
from audit.statistics.estimators.recursion import LeastWrong, least_wrong_of_curve, p_value
from audit.statistics.estimators.single_run import refuse_split_of_one_run
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice, describe_choice
from reports.records.coin_test import CoinTest

if TYPE_CHECKING:
    from audit.accounting.curve import TradeoffCurve

NAME = "one-run-curve"
SELECTION_STEPS = 8
_BOUND_STEPS = 40


def coin_p_values(least_wrong: LeastWrong, guesses: GuessCounts, num_steps: int = _BOUND_STEPS) -> Floats:
    """The p-value of each look `[..., looks]`, computed once for each distinct pair of counts."""
    pairs = np.stack([guesses.num_guesses.ravel(), guesses.num_correct.ravel()])
    distinct, place = np.unique(pairs, axis=1, return_inverse=True)
    found = [
        p_value(least_wrong, num_coins=guesses.num_coins, num_guesses=total, num_correct=correct, num_steps=num_steps)
        for total, correct in distinct.T.tolist()
    ]
    return np.array(found)[place.ravel()].reshape(guesses.num_correct.shape)


def surprise(least_wrong: LeastWrong, guesses: GuessCounts) -> Floats:
    """-ln of the p-value, coarsely: what the numbers of guesses are chosen by."""
    return -np.log(coin_p_values(least_wrong, guesses, SELECTION_STEPS))


def refute_curve_from_coins(
    evidence: RecordEvidence,
    curve: "TradeoffCurve",
    *,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> CoinTest:
    """Test the claim that `curve` bounds every attack on the mechanism."""
    require_records(evidence, estimator=NAME)
    check_confidence(confidence)
    check_num_tries(num_tries)
    refuse_split_of_one_run(evidence, choice, estimator=NAME)
    least_wrong = least_wrong_of_curve(curve)
    guesses = count_guesses(evidence.members, evidence.scores, choice, lambda looks: surprise(least_wrong, looks))
    share = share_significance(1.0, num_looks=guesses.num_looks, num_agreeing=guesses.num_agreeing) / num_tries
    p_values = coin_p_values(least_wrong, guesses)
    # The k-th smallest of J looks, each at significance * k / J: see thresholds.py
    look = int(np.argsort(p_values, kind="stable")[guesses.num_agreeing - 1])
    p_value_of_all = min(1.0, float(p_values[look]) / share)
    looks = "one rule" if guesses.num_looks == 1 else f"{guesses.num_agreeing} of {guesses.num_looks} rules must refute"
    return CoinTest(
        # A p-value is itself a significance at which the recursion refutes.
        refuted=p_value_of_all <= 1.0 - confidence,
        p_value=p_value_of_all,
        confidence=confidence,
        curve=curve.source,
        counts={
            "coins": guesses.num_coins,
            "guesses": int(guesses.num_guesses[look]),
            "correct": int(guesses.num_correct[look]),
            "positive_guesses": int(guesses.num_positives[look]),
            "negative_guesses": int(guesses.num_negatives[look]),
        },
        threshold_choice=describe_choice(choice),
        correction=f"{looks}, at {share:.4g} of the significance each",
        num_tries=num_tries,
        assumptions=ASSUMPTIONS,
    )
