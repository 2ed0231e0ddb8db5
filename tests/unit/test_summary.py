import numpy as np
import pytest
import torch
from small_specs import small_spec

from audit.games.membership.resolve import resolve_config
from audit.games.membership.summary import most_exposed, score_runs, score_table, summarise
from condensers.ledger import Event, Poisson
from condensers.randomness import stream
from reports.records import schema


def audit_of(attack="lira", effect=2.0, shadows=64, **changes):
    """An audit whose signals are simulated: members shift by `effect`."""
    config, pool = resolve_config(small_spec(attack, shadows=shadows, **changes), None)
    from audit.games.membership.shard import game_of

    members = game_of(config, pool.num_records).members(range(shadows))
    signals = stream(0, "signals").standard_normal((*members.shape, 1)) + effect * members[:, :, None]
    shards = {
        "accuracy": np.linspace(0.5, 0.7, shadows),
        "initial_records": np.full((shadows, 10), -1),
    }
    return config, pool, signals.astype(np.float32), shards


def summary_of(**changes):
    config, pool, signals, shards = audit_of(**changes)
    members, scores = score_runs(config, signals)
    return summarise(config, pool, members, scores, shards), members, scores


def test_a_planted_signal_is_found_and_refutes_a_claim():
    report, _, _ = summary_of(claim=0.5)
    assert report.roc.auc > 0.85
    assert report.epsilon.lower > 0.5
    assert report.verdict == "REFUTED"
    assert report.epsilon.unit == "record"
    assert report.epsilon.num_trials == 16 // 2 * 200
    assert report.epsilon.estimator == "one-run-dp"
    assert [(bound.estimator, bound.delta) for bound in report.bounds[:3]] == [
        ("one-run-dp", 1e-5), ("one-run", 1e-5), ("one-run", 0.0)
    ]  # fmt: skip
    assert report.curve_test is None


def test_shuffled_membership_finds_nothing():
    report, _, _ = summary_of(shuffle_membership=True)
    low, high = report.roc.auc_interval
    assert low <= 0.5 <= high
    assert report.epsilon.lower == 0
    assert report.threat_model[0].startswith("CONTROL")


def test_bound_never_exceeds_its_ceiling_and_ratio_is_no_bound():
    report, _, _ = summary_of(effect=50.0)
    assert report.epsilon.lower <= report.epsilon.ceiling
    kinds = {bound.estimator: bound.kind for bound in report.bounds}
    assert kinds["paper-style"] == "no bound"


def test_the_record_survives_the_round_trip_and_holds_the_names_of_the_design():
    report, _, _ = summary_of()
    text = schema.dump(report)
    again = schema.load(text)
    assert schema.dump(again) == text
    for name in ("schema", "command", "method", "attack", "dataset", "level", "verdict", "epsilon", "bounds", "claimed",
                 "roc", "paper_style_epsilon", "utility", "run_directory", "pdf"):  # fmt: skip
        assert hasattr(again, name)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "other/1"}', '{"schema": "condensation-audit/1"}'])
def test_other_files_are_refused_in_one_line(text):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        schema.load(text)


def test_most_exposed_records_are_those_that_separate():
    config, pool, signals, _ = audit_of(effect=0.0)
    members, scores = score_runs(config, signals)
    scores = scores + 30.0 * members * (np.arange(200) == 17)
    assert most_exposed(pool.labels.numpy(), members, scores)[0].record == 17


def test_score_table_has_a_row_per_test_run_and_record():
    config, _, signals, _ = audit_of()
    members, scores = score_runs(config, signals)
    table = score_table(config, members, scores)
    assert list(table.columns) == ["run", "record", "member", "score"]
    assert table.run.min() == 48
    row = table[(table.run == 50) & (table.record == 3)].iloc[0]
    assert row.score == scores[2, 3]
    assert row.member == members[2, 3]


def test_loss_protocols_are_those_of_the_paper():
    config, pool, signals, shards = audit_of(attack="loss", shadows=10, effect=1.0)
    members, scores = score_runs(config, signals)
    started = np.stack([np.flatnonzero(row)[:10] for row in members])
    scores = scores.copy()
    for run, records in enumerate(started):
        scores[run, records] += 100
    report = summarise(config, pool, members, scores, {**shards, "initial_records": started})
    tables = {protocol.source[-7:]: protocol for protocol in report.protocols}
    assert tables["Table 1"].advantage > 0.9
    assert 0.2 < tables["Table 2"].advantage < 0.9
    assert tables["Table 2"].num_seeds == 10


def test_torch_is_left_with_its_own_generator():
    before = torch.random.get_rng_state()
    summary_of()
    assert torch.equal(before, torch.random.get_rng_state())


def private_summary(effect: float, noise: float, **changes):
    """An audit of a private method whose ledger is that of one Gaussian release, and whose signals are simulated."""
    config, pool, signals, shards = audit_of(effect=effect, method="ndpdc", changes=("batch=10",), **changes)
    members, scores = score_runs(config, signals)
    ledger = ((Event(group=None, sampling=Poisson(rate=1.0), noise_multiplier=noise), 1),)
    return summarise(config, pool, members, scores, shards, ledger=ledger)


def test_the_curve_of_a_ledger_is_refuted_where_its_point_is_not():
    """Scores shift by 2 where the ledger proves a shift of 1: ε at δ allows far more than the bound shows."""
    report = private_summary(effect=2.0, noise=1.0)
    assert report.claimed.epsilon_pld > report.epsilon.lower
    assert report.curve_test.refuted
    assert report.curve_test.p_value < 0.025
    assert report.verdict == "REFUTED"
    assert "whole trade-off curve" in report.verdict_reason
    assert schema.dump(schema.load(schema.dump(report))) == schema.dump(report)


def test_bound_and_test_of_a_ledger_share_the_error_against_tries():
    report = private_summary(effect=1.0, noise=1.0, tries=3)
    assert report.verdict == "NOT REFUTED"
    assert not report.curve_test.refuted
    assert report.epsilon.num_tries == report.curve_test.num_tries == 6
    stated = private_summary(effect=1.0, noise=1.0, tries=3, claim=0.1)
    assert stated.curve_test is None
    assert stated.epsilon.num_tries == 3
    assert stated.epsilon.lower >= report.epsilon.lower


def test_tries_divide_the_error_against_one_try():
    alone, tried = summary_of()[0], summary_of(tries=5)[0]
    assert alone.epsilon.num_tries == 1
    assert tried.epsilon.num_tries == 5
    assert tried.epsilon.lower < alone.epsilon.lower
    assert "--tries 5" in tried.command
    assert "--tries" not in alone.command
    assert alone.digest != tried.digest


def test_runs_that_left_nobody_out_have_no_accuracy_against_the_others():
    """Their accuracy is a quotient of zeros: of the other runs there are a mean and an interval still."""
    config, pool, signals, shards = audit_of()
    members, scores = score_runs(config, signals)
    accuracy = shards["accuracy"].copy()
    accuracy[[3, 40]] = np.nan
    report = summarise(config, pool, members, scores, {**shards, "accuracy": accuracy})
    assert report.utility.accuracy == pytest.approx(np.delete(shards["accuracy"], [3, 40]).mean(), rel=1e-12)
    assert np.isfinite(report.utility.accuracy_interval).all()
    nobody = summarise(config, pool, members, scores, {**shards, "accuracy": np.full(64, np.nan)})
    assert nobody.utility is None
