"""The membership game: every audited record is in each run independently with probability ½.

By default all records of the pool are audited; with --audited a few of them are, and the others are in every run
(audited.py). The game counts audited records alone.

Runs are divided beforehand: the first are fit runs, on which attacks are fitted; the last are test runs, whose
membership no attack sees. Given the public randomness the test runs are independent of each other and of the fit
runs, which is what the pooled one-run bound rests on.

Fit runs may have any members, as the bound rests on the coins of test runs alone. By default they have coins too. With
--fit-design enumerated the fit runs of a draw take the combinations of the audited records of each class in turn, in an
order of the seed's: with k records in doubt per class and 2^k fit runs one of them has the members that a test run has
in a class.

With several public draws, run r belongs to draw r modulo their number, so that every draw has its share of the fit runs
and of the test runs, and the draw of a run does not depend on how many runs there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.randomness import stream

INCLUSION_PROBABILITY = 0.5
MOST_ENUMERATED = 16  # records of a class: 65 536 combinations


def nominal_class_sizes(pool: Pool, audited: Sequence[int] | None = None) -> tuple[float, ...]:
    """How many records of each class a run is expected to have: public, as it depends on no run's members.

    `audited` are the records with coins, all others being in every run; None: all have coins.
    """
    if audited is None:
        return tuple(INCLUSION_PROBABILITY * (records.stop - records.start) for records in pool.class_slices)
    tossed = torch.bincount(pool.labels.cpu()[list(audited)], minlength=pool.num_classes).tolist()
    sizes = [records.stop - records.start for records in pool.class_slices]
    return tuple(size - (1 - INCLUSION_PROBABILITY) * coins for size, coins in zip(sizes, tossed, strict=True))


@dataclass(frozen=True, kw_only=True)
class Game:
    """How many runs over how many records; membership is drawn from the seed, run by run.

    `num_fit_runs` is how many of the runs before the test runs an attack may learn from; None: all of them.
    """

    seed: int
    num_records: int
    num_runs: int
    num_test_runs: int
    num_fit_runs: int | None = None
    num_public_draws: int = 1
    enumerated: tuple[int, ...] | None = None  # audited records of each class, where fit runs take all combinations

    def __post_init__(self) -> None:
        if self.num_runs < 1:
            raise BadConfig(f"--shadows {self.num_runs}: at least 1 run is needed")
        if not 1 <= self.num_test_runs <= self.num_runs:
            raise BadConfig(f"--test-runs {self.num_test_runs}: must lie in 1…{self.num_runs}, the number of --shadows")

    @property
    def fit_runs(self) -> range:
        before = self.num_runs - self.num_test_runs
        return range(before if self.num_fit_runs is None else min(before, self.num_fit_runs))

    @property
    def test_runs(self) -> range:
        return range(self.num_runs - self.num_test_runs, self.num_runs)

    def fit_runs_of(self, draw: int) -> range:
        """The fit runs of one public draw."""
        return self.fit_runs[draw :: self.num_public_draws]

    def test_runs_of(self, draw: int) -> range:
        """The test runs of one public draw; their first is of draw 0, as resolve.py sees to it."""
        return self.test_runs[draw :: self.num_public_draws]

    def members(self, runs: range | tuple[int, ...]) -> np.ndarray:
        """Who is in which run: bool `[runs, records]`. The coins of a run depend on nothing but seed and run."""
        coins = self._coins("membership", runs)
        if self.enumerated is not None:
            for place, run in enumerate(runs):
                if run < self.num_runs - self.num_test_runs:
                    coins[place] = self._combination(run // self.num_public_draws)
        return coins

    def decoys(self, runs: range | tuple[int, ...]) -> np.ndarray:
        """Coins of the same law that decide nothing: the membership that a shuffled audit is told."""
        return self._coins("decoy membership", runs)

    def _combination(self, number: int) -> np.ndarray:
        """The members of the `number`-th fit run of a draw, bool `[records]`, class by class."""
        assert self.enumerated is not None
        codes = [_order(self.seed, label, count)[number % (1 << count)] for label, count in enumerate(self.enumerated)]
        return np.concatenate(
            [(code >> np.arange(count)) & 1 == 1 for code, count in zip(codes, self.enumerated, strict=True)]
        )

    def _coins(self, purpose: str, runs: range | tuple[int, ...]) -> np.ndarray:
        coins = np.empty((len(runs), self.num_records), dtype=bool)
        for row, run in enumerate(runs):
            coins[row] = stream(self.seed, purpose, run).random(self.num_records) < INCLUSION_PROBABILITY
        return coins


@lru_cache(maxsize=64)
def _order(seed: int, label: int, count: int) -> np.ndarray:
    """The combinations of `count` records of a class, as binary numbers, in the order in which fit runs take them."""
    return stream(seed, "fit design", label).permutation(1 << count)
