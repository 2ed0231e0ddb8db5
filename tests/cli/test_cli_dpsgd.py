"""`--method dpsgd`: a method that releases networks, where others release sets."""

# ruff: noqa: F401, F811  (fixtures that are imported look unused, and arguments like them look like new definitions)

import json
import shlex
from pathlib import Path

import pytest
from inline import compute_inline
from safetensors.torch import load_file
from test_cli_attack import Run, inline, run

import audit.games.membership.pipeline
from audit.engine.executor import Local
from audit.engine.store import RunDirectory

TINY = shlex.split(
    "--method dpsgd --epsilon 2 --records 200 --shadows 24 --shard-runs 6 --set iterations=3 --set batch=20 "
    "--set width=4 --set depth=1"
)


@pytest.mark.usefixtures("inline")
def test_attack_on_released_networks_and_what_becomes_of_its_shards(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("lira", *TINY, "--json", "--out", tmp_path)
    assert first.code == 0
    report = json.loads(first.out)
    assert (report["method"], report["level"], report["verdict"]) == ("dpsgd", "model", "NOT REFUTED")
    assert 1.9 < report["claimed"]["epsilon_pld"] <= 2
    assert report["game"]["num_synthetic"] == 0
    assert report["config"]["victim_config"] == {}
    assert 0 < report["utility"]["accuracy"] < 1
    assert "synthetic" not in " ".join(report["threat_model"])
    directory = RunDirectory(Path(report["run_directory"]))
    stored = load_file(directory.shard(0))
    assert stored["images"].shape == (6, 0, 1, 8, 8)
    assert stored["signals"].shape == (6, 200, 1)
    scores = directory.scores.read_bytes()
    directory.shard(2).unlink()
    assert run("lira", *TINY, "--json", "--out", tmp_path).out == first.out
    assert directory.scores.read_bytes() == scores

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a shard was computed again")

    monkeypatch.setattr(Local, "run", never)
    other = run("rmia", *TINY, "--out", tmp_path)
    assert other.code == 0
    assert "taking 24 runs from" in other.err


def test_report_of_networks_trained_one_by_one_is_drawn_without_a_set(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Local, "run", compute_inline)
    found = json.loads(run("lira", *TINY, "--independent-randomness", "--json", "--out", tmp_path).out)
    page = (Path(found["run_directory"]) / "report.html").read_text(encoding="utf-8")
    assert "releases a network and no synthetic set" in page
    assert "was trained on the synthetic set" not in page


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("lira --level set", "audit it at --level model"),
        ("lira --ipc 2", "leave --ipc out"),
        ("lira --ratio 0.1", "leave --ratio out"),
        ("lira --init real", "leave --init out"),
        ("lira --set victim.width=8", "--set victim.width: no such setting"),
        ("lira --set depth=9", "choose a smaller depth"),
        ("condense", "it can be attacked"),
        ("utility", "it can be attacked"),
        ("visual", "there are no images to compare"),
        ("ladder --epsilon 1", "audit worst-case"),
        ("compare", "compare attacks at level model"),
    ],
)
def test_what_needs_a_set_is_refused_in_one_line(command: str, said: str, run: Run, tmp_path: Path) -> None:
    name, *flags = command.split()
    found = run(name, "--method", "dpsgd", *flags, "--out", tmp_path / "out")
    assert found.code == 2
    assert said in found.err
    assert len(found.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_stated_claim_stands_beside_what_the_ledger_proves(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Local, "run", compute_inline)
    found = run("lira", *TINY, "--claim", "1", "--out", tmp_path)
    assert "proved         ε ≤ 2.00 by PLD, " in found.out
    report = json.loads(run("lira", *TINY, "--claim", "1", "--json", "--out", tmp_path).out)
    assert (report["claimed"]["epsilon_pld"], report["claimed"]["source"]) == (1.0, "stated with --claim")
    assert (report["proved"]["delta"], report["proved"]["source"]) == (1e-5, "ledger of what ran")
    assert 1.9 < report["proved"]["epsilon_pld"] <= 2 < report["proved"]["epsilon_rdp"]
    page = (Path(report["run_directory"]) / "report.html").read_text(encoding="utf-8")
    assert 'Source: stated with <span class="option">--claim</span>. The ledger of what ran proves ε' in page
    unclaimed = json.loads(run("lira", *TINY, "--json", "--out", tmp_path).out)
    assert unclaimed["claimed"] == unclaimed["proved"] == report["proved"]
