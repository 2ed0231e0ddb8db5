"""Few audited records from the command line to the record: attacks, coins for others, grids and sweeps."""

# ruff: noqa: F401, F811  (fixtures that are imported look unused, and arguments like them look like new definitions)

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest
from test_cli_attack import Run, inline, run

from audit.specs.grids import Adversaries, Sweep
from audit.specs.membership import Compare, Ladder, Membership
from audit.specs.options import parse
from condensers.errors import BadConfig

pytestmark = pytest.mark.usefixtures("inline")
SMALL = shlex.split("--method real --ipc 5 --records 200 --shadows 18 --shard-runs 18 --delta 0 --seed 4")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_scores_and_record_are_of_audited_records_alone(run: Run) -> None:
    done = run("lira", *SMALL, "--level", "set", "--audited", "20", "--bits", "8", "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    folder = Path(record["run_directory"])
    table = pd.read_parquet(folder / "scores.parquet")
    assert (record["game"]["num_audited"], record["game"]["num_records"]) == (20, 200)
    assert sorted(set(table["record"])) == json.loads((folder / "config.json").read_text())["audited_records"]
    assert len(table) == 4 * 20
    assert "20 of 200 records audited, all others in every run" in record["verdict_reason"]
    assert any("in every run" in said for said in record["threat_model"])
    assert "--audited 20" in record["command"]
    assert "--bits 8" in record["command"]
    # Every run releases 5 of 20 images of a class, of which 2 are in doubt: whoever is released was in.
    assert record["roc"]["auc"] > 0.55
    again = run(*shlex.split(record["command"])[1:], "--json")
    assert json.loads(again.out)["digest"] == record["digest"]


def test_fit_runs_that_enumerate_find_every_member(run: Run) -> None:
    words = shlex.split("--level set --records 200 --audited 30 --fit-design enumerated --shadows 18 --test-runs 8")
    changed = ("--set", "iterations=8", "--set", "batch=8", "--compile", "off", "--delta", "0", "--json")
    done = run("lira", *words, *changed)
    assert done.code == 0, done.err
    record = json.loads(done.out)
    # Batches of 8 of 18 to 20: hardly a record of the 30 is in no batch of 8 steps, and all others are found.
    assert record["roc"]["auc"] > 0.95
    assert record["epsilon"]["lower"] > 2
    control = json.loads(run("lira", *words, *changed, "--shuffle-membership").out)
    assert 0.3 < control["roc"]["auc"] < 0.7
    assert "--fit-design enumerated" in record["command"]


def test_sets_of_others_with_few_coins(run: Run) -> None:
    assert run("coins", "--records", "200", "--audited", "50", "--seed", "3", "--out", "coins.csv").code == 0
    words = ("--method", "real", "--ipc", "15", "--records", "200", "--members", "coins.csv")
    assert run("condense", *words, "--out", "set").code == 0
    sets = ("--synthetic", "set/synthetic.safetensors", "--members", "coins.csv")
    done = run("lira", *SMALL[:2], *SMALL[4:], "--level", "set", *sets, "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert record["game"]["num_audited"] == 50
    assert any("every audited record" in text for text in record["epsilon"]["assumptions"])
    refused = run("lira", *SMALL, "--level", "set", *sets, "--audited", "50")
    assert (refused.code, "the coins of --members determine which records are audited" in refused.err) == (2, True)
    visual = run("visual", "--records", "200", *sets, "--distance", "l2")
    assert (visual.code, "needs coins for all" in visual.err) == (2, True)


@pytest.mark.slow
def test_grid_shares_cells_and_is_redrawn(run: Run) -> None:
    words = [*SMALL, "--audited", "20", "--doubt", "audited,one-per-class", "--randomness", "known", "--levels", "set"]
    done = run("adversaries", *words, "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert [cell["axes"]["doubt"] for cell in record["cells"]] == ["one-per-class", "audited"]
    assert [cell["num_audited"] for cell in record["cells"]] == [10, 20]
    assert {cell["epsilon"]["num_tries"] for cell in record["cells"]} == {2}
    before = Path(record["run_directory"], "report.json").read_bytes()
    assert run("report", record["run_directory"]).code == 0
    sweep = run("sweep", *SMALL, "--level", "set", "--over-audited", "10,20", "--json")
    found = json.loads(sweep.out)
    assert [cell["run_directory"] for cell in found["cells"]] == [cell["run_directory"] for cell in record["cells"]]
    assert Path(found["run_directory"], "figures", "sweep.png").exists()
    assert run("adversaries", *words).code == 0
    assert Path(record["run_directory"], "report.json").read_bytes() == before
    several = run("report", record["run_directory"], found["run_directory"])
    assert (several.code, "holds several audits" in several.err) == (2, True)


def test_specifications_of_grids_are_checked() -> None:
    spec = Sweep(level="set", over_steps="300,100", over_ipc="1")
    assert parse(Sweep, shlex.split(spec.command())[2:]) == spec
    assert spec.values_of("over_steps") == (100, 300)
    assert Adversaries(audited=50).audited == "50"
    for wrong in ({}, {"over_ipc": "1,x"}, {"over_steps": "5,5"}):
        with pytest.raises(BadConfig):
            Sweep(**wrong)
    with pytest.raises(BadConfig, match="'nobody' is not one of everybody, audited, one-per-class"):
        Adversaries(doubt="nobody")
    with pytest.raises(BadConfig, match="choose with --randomness"):
        Adversaries(independent_randomness=True)


def test_a_sweep_checks_every_cell_before_it_runs_one(run: Run, tmp_path: Path) -> None:
    done = run("sweep", *SMALL, "--level", "set", "--over-records", "100,5000")
    assert (done.code, "--records 5000" in done.err) == (2, True)
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize("kind", [Adversaries, Compare, Ladder])
def test_a_level_that_would_be_ignored_is_rejected(kind: type[Membership]) -> None:
    with pytest.raises(BadConfig, match=r"^--level set: "):
        kind(level="set")
    assert "--level " not in kind(method="ndpdc").command()
