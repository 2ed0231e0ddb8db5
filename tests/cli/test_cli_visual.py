import json
import sys

import numpy as np
import pytest
from inline import compute_inline
from safetensors.numpy import save_file

from attacks.perceptual import backbone_shapes
from audit.cli import main
from audit.engine.executor import Local

SMALL = ("--records", "100", "--runs", "3", "--set", "iterations=2", "--set", "width=4")


@pytest.fixture(autouse=True)
def no_weights_here(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(Local, "run", compute_inline)
    monkeypatch.setenv("AUDIT_DATA_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(monkeypatch, capsys):
    def call(command: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["audit", command, *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


def test_record_for_machines_is_that_of_the_directory_and_repeats(run, tmp_path) -> None:
    code, out, _ = run("visual", *SMALL, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["schema"] == "condensation-audit-visual/1"
    assert (record["attack"], record["level"], record["verdict"]) == ("visual", "set", "NO CLAIM")
    (finding,) = record["distances"]
    assert (finding["name"], finding["num_guesses"]) == ("l2", 30)
    assert record["epsilon"]["counts"] == {"coins": 300, "guesses": 30, "correct": finding["num_members"]}
    (left,) = record["not_computed"]
    assert left["name"] == "lpips"
    assert "audit weights --get vgg16" in left["why"]
    directory = tmp_path / record["run_directory"]
    assert directory.name == f"visual-dm-digits-{record['digest']}"
    names = {path.name for path in directory.iterdir()}
    pages = {"report.html", "report.pdf"}
    assert names == {"config.json", "figures", "matches.parquet", "report.json", "synthetic.safetensors"} | pages
    assert {path.name for path in (directory / "figures").iterdir()} == {"panel.png", "roc.png"}
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    code, out, _ = run(*record["command"].removeprefix("audit ").split())
    assert "NOTHING FOUND" in out or "MEMBERS FOUND" in out
    assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == before


def test_released_records_are_found_and_shown_only_where_asked(run, tmp_path) -> None:
    arguments = ("--method", "real", "--records", "100", "--runs", "3", "--claim", "0.5", "--json")
    code, out, _ = run("visual", *arguments)
    record = json.loads(out)
    assert code == 4
    assert (record["verdict"], record["finding"]) == ("REFUTED", "MEMBERS FOUND")
    assert record["distances"][0]["num_members"] == 30
    assert record["distances"][0]["p_value"] == pytest.approx(2.0**-30)
    panel = tmp_path / record["run_directory"] / "figures" / "panel.png"
    without = panel.read_bytes()
    code, out, _ = run("visual", *arguments, "--show-records")
    assert json.loads(out) == record
    assert panel.read_bytes() != without


def test_shuffled_control_finds_nothing_in_released_records_by_two_distances(run, tmp_path) -> None:
    generator = np.random.default_rng(0)
    shapes = backbone_shapes("alexnet").items()
    weights = {name: generator.standard_normal(shape, dtype=np.float32) / 20 for name, shape in shapes}
    save_file(weights, tmp_path / "mine")
    arguments = ("--lpips-weights", str(tmp_path / "mine"), "--distance", "l2", "--distance", "lpips-alexnet")
    real = ("--method", "real", "--records", "100", "--runs", "2", "--json", *arguments)
    code, out, _ = run("visual", *real, "--shuffle-membership", "--fail-below-p", "1e-3")
    record = json.loads(out)
    assert code == 0
    assert record["game"]["membership_shuffled"] is True
    assert [finding["name"] for finding in record["distances"]] == ["l2", "lpips-alexnet"]
    assert [bound["num_tries"] for bound in record["bounds"]] == [2, 2]
    assert list(record["weights"]) == ["alexnet"]
    code, out, _ = run("visual", *real, "--fail-below-p", "1e-3")
    assert code == 4
    assert all(finding["num_members"] == 20 for finding in json.loads(out)["distances"])
    assert json.loads(out)["distances"][1]["p_value_adjusted"] == pytest.approx(2 * 2.0**-20)


def test_hostile_weights_are_one_line_and_exit_2(run, tmp_path) -> None:
    save_file({"features.0.weight": np.zeros((64, 3, 11, 11), np.float32)}, tmp_path / "hostile")
    code, out, err = run("visual", *SMALL, "--lpips-weights", str(tmp_path / "hostile"))
    assert (code, out) == (2, "")
    assert "features.0.bias is missing" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--distance", "lpips"), "audit weights --get vgg16"),
        (("--distance", "lpips-alexnet"), "audit weights --get alexnet"),
        (("--lpips-weights", "nowhere"), "no such file"),
        (("--runs", "0"), "--runs 0"),
        (("--ipc", "1", "--ratio", "0.1"), "give only one of them"),
        (("--claim", "-1"), "--claim -1"),
        (("--fail-below-p", "2"), "--fail-below-p 2"),
        (("--jobs", "0"), "--jobs 0"),
        (("--set", "wrong=1"), "no such setting"),
        (("--init", "real", "--ipc", "9"), "--ipc 9 with real images"),
        (("--epsilon", "1"), "dm"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_exit_2(run, tmp_path, arguments, said: str) -> None:
    code, out, err = run("visual", *SMALL, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_weights_says_what_is_missing(run) -> None:
    code, out, _ = run("weights", "--json")
    assert code == 0
    assert [row["path"] for row in json.loads(out)["weights"]] == [None, None]
    assert run("weights", "--to", "somewhere")[0] == 2
