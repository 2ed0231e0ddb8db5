"""What the guarantee allows an attack to reach, and where a measured curve lies outside of it."""

import numpy as np
from numpy.typing import NDArray

from reports.records.kinds import HasCurve
from reports.records.schema import Tradeoff, claimed_epsilon
from reports.records.scores import Floats

FEWEST = 10
_ROUNDING = 1e-9


def allowed_true_positive_rate(false_positive_rate: Floats, *, epsilon: float, delta: float) -> Floats:
    """The highest true positive rate that (ε, δ)-DP lets any attack have.

    Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy", 2015, Theorem 2.1, for both orders of
    the neighbouring pair.
    """
    forward = delta + np.exp(epsilon) * false_positive_rate
    backward = 1 - np.exp(-epsilon) * (1 - delta - false_positive_rate)
    return np.clip(np.minimum(forward, backward), 0, 1)


def allowed_region(report: HasCurve) -> Tradeoff | None:
    """The record's trade-off curve; in a record without one, the two lines of the claimed (ε, δ)."""
    epsilon = claimed_epsilon(report.claimed)
    if report.tradeoff is not None or report.claimed is None or epsilon is None:
        return report.tradeoff
    rates = np.asarray(report.roc.curve["false_positive_rate"], dtype=np.float64)
    allowed = allowed_true_positive_rate(rates, epsilon=epsilon, delta=report.claimed.delta)
    return Tradeoff(
        false_positive_rate=tuple(rates.tolist()),
        true_positive_rate=tuple(allowed.tolist()),
        source="the claimed (ε, δ) alone",
    )


def allowed_at(region: Tradeoff, false_positive_rate: Floats) -> Floats:
    """The highest true positive rate allowed, on chords between the rates of the record."""
    return np.interp(false_positive_rate, region.false_positive_rate, region.true_positive_rate)


def lies_outside(report: HasCurve, region: Tradeoff, num_nonmembers: int) -> NDArray[np.bool_]:
    """At which rates of the curve the whole interval of the true positive rate is more than the guarantee allows.

    Only where at least `FEWEST` false positives are behind a rate: with fewer the rate itself is hardly known, and at
    none it is not 0 but below what so many non-members can show.
    """
    rates = np.asarray(report.roc.curve["false_positive_rate"], dtype=np.float64)
    lower = np.asarray(report.roc.curve["lower"], dtype=np.float64)
    return (rates >= FEWEST / num_nonmembers) & (lower > allowed_at(region, rates) + _ROUNDING)
