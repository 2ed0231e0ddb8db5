"""Coins for a few audited records: who has one, who is always in, and what a step costs then."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from small_specs import small_spec

from attacks.canaries import canary_kinds, plant_canaries
from attacks.response import fit_response
from audit.data.load import pool_checksum, pool_rows
from audit.games.membership import signals
from audit.games.membership.audited import audited_pool, choose_audited, other_records, record_numbers
from audit.games.membership.coins import Coins, draw_coins, read_coins, write_coins
from audit.games.membership.draws import signals_by_draw
from audit.games.membership.game import nominal_class_sizes
from audit.games.membership.headline import bound_coins
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import game_of, members_of_pool
from audit.games.membership.summary import score_runs, score_table
from condensers.dm import class_minibatch
from condensers.errors import BadConfig, BadData
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from reports.records.scope import Scope, describe_scope

RANDOMNESS = Randomness(seed=1, runs=tuple(range(8)))


def test_audited_records_are_balanced_nested_and_of_the_seed(digits: Pool) -> None:
    few, more = choose_audited("25", digits, {}, 3), choose_audited("200", digits, {}, 3)
    assert few is not None
    assert more is not None
    assert few == sorted(few)
    assert set(few) < set(more)
    counts = np.bincount(digits.labels.numpy()[few], minlength=10)
    assert counts.tolist() == [3] * 5 + [2] * 5
    assert few != choose_audited("25", digits, {}, 4)
    assert choose_audited(None, digits, {}, 3) is None


def test_canaries_are_audited_records(digits: Pool) -> None:
    counts = {"mislabelled": 7}
    pool = plant_canaries(digits, counts, 0)
    planted = np.flatnonzero(canary_kinds(pool.labels.numpy(), 10, counts))
    assert choose_audited("0", pool, counts, 0) == planted.tolist()
    both = choose_audited("30", pool, counts, 0)
    assert both is not None
    assert set(planted.tolist()) < set(both)
    assert len(both) == 37


def test_a_file_names_the_audited_records(tmp_path: Path, digits: Pool) -> None:
    path = tmp_path / "records.txt"
    for mark in ("", "\ufeff"):  # of byte order, as spreadsheets write it
        path.write_text(f"{mark}# mine\n17, 3\n1500\n", encoding="utf-8")
        assert choose_audited(str(path), digits, {}, 0) == [3, 17, 1500]
    for text, said in (("3 3", "twice"), ("1797", "no ordinary record 1797"), ("x", "holds 'x'")):
        path.write_text(text)
        with pytest.raises(BadData, match=said):
            choose_audited(str(path), digits, {}, 0)
    with pytest.raises(BadData, match="neither a number nor a readable file"):
        choose_audited("nowhere.txt", digits, {}, 0)
    with pytest.raises(BadConfig, match="no record would be audited"):
        choose_audited("0", digits, {}, 0)
    with pytest.raises(BadConfig, match="1797 ordinary records"):
        choose_audited("1798", digits, {}, 0)


def test_all_but_audited_records_are_in_every_run_against_theory() -> None:
    config, pool = resolve_config(small_spec(audited=50, level="set", shadows=64), None)
    included = members_of_pool(config, pool, range(64)).numpy()
    audited = record_numbers(config, 50)
    others = np.setdiff1d(np.arange(pool.num_records), audited)
    assert included[:, others].all()
    inside = int(included[:, audited].sum())
    assert binom.cdf(min(inside, 3200 - inside), 3200, 0.5) > 1e-6
    assert np.array_equal(included[:, audited], game_of(config, 50).members(range(64)))
    # 20 per class, of which 5 by a coin.
    assert nominal_class_sizes(pool, config.audited_records) == (17.5,) * 10
    assert audited_pool(config, pool).num_records == 50
    sample = other_records(config, pool)
    assert sample is not None
    assert sample.num_records == 150


def test_records_in_tables_have_the_numbers_of_the_pool() -> None:
    config, _ = resolve_config(small_spec(audited=10, level="set"), None)
    table = score_table(config, np.ones((4, 10), dtype=bool), np.zeros((4, 10)))
    assert sorted(set(table["record"])) == config.audited_records
    assert "--audited 10" in small_spec(audited=10).command()


def naive_minibatch(members: np.ndarray, batch: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks over the whole class."""
    order = RANDOMNESS.public("minibatch", step, 0).permutation(members.shape[1])
    taken = members[:, order] & (np.cumsum(members[:, order], axis=1) <= batch)
    return order[taken.any(0)], taken[:, taken.any(0)]


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
def test_minibatches_looked_at_in_part_against_naive(share: float) -> None:
    members = stream(0, "members").random((8, 3000)) < share
    for step in range(5):
        order, taken = class_minibatch(members, 40, RANDOMNESS, step, 0)
        expected, naive = naive_minibatch(members, 40, step)
        assert np.array_equal(order, expected)
        assert np.array_equal(taken, naive)


def test_runs_that_share_their_members_share_their_minibatch() -> None:
    members = np.ones((64, 6000), dtype=bool)
    members[:, :50] = stream(0, "coins").random((64, 50)) < 0.5
    used = [len(class_minibatch(members, 256, RANDOMNESS, step, 0)[0]) for step in range(20)]
    assert max(used) < 256 + 12


@pytest.mark.parametrize(
    ("members", "used"), [(np.arange(100) % 2 == 0, 40), (np.arange(100) < 30, 30), (np.zeros(100), 1)]
)
def test_a_run_by_itself_embeds_what_it_uses_alone(members: np.ndarray, used: int) -> None:
    order, taken = class_minibatch(members.astype(bool)[None], 40, RANDOMNESS, 0, 0)
    assert (len(order), taken.shape) == (used, (1, used))
    assert taken.all() == members.any()


def test_few_records_have_effects_of_their_own() -> None:
    """Effects that the records' looks say nothing about are found; as many records as runs, they are borrowed."""
    generator = stream(5, "effects")
    members = generator.random((96, 10)) < 0.5
    features = generator.standard_normal((10, 3))
    effects = generator.standard_normal((10, 20))
    released = (members - 0.5) @ effects + 2.0 * generator.standard_normal((96, 20))
    few = fit_response(released[:64], members[:64], features, few=True).ratios(released[64:])
    many = fit_response(released[:64], members[:64], features).ratios(released[64:])
    right = members[64:] == (few > 0)
    assert right.mean() > 0.75
    assert right.mean() > (members[64:] == (many > 0)).mean()


@pytest.mark.slow
@pytest.mark.parametrize("shuffle", [True, False])
def test_sets_that_follow_no_coin_certify_nothing(shuffle: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shuffled membership of sets that follow their members, and sets that follow nobody: bounds keep their level."""
    monkeypatch.setattr(signals, "VIEW_NETWORKS", 1)
    seeds, exceeded = 12, 0
    for seed in range(seeds):
        spec = small_spec(audited=20, level="set", shadows=24, seed=seed, shuffle_membership=shuffle, method="real")
        config, pool = resolve_config(spec, None)
        sub = audited_pool(config, pool)
        images = stream(seed, "sets").standard_normal((24, 10, 1, 8, 8)).astype(np.float32)
        if shuffle:
            members, own = game_of(config, 20).members(range(24)), sub.images.numpy()[:, 0]
            for label in range(10):
                chosen = (sub.labels == label).numpy()
                images[:, label, 0] += 3 * np.einsum("rn,nhw->rhw", members[:, chosen] - 0.5, own[chosen])
        shards = {"images": images, "labels": np.tile(np.arange(10), (24, 1))}
        told, scores = score_runs(config, signals_by_draw("set", config, sub, shards))
        exceeded += bound_coins(told, scores, delta=1e-5, confidence=0.95).lower > 0
    assert exceeded <= binom.ppf(0.999, seeds, 0.05)


def test_coins_of_audited_records_are_read_back(tmp_path: Path, digits: Pool) -> None:
    path = tmp_path / "coins.csv"
    audited = np.isin(np.arange(digits.num_records), choose_audited("100", digits, {}, 9))
    members = draw_coins(2, digits.num_records, 5, audited)
    checksum = pool_checksum(digits)
    coins = Coins(dataset="digits", checksum=checksum, members=members, audited=audited)
    write_coins(path, coins, pool_rows("digits"), digits.labels.numpy())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as a spreadsheet saves it
    found = read_coins(path, dataset="digits", checksum=checksum, num_records=digits.num_records)
    assert np.array_equal(found.members, members)
    assert found.audited is not None
    assert np.array_equal(found.audited, audited)
    assert choose_audited(str(path), digits, {}, 0) == np.flatnonzero(audited).tolist()
    outsider = int(np.flatnonzero(~audited)[0])
    lines = path.read_text().splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith(f"{outsider},"))
    lines[place] = lines[place][:-1] + "0"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BadData, match="is left out of a set"):
        read_coins(path, dataset="digits", checksum=checksum, num_records=digits.num_records)


def test_scope_says_who_is_in_doubt() -> None:
    said = describe_scope(Scope(dataset="mnist", num_audited=500, num_records=60_000))
    assert "500 of 60 000 records audited, all others in every run and known to the adversary" in said


@pytest.mark.parametrize("scale", [0.0, 1e-160])
def test_one_record_whose_features_say_nothing_is_found_by_its_own_effect(scale: float) -> None:
    """Features are centred over the records in doubt: those of a single one are zero, or what rounding leaves."""
    generator = stream(4, "one record")
    members = generator.random((48, 1)) < 0.5
    released = members * np.linspace(1, 2, 12) + 0.1 * generator.normal(size=(48, 12))
    ratios = fit_response(released[:32], members[:32], np.full((1, 3), scale), few=True).ratios(released[32:])
    assert np.isfinite(ratios).all()
    assert ratios[members[32:]].min() > ratios[~members[32:]].max()
