"""Numbers of guesses chosen on runs that are not tested, for the number of coins that will be.

The tested coins need not be as many as those chosen on, and the best numbers depend on how many there are: with more
coins, fewer and surer guesses pay. So each pair of fractions is valued by what it would certify of the tested coins if
its guesses were right there as often as here: the mean over three quantiles of the number of right guesses, in the
normal approximation. Nothing but power depends on it.
"""

import numpy as np
from scipy import special

from audit.statistics.estimators.evidence import Bools, Floats
from audit.statistics.estimators.guesses import GUESS_PAIRS, GuessCounts, Objective, best_pair, rank_coins
from audit.statistics.estimators.thresholds import FromOtherRuns

_QUANTILES = special.ndtri(np.array([1 / 6, 1 / 2, 5 / 6]))  # the middles of three equally likely parts


def choose_on_other_runs(
    members: Bools, scores: Floats, objective: Objective, *, num_tested: int, source: str
) -> FromOtherRuns:
    """Fractions for `num_tested` coins from other coins `[coins]` with known members."""
    positive, negative = fractions_on_other_runs(members, scores, objective, num_tested=num_tested).tolist()
    return FromOtherRuns(positive_fraction=positive, negative_fraction=negative, source=source)


def fractions_on_other_runs(members: Bools, scores: Floats, objective: Objective, *, num_tested: int) -> Floats:
    """The same for many experiments at once: `[..., coins]` to fractions `[..., 2]`."""
    coins = rank_coins(members, scores)
    made = (GUESS_PAIRS * coins.num_coins).astype(np.int64)
    seen = coins.guess(made[:, 0], made[:, 1])
    # Half a right and half a wrong guess are added: a pair with few guesses here is no certainty there.
    rates = (seen.num_correct + 0.5) / (seen.num_guesses + 1.0)
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
