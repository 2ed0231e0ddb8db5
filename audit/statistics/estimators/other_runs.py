"""Numbers of guesses chosen on runs that are not tested, for the number of coins that will be.

The tested coins need not be as many as those chosen on, and the best numbers depend on how many there are: with more
coins, fewer and surer guesses pay. So each pair of fractions is valued by what it would certify of the tested coins if
its guesses were right there as often as here: the mean over three quantiles of the number of right guesses, in the
normal approximation. Nothing but power depends on it.
"""

import numpy as np
from scipy import special

from audit.statistics.estimators.evidence import Bools, Floats
from audit.statistics.estimators.guesses import GUESS_PAIRS, GuessCounts, Ints, Objective, best_pair, rank_coins
from audit.statistics.estimators.thresholds import FromOtherRuns

_QUANTILES = special.ndtri(np.array([1 / 6, 1 / 2, 5 / 6]))  # the middles of three equally likely parts


def choose_on_other_runs(
    members: Bools, scores: Floats, objective: Objective, *, num_tested: int, source: str
) -> FromOtherRuns:
    """Fractions for `num_tested` coins from other coins `[coins]` with known members."""
    positive, negative = fractions_on_other_runs(members, scores, objective, num_tested=num_tested).tolist()
    return FromOtherRuns(positive_fraction=positive, negative_fraction=negative, source=source)


def count_correct(members: Bools, scores: Floats, num_positives: Ints, num_negatives: Ints) -> Ints:
    """What `rank_coins(members, scores).guess(…)` counts for coins `[coins]`, without the order of all of them.

    There may be 10⁸ coins. Where a cut goes through a tie, the wrong guesses of the tie are made first.
    """
    total = len(scores)
    cuts = np.unique(np.concatenate([total - num_positives, num_negatives - 1]).clip(0, total - 1))
    at = dict(zip(cuts.tolist(), np.partition(scores, cuts)[cuts], strict=True))
    inside, outside = np.sort(scores[members]), np.sort(scores[~members])

    def right(number: int, *, highest: bool) -> int:
        if not number:
            return 0
        level = at[total - number if highest else number - 1]
        (low_in, high_in), (low_out, high_out) = _place(inside, level), _place(outside, level)
        if highest:
            beyond, others = len(inside) - high_in, len(outside) - high_out
            return int(beyond + max(0, number - beyond - others - (high_out - low_out)))
        return int(low_out + max(0, number - low_in - low_out - (high_in - low_in)))

    positive = {number: right(number, highest=True) for number in set(num_positives.tolist())}
    negative = {number: right(number, highest=False) for number in set(num_negatives.tolist())}
    pairs = zip(num_positives.tolist(), num_negatives.tolist(), strict=True)
    return np.array([positive[first] + negative[second] for first, second in pairs], dtype=np.int64)


def _place(ordered: Floats, level: float) -> tuple[int, int]:
    """Where scores of this level begin and end."""
    return int(np.searchsorted(ordered, level, "left")), int(np.searchsorted(ordered, level, "right"))


def fractions_on_other_runs(members: Bools, scores: Floats, objective: Objective, *, num_tested: int) -> Floats:
    """The same for many experiments at once: `[..., coins]` to fractions `[..., 2]`."""
    made = (GUESS_PAIRS * scores.shape[-1]).astype(np.int64)
    if scores.ndim == 1:
        num_correct = count_correct(members, scores, made[:, 0], made[:, 1])
    else:
        num_correct = rank_coins(members, scores).guess(made[:, 0], made[:, 1]).num_correct
    # Half a right and half a wrong guess are added: a pair with few guesses here is no certainty there.
    rates = (num_correct + 0.5) / (made.sum(axis=1) + 1.0)
    numbers = (GUESS_PAIRS * num_tested).astype(np.int64)
    totals = numbers.sum(axis=1)
    mean, deviation = totals * rates, np.sqrt(totals * rates * (1.0 - rates))
    right = np.concatenate(
        [np.clip(np.rint(mean + quantile * deviation), 0, totals) for quantile in _QUANTILES], axis=-1
    ).astype(np.int64)
    positives, negatives = np.tile(numbers.T, len(_QUANTILES))
    values = objective(
        GuessCounts(
            num_coins=num_tested,
            num_positives=np.broadcast_to(positives, right.shape),
            num_negatives=np.broadcast_to(negatives, right.shape),
            num_correct=right,
            thresholds=np.full(right.shape, np.nan),
        )
    )
    return best_pair(values.reshape(*right.shape[:-1], len(_QUANTILES), -1).mean(axis=-2))
