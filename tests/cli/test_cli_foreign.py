"""A set of somebody else from coins to verdict: what leaks is found, what does not is not, misuse is one line."""

# ruff: noqa: F401, F811  (fixtures that are imported look unused, and arguments like them look like new definitions)

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from test_cli_attack import Run, inline, run

import audit.games.visual.released
from audit.data.load import load_pool
from audit.engine.store import RunDirectory
from audit.games.membership.foreign import HIDDEN
from audit.games.membership.pipeline import pictures_of
from audit.sets.synthetic import read_synthetic
from reports.records import schema

pytestmark = pytest.mark.usefixtures("inline")
SHADOWS = shlex.split("--level set --method real --shadows 18 --shard-runs 18 --delta 0")


@pytest.fixture(autouse=True)
def no_weights_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AUDIT_DATA_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def released(run: Run) -> None:
    """Coins of all digits for two sets, and the real subset of 20 images a class that the members of set_0 gave."""
    assert run("coins", "--seed", "3", "--sets", "2", "--out", "coins.csv").code == 0
    made = run("condense", "--method", "real", "--ipc", "20", "--members", "coins.csv", "--out", "set")
    assert (made.code, "a set to audit" in made.out) == (0, True)


@pytest.mark.usefixtures("released")
def test_copies_are_certified_by_their_coins_and_not_by_others(run: Run) -> None:
    arguments = ("lira", *SHADOWS, "--synthetic", "set/synthetic.pt", "--members", "coins.csv", "--json")
    outcome = run(*arguments, "--fail-above", "2")
    report = json.loads(outcome.out)
    assert outcome.code == 4
    # 200 of about 900 members are in the set; the shadows choose the numbers of guesses, so all coins are tested.
    assert report["epsilon"]["lower"] > 2.5
    assert report["epsilon"]["counts"]["coins"] == 1797
    assert (report["method"], report["config"]["method"]) == ("synthetic.pt", "real")
    assert report["epsilon"]["assumptions"][0].startswith("ASSERTED BY THE AUDITOR")
    assert "probability 1/2" not in " ".join(report["epsilon"]["assumptions"])
    assert "a wrong guess weakens the attack, not the bound" in report["threat_model"][1]
    assert (report["game"]["num_fit_runs"], report["game"]["num_test_runs"]) == (18, 1)
    assert report["game"]["num_synthetic"] == 200
    assert report["config"]["method_config"]["ipc"] == 20, "shadows have as many images as the set"
    assert report["roc"]["interval_unit"] == "records"
    low, high = report["roc"]["auc_interval"]
    assert low < report["roc"]["auc"] < high
    others = run(*arguments, "--column", "1")
    assert json.loads(others.out)["epsilon"]["lower"] == 0
    assert "taking 18 runs" in others.err
    shuffled = json.loads(run(*arguments, "--shuffle-membership").out)
    assert shuffled["epsilon"]["lower"] == 0
    assert shuffled["threat_model"][0].startswith("CONTROL")
    assert shuffled["threat_model"][1].startswith("Level set")


@pytest.mark.usefixtures("released")
def test_command_of_the_record_gives_its_bytes_again_and_pictures_wait_to_be_asked_for(run: Run) -> None:
    outcome = run(
        "lira", *SHADOWS, "--synthetic", "set/synthetic.npz", "--members", "coins.csv", "--claim", "1", "--json"
    )
    report = json.loads(outcome.out)
    assert (outcome.code, report["verdict"]) == (4, "REFUTED")
    directory = RunDirectory(Path(report["run_directory"]))
    before = {path: path.read_bytes() for path in (directory.report, directory.scores, directory.config)}
    again = run(*shlex.split(report["command"])[1:])
    assert again.code == 4
    assert {path: path.read_bytes() for path in before} == before
    table = pd.read_parquet(directory.scores)
    assert table["run"].unique().tolist() == [18]
    coins = pd.read_csv("coins.csv", comment="#")
    assert np.array_equal(table["member"].to_numpy(), coins["set_0"].to_numpy() == 1)
    record = schema.load(directory.report.read_text())
    hidden = pictures_of(directory, record, None)
    assert (hidden.synthetic, hidden.note) == (None, HIDDEN)
    shown = pictures_of(directory, record, load_pool("digits"))
    assert shown.synthetic is not None
    assert len(shown.synthetic) == 200


@pytest.mark.usefixtures("released")
def test_nearest_records_are_tested_with_coins_and_shown_without(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("visual", "--synthetic", "set/synthetic.pt", "--json")
    tested = run(*arguments, "--members", "coins.csv", "--fail-below-p", "1e-6")
    record = json.loads(tested.out)
    assert (tested.code, record["finding"]) == (4, "MEMBERS FOUND")
    (finding,) = record["distances"]
    assert (finding["num_guesses"], finding["num_members"]) == (200, 200)
    assert finding["p_value"] == pytest.approx(2.0**-200)
    assert finding["bound"]["assumptions"][0].startswith("ASSERTED")
    assert Path(record["pdf"]).read_bytes()[:5] == b"%PDF-"
    with monkeypatch.context() as quick:
        quick.setattr(audit.games.visual.released, "write_pages", lambda *_: None)
        others = json.loads(run(*arguments, "--members", "coins.csv", "--column", "1").out)
    assert (others["finding"], others["epsilon"]["lower"]) == ("NOTHING FOUND", 0)
    plain = run(*arguments)
    record = json.loads(plain.out)
    assert (plain.code, record["schema"], record["tested"]) == (0, "condensation-audit-nearest/1", False)
    assert record["distances"][0]["num_copies"] == 200
    assert "p_value" not in plain.out
    assert "epsilon" not in {name for name in record if name != "config"}
    assert record["panel"][0]["matches"]["l2"][0]["member"] is None
    directory = Path(record["run_directory"])
    assert (directory / "report.pdf").read_bytes()[:5] == b"%PDF-"
    assert "member" not in pd.read_parquet(directory / "matches.parquet").columns
    before = (directory / "figures" / "panel.png").read_bytes()
    drawn = {path: path.read_bytes() for path in directory.glob("report.*")}
    assert {path.suffix for path in drawn} == {".json", ".pdf", ".html"}
    assert run("report", directory).code == 0
    assert {path: path.read_bytes() for path in drawn} == drawn
    twin = directory.with_name("twin")
    shutil.copytree(directory, twin)
    compared = run("report", directory, twin)
    assert (compared.code, compared.out) == (2, "")
    assert "tested nothing, so it cannot be compared" in compared.err
    for_people = run(*arguments[:-1], "--show-records")
    assert "NOTHING WAS TESTED" in for_people.out
    assert (directory / "figures" / "panel.png").read_bytes() != before


@pytest.mark.usefixtures("released")
def test_private_shadows_with_soft_labels_and_sets_of_two_sizes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sets of other sizes than the shadows', in files of other layouts, one of which holds several."""
    first = read_synthetic(Path("set/synthetic.npz"))
    made = run(
        "condense", "--method", "real", "--ipc", "7", "--members", "coins.csv", "--column", "1", "--out", "other"
    )
    assert made.code == 0
    second = read_synthetic(Path("other/synthetic.npz"))
    soft = torch.eye(10)[second.labels]
    torch.save({"data": [[first.images, first.labels], [second.images, soft]]}, "both.pt")
    sets = shlex.split("--synthetic both.pt --index 0 --synthetic both.pt --index 1 --normalisation symmetric")
    shadows = shlex.split("--level set --method dpmix --ipc 2 --shadows 6 --shard-runs 6 --members coins.csv")
    for method in ("lira", "rmia"):
        outcome = run(method, *shadows, *sets, "--json")
        assert outcome.code == 0, outcome.err
        report = json.loads(outcome.out)
        assert report["game"]["num_test_runs"] == 2
        assert report["claimed"] is None, "what is proved for the shadows is not claimed for the sets"
        assert report["roc"]["interval_unit"] == "runs, given this public randomness"
    monkeypatch.setattr(audit.games.visual.released, "write_pages", lambda *_: None)
    visual = json.loads(run("visual", *sets, "--members", "coins.csv", "--json").out)
    assert visual["distances"][0]["num_guesses"] == 270
    assert visual["distances"][0]["num_members"] == 270
    assert visual["game"]["num_test_runs"] == 2


def test_tables_go_all_the_way(run: Run) -> None:
    """Rows of a table instead of pictures: the pages are drawn without any."""
    generator = np.random.default_rng(0)
    np.savez("table.npz", x=generator.random((120, 6)).astype(np.float32), y=np.arange(120) % 2)
    pool = ("--dataset", "table.npz")
    assert run("coins", *pool, "--seed", "1", "--out", "coins.csv", "--export", "members").code == 0
    with np.load("members/set_0.npz") as members:
        rows = pd.read_csv("coins.csv", comment="#")
        assert np.array_equal(members["record"], np.flatnonzero(rows["set_0"]))
        np.savez("released.npz", x=members["x"][::2], y=members["y"][::2])
    sets = (*pool, "--synthetic", "released.npz", "--members", "coins.csv", "--normalisation", "unit", "--json")
    report = json.loads(run("lira", *SHADOWS, *sets).out)
    assert report["epsilon"]["lower"] > 0.5
    tested = json.loads(run("visual", *sets).out)
    assert tested["distances"][0]["num_members"] == tested["distances"][0]["num_guesses"]


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lira --synthetic set/synthetic.pt --members coins.csv", "a released set is audited at --level set"),
        ("lira --level set --synthetic set/synthetic.pt", "give the coins that chose its members"),
        ("lira --level set --members coins.csv", "--members: has no meaning without --synthetic"),
        ("rmia --level set --known-randomness", "--known-randomness: has no meaning without --synthetic"),
        ("lira --level set --synthetic set/synthetic.pt --members coins.csv --test-runs 3", "--test-runs: has no"),
        ("lira --level set --synthetic set/synthetic.pt --members coins.csv --canaries blank:3", "--canaries: has no"),
        ("lira --level set --synthetic set/synthetic.pt --members coins.csv --records 300", "are for other records"),
        ("lira --level set --synthetic set/none.pt --members coins.csv", "none.pt"),
        ("visual --synthetic set/synthetic.pt --members coins.csv --ipc 3", "--ipc: has no meaning with --synthetic"),
        ("visual --synthetic set/synthetic.pt --set width=3", "--set: has no meaning with --synthetic"),
        ("visual --synthetic set/synthetic.pt --claim 3", "--claim: has no meaning without --members FILE"),
        ("visual --index 0 --column 1", "--column: has no meaning without --synthetic"),
        ("condense --members coins.csv --hold-out --out x", "both select the records to condense"),
        ("condense --column 1 --out x", "--column 1: can only be given together with --members FILE"),
        ("condense --members coins.csv --column 2 --out x", "has coins of 2 sets, 0…1"),
        ("condense --method real --ipc 120 --members coins.csv --out x", "--ipc 120"),
        ("coins --out coins.csv", "already exists; coins must be drawn once"),
        ("coins --sets 0 --out x", "--sets 0: must lie in 1…1000"),
        ("coins --export coins.csv --out x", "cannot write to coins.csv"),
    ],
)  # fmt: skip
def test_misuse_is_one_line(run: Run, arguments: str, message: str) -> None:
    outcome = run(*shlex.split(arguments))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not Path("x").exists()
    assert not Path("runs").exists()


def test_private_method_condenses_members_by_the_sizes_of_the_game(run: Run) -> None:
    """N_c is half of a class whoever is in: the label of another column differs by the set alone."""
    assert run("coins", "--records", "200", "--seed", "1", "--sets", "2", "--out", "coins.csv").code == 0
    labels = []
    for column in ("0", "1"):
        arguments = shlex.split(f"--records 200 --method ldpdc --set batch=5 --members coins.csv --out p{column}")
        assert run("condense", *arguments, "--column", column).code == 0
        labels.append(json.loads(Path(f"p{column}/label.json").read_text()))
    assert {name for name in labels[0] if labels[0][name] != labels[1][name]} == {"sha256"}
    assert labels[0]["members_by_coins"] is True
    shadows = shlex.split("--level set --records 200 --method ldpdc --set batch=5 --shadows 6 --shard-runs 6")
    outcome = run("lira", *shadows, "--members", "coins.csv", "--synthetic", "p0/synthetic.safetensors", "--json")
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report["claimed"]["epsilon_pld"] == labels[0]["privacy"]["epsilon_pld"]
    assert report["claimed"]["source"] == "stated on the label of the set"
    assert report["verdict"] == "NOT REFUTED"
