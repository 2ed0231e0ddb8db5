"""A credible interval for epsilon: Zanella-Beguelin et al., "Bayesian Estimation of Differential Privacy", ICML 2023,
arXiv:2206.05199.

Assumption: independent runs, one canary each, the rule fixed before the tested runs, and independent Jeffreys priors
Beta(1/2, 1/2) on both error rates. What is reported is *credible*: a posterior probability under that prior, not a
frequency of being wrong. Each of `lower` and `upper` holds with the stated posterior probability, so both together
hold with 1 - 2 * (1 - confidence). It refutes nothing on its own. Unit: runs.

Differs from the reference code: one integral over the posterior of the FNR instead of a double quadrature.
"""

from dataclasses import replace

import numpy as np
from scipy import special

from audit.statistics.estimators.clopper_pearson import clopper_pearson_epsilons
from audit.statistics.estimators.evidence import Floats, RunCounts, RunEvidence
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from audit.statistics.estimators.trials import ErrorCounts, bound_from_runs
from reports.records.schema import EpsilonBound

NAME = "bayesian"
ASSUMPTIONS = ("Jeffreys priors on both error rates; a credible interval, not a confidence bound",)
_LARGEST_EPSILON = 100.0


def credible_epsilon(
    *,
    false_negatives: int,
    num_members: int,
    false_positives: int,
    num_non_members: int,
    delta: float,
    level: float,
    num_nodes: int = 4000,
    num_steps: int = 50,
) -> float:
    """The `level` quantile of the posterior of epsilon."""
    probabilities = (np.arange(num_nodes) + 0.5) / num_nodes
    fnr = special.betaincinv(0.5 + false_negatives, 0.5 + num_members - false_negatives, probabilities)
    low, high = 0.0, _LARGEST_EPSILON
    for _ in range(num_steps):
        middle = (low + high) / 2.0
        growth = np.exp(middle)
        # The region of (epsilon, delta)-DP, arXiv:1311.0776, cut at a given FNR
        smallest = np.maximum(1.0 - delta - growth * fnr, (1.0 - delta - fnr) / growth)
        largest = np.minimum(growth + delta - growth * fnr, (growth + delta - fnr) / growth)
        first, second = 0.5 + false_positives, 0.5 + num_non_members - false_positives
        inside = special.betainc(first, second, np.clip(largest, 0.0, 1.0)) - special.betainc(
            first, second, np.clip(smallest, 0.0, 1.0)
        )
        if np.mean(np.maximum(inside, 0.0)) < level:
            low = middle
        else:
            high = middle
    return low


def bound_epsilon_bayesian(
    evidence: RunEvidence | RunCounts,
    *,
    delta: float,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> EpsilonBound:
    """Credible lower and upper limits of epsilon."""

    def limits(errors: ErrorCounts, level: float) -> Floats:
        return np.array(
            [
                credible_epsilon(
                    false_negatives=missed,
                    num_members=errors.num_members,
                    false_positives=wrong,
                    num_non_members=errors.num_non_members,
                    delta=delta,
                    level=level,
                )
                for missed, wrong in zip(errors.false_negatives.tolist(), errors.false_positives.tolist(), strict=True)
            ]
        )

    bound = bound_from_runs(
        evidence,
        limits,
        objective=lambda errors, significance: clopper_pearson_epsilons(errors, delta=delta, significance=significance),
        estimator=NAME,
        assumptions=ASSUMPTIONS,
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
        kind="credible",
    )
    counts = bound.counts
    upper = credible_epsilon(
        false_negatives=counts["false_negatives"],
        num_members=counts["false_negatives"] + counts["true_positives"],
        false_positives=counts["false_positives"],
        num_non_members=counts["false_positives"] + counts["true_negatives"],
        delta=delta,
        level=1.0 - (1.0 - confidence) / num_tries,
    )
    return replace(bound, upper=upper)
