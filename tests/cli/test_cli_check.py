"""`audit check` and `audit init`: exit codes, outputs, recorded figures."""

import json
import sys
from xml.etree import ElementTree

import pytest
from calibration.planted_faults import noise_halved
from inline import compute_inline

import audit.gate.run
from audit.cli import main
from audit.engine.executor import Local

GUARANTEE = """
[[guarantee]]
name = "kept"
method = "ldpdc"
epsilon = 2.0
trials = 6000
rate = 1.0
"""
REGRESSION = """
[[regression]]
name = "dm"
command = "rmia"
method = "dm"
records = 100
shadows = 32
test_runs = 8
public_draws = 4
metrics = ["auc", "accuracy", "epsilon", "tpr at fpr 0.01"]
set = { iterations = 2, width = 4, depth = 1, "victim.epochs" = 2, "victim.width" = 4, "victim.depth" = 1 }
"""


def run(monkeypatch, capsys, folder, *arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["audit", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_sound_guarantee_is_green_and_leaves_three_files(tmp_path, monkeypatch, capsys):
    (tmp_path / "privacy.toml").write_text(GUARANTEE)
    page = tmp_path / "page.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    code, out, _ = run(monkeypatch, capsys, tmp_path, "check")
    assert code == 0
    assert out.startswith("NOT REFUTED  kept")
    record = json.loads((tmp_path / "privacy-check" / "check.json").read_text())
    assert record["outcomes"][0]["status"] == "NOT REFUTED"
    assert record["false_alarm"] == 0.001
    suite = ElementTree.parse(tmp_path / "privacy-check" / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "0")
    assert "| NOT REFUTED | kept |" in page.read_text()


def test_planted_fault_is_red(tmp_path, monkeypatch, capsys):
    (tmp_path / "privacy.toml").write_text(GUARANTEE)
    monkeypatch.setattr(Local, "run", compute_inline)  # where the fault is planted
    with noise_halved():
        code, out, _ = run(monkeypatch, capsys, tmp_path, "check", "--json")
    assert code == 4
    assert json.loads(out)["outcomes"][0]["status"] == "REFUTED"
    suite = ElementTree.parse(tmp_path / "privacy-check" / "junit.xml").getroot()
    assert suite.find("testcase/failure").get("type") == "REFUTED"


def test_less_noise_than_stated_is_not_guaranteed(tmp_path, monkeypatch, capsys):
    (tmp_path / "privacy.toml").write_text(GUARANTEE + "set = { noise_multiplier = 1.0 }\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "page.md"))
    code, out, err = run(monkeypatch, capsys, tmp_path, "check")
    assert code == 4
    assert out.startswith("NOT GUARANTEED")
    assert "page.md: cannot be written" in err


SET_LEVEL = """
[[guarantee]]
name = "promised"
method = "ndpdc"
level = "{level}"
epsilon = {epsilon}
records = 200
shadows = 24
shard_runs = 24
set = {{ noise_multiplier = 0.5, batch = 5, iterations = 3, width = 4, depth = 1, "victim.epochs" = 2 }}
"""


@pytest.mark.parametrize("level", ["set", "model"])
def test_promise_that_the_ledger_does_not_prove_is_not_guaranteed_at_every_level(level, tmp_path, monkeypatch, capsys):
    (tmp_path / "privacy.toml").write_text(SET_LEVEL.format(level=level, epsilon=1.0))
    code, out, _ = run(monkeypatch, capsys, tmp_path, "check", "--jobs", "1")
    assert code == 4
    assert out.startswith("NOT GUARANTEED  promised")
    assert "proves epsilon = 16.37" in out


def test_promise_that_the_ledger_proves_is_not_refuted_at_level_set(tmp_path, monkeypatch, capsys):
    (tmp_path / "privacy.toml").write_text(SET_LEVEL.format(level="set", epsilon=17.0))
    code, out, _ = run(monkeypatch, capsys, tmp_path, "check", "--jobs", "1")
    assert (code, out.splitlines()[0]) == (0, "NOT REFUTED  promised")


def test_crash_is_exit_1_and_no_finding(tmp_path, monkeypatch, capsys):
    (tmp_path / "privacy.toml").write_text(GUARANTEE)

    def crash(*_, **__):
        raise ZeroDivisionError("a fault of this program")

    monkeypatch.setattr(audit.gate.run, "run", crash)
    code, out, err = run(monkeypatch, capsys, tmp_path, "check")
    assert code == 1
    assert out.startswith("CRASHED")
    assert "Traceback" in err
    suite = ElementTree.parse(tmp_path / "privacy-check" / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")


def test_recorded_figures_are_tested_and_updated(tmp_path, monkeypatch, capsys):
    (tmp_path / "privacy.toml").write_text(REGRESSION)
    code, _, err = run(monkeypatch, capsys, tmp_path, "check")
    assert code == 2
    assert "--update" in err
    code, out, _ = run(monkeypatch, capsys, tmp_path, "check", "--update", "--jobs", "1")
    assert code == 0
    assert out.count("RECORDED") == 4
    baseline = tmp_path / "privacy.baseline.json"
    record = json.loads(baseline.read_text())
    record["entries"]["dm"]["metrics"]["accuracy"]["value"] = 0.99
    baseline.write_text(json.dumps(record))
    code, out, _ = run(monkeypatch, capsys, tmp_path, "check", "--jobs", "1")
    assert code == 4
    assert out.count("NOT WORSE") == 3
    assert out.count("REGRESSED") == 1
    (tmp_path / "privacy.toml").write_text(REGRESSION.replace("shadows = 32", "shadows = 36"))
    code, _, err = run(monkeypatch, capsys, tmp_path, "check", "--jobs", "1")
    assert code == 2
    assert "settings have changed" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "neither a [[guarantee]]"),
        ("x = 1", "'x' is unknown"),
        ("guarantee = 3", "[[guarantee]]"),
        ("[[guarantee]\n", "not TOML"),
        (GUARANTEE.replace("2.0", "-1"), "epsilon=-1"),
        (GUARANTEE.replace("ldpdc", "nonesuch"), "nonesuch"),
        (GUARANTEE + "colour = 3\n", "'colour' is unknown"),
        (GUARANTEE + "confidence = 0.9\n", "decided by the gate"),
        (GUARANTEE + 'level = "moon"\n', "level='moon'"),
        (GUARANTEE + GUARANTEE, "two entries"),
        (REGRESSION.replace('"auc"', '"tightness"'), "not a metric of"),
        ("false_alarm = 2.0" + GUARANTEE, "false_alarm"),
    ],
    ids=[str(i) for i in range(12)],
)
def test_bad_file_is_one_line_and_exit_2(tmp_path, monkeypatch, capsys, text, said):
    (tmp_path / "privacy.toml").write_text(text)
    code, out, err = run(monkeypatch, capsys, tmp_path, "check")
    assert code == 2
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1


def test_init_writes_a_file_that_check_reads(tmp_path, monkeypatch, capsys):
    from audit.gate.file import read_gate

    code, _, _ = run(monkeypatch, capsys, tmp_path, "init")
    assert code == 0
    assert len(read_gate(tmp_path / "privacy.toml").items) == 2
    assert (tmp_path / ".github" / "workflows" / "privacy.yml").exists()
    code, _, err = run(monkeypatch, capsys, tmp_path, "init")
    assert code == 2
    assert "--force" in err
