"""Which coins are guessed: the highest scores as members, the lowest as non-members, the rest abstained from.

Numbers of guesses come as fractions of the coins on a grid declared here, before any score is seen. They are chosen
on one part of the coins and applied to the other (arXiv:2305.08846, section 6 fixes k+ and k- in the same way).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audit.estimators.evidence import Bools, Floats

# Fractions of the coins guessed as members, and as non-members.
GUESS_FRACTIONS = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

Ints = NDArray[np.int64]
# (num_coins, num_guesses, num_correct) -> the lower bounds those would give
Objective = Callable[[int, Ints, Ints], Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedCoins:
    """How many guesses would be right, for every number of guesses at either end of the scores.

    `correct_positives[k]` of the k highest scores are members, `correct_negatives[k]` of the k lowest are not. Ties
    are ordered with the wrong guesses first: never above the count of any way of breaking them.
    """

    correct_positives: Ints
    correct_negatives: Ints
    scores_descending: Floats

    @property
    def num_coins(self) -> int:
        return self.scores_descending.size

    def num_correct(self, num_positives: Ints | int, num_negatives: Ints | int) -> Ints:
        return self.correct_positives[num_positives] + self.correct_negatives[num_negatives]


def rank_coins(members: Bools, scores: Floats) -> RankedCoins:
    """Sort by score, members first within a tie: read from either end, the wrong guesses of a tie come first."""
    coins, flat = members.ravel(), scores.ravel()
    order = np.lexsort((~coins, flat))
    ascending = coins[order]
    return RankedCoins(
        correct_positives=_cumulate(ascending[::-1]),
        correct_negatives=_cumulate(~ascending),
        scores_descending=flat[order][::-1],
    )


def _cumulate(hits: Bools) -> Ints:
    return np.concatenate(([0], np.cumsum(hits, dtype=np.int64)))


def guess_pairs(num_coins: int, fractions: tuple[float, ...] = GUESS_FRACTIONS) -> Ints:
    """Distinct (positive, negative) numbers of guesses of the grid for so many coins, `[pairs, 2]`."""
    numbers = sorted({int(fraction * num_coins) for fraction in fractions} | {0})
    pairs = [(first, second) for first in numbers for second in numbers if 0 < first + second <= num_coins]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def choose_guess_fractions(
    coins: RankedCoins, objective: Objective, fractions: tuple[float, ...] = GUESS_FRACTIONS
) -> tuple[float, float]:
    """The fractions of the grid, for positive and for negative guesses, that give the best bound on these coins.

    Equals are decided without favouring either label, so that swapping labels and negating scores changes nothing:
    most guesses first, then the most even pair; where a pair and its mirror image remain, the larger number for both.
    """
    grid = np.array([(first, second) for first in fractions for second in fractions if 0.0 < first + second <= 1.0])
    numbers = (grid * coins.num_coins).astype(np.int64)
    total = numbers.sum(axis=1)
    bounds = objective(coins.num_coins, total, coins.num_correct(numbers[:, 0], numbers[:, 1]))
    uneven = np.abs(grid[:, 0] - grid[:, 1])
    best = np.lexsort((uneven, -grid.sum(axis=1), -bounds))[0]
    first, second = grid[best]
    mirror = np.flatnonzero((grid[:, 0] == second) & (grid[:, 1] == first))[0]
    if bounds[mirror] == bounds[best]:
        first = second = max(first, second)
    return float(first), float(second)


def split_coins(members: Bools, scores: Floats, *, seed: int = 0) -> tuple[tuple[Bools, Floats], tuple[Bools, Floats]]:
    """Two parts, the first to choose on, the second to test on.

    Several test runs: the first half of the runs. One test run: a random half of its records. That is valid too:
    given the coins of the first part, the output is still differentially private in each coin of the second.
    """
    num_runs, num_records = members.shape
    if num_runs > 1:
        middle = num_runs // 2
        return (members[:middle], scores[:middle]), (members[middle:], scores[middle:])
    order = np.random.Generator(np.random.Philox(key=seed)).permutation(num_records)
    first, second = order[: num_records // 2], order[num_records // 2 :]
    return (members[:, first], scores[:, first]), (members[:, second], scores[:, second])
