"""Coins for others: fair, their own, and read back only for the records that they were drawn for."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_digits

from audit.data.load import pool_checksum, pool_rows
from audit.games.membership.coins import Coins, draw_coins, read_coins, take_column, write_coins
from audit.games.membership.game import Game
from condensers.errors import BadConfig, BadData, BadInput
from condensers.pool import Pool


def test_coins_are_fair_independent_and_not_those_of_a_game_against_theory() -> None:
    coins = draw_coins(6, 20_000, 0)
    assert abs(coins.sum() - 60_000) < 4 * np.sqrt(120_000 / 4)
    game = Game(seed=0, num_records=20_000, num_runs=6, num_test_runs=6)
    shadows = np.concatenate([game.members(range(6)), game.decoys(range(6))])
    others = np.concatenate([coins, shadows])
    agreeing = np.array([(one == other).sum() for k, one in enumerate(coins) for other in others[k + 1 :]])
    low, high = binom.ppf([1e-6, 1 - 1e-6], 20_000, 0.5)
    assert agreeing.min() > low
    assert agreeing.max() < high
    assert np.array_equal(coins, draw_coins(6, 20_000, 0))
    assert np.array_equal(coins[:2], draw_coins(2, 20_000, 0))
    assert not np.array_equal(draw_coins(1, 200, None), draw_coins(1, 200, None))


def written(path: Path, pool: Pool, sets: int = 2) -> Coins:
    coins = Coins(dataset="digits", checksum=pool_checksum(pool), members=draw_coins(sets, pool.num_records, 5))
    write_coins(path, coins, pool_rows("digits"), pool.labels.numpy())
    return coins


def read(path: Path, pool: Pool) -> Coins:
    return read_coins(path, dataset="digits", checksum=pool_checksum(pool), num_records=pool.num_records)


def test_file_read_back_in_any_order_is_the_coins(tmp_path: Path, digits: Pool) -> None:
    path = tmp_path / "coins.csv"
    coins = written(path, digits)
    assert np.array_equal(read(path, digits).members, coins.members)
    lines = path.read_text().splitlines()
    head, body = lines[:6], lines[6:]
    path.write_text("\n".join([*head, *body[::-1], ""]))
    assert np.array_equal(read(path, digits).members, coins.members)
    assert np.array_equal(take_column(coins, path, 1), coins.members[1])
    with pytest.raises(BadConfig, match=r"--column 2: .* has coins of 2 sets, 0…1"):
        take_column(coins, path, 2)
    with pytest.raises(BadInput, match="already exists; coins must be drawn once"):
        written(path, digits)


def test_rows_are_those_of_the_data_set_against_sklearn(tmp_path: Path, digits: Pool) -> None:
    path = tmp_path / "coins.csv"
    written(path, digits)
    table = np.genfromtxt(path, delimiter=",", names=True, comments="#", skip_header=5, dtype=np.int64)
    source = load_digits()
    assert np.array_equal(source.target[table["row"]], table["label"])
    records = source.images[table["row"]].astype(np.float32) / 16
    assert np.allclose((records - 0.5) / 0.5, digits.images[:, 0].numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# condensation-audit coins 1", "# coins", "is not a file of coins"),
        ("# pool: ", "# pool: 0", "its coins are for other records: 1797 of digits"),
        ("record,row", "recard,row", "expected record, set_0, set_1"),
        ("set_0,set_1", "set_1,set_0", "expected record, set_0, set_1"),
        ("set_0,set_1", "x,y", "holds coins of no set"),
        ("\n7,", "\n8,", "must have each of the records 0…1796 once"),
        ("\n7,", "\n7,3,", "do not have 5 fields"),
        ("\n0,0,0,", "\n0,0,0,2", "where 0 or 1 is expected"),
    ],
)
def test_altered_files_are_refused_in_one_line(tmp_path: Path, digits: Pool, old: str, new: str, message: str) -> None:
    path = tmp_path / "coins.csv"
    written(path, digits)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadData, match=message) as refusal:
        read(path, digits)
    assert "\n" not in str(refusal.value)


def test_unfair_columns_and_unreadable_files_are_refused(tmp_path: Path, digits: Pool) -> None:
    path = tmp_path / "coins.csv"
    written(path, digits, sets=1)
    lines = path.read_text().splitlines()
    chosen = [f"{line[:-1]}{int(int(line.split(',')[0]) < 700)}" for line in lines[6:]]
    path.write_text("\n".join([*lines[:6], *chosen]))
    with pytest.raises(BadData, match="700 of 1797 records are in set_0, which is implausible for fair coins"):
        read(path, digits)
    with pytest.raises(BadData, match="cannot be read: No such file"):
        read(tmp_path / "none", digits)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadData, match="cannot be read: not a text file"):
        read(tmp_path / "bytes", digits)
