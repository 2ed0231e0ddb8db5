"""Epsilon from many membership coins against the whole Gaussian trade-off curve: Mahloujifar, Melis, Chaudhuri,
"Auditing f-Differential Privacy in One Run", 2024, arXiv:2410.22235.

Assumption: as one_run.py, and the mechanism is Gaussian (mu-GDP), which the claim must grant: an epsilon names the
one Gaussian curve that has it at delta. Guarantee: under both, the reported epsilon exceeds the true one with
probability at most 1 - confidence. Unit: records (coins).

Differs from the paper: the recursion stops as soon as nothing can change any more, since the tail bounds only grow and
a step that adds nothing is followed by none that does. The largest rejected epsilon is found by bisection; that the
rejected epsilons form an interval is used for speed only, any rejected epsilon is a valid bound.
"""

import numpy as np
from scipy import special

from audit.estimators.evidence import Floats, RecordEvidence
from audit.estimators.gaussian import gaussian_epsilon, require_positive_delta
from audit.estimators.guesses import GuessCounts, bound_from_records
from audit.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from reports.records.schema import EpsilonBound

NAME = "one-run-fdp"
ASSUMPTIONS = ("the mechanism is mu-GDP, as a full-batch Gaussian mechanism is",)
_LARGEST_MU = 30.0
_BOUND_STEPS = 40
SELECTION_STEPS = 10


def gaussian_rejected(*, num_coins: int, num_guesses: int, num_correct: int, mu: float, significance: float) -> bool:
    """Whether so many right guesses are too many for a mu-GDP mechanism."""
    # The recursion of arXiv:2410.22235 with the trade-off function of a Gaussian
    right = significance * num_correct / num_coins
    wrong = significance * (num_guesses - num_correct) / num_coins
    limit = num_guesses / num_coins
    for index in range(num_correct - 1, -1, -1):
        if right + wrong > limit:
            return True
        grown = float(special.ndtr(special.ndtri(right) - mu))
        if grown <= wrong:
            return False
        right = min(1.0, right + index / (num_guesses - index) * (grown - wrong))
        wrong = grown
    return right + wrong > limit


def largest_rejected_mu(
    *, num_coins: int, num_guesses: int, num_correct: int, significance: float, num_steps: int = _BOUND_STEPS
) -> float:
    """The largest mu that so many right guesses reject; 0 where they reject none."""
    low, high = 0.0, _LARGEST_MU
    for _ in range(num_steps):
        middle = (low + high) / 2.0
        rejected = gaussian_rejected(
            num_coins=num_coins,
            num_guesses=num_guesses,
            num_correct=num_correct,
            mu=middle,
            significance=significance,
        )
        low, high = (middle, high) if rejected else (low, middle)
    return low


def bound_epsilon_one_run_fdp(
    evidence: RecordEvidence,
    *,
    delta: float,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> EpsilonBound:
    """Lower bound from scored membership coins for a mechanism granted to be Gaussian."""
    require_positive_delta(delta, estimator=NAME)

    def mus(guesses: GuessCounts, significance: float, num_steps: int) -> Floats:
        return np.array(
            [
                largest_rejected_mu(
                    num_coins=guesses.num_coins,
                    num_guesses=total,
                    num_correct=correct,
                    significance=significance,
                    num_steps=num_steps,
                )
                for total, correct in zip(guesses.num_guesses.tolist(), guesses.num_correct.tolist(), strict=True)
            ]
        )

    return bound_from_records(
        evidence,
        lambda guesses, significance: gaussian_epsilon(mus(guesses, significance, _BOUND_STEPS), delta),
        objective=lambda guesses, significance: mus(guesses, significance, SELECTION_STEPS),
        estimator=NAME,
        assumptions=ASSUMPTIONS,
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
    )
