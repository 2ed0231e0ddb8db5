"""A released set that knows nothing of its coins: a bound above 0 in at most 5% of 600 audits, whatever the shadows."""

import numpy as np
import pytest
import torch
from scipy.stats import binom

from attacks.released import Released, set_signals
from audit.games.membership.crossfit import CrossFitted, cross_fit
from audit.games.membership.headline import bound_coins
from condensers.pool import Pool
from condensers.randomness import stream

FIT, PER_CLASS, PIXELS, IPC = 20, 100, 9, 8
# Given the shadows, audits with sets and coins of their own are independent, and each holds at 5%.
SHADOW_GROUPS, AUDITS_OF_EACH = 4, 150
NUM_AUDITS = SHADOW_GROUPS * AUDITS_OF_EACH


def pool_of() -> Pool:
    images = stream(0, "records").standard_normal((2 * PER_CLASS, PIXELS)).astype(np.float32)
    labels = torch.arange(2).repeat_interleave(PER_CLASS)
    return Pool(name="p", images=torch.from_numpy(images), labels=labels, num_classes=2)


def copies(pool: Pool, members: np.ndarray, generator: np.random.Generator, ipc: int) -> Released:
    """A condenser that hides nothing: `ipc` members of each class, all of them as they are."""
    images = pool.images.numpy()
    chosen = [
        np.concatenate(
            [place.start + generator.choice(np.flatnonzero(row[place]), ipc, False) for place in pool.class_slices]
        )
        for row in members
    ]
    return Released(images=images[np.array(chosen)], labels=np.tile(np.repeat([0, 1], ipc), (len(members), 1)))


def count_certified(num_sets: int) -> tuple[int, int]:
    """Of all audits, how many certify more than 0 with coins that decided nothing, and with those that decided.

    Shadows leak all they have, and so do the sets: each of its own members.
    """
    pool = pool_of()
    above = found = 0
    for group in range(SHADOW_GROUPS):
        generator = stream(1, "audits", num_sets, group)
        size = (FIT + num_sets * AUDITS_OF_EACH, pool.num_records)
        members, asserted = (generator.random(size) < 0.5 for _ in range(2))
        fit = copies(pool, members[:FIT], generator, IPC - 2)
        released = copies(pool, members[FIT:], generator, IPC)
        scores = set_signals(pool, fit, members[:FIT], None, [released])[FIT:]
        fitted = cross_fitted(pool, fit, members[:FIT])
        for audit in range(AUDITS_OF_EACH):
            own = slice(num_sets * audit, num_sets * (audit + 1))
            above += certifies(asserted[FIT:][own], scores[own], fitted)
            found += certifies(members[FIT:][own], scores[own], fitted)
    return above, found


def cross_fitted(pool: Pool, fit: Released, members: np.ndarray) -> CrossFitted | None:
    """The shadows as scored by shadows of the other folds."""

    def score_fold(others: np.ndarray, held: np.ndarray) -> np.ndarray:
        rows = np.concatenate([others, held])
        shadows = Released(images=fit.images[rows], labels=fit.labels[rows])
        return set_signals(pool, shadows, members[others], None)[len(others) :]

    return cross_fit(members, score_fold)


def certifies(members: np.ndarray, scores: np.ndarray, fitted: CrossFitted | None) -> bool:
    return bound_coins(members, scores, delta=1e-5, confidence=0.95, fitted=fitted).lower > 0


@pytest.mark.parametrize("num_sets", [1, 2])
def test_sets_made_from_other_coins_against_zero(num_sets: int) -> None:
    above, found = count_certified(num_sets)
    assert above <= binom.isf(0.001, NUM_AUDITS, 0.05)
    assert found > NUM_AUDITS / 4, "with the right coins the harness finds what leaks"


if __name__ == "__main__":
    for number in (1, 2):
        wrong, right = count_certified(number)
        print(f"{number} set(s): {wrong} of {NUM_AUDITS} above 0 with other coins, {right} with the right ones")
