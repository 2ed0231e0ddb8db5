"""`audit compare` and `audit ladder`, small."""

import json
import sys

import pytest

from audit.cli import main

SMALL = (
    *("--records", "120", "--shadows", "24", "--test-runs", "6", "--jobs", "1"),
    *("--set", "width=4", "--set", "depth=1", "--set", "iterations=3"),
    *("--set", "victim.width=4", "--set", "victim.depth=1", "--set", "victim.epochs=3"),
)


def run(monkeypatch, capsys, folder, *arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["audit", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_compare_scores_every_entry_on_the_same_test_runs(tmp_path, monkeypatch, capsys):
    attacks = "loss:model,rmia:model:4,lira:model:18,lira:set"
    code, out, _ = run(monkeypatch, capsys, tmp_path, "compare", "--attacks", attacks, *SMALL, "--tries", "2", "--json")
    record = json.loads(out)
    assert code == 0
    assert [entry["num_fit_runs"] for entry in record["entries"]] == [0, 4, 18, 18]
    assert {entry["epsilon"]["num_tries"] for entry in record["entries"]} == {8}, "tries times entries"
    fitted = ["fit runs" in entry["epsilon"]["threshold_choice"] for entry in record["entries"]]
    assert fitted == [False, False, True, True]
    assert record["entries"][1]["num_records"] < record["entries"][0]["num_records"]
    (folder,) = (tmp_path / "runs").glob("compare-*")
    assert (folder / "roc.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("attacks", "said"),
    [
        ("lira", "ATTACK:LEVEL"),
        ("lira:moon", "ATTACK:LEVEL"),
        ("loss:set", "works at level model"),
        ("loss:model:4", "learns from no run"),
        ("lira:set,lira:set", "twice"),
        ("lira:set:999", "there are 18 fit runs"),
    ],
    ids=[str(i) for i in range(6)],
)
def test_entries_that_cannot_be_are_one_line_and_exit_2(tmp_path, monkeypatch, capsys, attacks, said):
    code, out, err = run(monkeypatch, capsys, tmp_path, "compare", "--attacks", attacks, *SMALL)
    assert code == 2
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1


def test_ladder_has_three_rungs_for_a_private_method(tmp_path, monkeypatch, capsys):
    private = ("--method", "ndpdc", "--epsilon", "8", "--trials", "2000", "--set", "batch=4")
    code, out, _ = run(monkeypatch, capsys, tmp_path, "ladder", *private, *SMALL, "--json")
    rows = json.loads(out)["rows"]
    assert code == 0
    assert [row["level"] for row in rows] == ["model", "set", "transcript"]
    assert all(row["confidence"] == pytest.approx(1 - 0.05 / 3) for row in rows)
    assert all(row["analytic_epsilon"] <= 8 for row in rows)
    assert rows[2]["lower"] > 3
    records = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("lira-ndpdc-*/report.json")]
    assert [len(record["ladder"]["rows"]) for record in records if record["ladder"]] == [3]


def test_ladder_of_a_private_method_needs_an_epsilon(tmp_path, monkeypatch, capsys):
    code, _, err = run(monkeypatch, capsys, tmp_path, "ladder", "--method", "ndpdc", *SMALL)
    assert code == 2
    assert "--epsilon is missing" in err
