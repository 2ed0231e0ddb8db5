"""The nearest-member test keeps its level where nothing is told, and has power where records are."""

import numpy as np
import pytest
import torch
from scipy.stats import binom

from attacks.nearest import Matches, pairwise_euclidean, visual_matches
from audit.games.membership.game import Game, nominal_class_sizes
from audit.games.visual.match import binomial_p_value
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, get_method

AUDITS, RUNS_EACH = 20, 8


def condense(pool: Pool, init: str, game: Game) -> CondensedBatch:
    method = get_method("dm")
    config = method.config(**method.presets["quick"] | {"iterations": 10, "width": 8, "ipc": 2, "init": init})
    runs = tuple(game.test_runs)
    batch, _ = condense_runs(
        method,
        pool,
        torch.from_numpy(game.members(runs)),
        config,
        class_sizes=nominal_class_sizes(pool),
        randomness=Randomness(seed=game.seed, runs=runs),
    )
    return batch


@pytest.fixture(scope="module")
def game(digits: Pool) -> Game:
    runs = AUDITS * RUNS_EACH
    return Game(seed=5, num_records=digits.num_records, num_runs=runs, num_test_runs=runs)


def p_values(matches: Matches, members: np.ndarray) -> list[float]:
    """Of audits of eight runs each."""
    correct = np.take_along_axis(members, matches.guesses, axis=1).reshape(AUDITS, -1)
    return [binomial_p_value(int(row.sum()), row.size) for row in correct]


def most_rejections(level: float) -> int:
    """Exceeded by chance once in ten thousand times by so many tests of this level."""
    return int(binom.isf(1e-4, AUDITS, level))


def test_sets_from_noise_against_coins_that_decided_nothing(digits: Pool, game: Game) -> None:
    sets = condense(digits, "random", game)
    matches = visual_matches(sets.images, sets.labels, digits, pairwise_euclidean)
    found = np.array(p_values(matches, game.decoys(game.test_runs)))
    for level in (0.05, 0.2, 0.5):
        assert (found <= level).sum() <= most_rejections(level)
    assert found.min() < 0.5 < found.max()


def test_sets_from_records_are_found_against_their_coins_only(digits: Pool, game: Game) -> None:
    sets = condense(digits, "real", game)
    matches = visual_matches(sets.images, sets.labels, digits, pairwise_euclidean)
    assert max(p_values(matches, game.members(game.test_runs))) < 1e-6
    decoys = np.array(p_values(matches, game.decoys(game.test_runs)))
    assert (decoys <= 0.05).sum() <= most_rejections(0.05)


def test_collapsed_sets_keep_the_level(small_pool: Pool) -> None:
    """All images alike: counted as they are, one record would be guessed eight times, and every coin eight times."""
    runs, alike, audits = 4, 8, 1000
    images = small_pool.images[None, None, 30].expand(runs, alike, 3, 12, 12)
    labels = torch.full((runs, alike), int(small_pool.labels[30]))
    matches = visual_matches(images, labels, small_pool, pairwise_euclidean)
    coins = stream(11, "coins of many audits").random((audits, runs, small_pool.num_records)) < 0.5
    correct = np.take_along_axis(coins, np.broadcast_to(matches.guesses, (audits, runs, alike)), axis=2)
    rejected = sum(binomial_p_value(int(row.sum()), row.size) <= 0.05 for row in correct)
    assert rejected <= binom.isf(1e-4, audits, 0.05)
    assert rejected > 0
