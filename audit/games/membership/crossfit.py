"""Fit runs scored by attacks that were not fitted on them, so that choices are made without looking at a test run.

Whole fit runs are divided into folds. For each fold signals and attack are fitted on the other folds and score the runs
of this one, whose members are known. What is chosen on these scores (numbers of guesses) depends on fit runs alone;
all test runs are left for the test. In a control with shuffled membership the decoy coins of the fit runs are used
throughout.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attacks.registry import Attack, Observations, get_attack
from attacks.released import Released, View
from audit.games.membership.config import AuditConfig
from audit.games.membership.shard import game_of
from audit.games.membership.signals import embed_publicly, labels_given, level_signals, view_publicly
from condensers.pool import Pool

NUM_FOLDS = 4
FEWEST_FIT_RUNS = 16  # with fewer, an attack fitted on three quarters of them says little about one fitted on all

# (rows to fit on, rows to score) -> scores [rows, records], NaN for records that cannot be scored
ScoreFold = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossFitted:
    """Members and scores of the fit runs, `[fit runs, records]` each; a score is NaN where a fold could not tell."""

    members: np.ndarray
    scores: np.ndarray

    def of(self, records: Any) -> "CrossFitted":
        """The chosen records only."""
        return CrossFitted(members=self.members[:, records], scores=self.scores[:, records])

    @property
    def coins(self) -> tuple[np.ndarray, np.ndarray]:
        """Members and scores of the coins that were scored, flat."""
        known = ~np.isnan(self.scores)
        return self.members[known], self.scores[known]


def cross_fit(fit_members: np.ndarray, score_fold: ScoreFold) -> CrossFitted | None:
    """Score every fit run by an attack fitted on the other folds; None where there are too few fit runs."""
    num_fit = len(fit_members)
    if num_fit < FEWEST_FIT_RUNS:
        return None
    scores = np.full(fit_members.shape, np.nan, dtype=np.float32)
    for others, held in folds(num_fit):
        scores[held] = score_fold(others, held)
    if np.isnan(scores).all():
        return None
    return CrossFitted(members=fit_members, scores=scores)


def score_held(
    attack: Attack, attack_config: object, signals: np.ndarray, members: np.ndarray, *, ratios: bool
) -> np.ndarray:
    """Scores of the rows behind the first `len(members)`, on which the attack is fitted; NaN where it cannot be."""
    num_fit, known = len(members), scorable(members)
    scores = np.full((len(signals) - num_fit, signals.shape[1]), np.nan, dtype=np.float32)
    observations = Observations(
        fit_signals=signals[:num_fit, known],
        fit_members=members[:, known],
        test_signals=signals[num_fit:, known],
        ratios=ratios,
    )
    scores[:, known] = attack.score(observations, attack_config)
    return scores


def scorable(members: np.ndarray) -> np.ndarray:
    """Records that some fit run has and some has not."""
    num_in = members.sum(0)
    return (num_in > 0) & (num_in < len(members))


def folds(num_fit: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to fit on and rows to score, for every fold."""
    held = [np.arange(num_fit) % NUM_FOLDS == fold for fold in range(NUM_FOLDS)]
    return [(np.flatnonzero(~rows), np.flatnonzero(rows)) for rows in held]


def cross_fit_audit(config: AuditConfig, pool: Pool, shards: dict[str, np.ndarray]) -> CrossFitted | None:
    """The fit runs of an audit, under its own attack at its own level.

    None where fit runs enumerate combinations: of those that are held out no other fit run has the members, so that
    their scores would be nothing like those of test runs.
    """
    if config.enumerated is not None:
        return None
    attack, game = get_attack(config.attack), game_of(config, pool.num_records)
    fit_runs = [game.fit_runs_of(draw) for draw in range(config.public_draws)]
    attack_config = attack.config(**config.attack_config)
    return cross_fit_runs(attack, attack_config, config.level, config, pool, shards, fit_runs)


def cross_fit_runs(
    attack: Attack,
    attack_config: object,
    level: str,
    config: AuditConfig,
    pool: Pool,
    shards: dict[str, np.ndarray],
    fit_runs: Sequence[range],
) -> CrossFitted | None:
    """The same for the given fit runs of every public draw, draw by draw; None for an attack that learns from none."""
    if not attack.needs_fit_runs or min(map(len, fit_runs)) < FEWEST_FIT_RUNS:
        return None
    parts = []
    for draw, runs in enumerate(fit_runs):
        features = embed_publicly(config, pool, draw) if level == "set" else None
        views = _views(config, pool, shards, draw) if level == "set" else None
        fit_members = labels_given(config, pool.num_records, runs)

        def score_fold(
            others: np.ndarray,
            held: np.ndarray,
            runs: range = runs,
            fit_members: np.ndarray = fit_members,
            features: np.ndarray | None = features,
            views: Sequence[View] | None = views,
        ) -> np.ndarray:
            members, rows = fit_members[others], [runs[place] for place in (*others, *held)]
            seen = None if views is None else [view[rows] for view in views]
            signals = level_signals(
                level, config, pool, shards, fit_members=members, rows=rows, features=features, views=seen
            )
            return score_held(attack, attack_config, signals, members, ratios=level == "set")

        parts.append(cross_fit(fit_members, score_fold))
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None
    return CrossFitted(
        members=np.concatenate([part.members for part in whole]), scores=np.concatenate([part.scores for part in whole])
    )


def _views(config: AuditConfig, pool: Pool, shards: dict[str, np.ndarray], draw: int) -> Sequence[View] | None:
    """Of the sets of all runs, so that every fold takes its rows."""
    images = shards["images"]
    released = Released(images=images.reshape(*images.shape[:2], -1), labels=shards["labels"])
    return view_publicly(config, pool, (released,), draw)
