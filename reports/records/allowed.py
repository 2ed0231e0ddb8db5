"""What the guarantee allows an attack to reach, and where a measured curve lies outside of it."""

import numpy as np
from numpy.typing import NDArray

from reports.records.schema import HasCurve, Tradeoff
from reports.records.scores import Floats, allowed_true_positive_rate
from reports.words.rounding import percent
from reports.words.wording import claimed_epsilon

FEWEST = 10
_ROUNDING = 1e-9


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


def explain_outside(report: HasCurve, region: Tradeoff, num_nonmembers: int) -> str:
    """What the shaded region is and whether the curve leaves it."""
    rates = np.asarray(report.roc.curve["false_positive_rate"], dtype=np.float64)
    outside = rates[lies_outside(report, region, num_nonmembers)]
    text = (
        f"Shaded: what the guarantee allows ({region.source.rstrip('.')}). If it holds, no attack's true curve "
        "leaves it. "
    )
    if outside.size:
        ends = f"{_rate(float(outside.min()))} and {_rate(float(outside.max()))}"
        text += f"Here the whole interval lies outside at some FPR between {ends}. "
    else:
        text += "Here the interval reaches into it at every FPR with ten false positives or more. "
    return text + (
        "The picture by itself refutes nothing, its intervals hold at one FPR each: the bound does, which counts the "
        "sampling error."
    )


def _rate(rate: float) -> str:
    return percent(float(f"{rate:.2g}"))
