"""Operating characteristic of one score per independent run, with exact limits.

Unit: runs, of which those with the canary are members. The curve is made of rules that ranks alone decide, "above the
(k+1)-th largest score without the canary": its false-positive rate is Beta(k+1, n−k) distributed or smaller, and given
the threshold the true positives are binomial (`estimators.trials`). At a false-positive rate α the true-positive
rate is at least the lower limit of the largest rule whose rate is at most α, and at most the upper limit of the
smallest whose rate is at least α. Each of the four limits has a quarter of the error, so the interval holds with the
stated confidence at one α decided upon beforehand, whatever the mechanism. Area: the variance of DeLong et al. 1988, in
log odds, for many runs.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from audit.statistics.estimators.evidence import RunEvidence
from audit.statistics.roc import CURVE_GRID, FALSE_POSITIVE_RATES, drawn_curve, opened
from reports.records.intervals import GIVEN_PUBLIC_DRAW
from reports.records.schema import Roc

Floats = NDArray[np.float64]


def measure_run_roc(evidence: RunEvidence, *, confidence: float) -> Roc:
    """Of all runs of one score; higher scores say that the canary was in. The runs share their public randomness."""
    members, others = np.sort(evidence.member_scores), np.sort(evidence.non_member_scores)
    quarter = (1 - confidence) / 4
    lower, upper = _band(members, others, CURVE_GRID, quarter)
    shown = _true_positive_rates(members, others, CURVE_GRID)
    auc, interval = _area(members, others, confidence)
    accuracy, accuracy_interval = _balanced_accuracy(evidence, quarter)
    places = {f"{rate:g}": int(np.argmin(np.abs(CURVE_GRID - rate))) for rate in FALSE_POSITIVE_RATES}
    return Roc(
        auc=auc,
        auc_interval=interval,
        tpr_at_fpr={name: float(shown[place]) for name, place in places.items()},
        tpr_at_fpr_interval={name: (float(lower[place]), float(upper[place])) for name, place in places.items()},
        balanced_accuracy=accuracy,
        balanced_accuracy_interval=accuracy_interval,
        interval_confidence=confidence,
        curve=drawn_curve(shown, lower, upper),
        interval_unit=GIVEN_PUBLIC_DRAW,
    )


def _true_positive_rates(members: Floats, others: Floats, rates: Floats) -> Floats:
    """Of the largest rule whose measured false-positive rate does not exceed each rate; all of it at 1."""
    allowed = np.minimum((rates * others.size + 1e-9).astype(np.int64), others.size)
    thresholds = np.append(others[::-1], -np.inf)[allowed]
    above = members.size - np.searchsorted(members, thresholds, side="right")
    return np.where(allowed == others.size, 1.0, above / members.size)


def _band(members: Floats, others: Floats, rates: Floats, significance: float) -> tuple[Floats, Floats]:
    """Limits of the true-positive rate at each false-positive rate."""
    num = others.size
    ranks = np.arange(num)
    # Rule k: above the (k+1)-th largest or, for the upper limit, at it; so ties move both limits outwards.
    above, at_or_above = (members.size - np.searchsorted(members, others[::-1], side=s) for s in ("right", "left"))
    largest = special.betainccinv(ranks + 1.0, num - ranks, significance)
    smallest = special.betaincinv(ranks + 1.0, num - ranks, significance)
    last = np.searchsorted(largest, rates, side="right") - 1
    first = np.searchsorted(smallest, rates, side="left")
    lower = np.where(last < 0, 0.0, _lower_limits(above, members.size, significance)[np.maximum(last, 0)])
    upper = np.append(1 - _lower_limits(members.size - at_or_above, members.size, significance), 1.0)[first]
    return np.where(rates >= 1, 1.0, lower), np.where(rates >= 1, 1.0, upper)


def _lower_limits(counts: NDArray[np.int64], total: int, significance: float) -> Floats:
    """Clopper-Pearson lower limits of a binomial proportion, one-sided."""
    positive = np.maximum(counts, 1)
    return np.where(counts > 0, special.betaincinv(positive, total - positive + 1.0, significance), 0.0)


def _area(members: Floats, others: Floats, confidence: float) -> tuple[float, tuple[float, float]]:
    """Probability that a run with the canary outranks one without, ties counted half."""

    def placements(of: Floats, among: Floats) -> Floats:
        below, up_to = (np.searchsorted(among, of, side=side) for side in ("left", "right"))
        return (below + up_to) / (2 * among.size)

    inside, outside = placements(members, others), 1 - placements(others, members)
    area = float(inside.mean())
    variance = inside.var(ddof=1) / members.size + outside.var(ddof=1) / others.size
    if not variance:
        # Every run outranks every other, or none does: exact, by pairs of runs that have no run in common.
        return area, opened((area, area), area, min(members.size, others.size), confidence)
    # In log odds the error is nearly normal up to an area of 1, which an interval of the area itself is not.
    reach = stats.norm.ppf(0.5 + confidence / 2) * np.sqrt(variance) / (area * (1 - area))
    low, high = special.expit(special.logit(area) + np.array([-reach, reach])).tolist()
    return area, (low, high)


def _balanced_accuracy(evidence: RunEvidence, significance: float) -> tuple[float, tuple[float, float]]:
    """Of the threshold that is best on the first half of the runs, on the second half."""
    (first, members), (early, others) = (
        (scores[: scores.size // 2], scores[scores.size // 2 :])
        for scores in (evidence.member_scores, evidence.non_member_scores)
    )
    candidates = np.unique(np.concatenate([first, early]))
    hits = first.size - np.searchsorted(np.sort(first), candidates, side="left")
    alarms = early.size - np.searchsorted(np.sort(early), candidates, side="left")
    threshold = candidates[int(np.argmax(hits / first.size - alarms / early.size))]
    true = [(int((members >= threshold).sum()), members.size), (int((others < threshold).sum()), others.size)]
    low = sum(float(_lower_limits(np.array(count), total, significance)) for count, total in true) / 2
    high = 1 - sum(float(_lower_limits(np.array(total - count), total, significance)) for count, total in true) / 2
    return sum(count / total for count, total in true) / 2, (low, high)
