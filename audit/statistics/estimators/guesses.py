"""Which coins are guessed, and the bound of any estimator that counts the right guesses.

The highest scores are called members, the lowest non-members, the rest abstained from. How many at either end is fixed
before the tested coins are seen, as fractions of the coins (k+ and k- of arXiv:2305.08846): chosen on other coins,
or on a grid declared in this file.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audit.statistics.estimators.evidence import (
    Bools,
    Floats,
    RecordEvidence,
    check_settings,
    require_records,
)
from audit.statistics.estimators.looks import Looks, bound_looks, join_looks
from audit.statistics.estimators.single_run import split_correction
from audit.statistics.estimators.thresholds import (
    SELECTION_SIGNIFICANCE,
    Fixed,
    FromOtherRuns,
    Grid,
    MedianOfSplits,
    Split,
    ThresholdChoice,
    describe_choice,
)
from condensers.errors import BadInput
from reports.records.schema import EpsilonBound

# Fractions of the coins guessed as members, and as non-members, among which a split chooses.
GUESS_FRACTIONS = (0.0, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
# Every pair of them, in order of preference among equals: most guesses, then the most even pair.
GUESS_PAIRS = np.array(
    sorted(
        ((first, second) for first in GUESS_FRACTIONS for second in GUESS_FRACTIONS if first + second > 0.0),
        key=lambda pair: (-round(pair[0] + pair[1], 9), abs(pair[0] - pair[1])),
    )
)
MIRROR_PAIRS = np.array([np.argmax(np.equal(GUESS_PAIRS, pair[::-1]).all(axis=1)) for pair in GUESS_PAIRS])
ASSUMPTIONS = (
    "every record is in each run independently with probability 1/2",
    "the attack was not fitted on the tested runs",
    "the numbers of guesses were fixed before the tested coins were seen",
)

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class GuessCounts(Looks):
    """Guesses `[..., looks]` about `num_coins` coins, and how many were right."""

    num_coins: int
    num_positives: Ints
    num_negatives: Ints
    num_correct: Ints

    @property
    def num_guesses(self) -> Ints:
        return self.num_positives + self.num_negatives


# (guesses, significance of each look) -> epsilon of each look
LookBounds = Callable[[GuessCounts, float], Floats]
Objective = Callable[[GuessCounts], Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedCoins:
    """Coins `[..., coins]` in ascending order of score, members first within a tie; `positions` as in the table.

    Read from either end the wrong guesses of a tie come first, so a count of right guesses is never above that of any
    way of breaking the tie, and does not depend on the order of rows.
    """

    members: Bools
    scores: Floats
    positions: NDArray[np.intp]

    @property
    def num_coins(self) -> int:
        return self.scores.shape[-1]

    def part(self, chosen: Bools) -> "RankedCoins":
        """The coins at the chosen positions of the table, the same positions for every experiment."""
        kept = chosen[self.positions]
        shape = (*self.scores.shape[:-1], -1)
        return RankedCoins(
            members=self.members[kept].reshape(shape),
            scores=self.scores[kept].reshape(shape),
            positions=(np.cumsum(chosen) - 1)[self.positions[kept]].reshape(shape),
        )

    def guess(self, num_positives: Ints, num_negatives: Ints) -> GuessCounts:
        """How many of the so many highest are members, and of the so many lowest are not."""
        shape = (*self.scores.shape[:-1], num_positives.shape[-1])
        num_positives, num_negatives = np.broadcast_to(num_positives, shape), np.broadcast_to(num_negatives, shape)
        members_below = np.zeros((*self.scores.shape[:-1], self.num_coins + 1), dtype=np.int64)
        np.cumsum(self.members, axis=-1, out=members_below[..., 1:])
        cuts = self.num_coins - num_positives
        above = members_below[..., -1:] - np.take_along_axis(members_below, cuts, axis=-1)
        below = num_negatives - np.take_along_axis(members_below, num_negatives, axis=-1)
        lowest_positive = np.take_along_axis(self.scores, np.minimum(cuts, self.num_coins - 1), axis=-1)
        return GuessCounts(
            num_coins=self.num_coins,
            num_positives=num_positives,
            num_negatives=num_negatives,
            num_correct=above + below,
            thresholds=np.where(num_positives > 0, lowest_positive, np.nan),
        )


def rank_coins(members: Bools, scores: Floats) -> RankedCoins:
    order = np.lexsort((~members, scores), axis=-1)
    return RankedCoins(
        members=np.take_along_axis(members, order, axis=-1),
        scores=np.take_along_axis(scores, order, axis=-1),
        positions=order,
    )


def split_table(num_runs: int, num_records: int, split: Split) -> Bools:
    """Which coins of a table `[test_runs * records]` are chosen on; the others are tested.

    Several test runs are divided as whole runs, a single one by its records. Given the coins of the first part the
    output is still differentially private in each coin of the second, but the numbers of guesses then depend on the
    output: see single_run.py.
    """
    num_parts = num_runs if num_runs > 1 else num_records
    if num_parts < 2:
        raise BadInput("1 coin cannot be split in two; give at least 2 trials")
    middle = min(max(int(split.fraction * num_parts), 1), num_parts - 1)
    if split.seed is None and num_runs > 1:
        first = np.arange(num_parts) < middle
    else:
        first = np.random.Generator(np.random.Philox(key=split.seed or 0)).permutation(num_parts) < middle
    return np.repeat(first, num_records) if num_runs > 1 else first


def choose_fractions(coins: RankedCoins, objective: Objective) -> Floats:
    """The fractions of the grid, `[..., 2]` for positive and negative guesses, with the best bound on these coins."""
    numbers = (GUESS_PAIRS * coins.num_coins).astype(np.int64)
    return best_pair(objective(coins.guess(numbers[:, 0], numbers[:, 1])))


def best_pair(bounds: Floats) -> Floats:
    """The pair of fractions `[..., 2]` with the best of the bounds `[..., pairs]`.

    Where a pair and its mirror image do equally well, the larger number serves for both: equals are decided without
    favouring either label, so that swapping labels and negating scores changes nothing.
    """
    best = np.argmax(bounds, axis=-1)[..., None]
    tied = np.take_along_axis(bounds, best, axis=-1) == np.take_along_axis(bounds, MIRROR_PAIRS[best], axis=-1)
    chosen = GUESS_PAIRS[best[..., 0]]
    return np.where(tied, chosen.max(axis=-1, keepdims=True), chosen)


def count_guesses(members: Bools, scores: Floats, choice: ThresholdChoice, objective: Objective) -> GuessCounts:
    """Guesses of every look that `choice` takes, for many experiments at once: `[..., test_runs, records]`.

    `objective` says on the first part of a split which numbers of guesses are best.
    """
    num_runs, num_records = scores.shape[-2:]
    shape = (*scores.shape[:-2], num_runs * num_records)
    coins = rank_coins(members.reshape(shape), scores.reshape(shape))
    match choice:
        case Fixed(threshold=threshold):
            num_positives = np.sum(coins.scores >= threshold, axis=-1, keepdims=True)
            return coins.guess(num_positives, coins.num_coins - num_positives)
        case Split():
            return _guess_split(coins, split_table(num_runs, num_records, choice), objective)
        case MedianOfSplits():
            tables = [split_table(num_runs, num_records, split) for split in choice.splits]
            return join_looks([_guess_split(coins, table, objective) for table in tables], choice.num_agreeing)
        case FromOtherRuns():
            wanted = np.array([choice.positive_fraction, choice.negative_fraction])
            # A fraction k / n that was read off k of n guesses must give k again.
            numbers = (wanted * coins.num_coins + 1e-6).astype(np.int64)
            return coins.guess(numbers[:1], numbers[1:])
        case Grid():
            return coins.guess(*_declared_numbers(coins.num_coins, choice.fractions))


def _guess_split(coins: RankedCoins, first: Bools, objective: Objective) -> GuessCounts:
    fractions = choose_fractions(coins.part(first), objective)
    tested = coins.part(~first)
    numbers = (fractions * tested.num_coins).astype(np.int64)
    return tested.guess(numbers[..., :1], numbers[..., 1:])


def _declared_numbers(num_coins: int, fractions: tuple[float, ...]) -> tuple[Ints, Ints]:
    """Positive guesses only, negative only, and as many of both, for each declared fraction; 0 means one guess."""
    numbers = sorted({min(max(int(fraction * num_coins), 1), num_coins // 2) for fraction in fractions} - {0})
    pairs = [pair for number in numbers for pair in ((number, 0), (0, number), (number, number))]
    if not pairs:
        raise BadInput("1 coin is too few for a grid of guesses; give at least 2 trials")
    positives, negatives = np.array(pairs, dtype=np.int64).T
    return positives, negatives


def bound_from_records(
    evidence: RecordEvidence,
    look_bounds: LookBounds,
    *,
    estimator: str,
    assumptions: tuple[str, ...],
    delta: float,
    confidence: float,
    choice: ThresholdChoice,
    num_tries: int,
    objective: LookBounds | None = None,
) -> EpsilonBound:
    """What every estimator over records does: check, count guesses, share the significance, report."""
    require_records(evidence, estimator=estimator)
    check_settings(delta=delta, confidence=confidence, num_tries=num_tries)
    significance = (1.0 - confidence) / num_tries / split_correction(evidence, choice, delta)
    guesses = count_guesses(
        evidence.members,
        evidence.scores,
        choice,
        lambda looks: (objective or look_bounds)(looks, SELECTION_SIGNIFICANCE),
    )
    each, bounds, look = bound_looks(guesses, look_bounds, significance)
    threshold = float(guesses.thresholds[look])
    return EpsilonBound(
        lower=float(bounds[look]),
        delta=delta,
        confidence=confidence,
        estimator=estimator,
        unit="record",
        num_trials=guesses.num_coins,
        ceiling=float(look_bounds(perfect_guesses(guesses.num_coins), each)[0]),
        assumptions=(*ASSUMPTIONS, *assumptions),
        threshold=None if np.isnan(threshold) else threshold,
        threshold_choice=describe_choice(choice),
        counts={
            "coins": guesses.num_coins,
            "guesses": int(guesses.num_guesses[look]),
            "correct": int(guesses.num_correct[look]),
            "positive_guesses": int(guesses.num_positives[look]),
            "negative_guesses": int(guesses.num_negatives[look]),
        },
        num_tries=num_tries,
        guess_fractions=(choice.positive_fraction, choice.negative_fraction)
        if isinstance(choice, FromOtherRuns)
        else None,
    )


def perfect_guesses(num_coins: int) -> GuessCounts:
    """Every coin guessed, every guess right."""
    none = np.zeros(1, dtype=np.int64)
    return GuessCounts(
        num_coins=num_coins,
        num_positives=none + num_coins,
        num_negatives=none,
        num_correct=none + num_coins,
        thresholds=none.astype(np.float64),
    )
