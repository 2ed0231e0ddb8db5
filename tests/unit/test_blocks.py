"""Records that are scored in blocks have the scores of the whole table, to the last bit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from audit.engine.store import RunDirectory, write_tensors
from audit.games.membership import blocks
from audit.games.membership.blocks import Blank, Stored, score_blocks, scores_by_blocks
from audit.games.membership.config import AuditConfig
from audit.games.membership.crossfit import cross_fit_audit
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import num_shards, shard_runs
from audit.games.membership.summary import score_runs
from audit.specs.membership import Lira, Loss
from audit.statistics.estimators.guesses import GUESS_PAIRS, rank_coins
from audit.statistics.estimators.other_runs import count_correct
from condensers.pool import Pool
from condensers.randomness import stream

RECORDS = 203


@pytest.fixture(scope="module")
def asked() -> tuple[AuditConfig, Pool]:
    return resolve_config(Lira(method="real", records=RECORDS, shadows=128, shard_runs=9, queries=2), None)


def keep_signals(config: AuditConfig, folder: Path) -> np.ndarray:
    """Random signals in shards, and as one table in the order of the runs."""
    directory = RunDirectory(folder)
    directory.create()
    signals = stream(3, "signals").standard_normal((config.shadows, RECORDS, config.queries), dtype=np.float32)
    for index in range(num_shards(config)):
        rows = torch.from_numpy(signals[list(shard_runs(config, index))])
        write_tensors(directory.shard(index), {"signals": rows}, digest=config.work_digest)
    return signals


@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("online", [True, False])
def test_scores_against_whole_table(
    asked: tuple[AuditConfig, Pool], draws: int, online: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, pool = asked
    wanted = {"online": online, "variance": "record", "estimator": "moments"}
    config = replace(config, public_draws=draws, attack_config=wanted)
    signals = keep_signals(config, tmp_path)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)
    assert scores_by_blocks(config, RECORDS)
    assert len(list(blocks._blocks(config.shadows, RECORDS))) == 3
    members, scores, fitted = score_blocks(config, RECORDS, Stored(directory=RunDirectory(tmp_path), config=config))
    expected_members, expected = score_runs(config, signals)
    whole = cross_fit_audit(config, pool, {"signals": signals})
    assert fitted is not None
    assert whole is not None
    assert np.array_equal(members, expected_members)
    assert scores.tobytes() == expected.tobytes()
    assert fitted.scores.tobytes() == whole.scores.tobytes()
    assert np.array_equal(fitted.members, whole.members)


def test_what_looks_at_all_records_is_not_divided(asked: tuple[AuditConfig, Pool]) -> None:
    config, _ = asked
    assert scores_by_blocks(config, RECORDS)
    for change in ({"variance": "pooled"}, {"estimator": "carlini"}):
        assert not scores_by_blocks(replace(config, attack_config={**config.attack_config, **change}), RECORDS)
    assert not scores_by_blocks(replace(config, attack="rmia", attack_config={}), RECORDS)
    assert not scores_by_blocks(replace(config, level="set"), RECORDS)
    # With few fit runs, or fewer in a fold, one variance serves all records.
    assert not scores_by_blocks(replace(config, shadows=112, test_runs=28), RECORDS)


def test_attack_without_fit_runs_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, _ = resolve_config(Loss(method="real", records=RECORDS, shadows=6, shard_runs=4), None)
    signals = keep_signals(config, tmp_path)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)
    _, scores, fitted = score_blocks(config, RECORDS, Stored(directory=RunDirectory(tmp_path), config=config))
    assert scores.tobytes() == score_runs(config, signals)[1].tobytes()
    assert fitted is None
    assert Blank(num_runs=6).read(slice(3, 8)).shape == (6, 5, 1)


@pytest.mark.parametrize("levels", [3, 40, 10**6])
def test_counts_at_both_ends_against_ranks(levels: int) -> None:
    """With many ties, with some, and with none."""
    for number in (2, 5, 997):
        generator = stream(levels, "ends", number)
        members = generator.random(number) < 0.5
        scores = generator.integers(levels, size=number).astype(np.float32)
        made = (GUESS_PAIRS * number).astype(np.int64)
        expected = rank_coins(members, scores).guess(made[:, 0], made[:, 1])
        assert np.array_equal(count_correct(members, scores, made[:, 0], made[:, 1]), expected.num_correct)
