"""`audit compare` and `audit ladder`, small."""

import json
import shlex
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
    assert (folder / "figures" / "roc.png").stat().st_size > 10_000
    assert (folder / "report.pdf").read_bytes().startswith(b"%PDF")
    assert "lira, set, 18 fit runs" in (folder / "report.html").read_text(encoding="utf-8")
    kept = (folder / "report.json").read_bytes()

    # Its command gives its bytes again, into the same folder; other attacks go to another.
    code, again, _ = run(monkeypatch, capsys, tmp_path, *shlex.split(record["command"])[1:], "--jobs", "1", "--json")
    assert (code, again) == (0, out)
    assert record["command"].startswith("audit compare ")
    assert f" --attacks {attacks}" in record["command"]
    code, other, _ = run(monkeypatch, capsys, tmp_path, "compare", "--attacks", "loss:model", *SMALL, "--json")
    assert len(list((tmp_path / "runs").glob("compare-*"))) == 2
    assert json.loads(other)["digest"] != record["digest"]
    assert (folder / "report.json").read_bytes() == kept


def test_compare_fails_above_what_any_corrected_bound_may_be(tmp_path, monkeypatch, capsys):
    """Copies of records: certified at level set."""
    copies = ("--method", "real", "--ipc", "2", "--records", "120", "--shadows", "24", "--jobs", "1")
    arguments = ("compare", "--attacks", "loss:model,lira:set", *copies, "--set", "victim.epochs=2")
    code, out, _ = run(monkeypatch, capsys, tmp_path, *arguments, "--json")
    lowers = [entry["epsilon"]["lower"] for entry in json.loads(out)["entries"]]
    assert code == 0
    assert max(lowers) > 0.1
    for flag in ("--fail-above", "--claim"):
        assert run(monkeypatch, capsys, tmp_path, *arguments, flag, repr(max(lowers) / 2))[0] == 4
        assert run(monkeypatch, capsys, tmp_path, *arguments, flag, repr(max(lowers) * 2))[0] == 0
    assert run(monkeypatch, capsys, tmp_path, *arguments, "--fail-above", "-1")[0] == 2


@pytest.mark.parametrize(
    ("attacks", "said"),
    [
        ("lira", "ATTACK:LEVEL"),
        ("lira:moon", "ATTACK:LEVEL"),
        ("loss:set", "works at level model"),
        ("loss:model:4", "is not fitted on other runs"),
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
    (directory,) = (tmp_path / "runs").glob("ladder-ndpdc-*")
    record = json.loads((directory / "report.json").read_text())
    assert len(record["ladder"]["rows"]) == 3
    assert (record["run_directory"], record["level"]) == (directory.name, "set")
    kept = {path: path.read_bytes() for path in (tmp_path / "runs").glob("lira-*/report.json")}
    assert len(kept) == 2
    assert all(json.loads(content)["ladder"] is None for content in kept.values())

    (directory / "report.pdf").unlink()
    assert run(monkeypatch, capsys, tmp_path, "report", str(directory))[0] == 0
    assert (directory / "report.pdf").exists()
    assert "Certified ε of ndpdc by level of the adversary" in (directory / "report.html").read_text(encoding="utf-8")

    command = shlex.split(record["command"])[1:]
    code, again, _ = run(monkeypatch, capsys, tmp_path, *command, "--jobs", "1", "--fail-above", "2", "--json")
    assert (code, again) == (4, out), "rung 3 certifies more than 2"
    assert len(list((tmp_path / "runs").iterdir())) == 4
    assert {path: path.read_bytes() for path in kept} == kept


def test_ladder_of_a_private_method_needs_an_epsilon(tmp_path, monkeypatch, capsys):
    code, _, err = run(monkeypatch, capsys, tmp_path, "ladder", "--method", "ndpdc", *SMALL)
    assert code == 2
    assert "--epsilon is missing" in err


# Noisy class means whose plan forgets every step but the first, with noise that hides nothing.
FORGETFUL = '''
from dataclasses import dataclass
from math import prod

import torch

from condensers.initial import balanced_labels
from condensers.ledger import Event
from condensers.mechanism import Request, class_sampling
from condensers.pool import CondensedBatch
from condensers.registry import condenser


@dataclass(frozen=True, kw_only=True)
class ForgetfulConfig:
    ipc: int = 1
    batch: int = 4
    steps: int = 2
    clip: float = 1.0
    noise_multiplier: float = 1.0


def plan(config, class_sizes):
    rates = [class_sampling(class_sizes, label, config.batch) for label in range(len(class_sizes))]
    return tuple((Event(group=k, sampling=r, noise_multiplier=config.noise_multiplier), 1) for k, r in enumerate(rates))


@condenser("forgetful", config=ForgetfulConfig, plan=plan)
def forget(door, config, *, randomness, track):
    """Class means, asked for twice."""
    asked = [
        Request(group=k, sampling=door.poisson(k, config.batch), vectors=lambda images, _: images.flatten(1))
        for k in range(door.num_classes)
    ]
    sigma, dim = config.noise_multiplier, prod(door.input_shape)
    for _ in range(config.steps):
        sums = door.release(asked, dim=dim, clip=config.clip, noise_multiplier=sigma)
    labels = balanced_labels(door.num_classes, config.ipc, door.num_runs, sums.device)
    images = (sums / config.batch).view(door.num_runs, -1, *door.input_shape)
    return CondensedBatch(images=images, labels=labels, initial_records=torch.full_like(labels, -1))
'''


def test_ladder_of_a_method_that_breaks_a_contract_fails(tmp_path, monkeypatch, capsys):
    (tmp_path / "own.py").write_text(FORGETFUL)
    small = ("--records", "120", "--shadows", "24", "--test-runs", "6", "--jobs", "1", "--set", "victim.epochs=2")
    arguments = ("ladder", "--method", "own.py:forget", "--epsilon", "8", *small, "--trials", "100")
    code, out, err = run(monkeypatch, capsys, tmp_path, *arguments)
    assert code == 4, err
    assert "transcript  CONTRACT BROKEN" in out
    (folder,) = (tmp_path / "runs").glob("ladder-*")
    record = json.loads((folder / "report.json").read_text())
    assert record["verdict"] == "CONTRACT BROKEN"
    assert record["verdict_reason"].startswith("Level transcript: ")
    assert "CONTRACT BROKEN" in (folder / "report.html").read_text(encoding="utf-8")
