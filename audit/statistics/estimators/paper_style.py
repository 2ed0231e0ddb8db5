"""The ratio that papers print, epsilon = ln(TPR/FPR): Dong, Zhao, Lyu, "Privacy for Free", ICML 2022.

No confidence interval, hence no bound, and labelled so: at few false positives it is mostly noise, at none it is
infinite. It serves to stand beside published figures. Unit: runs; confidence and number of tries play no part.
"""

import numpy as np

from audit.statistics.estimators.evidence import Floats, RunCounts, RunEvidence
from audit.statistics.estimators.thresholds import DEFAULT_CHOICE, ThresholdChoice
from audit.statistics.estimators.trials import ErrorCounts, bound_from_runs, confidence_rectangle
from reports.records.schema import EpsilonBound

NAME = "paper-style"
ASSUMPTIONS = ("none: a point estimate without a confidence interval, not a bound",)


def log_ratios(errors: ErrorCounts) -> Floats:
    """ln(TPR/FPR), at least 0; infinite where there is a true positive and no false one."""
    true_positive_rate = 1.0 - errors.false_negatives / errors.num_members
    false_positive_rate = errors.false_positives / errors.num_non_members
    ratio = np.divide(
        true_positive_rate,
        false_positive_rate,
        out=np.where(true_positive_rate > 0.0, np.inf, 1.0),
        where=false_positive_rate > 0.0,
    )
    return np.log(np.maximum(ratio, 1.0))


def _cautious_ratios(errors: ErrorCounts, significance: float) -> Floats:
    """The ratio at the confidence limits of both rates: chooses a rule on the first part without chasing 0 errors."""
    false_negative_upper, false_positive_upper = confidence_rectangle(errors, significance)
    return (1.0 - false_negative_upper) / false_positive_upper


def estimate_epsilon_paper_style(
    evidence: RunEvidence | RunCounts,
    *,
    delta: float,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> EpsilonBound:
    """ln(TPR/FPR) as papers print it; `kind` is "no bound"."""
    return bound_from_runs(
        evidence,
        lambda errors, _significance: log_ratios(errors),
        objective=_cautious_ratios,
        estimator=NAME,
        assumptions=ASSUMPTIONS,
        delta=delta,
        confidence=confidence,
        choice=choice,
        num_tries=num_tries,
        kind="no bound",
    )
