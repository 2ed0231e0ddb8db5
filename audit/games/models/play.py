"""The membership game with models of a person's own: coins by key, a training and a query for each run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attacks.registry import get_attack
from audit.engine.progress import ProgressBar
from audit.games.membership.game import Game
from audit.games.models.config import check_fit_members
from audit.games.models.signals import ModelSignals, to_logits
from condensers.errors import BadConfig, BadData

Train = Callable[[np.ndarray, int], Any]  # (members [records], number of the run) -> model
Query = Callable[[Any], Any]  # model -> signals [records] or [records, queries]


def play(
    *,
    train: Train,
    query: Query,
    num_records: int,
    num_models: int,
    num_test_runs: int,
    seed: int,
    kind: str,
    name: str,
    labels: np.ndarray | None,
    attack: str,
) -> ModelSignals:
    """Train a model on each run's members and query it for all records, members or not.

    Whether the attack can learn from such fit runs is asked before anything is trained: their coins are drawn by then.
    """
    if num_records < 2:
        raise BadConfig(f"records {num_records}: give the number of records, at least 2")
    game = Game(seed=seed, num_records=num_records, num_runs=num_models, num_test_runs=num_test_runs)
    tested = np.arange(num_models) >= num_models - num_test_runs
    coins = game.members(range(num_models))
    check_fit_members(get_attack(attack), coins[~tested], shuffled=False)
    coins.setflags(write=False)
    found = []
    with ProgressBar(f"training {num_models} models", dict.fromkeys(range(num_models), 1)) as bar:
        for run in range(num_models):
            found.append(_checked(query(train(coins[run], run)), num_records, kind, run))
            if found[-1].shape != found[0].shape:
                raise BadData(
                    f"query: run {run} gave {found[-1].shape[1]} queries per record, run 0 {found[0].shape[1]}"
                )
            bar.update(run, 1.0)
    return ModelSignals(
        name=name,
        kind=kind,
        signals=np.stack(found),
        members=coins,
        tested=tested,
        labels=None if labels is None else np.asarray(labels, dtype=np.int64),
    )


def _checked(values: Any, num_records: int, kind: str, run: int) -> np.ndarray:
    signals = to_logits(values, kind, f"query: run {run}")
    if signals.ndim not in (1, 2) or len(signals) != num_records:
        raise BadData(
            f"query: run {run} gave signals of shape {list(signals.shape)}; expected [{num_records}], one for "
            "each record, members or not"
        )
    return signals[:, None] if signals.ndim == 1 else signals
