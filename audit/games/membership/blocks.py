"""Level model by blocks of records: signals are read from the shards as they are needed, never all at once.

10 000 runs of 60 000 records are 2.4 GB of signals, and fitting takes several times that in float64. Where the scores
of a record depend on its own signals alone (`Attack.by_record`), records are fitted and scored in blocks, cross-fitting
included. A block is summed run by run like the whole table, so that no score changes by a bit
(tests/unit/test_blocks.py). Shards were checked against their checksums before (runs.py); they are mapped into memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from safetensors import safe_open

from attacks.registry import Observations, get_attack
from audit.engine.store import RunDirectory
from audit.games.membership.config import AuditConfig
from audit.games.membership.crossfit import FEWEST_FIT_RUNS, CrossFitted, folds, scorable, score_held
from audit.games.membership.draws import interleaved
from audit.games.membership.shard import game_of, num_shards, shard_runs
from audit.games.membership.signals import labels_given

BLOCK_BYTES = 64 << 20  # of one block in float64, of which an attack holds several copies
SMALLEST_BLOCK = 64  # records


class Signals(Protocol):
    """Signals of all runs, block by block."""

    @property
    def queries(self) -> int: ...

    def read(self, records: slice) -> np.ndarray:
        """Float32 `[runs, records of the block, queries]`, in the order of the runs."""
        ...


@dataclass(frozen=True, kw_only=True)
class Blank:
    """Signals before there are any, to ask whether an attack can be fed."""

    num_runs: int
    queries: int = 1

    def read(self, records: slice) -> np.ndarray:
        return np.zeros((self.num_runs, records.stop - records.start, self.queries), dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Signals in the finished shards of a run directory."""

    directory: RunDirectory
    config: AuditConfig

    @property
    def queries(self) -> int:
        return self.config.queries

    def read(self, records: slice) -> np.ndarray:
        shape = (self.config.shadows, records.stop - records.start, self.queries)
        signals = np.empty(shape, dtype=np.float32)
        for index in range(num_shards(self.config)):
            with safe_open(self.directory.shard(index), framework="np") as file:
                signals[list(shard_runs(self.config, index))] = file.get_slice("signals")[:, records]
        return signals


def scores_by_blocks(config: AuditConfig, num_records: int) -> bool:
    """Whether the audit's attack can score records in blocks, in every public draw and every fold."""
    attack, game = get_attack(config.attack), game_of(config, num_records)
    if config.level != "model" or config.foreign is not None or attack.by_record is None:
        return False
    settings = attack.config(**config.attack_config)
    for draw in range(config.public_draws):
        members = labels_given(config, num_records, game.fit_runs_of(draw))
        if not attack.by_record(members, settings):
            return False
        for others, _ in folds(len(members)) if _cross_fits(config, num_records) else ():
            known = members[others]
            if not attack.by_record(known[:, scorable(known)], settings):
                return False
    return True


def score_blocks(
    config: AuditConfig, num_records: int, signals: Signals, *, cross_fits: bool = True
) -> tuple[np.ndarray, np.ndarray, CrossFitted | None]:
    """Members and scores of the test runs, and the fit runs as scored by attacks that were not fitted on them."""
    attack, game = get_attack(config.attack), game_of(config, num_records)
    settings, draws = attack.config(**config.attack_config), range(config.public_draws)
    fit_members = [labels_given(config, num_records, game.fit_runs_of(draw)) for draw in draws]
    scores = np.empty((len(game.test_runs), num_records), dtype=np.float32)
    fitted = None
    if cross_fits and _cross_fits(config, num_records):
        fitted = [np.full(members.shape, np.nan, dtype=np.float32) for members in fit_members]
    for block in _blocks(config.shadows * signals.queries, num_records):
        seen = signals.read(block)
        parts = []
        for draw in draws:
            members = fit_members[draw][:, block]
            rows = list(game.fit_runs_of(draw))
            parts.append(
                attack.score(
                    Observations(
                        fit_signals=seen[rows],
                        fit_members=members,
                        test_signals=seen[list(game.test_runs_of(draw))],
                    ),
                    settings,
                )
            )
            for others, held in folds(len(rows)) if fitted is not None else ():
                chosen = seen[[rows[place] for place in (*others, *held)]]
                assert fitted is not None
                fitted[draw][held, block] = score_held(attack, settings, chosen, members[others], ratios=False)
        scores[:, block] = interleaved(parts)
    members = labels_given(config, num_records, game.test_runs)
    if fitted is None or any(np.isnan(part).all() for part in fitted):
        return members, scores, None
    if len(fitted) == 1:
        return members, scores, CrossFitted(members=fit_members[0], scores=fitted[0])
    return members, scores, CrossFitted(members=np.concatenate(fit_members), scores=np.concatenate(fitted))


def _cross_fits(config: AuditConfig, num_records: int) -> bool:
    game = game_of(config, num_records)
    fewest = min(len(game.fit_runs_of(draw)) for draw in range(config.public_draws))
    return get_attack(config.attack).needs_fit_runs and fewest >= FEWEST_FIT_RUNS


def _blocks(per_record: int, num_records: int) -> Iterator[slice]:
    """Blocks of nearly equal width: a block of a single record would be summed in another order."""
    width = max(SMALLEST_BLOCK, BLOCK_BYTES // (8 * max(1, per_record)))
    number = max(1, round(num_records / width))
    ends = np.linspace(0, num_records, number + 1).astype(int).tolist()
    for start, stop in pairwise(ends):
        yield slice(start, stop)
