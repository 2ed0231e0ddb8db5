"""Several public draws in one audit: every group of runs has networks, augmentations and starting noise of its own.

The adversary knows the public randomness of the set in front of it, so signals and attacks are fitted group by group,
on the fit runs of that group; the scores of the test runs are pooled. Intervals are then taken over the draws
(`statistics.clustered`). Given all draws the test runs are still independent of each other and of the fit runs, so
bounds on epsilon hold as they do with one draw.
"""

from collections.abc import Callable, Sequence

import numpy as np

from audit.games.membership.config import AuditConfig
from audit.games.membership.shard import game_of
from audit.games.membership.signals import labels_given, level_signals
from audit.specs.membership import Membership
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.registry import Method, get_method
from reports.records.intervals import GIVEN_PUBLIC_DRAW, PUBLIC_DRAWS, RECORDS, RUNS

FEWEST_FIT_RUNS = 3


def check_public_draws(spec: Membership, method: Method, *, test_runs: int, learns: bool) -> int:
    """The number of public draws, if the runs can be divided among them."""
    draws, shadows, fit_runs = spec.public_draws, spec.shadows, spec.fit_runs
    if draws == 1:
        return 1
    asked = f"--public-draws {draws}"
    if spec.independent_randomness:
        raise BadConfig(
            f"{asked}: with --independent-randomness every run has a draw of its own; leave one of them out"
        )
    if method.releases == "network":
        raise BadConfig(f"{asked}: {method.name} has no public randomness, its runs are independent; leave it out")
    if shadows % draws:
        raise BadConfig(f"{asked}: --shadows {shadows} is not a multiple of it; choose {draws * -(-shadows // draws)}")
    if test_runs % draws:
        nearest = draws * max(1, round(test_runs / draws))
        raise BadConfig(
            f"{asked}: {test_runs} test runs cannot be divided equally among the draws; choose --test-runs {nearest}"
        )
    if fit_runs is not None and fit_runs % draws:
        raise BadConfig(
            f"{asked}: --fit-runs {fit_runs} is not a multiple of it; choose {draws * -(-fit_runs // draws)}"
        )
    per_draw = (shadows - test_runs if fit_runs is None else fit_runs) // draws
    if learns and per_draw < FEWEST_FIT_RUNS:
        raise BadConfig(
            f"{asked}: leaves {per_draw} fit runs for each draw, and an attack needs {FEWEST_FIT_RUNS}; choose "
            f"--shadows {test_runs + FEWEST_FIT_RUNS * draws} or more, or fewer draws"
        )
    return draws


def interleaved(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of all draws in the order of their runs: run r is of draw r modulo the number of draws."""
    return parts[0] if len(parts) == 1 else np.stack(parts, 1).reshape(-1, *parts[0].shape[1:])


def signals_by_draw(level: str, config: AuditConfig, pool: Pool, shards: dict[str, np.ndarray]) -> np.ndarray:
    """Signals `[runs, records, queries]` of all runs, those of a draw learned from its own fit runs."""
    game = game_of(config, pool.num_records)
    draws = config.public_draws
    return interleaved(
        [
            level_signals(
                level,
                config,
                pool,
                shards,
                fit_members=labels_given(config, pool.num_records, game.fit_runs_of(draw)),
                rows=None if draws == 1 else range(draw, config.shadows, draws),
                draw=draw,
            )
            for draw in range(draws)
        ]
    )


def scores_by_draw(config: AuditConfig, score: Callable[[int], np.ndarray]) -> np.ndarray:
    """Scores `[test runs, records]` of all test runs, from `score(draw)` of those of each draw."""
    return interleaved([score(draw) for draw in range(config.public_draws)])


def draws_of(config: AuditConfig, num_runs: int) -> np.ndarray | None:
    """The public draw of each of the test runs, or of all runs; None where intervals are taken over runs."""
    return None if config.public_draws == 1 else np.arange(num_runs) % config.public_draws


def interval_unit(config: AuditConfig, num_runs: int) -> str:
    """What intervals over so many runs are taken over."""
    if num_runs < 2:
        return RECORDS
    if config.public_draws > 1:
        return PUBLIC_DRAWS
    # Whether sets of another maker share their randomness is not known: a published seed would make them share it.
    return GIVEN_PUBLIC_DRAW if config.foreign or has_public_randomness(config) else RUNS


def has_public_randomness(config: AuditConfig) -> bool:
    """Whether runs share networks, augmentations and starting noise with others."""
    return not config.independent_randomness and get_method(config.method).makes_set


def num_public_draws(config: AuditConfig) -> int:
    """Independent draws of the public randomness behind the runs; none where a method has none."""
    if get_method(config.method).releases == "network":
        return 0
    return config.shadows if config.independent_randomness else config.public_draws


def describe_public_randomness(config: AuditConfig) -> str:
    if get_method(config.method).releases == "network":
        return "none: a network is trained from randomness of its run alone"
    if config.foreign:
        shadows = "one per shadow run" if config.independent_randomness else "shared by all shadow runs"
        return f"{shadows}; whether the released sets share theirs is not known"
    if config.independent_randomness:
        return "one per run"
    if config.public_draws == 1:
        return "shared by all runs"
    return f"{config.public_draws} draws, each shared by {config.shadows // config.public_draws} runs"


def per_draw(config: AuditConfig) -> str:
    """To be written behind a number of fit runs, which an attack has for every public draw."""
    return " per public draw" if config.public_draws > 1 else ""
