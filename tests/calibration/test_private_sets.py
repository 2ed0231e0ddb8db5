"""Private methods at level set: what they guarantee is not refuted by whoever holds the released set."""

import pytest
import torch

from audit.games.membership.headline import bound_coins
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import condense, game_of
from audit.games.membership.signals import labels_given, level_signals
from audit.games.membership.summary import score_runs
from audit.specs.membership import Lira
from audit.specs.options import parse
from condensers.randomness import Randomness
from condensers.registry import untracked

SHADOWS, TEST_RUNS = 32, 12


def certified(method: str, epsilon: float | None, seed: int) -> float:
    """ε that `audit lira --level set` certifies, without its files."""
    sizes = ("--records", "300", "--shadows", str(SHADOWS), "--test-runs", str(TEST_RUNS), "--level", "set")
    arguments = ("--method", method, "--seed", str(seed), *sizes)
    extra = () if method == "ldpdc" else ("--set", "iterations=40")
    extra += () if epsilon is None else ("--epsilon", str(epsilon), "--set", "batch=10")
    config, pool = resolve_config(parse(Lira, (*arguments, *extra)), None)
    game = game_of(config, pool.num_records)
    members = torch.from_numpy(game.members(range(SHADOWS)))
    batch, _ = condense(config, pool, members, Randomness(seed=seed, runs=tuple(range(SHADOWS))), untracked)
    shards = {"images": batch.images.numpy(), "labels": batch.labels.numpy()}
    fit_members = labels_given(config, pool.num_records, game.fit_runs)
    coins, scores = score_runs(config, level_signals("set", config, pool, shards, fit_members=fit_members))
    return bound_coins(coins, scores, delta=config.delta, confidence=config.confidence).lower


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ldpdc", "ndpdc"])
def test_private_sets_are_not_refuted_in_twenty_seeds(method: str) -> None:
    assert max(certified(method, 1.0, seed) for seed in range(20)) <= 1.0


def test_the_same_attack_finds_members_where_nothing_is_private() -> None:
    assert certified("dm", None, 0) > 0.2
