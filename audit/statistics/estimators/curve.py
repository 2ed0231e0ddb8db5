"""Test of a claim against its whole trade-off curve f: is the confidence region of (FPR, FNR) below what f allows?

An (epsilon, delta) point at delta = 1e-5 says little about events that a few thousand trials can see; the curve that
the accountant proves says much more (Nasr et al. 2023, arXiv:2302.07956; trade-off functions: arXiv:1905.02383).

Assumption: independent runs, one canary each, the rule fixed before the tested runs; of the mechanism only what the
claim itself states. Guarantee: a true claim is refuted with probability at most 1 - confidence. The region is the
rectangle below the Clopper-Pearson limits of both rates, each at half of the significance: both hold jointly with the
confidence. As f never increases, the rectangle lies strictly below f exactly if its upper corner does. Unit: runs.
"""

from typing import Protocol

import numpy as np
from scipy import special

from audit.statistics.estimators.evidence import (
    Floats,
    RunCounts,
    RunEvidence,
    check_confidence,
    check_num_tries,
    require_runs,
)
from audit.statistics.estimators.looks import agreed_look, share_significance
from audit.statistics.estimators.thresholds import (
    DEFAULT_CHOICE,
    ThresholdChoice,
    describe_choice,
)
from audit.statistics.estimators.trials import SHARED_ASSUMPTIONS, ErrorCounts, confidence_rectangle, count_errors
from reports.records.worst_case import CurveTest

NAME = "curve-test"
_SMALLEST_P_VALUE = 1e-30
_SMALLEST_RATE = 1e-12
_NUM_STEPS = 40

# A curve is tested by several scores that share the error: a rule is chosen for what about five of them leave each.
CURVE_SELECTION = 0.01


class Curve(Protocol):
    """What is claimed: the smallest false-negative rate that each false-positive rate leaves possible."""

    def false_negative_rate(self, false_positive_rate: Floats, /) -> Floats: ...


def corners_below(errors: ErrorCounts, curve: Curve, significance: float) -> Floats:
    """How far the upper corner of each look's rectangle lies below the curve; positive where it refutes."""
    false_negative_upper, false_positive_upper = confidence_rectangle(errors, significance)
    return np.asarray(curve.false_negative_rate(false_positive_upper)) - false_negative_upper


def normal_gaps(errors: ErrorCounts, curve: Curve, significance: float) -> Floats:
    """As `corners_below`, on the scale of normal quantiles: there tails count, and noise acts nearly linearly."""
    false_negative_upper, false_positive_upper = confidence_rectangle(errors, significance)
    allowed = np.maximum(curve.false_negative_rate(false_positive_upper), _SMALLEST_RATE)
    return special.ndtri(allowed) - special.ndtri(np.minimum(false_negative_upper, 1.0 - _SMALLEST_RATE))


def refute_curve(
    evidence: RunEvidence | RunCounts,
    curve: Curve,
    *,
    confidence: float,
    choice: ThresholdChoice = DEFAULT_CHOICE,
    num_tries: int = 1,
) -> CurveTest:
    """Test the claim that `curve` bounds every attack on the mechanism."""
    require_runs(evidence, estimator=NAME)
    check_confidence(confidence)
    check_num_tries(num_tries)
    significance = 1.0 - confidence
    errors = count_errors(evidence, choice, lambda looks: normal_gaps(looks, curve, CURVE_SELECTION))
    # The k-th largest of J looks at significance * k / J, divided by the tries: see thresholds.py
    share = share_significance(1.0, num_looks=errors.num_looks, num_agreeing=errors.num_agreeing) / num_tries
    gaps = corners_below(errors, curve, significance * share)
    look = int(agreed_look(gaps, num_agreeing=errors.num_agreeing))
    false_negative_upper, false_positive_upper = (
        float(limits[look]) for limits in confidence_rectangle(errors, significance * share)
    )
    false_negatives, false_positives = int(errors.false_negatives[look]), int(errors.false_positives[look])
    from_counts = isinstance(evidence, RunCounts)
    return CurveTest(
        refuted=bool(gaps[look] > 0.0),
        p_value=_p_value(errors, curve, share),
        confidence=confidence,
        false_positive_upper=false_positive_upper,
        false_negative_upper=false_negative_upper,
        allowed_false_negative_rate=false_negative_upper + float(gaps[look]),
        counts={
            "true_positives": errors.num_members - false_negatives,
            "false_negatives": false_negatives,
            "false_positives": false_positives,
            "true_negatives": errors.num_non_members - false_positives,
        },
        threshold=None if from_counts else float(errors.thresholds[look]),
        thresholds_tried=() if from_counts else tuple(errors.thresholds.tolist()),
        threshold_choice="fixed beforehand" if from_counts else describe_choice(choice),
        correction=(
            f"{errors.num_agreeing} of {errors.num_looks} rules must refute, each at {share:.4g} of the significance; "
            f"{num_tries} tries"
        ),
        num_tries=num_tries,
        assumptions=SHARED_ASSUMPTIONS,
    )


def _p_value(errors: ErrorCounts, curve: Curve, share: float) -> float:
    """The smallest significance at which enough looks refute; regions shrink as it grows, so bisection finds it."""
    low, high = np.log(_SMALLEST_P_VALUE), 0.0
    for _ in range(_NUM_STEPS):
        middle = (low + high) / 2.0
        gaps = np.sort(corners_below(errors, curve, np.exp(middle) * share))
        low, high = (low, middle) if gaps[-errors.num_agreeing] > 0.0 else (middle, high)
    return float(np.exp(high))
