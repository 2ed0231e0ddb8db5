"""Operating characteristic of scores on test runs, with bootstrap intervals over *runs*.

Records scored against one condensation share its randomness, so the run is what is resampled; the pool stays as it
is. Point estimates are exact. Replicates work on counts per run in fine bins of the score: 512 bins of equal
non-member mass, the uppermost 1% divided again 256-fold, so that a replicate is one matrix product. Intervals are
widened for few runs, where percentiles alone cover less than they say (tests/unit/test_roc.py).

Runs of one public draw share networks and starting noise: the intervals are those *given* that draw, and the record
says so. Those over several draws are in audit/statistics/clustered.py.

A single run leaves nothing but its records to resample. Its intervals do so, as if their scores were independent, and
say "record": they tell how far the figures hang on single records, not what another run would show.

Where all runs agree, at a true-positive rate of 0 for example, resampling them gives a point. The interval is then the
exact one of a binomial share (Clopper and Pearson 1934) over the members that were scored, as if these were
independent. Records of one run are not, so the true uncertainty may be larger; `Roc.over_records` names such figures.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.integrate import trapezoid
from scipy.stats import norm as normal
from scipy.stats import rankdata
from scipy.stats import t as student

from condensers.randomness import stream
from reports.records.intervals import GIVEN_PUBLIC_DRAW, RECORDS
from reports.records.schema import EpsilonBound, Roc

FALSE_POSITIVE_RATES = (0.001, 0.01)
AUC, BALANCED_ACCURACY = "AUC", "balanced accuracy"
NUM_REPLICATES = 1000
CURVE_GRID = np.concatenate([[0.0], np.logspace(-4, 0, 161)])


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Cumulative rates from the highest score down, ties as one step; both start at 0 and end at 1."""

    false_positive: np.ndarray
    true_positive: np.ndarray


def measure_roc(
    members: np.ndarray, scores: np.ndarray, *, confidence: float, seed: int, unit: str = GIVEN_PUBLIC_DRAW
) -> Roc:
    """ROC of `scores` `[runs, records]` (higher = member) against `members`, with intervals over runs.

    `unit` says what they are: runs that share their public randomness vary less than another audit would.
    """
    scores = with_finite_ends(scores)
    exact = exact_curve(members.ravel(), scores.ravel())
    binned = binned_counts(members, scores)
    negatives, positives = _resample(np.stack(binned, 1), stream(seed, "bootstrap"))
    replicates = curves(negatives, positives)

    num_positive = int(members.sum())

    def interval(values: np.ndarray, point: float) -> tuple[float, float]:
        low, high = _widened(np.quantile(values, [tail, 1 - tail]), point, len(members), confidence)
        # Of few runs the binned replicates can all lie on one side of the exact estimate.
        return min(float(low), point), max(float(high), point)

    tail = (1 - confidence) / 2
    accuracy, accuracy_interval, num_tested = _balanced_accuracy(members, scores, confidence=confidence, seed=seed)
    at = {f"{rate:g}": np.array([tpr_at(curve, rate) for curve in replicates]) for rate in FALSE_POSITIVE_RATES}
    band = np.array([np.interp(CURVE_GRID, c.false_positive, c.true_positive) for c in replicates])
    shown = np.interp(CURVE_GRID, exact.false_positive, exact.true_positive)
    low, high = _widened(np.quantile(band, [tail, 1 - tail], axis=0), shown, len(members), confidence)
    rates = {name: tpr_at(exact, float(name)) for name in at}
    resampled = {
        AUC: Resampled(
            point=area(exact), interval=interval(np.array([area(curve) for curve in replicates]), area(exact))
        ),
        **{name: Resampled(point=rates[name], interval=interval(values, rates[name])) for name, values in at.items()},
        BALANCED_ACCURACY: Resampled(point=accuracy, interval=accuracy_interval, num_trials=num_tested),
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
        curve=drawn_curve(shown, np.minimum(low, shown), np.maximum(high, shown)),
        interval_unit=unit if len(members) > 1 else RECORDS,
        over_records=over_records,
    )


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """A figure and its interval by resampling; `num_trials` is how many members are behind it, where not all are."""

    point: float
    interval: tuple[float, float]
    num_trials: int | None = None


def open_points(
    figures: dict[str, Resampled], num_positive: int, confidence: float
) -> tuple[dict[str, tuple[float, float]], tuple[str, ...]]:
    """The intervals, exact over records where resampling left a point; and the names of those."""
    intervals = {
        name: opened(figure.interval, figure.point, figure.num_trials or num_positive, confidence)
        for name, figure in figures.items()
    }
    return intervals, tuple(name for name, figure in figures.items() if figure.interval[0] == figure.interval[1])


def drawn_curve(shown: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> dict[str, list[float]]:
    """True-positive rates on `CURVE_GRID` and their band, as a report keeps them."""
    curves = {"true_positive_rate": shown, "lower": lower, "upper": upper}
    return {"false_positive_rate": CURVE_GRID.tolist(), **{name: values.tolist() for name, values in curves.items()}}


def _resample(counts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Totals `[kinds, replicates, cells]` of counts `[runs, kinds, cells]`: runs drawn anew, or one run's records."""
    num_runs, kinds, cells = counts.shape
    if num_runs == 1:
        total = counts.sum()
        drawn = generator.multinomial(total, counts.ravel() / total, size=NUM_REPLICATES)
        return drawn.reshape(NUM_REPLICATES, kinds, cells).transpose(1, 0, 2).astype(np.float64)
    weights = generator.multinomial(num_runs, np.full(num_runs, 1 / num_runs), size=NUM_REPLICATES)
    return np.stack([weights @ counts[:, kind] for kind in range(kinds)]).astype(np.float64)


def paper_style_ratio(roc: Roc) -> EpsilonBound | None:
    """ln(TPR/FPR) at the smallest tabled FPR, as Dong et al. estimate ε (§4.3): no confidence, no bound."""
    rate = min(FALSE_POSITIVE_RATES)
    true_positive = roc.tpr_at_fpr[f"{rate:g}"]
    if true_positive == 0:
        return None
    return EpsilonBound(
        lower=float(np.log(true_positive / rate)),
        delta=0.0,
        confidence=0.0,
        estimator="paper-style",
        unit="record",
        num_trials=0,
        ceiling=float(np.log(1 / rate)),
        assumptions=("none: a ratio of two estimates, without confidence",),
        kind="no bound",
    )


def record_auc(members: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """AUC of each record over the runs, ties counting half, NaN where it was in all of them or in none."""
    ranks = rankdata(scores, axis=0)
    num_in = members.sum(0).astype(np.float64)
    num_out = len(members) - num_in
    with np.errstate(invalid="ignore", divide="ignore"):
        return ((ranks * members).sum(0) - num_in * (num_in + 1) / 2) / (num_in * num_out)


def with_finite_ends(scores: np.ndarray) -> np.ndarray:
    """Scores of the same ranks and ties: infinite ones, which are legal extremes, lie beyond all others instead."""
    finite = scores[np.isfinite(scores)].astype(np.float64)
    if finite.size == scores.size:
        return scores
    least, most = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    return np.clip(scores.astype(np.float64), least - (1 + most - least), most + (1 + most - least))


def exact_curve(members: np.ndarray, scores: np.ndarray) -> Curve:
    order = np.argsort(-scores, kind="stable")
    last_of_ties = np.append(np.diff(scores[order]) != 0, True)
    true_positive = np.cumsum(members[order])[last_of_ties]
    false_positive = np.cumsum(~members[order])[last_of_ties]
    return Curve(
        false_positive=np.append(0.0, false_positive / max(false_positive[-1], 1)),
        true_positive=np.append(0.0, true_positive / max(true_positive[-1], 1)),
    )


def binned_counts(members: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Non-members and members per run and bin, highest scores first."""
    outside = scores[~members] if (~members).any() else scores.ravel()
    levels = np.unique(np.concatenate([np.linspace(0, 1, 513)[1:-1], 0.99 + 0.01 * np.arange(256) / 256]))
    # What lies above all non-members has a bin of its own: a certain guess is not pooled with the nearest error.
    edges = np.unique(np.append(np.quantile(outside, levels), np.nextafter(outside.max(), np.inf)))
    bins = len(edges) - np.searchsorted(edges, scores, side="right")
    flat = bins + (len(edges) + 1) * np.arange(len(scores))[:, None]
    shape, total = (len(scores), len(edges) + 1), len(scores) * (len(edges) + 1)
    inside = np.bincount(flat[members], minlength=total).reshape(shape)
    every = np.bincount(flat.ravel(), minlength=total).reshape(shape)
    return every - inside, inside


def curves(negatives: np.ndarray, positives: np.ndarray) -> list[Curve]:
    return [
        Curve(
            false_positive=np.append(0.0, np.cumsum(n) / max(n.sum(), 1)),
            true_positive=np.append(0.0, np.cumsum(p) / max(p.sum(), 1)),
        )
        for n, p in zip(negatives, positives, strict=True)
    ]


def area(curve: Curve) -> float:
    return float(trapezoid(curve.true_positive, curve.false_positive))


def tpr_at(curve: Curve, rate: float) -> float:
    """TPR of the largest rejection region whose FPR does not exceed `rate`."""
    return float(curve.true_positive[np.searchsorted(curve.false_positive, rate, side="right") - 1])


def _balanced_accuracy(
    members: np.ndarray, scores: np.ndarray, *, confidence: float, seed: int
) -> tuple[float, tuple[float, float], int]:
    """Accuracy on the second half of the runs of the threshold that is best on the first half; interval over runs.

    A single run is halved by records (every other one). The last number is that of the members tested.
    """
    half = len(scores) // 2
    if half:
        choosing, testing = (members[:half], scores[:half]), (members[half:], scores[half:])
    else:
        choosing, testing = (members[:, ::2], scores[:, ::2]), (members[:, 1::2], scores[:, 1::2])
    curve = exact_curve(choosing[0].ravel(), choosing[1].ravel())
    best = int(np.argmax(curve.true_positive - curve.false_positive))
    distinct = np.unique(choosing[1])[::-1]
    threshold = distinct[best - 1] if best else np.inf
    positive = testing[1] >= threshold
    cells = [positive & testing[0], ~positive & testing[0], ~positive & ~testing[0], positive & ~testing[0]]
    counts = np.stack([cell.sum(1) for cell in cells], 1)

    def accuracy(totals: np.ndarray) -> np.ndarray:
        hit, missed, rejected, raised = np.moveaxis(totals, -1, 0)
        return (hit / np.maximum(hit + missed, 1) + rejected / np.maximum(rejected + raised, 1)) / 2

    tail = (1 - confidence) / 2
    point = float(accuracy(counts.sum(0)))
    drawn = accuracy(_resample(counts[:, None], stream(seed, "bootstrap of accuracy"))[0])
    low, high = _widened(np.quantile(drawn, [tail, 1 - tail]), point, len(counts), confidence)
    return point, (float(low), float(high)), int(testing[0].sum())


def opened(interval: tuple[float, float], share: float, num_trials: int, confidence: float) -> tuple[float, float]:
    """The interval, or where nothing varied, so that it is a point, the exact one of a binomial share.

    A true-positive rate of 0 in every run does not say that the rate is 0: of n independent trials without a success
    the upper end at 95% is about 3.7/n (two-sided; the one-sided one is the rule of three, 3/n).
    """
    if interval[1] > interval[0]:
        return interval
    successes, tail = share * num_trials, (1 - confidence) / 2
    failures = num_trials - successes
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(special.betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0
    return min(low, share), max(high, share)


def _widened(ends: np.ndarray, point: np.ndarray | float, num_runs: int, confidence: float) -> np.ndarray:
    """Bootstrap ends, moved from the point by what few runs hide: √(V/(V − 1)) of the deviation, Student for normal.

    Of one run the records were resampled, of which there are enough: its ends stay where they are.
    """
    if num_runs < 2:
        return ends
    quantile = (1 + confidence) / 2
    factor = np.sqrt(num_runs / (num_runs - 1)) * student.ppf(quantile, num_runs - 1) / normal.ppf(quantile)
    return np.clip(point + (ends - point) * factor, 0.0, 1.0)
