"""Several public draws: which runs share what, who learns from whom, and intervals that cover another audit."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats
from small_specs import small_spec
from test_summary import audit_of, summary_of

from audit.engine.store import RunDirectory, read_tensors
from audit.games.membership.config import AuditConfig
from audit.games.membership.draws import signals_by_draw
from audit.games.membership.request import resolved_spec
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import compute_shard, game_of, num_shards, shard_draw, shard_runs
from audit.games.membership.summary import score_runs, score_table, summarise
from audit.gate.metrics import METRICS, Measured, got_worse
from audit.statistics.clustered import interval_of_mean, measure_roc_over_draws
from audit.statistics.roc import measure_roc
from condensers.errors import BadConfig
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, get_method, untracked
from reports.documents.membership import build_membership, gather_membership
from reports.records.gallery import Gallery
from reports.records.intervals import GIVEN_PUBLIC_DRAW, PUBLIC_DRAWS, RECORDS, RUNS
from reports.records.schema import Roc
from reports.render.html import write_html
from reports.words.membership import explain_numbers

AUDITS = 50
SMALL = {"changes": ("iterations=2", "width=4", "depth=1"), "level": "set"}


def config_of(attack: str = "lira", **changes: object) -> AuditConfig:
    return resolve_config(small_spec(attack, **changes), None)[0]


def simulated(
    generator: np.random.Generator, *, draws: int, runs: int, between: float = 0.4
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Members' scores are higher by an effect that varies from draw to draw, and a little from run to run."""
    own = np.arange(runs) % draws
    effects = 0.8 + between * generator.normal(size=draws)[own] + 0.1 * generator.normal(size=runs)
    members = generator.random((runs, 60)) < 0.5
    return members, generator.normal(size=members.shape) + effects[:, None] * members, own


def test_the_only_draw_has_the_streams_it_always_had_against_earlier_version() -> None:
    randomness = Randomness(seed=5, runs=(0, 1, 2))
    assert randomness.public("network", 3).integers(1 << 32, size=3).tolist() == [1671787596, 62954468, 848972659]
    noise = randomness.only_public.public("initial images").integers(1 << 32, size=3)
    assert noise.tolist() == [1106775388, 1447145049, 2366650160]
    others = [Randomness(seed=5, runs=(0,), draw=draw).public("network", 3).random() for draw in range(4)]
    assert len(set(others)) == 4


def test_one_draw_gives_the_bytes_of_a_plain_condensation_against_naive(tmp_path) -> None:
    config, pool = resolve_config(small_spec(**SMALL, shadows=6, shard_runs=4), None)
    directory = RunDirectory(tmp_path)
    directory.create()
    compute_shard(config, pool, directory, 1, lambda *_: None)
    kept = read_tensors(directory.shard(1), digest=config.work_digest)
    method, runs = get_method("dm"), (4, 5)
    members = torch.from_numpy(game_of(config, pool.num_records).members(runs))
    plain, _ = condense_runs(
        method,
        pool,
        members,
        method.config(**config.method_config),
        class_sizes=(10.0,) * 10,
        randomness=Randomness(seed=0, runs=runs),
        track=untracked,
    )
    assert torch.equal(kept["images"], plain.images)


@pytest.mark.parametrize(("shadows", "draws", "together"), [(64, 4, 5), (64, 4, 64), (32, 8, 1), (60, 3, 7), (9, 1, 4)])
def test_no_shard_holds_runs_of_two_draws(shadows: int, draws: int, together: int) -> None:
    config = config_of(shadows=shadows, public_draws=draws, shard_runs=together, test_runs=draws)
    shards = [shard_runs(config, index) for index in range(num_shards(config))]
    assert sorted(run for shard in shards for run in shard) == list(range(shadows))
    for index, shard in enumerate(shards):
        assert 1 <= len(shard) <= together
        assert {run % draws for run in shard} == {shard_draw(config, index)}


def test_runs_of_a_draw_share_their_start_and_others_do_not(tmp_path) -> None:
    still = ("iterations=1", "width=4", "depth=1", "learning_rate=1e-30")
    config, pool = resolve_config(small_spec(**{**SMALL, "changes": still}, shadows=16, public_draws=2), None)
    directory = RunDirectory(tmp_path)
    directory.create()
    starts = []
    for index in range(num_shards(config)):
        compute_shard(config, pool, directory, index, lambda *_: None)
        starts.append(read_tensors(directory.shard(index), digest=config.work_digest)["images"])
    assert all(torch.equal(start[0], one) for start in starts for one in start)
    assert not torch.equal(starts[0][0], starts[1][0])


@pytest.mark.parametrize("attack", ["lira", "rmia", "loss"])
def test_an_attack_sees_runs_of_its_own_draw_only(attack: str) -> None:
    config, _, signals, _ = audit_of(attack, shadows=64, public_draws=4)
    _, before = score_runs(config, signals)
    other = signals.copy()
    other[1::4] = stream(0, "shuffled runs").permutation(other[1::4])
    _, after = score_runs(config, other)
    own = np.arange(len(before)) % 4 != 1
    assert np.array_equal(before[own], after[own])
    assert not np.array_equal(before[~own], after[~own])


def test_signals_at_level_set_are_learned_draw_by_draw() -> None:
    config, pool = resolve_config(small_spec(**SMALL, shadows=16, public_draws=2), None)
    generator = stream(0, "released sets")
    shards = {
        "images": generator.normal(size=(16, 10, 1, 8, 8)).astype(np.float32),
        "labels": np.tile(np.arange(10), (16, 1)),
    }
    before = signals_by_draw("set", config, pool, shards)
    changed = {**shards, "images": shards["images"].copy()}
    changed["images"][1::2] = generator.normal(size=(8, 10, 1, 8, 8))
    after = signals_by_draw("set", config, pool, changed)
    assert np.array_equal(before[::2], after[::2])
    assert not np.array_equal(before[1::2], after[1::2])
    # The same sets under the networks of the other draw say something else.
    swapped = {name: np.concatenate([values[1:], values[:1]]) for name, values in shards.items()}
    assert not np.array_equal(signals_by_draw("set", config, pool, swapped)[1::2], before[::2])


@pytest.mark.parametrize(
    ("attack", "changes", "said"),
    [
        ("lira", {"public_draws": 0}, "must lie in 1"),
        ("lira", {"public_draws": 3}, "choose 18"),
        ("lira", {"public_draws": 8, "test_runs": 6}, "--test-runs 8"),
        ("lira", {"public_draws": 4, "test_runs": 8}, "leaves 2 fit runs"),
        ("lira", {"public_draws": 2, "fit_runs": 7}, "choose 8"),
        ("lira", {"public_draws": 4, "shadows": 32, "fit_runs": 8}, "leaves 2 fit runs"),
        ("lira", {"public_draws": 2, "independent_randomness": True}, "a draw of its own"),
        ("lira", {"public_draws": 2, "method": "dpsgd"}, "no public randomness"),
        ("loss", {"public_draws": 5}, "choose 20"),
    ],
    ids=[str(i) for i in range(9)],
)
def test_divisions_that_do_not_work_out_are_refused_in_one_line(attack: str, changes: dict, said: str) -> None:
    with pytest.raises(BadConfig, match=said) as refusal:
        config_of(attack, **changes)
    assert len(str(refusal.value).splitlines()) == 1


def test_the_number_of_draws_is_part_of_what_determines_the_result() -> None:
    one, two = config_of(), config_of(public_draws=2)
    assert (one.digest, one.condensation_digest) != (two.digest, two.condensation_digest)
    assert one.condensation_digest != two.condensation_digest
    assert "--public-draws" not in resolved_spec(one).command()
    assert "--public-draws 2" in resolved_spec(two).command()


def test_a_report_says_what_its_intervals_are_over() -> None:
    several, _, _ = summary_of(public_draws=4)
    assert (several.roc.interval_unit, several.utility.interval_unit) == (PUBLIC_DRAWS, PUBLIC_DRAWS)
    assert several.game.public_draws == 4
    assert any("4 draws" in line for line in several.threat_model)
    shared, _, _ = summary_of()
    assert (shared.roc.interval_unit, shared.utility.interval_unit) == (GIVEN_PUBLIC_DRAW, GIVEN_PUBLIC_DRAW)
    own, _, _ = summary_of(independent_randomness=True)
    assert (own.roc.interval_unit, own.game.public_draws) == (RUNS, 64)
    loss, _, _ = summary_of(attack="loss", public_draws=4)
    assert {protocol.interval_unit for protocol in loss.protocols} == {PUBLIC_DRAWS}


@pytest.mark.parametrize(("draws", "said"), [(1, "given this public randomness"), (4, "over public draws")])
def test_the_page_says_what_its_intervals_are_over(tmp_path, draws: int, said: str) -> None:
    config, pool, signals, shards = audit_of(public_draws=draws)
    members, scores = score_runs(config, signals)
    report = summarise(config, pool, members, scores, shards)
    table = score_table(config, members, scores)
    write_html(build_membership(gather_membership(report, scores=table, gallery=Gallery())), tmp_path / "page.html")
    # Names of both figures for those who hear them, note under the rates.
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count(said) >= 3
    assert ("over the 4 draws of the public randomness" if draws > 1 else said) in explain_numbers(report)


def test_no_interval_is_a_point() -> None:
    members = stream(0, "coins").random((8, 40)) < 0.5
    for scores in (np.zeros(members.shape), members.astype(float), -members.astype(float)):
        for roc in (
            measure_roc(members, scores, confidence=0.95, seed=0),
            measure_roc_over_draws(members, scores, np.arange(8) % 4, confidence=0.95, seed=0),
        ):
            found = [roc.auc_interval, roc.balanced_accuracy_interval, *roc.tpr_at_fpr_interval.values()]
            assert all(0 <= low < high <= 1 for low, high in found)
    single, _, _ = summary_of(attack="loss", shadows=1)
    low, high = single.utility.accuracy_interval
    assert low < single.utility.accuracy < high
    assert single.utility.interval_unit == RECORDS
    (protocol,) = single.protocols
    assert protocol.advantage_interval[0] < protocol.advantage < protocol.advantage_interval[1]


def test_interval_of_a_mean_over_draws_covers_against_theory() -> None:
    """Student's interval of normal draws covers at its level, however the variance is divided."""
    generator, audits, draws = stream(0, "means"), 4000, 4
    effects = generator.normal(size=(audits, draws, 1)) + 0.5 * generator.normal(size=(audits, draws, 6))
    own = np.arange(24) % draws
    covered = 0
    for values in effects.transpose(0, 2, 1).reshape(audits, 24):
        low, high = interval_of_mean(values, own, 0.95)
        covered += low <= 0 <= high
    assert abs(covered / audits - 0.95) < 3 * np.sqrt(0.95 * 0.05 / audits)


@pytest.fixture(scope="module")
def measured() -> dict[int, list[Roc]]:
    """Audits of one law that differ in their draws: eight draws each, and one."""
    found: dict[int, list[Roc]] = {8: [], 1: []}
    for audit in range(AUDITS):
        members, scores, own = simulated(stream(0, "tables", audit), draws=8, runs=16)
        found[8].append(measure_roc_over_draws(members, scores, own, confidence=0.95, seed=0))
        members, scores, _ = simulated(stream(0, "tables", audit), draws=1, runs=16)
        found[1].append(measure_roc(members, scores, confidence=0.95, seed=0))
    return found


def test_roc_over_draws_covers_where_the_interval_over_runs_does_not_against_simulation(measured) -> None:
    def covered(rocs: list[Roc]) -> float:
        truth = np.mean([roc.auc for roc in rocs])
        return float(np.mean([roc.auc_interval[0] <= truth <= roc.auc_interval[1] for roc in rocs]))

    assert covered(measured[8]) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / AUDITS)
    assert covered(measured[1]) < 0.6
    assert np.mean([np.ptp(roc.auc_interval) for roc in measured[8]]) < 0.3


def test_false_alarm_rate_between_draws_against_simulation(measured) -> None:
    """With the errors given one draw, the alarms were several times too many."""
    significance = 0.05

    def alarms(rocs: list[Roc], num_units: int) -> float:
        quantile = stats.t.ppf(0.975, num_units - 1)
        figures = [
            Measured(value=roc.auc, standard_error=(roc.auc_interval[1] - roc.auc) / quantile, num_trials=num_units)
            for roc in rocs
        ]
        pairs = itertools.permutations(figures, 2)
        return float(np.mean([got_worse("auc", new, old, significance) for new, old in pairs]))

    # All pairs of so many audits tell as much as twice as many independent values or more.
    assert alarms(measured[8], 8) < significance + 3 * np.sqrt(significance / (2 * AUDITS))
    assert alarms(measured[1], 16) > 4 * significance


def test_every_metric_of_the_gate_has_an_error_over_draws() -> None:
    report, members, scores = summary_of(public_draws=4)
    for metric in ("auc", "tpr at fpr 0.01", "tpr at fpr 0.001", "accuracy", "epsilon"):
        found = METRICS[metric].measure(report, (members, scores), 0.01)
        assert found.num_trials == 4
        assert 0 < found.standard_error < 1
