"""Levels, attacks and canaries at the command line; audits of one condensation share it."""

# ruff: noqa: F401, F811  (fixtures that are imported look unused, and arguments like them look like new definitions)

import json
import os
import shlex
from pathlib import Path

import pytest
from inline import compute_inline
from test_cli_attack import TINY, Run, inline, run

import audit.games.membership.pipeline
from audit.engine.executor import Local
from audit.engine.store import RunDirectory
from reports.records import schema

pytestmark = pytest.mark.usefixtures("inline")
REAL = shlex.split("--method real --ipc 2 --records 200 --shadows 24 --shard-runs 8 --set victim.epochs=2")


def directories(out: Path, start: str) -> list[RunDirectory]:
    return [RunDirectory(path) for path in sorted(out.glob(f"{start}*"))]


def test_level_set_on_copies_against_its_ceiling(run: Run, tmp_path: Path) -> None:
    """A random real subset: the copies are found, the others are even odds."""
    outcome = run("lira", "--level", "set", *REAL, "--json", "--delta", "0", "--out", tmp_path)
    assert outcome.code == 0
    report = json.loads(outcome.out)
    assert report["level"] == "set"
    assert report["utility"] is None
    assert report["epsilon"]["lower"] > 2
    assert "sees the released synthetic set" in report["threat_model"][0]
    shuffled = run("lira", "--level", "set", *REAL, "--json", "--delta", "0", "--out", tmp_path, "--shuffle-membership")
    assert json.loads(shuffled.out)["epsilon"]["lower"] == 0
    assert "taking 24 runs" in shuffled.err


def test_one_condensation_serves_all_attacks_and_levels(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set level takes shards with victims and gives the bytes it gives alone; model level takes none without."""
    alone, together = tmp_path / "alone", tmp_path / "together"
    assert run("lira", "--level", "set", *REAL, "--out", alone).code == 0
    assert run("lira", *REAL, "--out", together).code == 0

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it computed again")

    monkeypatch.setattr(Local, "run", refuse)
    for arguments in (["lira", "--level", "set"], ["rmia"], ["rmia", "--level", "set"]):
        outcome = run(*arguments, *REAL, "--out", together)
        assert outcome.code == 0
        assert "taking 24 runs from" in outcome.err
    fewer = run("lira", "--level", "set", *REAL, "--shadows", "16", "--out", together)
    assert (fewer.code, "taking 16 runs" in fewer.err) == (0, True)
    few = run("rmia", *REAL, "--fit-runs", "4", "--json", "--out", together)
    assert (few.code, json.loads(few.out)["game"]["num_fit_runs"]) == (0, 4)
    (first,) = directories(alone, "lira")
    found = [other for other in directories(together, "lira") if other.report.read_bytes() == first.report.read_bytes()]
    assert len(found) == 1
    assert found[0].scores.read_bytes() == first.scores.read_bytes()
    assert os.stat(found[0].shard(0)).st_nlink > 1
    monkeypatch.setattr(Local, "run", compute_inline)
    outcome = run("lira", *REAL, "--out", alone)
    assert "taking" not in outcome.err
    assert "condensing and training 24 runs" in outcome.err


def test_damaged_shards_of_other_runs_are_not_taken(run: Run, tmp_path: Path) -> None:
    assert run("lira", "--level", "set", *REAL, "--out", tmp_path).code == 0
    (first,) = directories(tmp_path, "lira")
    first.shard(1).write_bytes(first.shard(1).read_bytes()[:-9])
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger" / "config.json").write_text("{")
    outcome = run("rmia", "--level", "set", *REAL, "--out", tmp_path)
    assert outcome.code == 0
    assert "taking 16 runs" in outcome.err
    assert "condensing 8 runs" in outcome.err


def test_canaries_are_reported_by_themselves(run: Run, tmp_path: Path) -> None:
    canaries = ["--canaries", "crafted:4,blank:6"]
    outcome = run("lira", "--level", "set", *REAL, *canaries, "--json", "--out", tmp_path)
    assert outcome.code == 0
    report = schema.load(outcome.out)
    assert [(group.name, group.num_records) for group in report.groups] == [
        ("ordinary", 200), ("blank", 6), ("crafted", 4),
    ]  # fmt: skip
    assert report.game.num_records == 210
    assert all(group.epsilon.num_tries == 3 for group in report.groups)
    assert report.epsilon.num_tries == 1
    assert schema.dump(schema.load(schema.dump(report))) == schema.dump(report)
    assert "--canaries blank:6,crafted:4" in report.command


def test_old_reports_without_groups_are_read(run: Run, tmp_path: Path) -> None:
    outcome = run(*TINY, "--level", "set", "--json", "--out", tmp_path)
    raw = json.loads(outcome.out)
    del raw["groups"]
    assert schema.load(json.dumps(raw)).groups == ()


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ("loss --level set", "--level set: loss works at level model only"),
        ("lira --canaries evil:3", "--canaries evil:3: 'evil' is not one of"),
        ("lira --shadows 24 --fit-runs 20", "--fit-runs 20: must lie in 3…18"),
        ("loss --fit-runs 3", "--fit-runs 3: this attack is not fitted on other runs"),
        ("rmia --shadows 2", "--shadows 2: RMIA needs at least 4 runs"),
        ("rmia --set attack.gamma=-1", "gamma=-1.0: must be positive"),
    ],
)
def test_bad_usage_against_its_one_line(flags: str, line: str, run: Run, tmp_path: Path) -> None:
    outcome = run(*shlex.split(flags), "--records", "200", "--out", tmp_path / "runs")
    assert (outcome.code, outcome.out) == (2, "")
    assert line in outcome.err
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("method", "changes"), [("dpmix", []), ("ldpdc", ["--set", "batch=5", "--ipc", "5"])])
def test_private_methods_at_level_set(method: str, changes: list[str], run: Run, tmp_path: Path) -> None:
    """Soft labels and noise: signals are finite, nothing sound is refuted."""
    flags = ["--records", "200", "--shadows", "24", "--shard-runs", "24", "--out", tmp_path]
    outcome = run("lira", "--level", "set", "--method", method, *flags, "--epsilon", "1", "--json", *changes)
    assert outcome.code == 0
    assert json.loads(outcome.out)["verdict"] == "NOT REFUTED"


@pytest.mark.parametrize("level", ["set", "model"])
@pytest.mark.parametrize("method", [("dm", "--set", "iterations=3"), ("real", "--ipc", "1")], ids=lambda m: m[0])
def test_pool_whose_coins_leave_classes_empty_is_audited(run: Run, tmp_path: Path, level: str, method: tuple[str, ...]):
    """Two records per class: of 24 runs nearly all lack a class."""
    name, *changes = method
    found = run(
        "lira", "--method", name, "--records", "20", "--shadows", "24", "--level", level, *changes, "--json",
        "--set", "victim.epochs=2", "--set", "victim.width=4", "--set", "victim.depth=1", "--out", tmp_path,
    )  # fmt: skip
    assert found.code == 0
    assert "22 of 24 runs have no member of some class" in found.err
    assert 0 <= json.loads(found.out)["roc"]["auc"] <= 1
