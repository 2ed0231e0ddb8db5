"""Epsilon from many membership coins against the whole Gaussian trade-off curve: Mahloujifar, Melis, Chaudhuri,
"Auditing f-Differential Privacy in One Run", 2024, arXiv:2410.22235.

Assumption: as one_run.py, and the mechanism is Gaussian (mu-GDP), which the claim must grant: an epsilon names the
one Gaussian curve that has it at delta. Guarantee: under both, the reported epsilon exceeds the true one with
probability at most 1 - confidence; the argument is in recursion.py. Unit: records (coins).

The records of a single run are not split: numbers of guesses chosen on some of its coins depend on its output, and
that this costs no more than half of the significance is proved for one-run and one-run-dp only (single_run.py).
"""

import numpy as np
from scipy import special

from audit.statistics.estimators.evidence import Floats, RecordEvidence
from audit.statistics.estimators.gaussian import gaussian_epsilon, require_positive_delta
from audit.statistics.estimators.guesses import GuessCounts, bound_from_records
from audit.statistics.estimators.recursion import LeastWrong, too_many_right
from audit.statistics.estimators.single_run import refuse_split_of_one_run
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from reports.records.schema import EpsilonBound

NAME = "one-run-fdp"
ASSUMPTIONS = ("the mechanism is mu-GDP, as a full-batch Gaussian mechanism is",)
_LARGEST_MU = 30.0
_BOUND_STEPS = 40
SELECTION_STEPS = 10


def least_wrong_of_gaussian(mu: float) -> LeastWrong:
    """For the trade-off function of a Gaussian: f(1 - R) = Phi(Phi^-1(R) - mu)."""
    return lambda right: float(special.ndtr(special.ndtri(min(right, 1.0)) - mu))


def largest_rejected_mu(
    *, num_coins: int, num_guesses: int, num_correct: int, significance: float, num_steps: int = _BOUND_STEPS
) -> float:
    """The largest mu that so many right guesses reject; 0 where they reject none."""
    low, high = 0.0, _LARGEST_MU
    for _ in range(num_steps):
        middle = (low + high) / 2.0
        rejected = too_many_right(
            least_wrong_of_gaussian(middle),
            num_coins=num_coins,
            num_guesses=num_guesses,
            num_correct=num_correct,
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
    refuse_split_of_one_run(evidence, choice, estimator=NAME)

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
