"""Bounds whose rule is chosen on the tested data, without correction: what tables.py shows to be wrong."""

import numpy as np
from scipy import stats
from simulated_audits import DELTA, SIGNIFICANCE, RecordAudits, RunAudits

from audit.statistics.estimators.clopper_pearson import rectangle_epsilons
from audit.statistics.estimators.trials import upper_limits


def largest_clopper_pearson(game: RunAudits) -> np.ndarray:
    """The largest bound over every threshold, per audit and attack."""
    num_trials = game.members.shape[-1]
    scores = np.concatenate([game.members, game.non_members], axis=-1)
    descending = np.argsort(-scores, axis=-1)
    hits = np.cumsum(descending < num_trials, axis=-1)
    called = np.arange(1, 2 * num_trials + 1)
    missed_upper = upper_limits(num_trials - hits, num_trials, SIGNIFICANCE / 2)
    wrong_upper = upper_limits(called - hits, num_trials, SIGNIFICANCE / 2)
    return rectangle_epsilons(missed_upper, wrong_upper, DELTA).max(axis=-1)


def smallest_one_run(coins: RecordAudits) -> tuple[np.ndarray, np.ndarray]:
    """Smallest p-value of epsilon 0 over every number of positive guesses; and over the hull's, times their number."""
    scores, members = (array[:, 0, 0] for array in (coins.scores, coins.members))
    ordered = np.take_along_axis(members, np.argsort(-scores, axis=-1), axis=-1)
    right = np.cumsum(ordered, axis=-1)
    numbers = np.arange(1, right.shape[1] + 1)
    p_values = stats.binom.sf(right - 1, numbers, 0.5)
    on_hull = [_hull(row) for row in right]
    frontier = [np.min(row[hull]) * len(hull) for row, hull in zip(p_values, on_hull, strict=True)]
    return p_values.min(axis=-1), np.array(frontier)


def _hull(right: np.ndarray) -> list[int]:
    """Numbers of guesses (less one) at the corners of the upper convex hull of right against wrong guesses."""
    kept: list[tuple[int, int, int]] = [(0, 0, -1)]
    for index, hits in enumerate(right.tolist()):
        point = (index + 1 - hits, hits, index)
        while len(kept) > 1 and _turns_left(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return [index for _, _, index in kept[1:]]


def _turns_left(first: tuple[int, int, int], second: tuple[int, int, int], third: tuple[int, int, int]) -> bool:
    return (second[0] - first[0]) * (third[1] - first[1]) >= (second[1] - first[1]) * (third[0] - first[0])
