import json
import sys
from pathlib import Path

import pytest
from calibration.planted_faults import noise_halved
from inline import compute_inline

from audit.cli import main
from audit.engine.executor import Local
from reports.records.worst_case import load_worst_case

SMALL = ("--trials", "3000", "--rate", "1", "--set", "noise_multiplier=2")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Records go to runs/ below here; faults that are planted in this process are not known to workers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Local, "run", compute_inline)


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["audit", "worst-case", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_record_for_machines_and_exit_0_where_nothing_is_refuted(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "--method", "ldpdc", *SMALL, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["verdict"] == "NOT REFUTED"
    assert record["level"] == "transcript"
    assert record["claimed"]["epsilon_pld"] <= record["claimed"]["epsilon_rdp"]
    assert [bound["estimator"] for bound in record["bounds"]] == ["family", "clopper-pearson", "gaussian"]
    assert record["tightness"] == pytest.approx(record["epsilon"]["lower"] / record["claimed"]["epsilon_pld"])
    assert 0.5 < record["tightness"] < 1.0
    assert record["canary_length"] == pytest.approx(1.0)
    assert record["ledger"][0]["count"] == 10
    kept = load_worst_case(Path(record["run_directory"], "report.json").read_text())
    assert record["run_directory"] == f"runs/{kept.run_directory}"
    assert kept.tightness == record["tightness"]


def test_exit_4_where_half_of_the_noise_is_missing(monkeypatch, capsys):
    with noise_halved():
        code, out, _ = run(monkeypatch, capsys, "--method", "ldpdc", *SMALL)
    assert code == 4
    assert out.startswith("REFUTED")


def test_dyn_psg_is_refuted_by_its_own_command(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "--method", "dyn-psg", "--epsilon", "1", "--trials", "400", "--out", "kept")
    assert code == 4
    assert out.startswith("REFUTED")
    assert "energy, canary ordinary" in out
    assert "tightness      none: the noise depends on the records" in out
    assert len(list(Path("kept").glob("worst-case-dyn-psg-*/report.json"))) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--method", "dm", "--level", "transcript"), "--level set"),
        (("--method", "dm", "--epsilon", "1"), "state the ε as --claim"),
        (("--method", "ldpdc", "--claim", "gauss:1"), "gaussian:sigma=S"),
        (("--method", "ldpdc", "--design", "lonely"), "is not one of"),
        (("--method", "ldpdc", "--shape", "8by8"), "3x32x32"),
        (("--method", "psg", "--epsilon", "-1"), "epsilon -1"),
        (("--method", "psg", "--epsilon", "1", "--delta", "1"), "delta"),
        (("--method", "psg", "--set", "noise_multiplier=0.002"), "more noise"),
        (("--method", "psg", "--set", "prior=vae"), "prior='vae'"),
        (("--method", "dyn-psg", "--set", "decay=0.9"), "decay=0.9"),
        (("--method", "psg", "--set", "noise_multiplier=3", "--out", "/dev/null/runs"), "choose another --out"),
        (("--method", "ldpdc", "--epsilon", "0"), "epsilon 0"),
        (("--method", "ldpdc", "--epsilon", "1", "--delta", "1"), "delta"),
        (("--method", "ldpdc", "--rate", "0"), "--rate 0"),
        (("--method", "ldpdc", "--trials", "10", "--rate", "1"), "--trials 10"),
        (("--method", "ldpdc", "--epsilon", "1", "--set", "noise_multiplier=1"), "both determine"),
        (("--method", "ldpdc", "--set", "noise_multiplier=0.002"), "more noise"),
        (("--method", "ldpdc", "--set", "wrong=1"), "no such setting"),
        (("--method", "dosser", "--set", "fresh_noise=true"), "every visit adds the same noise"),
        (("--method", "dosser", "--set", "noise_source=clock", "--set", "ipc=1"), "no step of the official code seeds"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_exit_2(monkeypatch, capsys, arguments, said):
    code, out, err = run(monkeypatch, capsys, *arguments)
    assert code == 2
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("variant", "score"),
    [
        (("noise_source=clock",), "seed search"),
        (("fresh_noise=true", "ipc=1", "optimisation_steps=60"), "likelihood"),
        (("fresh_noise=true", "augmentation=none", "optimisation_steps=60"), "likelihood"),
    ],
    ids=str,
)
def test_variants_of_dosser_as_published_are_refuted(monkeypatch, capsys, variant, score):
    changes = [part for pair in variant for part in ("--set", pair)]
    code, out, _ = run(
        monkeypatch, capsys, "--method", "dosser", "--epsilon", "8", "--trials", "1000", "--json", *changes
    )
    record = json.loads(out)
    assert (code, record["verdict"]) == (4, "REFUTED")
    assert f"score “{score}”" in record["verdict_reason"]


def test_composed_mechanisms_have_a_verdict_and_no_tightness(monkeypatch, capsys):
    arguments = ("--method", "dosser", "--set", "auxiliary=share", "--set", "noise_multiplier=3", "--trials", "600")
    code, out, _ = run(monkeypatch, capsys, *arguments, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["verdict"] == "NOT REFUTED"
    assert record["tightness"] is None
    assert record["tightness_reason"]
