"""No leakage into the attack on released sets: with permuted membership, bounds are 0 in at least 95% of 200 audits."""

import numpy as np
import torch
from scipy.stats import binom, rankdata

from attacks.released import Released, set_signals
from audit.games.membership.headline import bound_coins
from condensers.dm import DmConfig, condense_dm
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from condensers.registry import untracked

NUM_AUDITS, FIT, TEST = 200, 24, 8


def condensed(pool: Pool) -> tuple[Pool, Released, np.ndarray]:
    """Real sets of a small condensation: three classes of 24 colour images reduced to 4×4, 32 runs."""
    images = torch.nn.functional.avg_pool2d(pool.images, 3)
    small = Pool(name="small", images=images, labels=pool.labels, num_classes=pool.num_classes)
    members = stream(11, "members").random((FIT + TEST, pool.num_records)) < 0.5
    batch = condense_dm(
        small,
        torch.from_numpy(members),
        DmConfig(iterations=40, width=8, depth=1, augmentation="none"),
        randomness=Randomness(seed=11, runs=tuple(range(FIT + TEST))),
        track=untracked,
    )
    return small, Released(images=batch.images.flatten(2).numpy(), labels=batch.labels.numpy()), members


def area(members: np.ndarray, scores: np.ndarray) -> float:
    num_in, num_out = int(members.sum()), int((~members).sum())
    ranks = rankdata(scores.ravel())[members.ravel()].sum()
    return float((ranks - num_in * (num_in + 1) / 2) / (num_in * num_out))


def test_permuted_membership_against_zero(small_pool: Pool) -> None:
    """The attack is fitted anew on decoy coins each time; the bound is above 0 as rarely as 5% allow."""
    pool, released, members = condensed(small_pool)
    truth = set_signals(pool, released, members[:FIT], None)[FIT:]
    assert area(members[FIT:], truth) > 0.6, "the harness can find something"
    above, areas = 0, []
    for number in range(NUM_AUDITS):
        coins = stream(12, "decoys", number).random(members.shape) < 0.5
        scores = set_signals(pool, released, coins[:FIT], None)[FIT:]
        areas.append(area(coins[FIT:], scores))
        bound = bound_coins(coins[FIT:], scores, delta=0.0, confidence=0.95)
        above += bound.lower > 0
    assert above <= binom.isf(0.001, NUM_AUDITS, 0.05)
    deviation = np.sqrt(1 / (12 * members[FIT:].size / 4))
    assert abs(np.mean(areas) - 0.5) < 4 * deviation / np.sqrt(NUM_AUDITS)
