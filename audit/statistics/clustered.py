"""Intervals over public draws: what another audit, with other networks and other starting noise, would show.

Runs of one public draw are alike, so the draw is what is resampled: a figure of all runs together, computed anew with
draws drawn with replacement, and Student's interval around it with one degree of freedom fewer than there are draws.
Assumptions: draws are independent (they have keys of their own) and the figure is roughly normal over draws. This kept
its level better at low false-positive rates than percentiles of the bootstrap, a jackknife over draws, or Student's
interval of the figures of single draws (docs/estimators.md).

A mean over runs needs no bootstrap: Student's interval of the means of the draws.
"""

import numpy as np
from scipy.stats import t as student

from audit.statistics.roc import (
    AUC,
    BALANCED_ACCURACY,
    CURVE_GRID,
    FALSE_POSITIVE_RATES,
    NUM_REPLICATES,
    Resampled,
    area,
    binned_counts,
    curves,
    drawn_curve,
    exact_curve,
    open_points,
    tpr_at,
    with_finite_ends,
)
from condensers.randomness import stream
from reports.records.intervals import PUBLIC_DRAWS
from reports.records.schema import Roc


def measure_roc_over_draws(
    members: np.ndarray, scores: np.ndarray, draws: np.ndarray, *, confidence: float, seed: int
) -> Roc:
    """ROC of `scores` `[runs, records]` of all draws together; `draws` holds the public draw of each run."""
    scores = with_finite_ends(scores)
    exact = exact_curve(members.ravel(), scores.ravel())
    replicates = curves(*_resample(np.stack(binned_counts(members, scores), 1), draws, stream(seed, "bootstrap")))
    num_draws, num_positive = len(np.unique(draws)), int(members.sum())
    quantile = float(student.ppf((1 + confidence) / 2, num_draws - 1))

    def interval(values: np.ndarray, point: float) -> tuple[float, float]:
        reach = quantile * float(deviation_over_draws(values, num_draws))
        return max(0.0, point - reach), min(1.0, point + reach)

    at = {f"{rate:g}": np.array([tpr_at(curve, rate) for curve in replicates]) for rate in FALSE_POSITIVE_RATES}
    band = np.array([np.interp(CURVE_GRID, c.false_positive, c.true_positive) for c in replicates])
    shown = np.interp(CURVE_GRID, exact.false_positive, exact.true_positive)
    reach = quantile * deviation_over_draws(band, num_draws)
    accuracies = _balanced_accuracies(members, scores, draws)
    accuracy = float(accuracies.mean())
    low, high = interval_of_mean(accuracies, np.arange(num_draws), confidence)
    rates = {name: tpr_at(exact, float(name)) for name in at}
    resampled = {
        AUC: Resampled(
            point=area(exact), interval=interval(np.array([area(curve) for curve in replicates]), area(exact))
        ),
        **{name: Resampled(point=rates[name], interval=interval(values, rates[name])) for name, values in at.items()},
        BALANCED_ACCURACY: Resampled(point=accuracy, interval=(max(0.0, low), min(1.0, high))),
    }
    intervals, over_records = open_points(resampled, num_positive, confidence)
    return Roc(
        auc=area(exact),
        auc_interval=intervals[AUC],
        tpr_at_fpr=rates,
        tpr_at_fpr_interval={name: intervals[name] for name in at},
        balanced_accuracy=accuracy,
        balanced_accuracy_interval=intervals[BALANCED_ACCURACY],
        interval_confidence=confidence,
        curve=drawn_curve(shown, np.clip(shown - reach, 0.0, 1.0), np.clip(shown + reach, 0.0, 1.0)),
        interval_unit=PUBLIC_DRAWS,
        over_records=over_records,
    )


def deviation_over_draws(replicates: np.ndarray, num_draws: int) -> np.ndarray:
    """Standard error of a figure from its bootstrap over draws, widened by the √(D/(D − 1)) that resampling hides."""
    return np.sqrt(num_draws / (num_draws - 1)) * np.asarray(replicates).std(0)


def interval_of_mean(values: np.ndarray, draws: np.ndarray, confidence: float) -> tuple[float, float]:
    """Student's interval of the mean of `values`, one per run, from the means of at least two draws."""
    means = np.array([values[draws == draw].mean() for draw in np.unique(draws)], dtype=np.float64)
    reach = float(student.ppf((1 + confidence) / 2, len(means) - 1) * means.std(ddof=1) / np.sqrt(len(means)))
    return float(values.mean()) - reach, float(values.mean()) + reach


def _resample(counts: np.ndarray, draws: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Totals `[kinds, replicates, cells]` of counts `[runs, kinds, cells]`, whole draws drawn with replacement."""
    grouped = np.stack([counts[draws == draw].sum(0) for draw in np.unique(draws)])
    num_draws, kinds, _ = grouped.shape
    weights = generator.multinomial(num_draws, np.full(num_draws, 1 / num_draws), size=NUM_REPLICATES)
    return np.stack([weights @ grouped[:, kind] for kind in range(kinds)]).astype(np.float64)


def _balanced_accuracies(members: np.ndarray, scores: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Of each draw, at the threshold that is best on the test runs of all other draws."""
    found = []
    for draw in np.unique(draws):
        others, own = draws != draw, draws == draw
        curve = exact_curve(members[others].ravel(), scores[others].ravel())
        best = int(np.argmax(curve.true_positive - curve.false_positive))
        threshold = np.unique(scores[others])[::-1][best - 1] if best else np.inf
        positive = scores[own] >= threshold
        hits, alarms = positive[members[own]], positive[~members[own]]
        found.append((hits.sum() / max(hits.size, 1) + 1 - alarms.sum() / max(alarms.size, 1)) / 2)
    return np.array(found)
