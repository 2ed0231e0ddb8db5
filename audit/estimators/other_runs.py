"""Numbers of guesses chosen on runs that are not tested, for the number of coins that will be.

The tested coins need not be as many as those chosen on, and the best numbers depend on how many there are: with more
coins, fewer and surer guesses pay. So each pair of fractions is valued by what it would certify of the tested coins if
its guesses were right there as often as here: the mean over quantiles of the number of right guesses.
"""

import numpy as np
from scipy import stats

from audit.estimators.evidence import Bools, Floats
from audit.estimators.guesses import GUESS_PAIRS, GuessCounts, Objective, best_pair, rank_coins
from audit.estimators.thresholds import Chosen

_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)


def choose_on_other_runs(
    members: Bools, scores: Floats, objective: Objective, *, num_tested: int, source: str
) -> Chosen:
    """Fractions for `num_tested` coins from other coins with known members; both arrays flat."""
    coins = rank_coins(members, scores)
    made = (GUESS_PAIRS * coins.num_coins).astype(np.int64)
    seen = coins.guess(made[:, 0], made[:, 1])
    # Half a right guess added to each side: a pair with few guesses here is no certainty there.
    rates = (seen.num_correct + 0.5) / (seen.num_guesses + 1.0)
    numbers = (GUESS_PAIRS * num_tested).astype(np.int64)
    totals = numbers.sum(axis=1)
    expected = np.stack([stats.binom.ppf(quantile, totals, rates) for quantile in _QUANTILES], axis=-1)
    shape = expected.shape
    values = objective(
        GuessCounts(
            num_coins=num_tested,
            num_positives=np.broadcast_to(numbers[:, :1], shape).ravel(),
            num_negatives=np.broadcast_to(numbers[:, 1:], shape).ravel(),
            num_correct=np.maximum(expected, 0.0).astype(np.int64).ravel(),
            thresholds=np.full(expected.size, np.nan),
        )
    )
    positive, negative = best_pair(values.reshape(shape).mean(axis=-1)).tolist()
    return Chosen(positive_fraction=positive, negative_fraction=negative, source=source)
