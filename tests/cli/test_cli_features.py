"""`audit lira --scores`, `--groups` and `audit attribute` at the command line: results, exit codes, mistakes."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_cli_attack import Run, run

from audit.engine.store import RunDirectory
from condensers.randomness import stream

__all__ = ["run"]


@pytest.fixture
def signals(tmp_path: Path) -> Path:
    """Twelve models that remember whom they were trained on."""
    generator = stream(2, "remembering models")
    members = generator.random((12, 80)) < 0.5
    np.savez(tmp_path / "s.npz", members=members, logit=generator.normal(size=(12, 80)) + 4 * members)
    return tmp_path / "s.npz"


def test_scores_to_report_and_back(run: Run, signals: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    done = run("lira", "--scores", signals, "--fair-coins", "--claim", 0.5, "--out", out, "--json")
    assert done.code == 4  # the claim is refuted
    record = json.loads(done.out)
    assert record["verdict"] == "REFUTED"
    assert record["roc"]["auc"] > 0.9
    assert record["config"]["num_records"] == 80
    assert f"--scores {signals} --fair-coins" in record["command"]
    directory = RunDirectory(Path(record["run_directory"]))
    first = directory.report.read_bytes()
    assert run("report", directory.path).code == 0
    assert run("lira", "--scores", signals, "--fair-coins", "--claim", 0.5, "--out", out).code == 4
    assert directory.report.read_bytes() == first
    assert len(list(out.iterdir())) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("lira --scores s.npz", "state with --fair-coins"),
        ("lira --scores s.npz --fair-coins --dataset mnist", "--dataset: has no meaning with --scores"),
        ("lira --scores none.csv --fair-coins", "none.csv: no such file"),
        ("rmia --scores s.npz --fair-coins --groups label", "labels of the records are not known"),
        ("lira --fair-coins", "--fair-coins: has no meaning without --scores"),
        ("lira --groups none.csv", "--groups none.csv: neither 'label' nor a readable file"),
        ("gan-leak --scores s.npz", "No such option"),
        ("attribute --masked none.txt", "--masked none.txt: neither right-half"),
        (
            "attribute --method dpsgd",
            "--method dpsgd: it releases a network, not a synthetic set; attributes are guessed from a set",
        ),
        ("attribute --shadows 8 --test-runs 1", "--test-runs 1: must be at least 2"),
        ("attribute --show-records", "--show-records: this report shows no images"),
    ],
)
def test_mistakes_are_one_line(run: Run, signals: Path, words: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(signals.parent)
    done = run(*words.split())
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert [path.name for path in signals.parent.iterdir()] == ["s.npz"]
