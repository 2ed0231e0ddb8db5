"""`audit epsilon` and `audit plan`: results, refusals in one line, exit codes."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from audit.cli import main
from audit.statistics.estimators.evidence import RunEvidence
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian, gaussian_mu
from audit.statistics.plan import make_plan


@dataclass(frozen=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return Outcome(code=int(stop.value.code or 0), out=printed.out, err=printed.err)

    return run


def runs_table(num_runs: int = 400, shift: float = 2.0, seed: int = 1) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    members = generator.random(num_runs) < 0.5
    scores = generator.normal(size=num_runs) + shift * members
    return pd.DataFrame({"run": np.arange(num_runs), "record": 7, "member": members, "score": scores})


def records_table(num_runs: int = 4, num_records: int = 100, seed: int = 2) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    size = num_runs * num_records
    members = generator.random(size) < 0.5
    return pd.DataFrame(
        {
            "run": np.repeat(np.arange(num_runs), num_records),
            "record": np.tile(np.arange(num_records), num_runs),
            "member": members,
            "score": generator.normal(size=size) + 2.0 * members,
        }
    )


def save(table: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_runs_against_schema(audit: Run, tmp_path: Path, suffix: str):
    path = save(runs_table(), tmp_path / f"scores{suffix}")
    outcome = audit("epsilon", path, "--unit", "run", "--json")
    assert outcome.code == 0
    bounds = json.loads(outcome.out)["bounds"]
    assert [bound["estimator"] for bound in bounds] == ["clopper-pearson", "gaussian", "bayesian", "paper-style"]
    assert {bound["unit"] for bound in bounds} == {"run"}
    assert bounds[0]["lower"] > 0.5
    assert bounds[0]["lower"] <= bounds[0]["ceiling"]
    assert [bound["kind"] for bound in bounds] == ["bound", "bound", "credible", "no bound"]


def test_unit_is_seen_from_the_table_against_rows_per_run(audit: Run, tmp_path: Path):
    runs, records = save(runs_table(), tmp_path / "a.csv"), save(records_table(), tmp_path / "b.csv")
    for path, unit in ((runs, "run"), (records, "record")):
        bounds = json.loads(audit("epsilon", path, "--json").out)["bounds"]
        assert {bound["unit"] for bound in bounds} == {unit}


@pytest.mark.parametrize("threshold", ["split", "median", "grid", "fixed:1.0"])
def test_row_order_and_column_names_against_same_bounds(audit: Run, tmp_path: Path, threshold: str):
    names = {"run": "model", "record": "id", "member": "in", "score": "loss"}
    for name, table in (("runs", runs_table()), ("records", records_table())):
        plain = save(table, tmp_path / f"{name}.csv")
        mixed = save(table.sample(frac=1, random_state=3).rename(columns=names), tmp_path / f"{name}-mixed.parquet")
        options = ["--threshold", threshold, "--json"]
        options += ["--estimator", "clopper-pearson" if name == "runs" else "one-run"]
        renamed = [part for key, value in names.items() for part in (f"--{key}-column", value)]
        first, second = audit("epsilon", plain, *options), audit("epsilon", mixed, *options, *renamed)
        assert first.code == second.code == 0
        assert first.out == second.out


def test_wrong_unit_is_refused_against_explanation(audit: Run, tmp_path: Path):
    path = save(records_table(), tmp_path / "scores.parquet")
    for options in (("--unit", "run"), ("--estimator", "clopper-pearson"), ("--estimator", "gaussian")):
        outcome = audit("epsilon", path, *options)
        assert outcome.code == 2
        assert outcome.out == ""
        assert outcome.err.count("\n") == 1
        assert "share its randomness" in outcome.err
    runs = save(runs_table(), tmp_path / "runs.csv")
    outcome = audit("epsilon", runs, "--estimator", "one-run")
    assert outcome.code == 2
    assert "not decided by coins" in outcome.err


def test_text_answer_against_reader(audit: Run, tmp_path: Path):
    path = save(records_table(), tmp_path / "scores.csv")
    outcome = audit("epsilon", path, "--tries", "3")
    assert outcome.code == 0
    assert "one-run" in outcome.out
    assert "tries 3" in outcome.out
    assert "ceiling" in outcome.out
    assert "--tries k" in outcome.out


def test_ties_everywhere_against_no_evidence(audit: Run, tmp_path: Path):
    path = save(runs_table().assign(score=1.0), tmp_path / "scores.csv")
    outcome = audit("epsilon", path)
    assert outcome.code == 0
    assert "all scores are equal" in outcome.out
    assert "no evidence of privacy" in outcome.out


def _edited(**columns: object) -> pd.DataFrame:
    return runs_table(50).assign(**columns)


BAD_TABLES = {
    "nan": (_edited(score=[np.nan] + [1.0] * 49), "NaN"),
    "one class": (_edited(member=True), "one class only"),
    "no column": (runs_table(50).drop(columns="score"), "no column 'score'"),
    "not a truth": (_edited(member="perhaps"), "'perhaps'; allowed are true, false, 1 and 0"),
    "not a number": (_edited(score="high"), "numbers only"),
    "no rows": (runs_table(50).iloc[:0], "0 trials"),
    "empty run": (_edited(run=[None] + [1.0] * 49), "empty cells"),
    "twice": (pd.concat([records_table(), records_table().iloc[:1]]), "appears twice"),
    "ragged": (records_table().iloc[1:], "same records"),
    "other records": (
        records_table()
        .replace({"record": {99: 500}})
        .assign(record=lambda table: table["record"].where(table["run"] > 0, table["record"] + 1)),
        "same records",
    ),
    "unfair": (records_table().assign(member=lambda table: table["record"] < 30), "fair coins"),
    "no record column": (records_table().drop(columns="record"), "no column 'record'"),
}


@pytest.mark.parametrize("name", list(BAD_TABLES))
def test_bad_table_is_refused_against_one_line(audit: Run, tmp_path: Path, name: str):
    table, words = BAD_TABLES[name]
    outcome = audit("epsilon", save(table, tmp_path / "scores.csv"))
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert words in outcome.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--delta", "1"), "delta"),
        (("--delta", "nan"), "delta"),
        (("--confidence", "1"), "confidence is 1.0"),
        (("--tries", "0"), "tries"),
        (("--threshold", "best"), "allowed are split, median, grid and fixed:X"),
        (("--threshold", "fixed:high"), "not a number"),
        (("--threshold", "fixed:nan"), "NaN"),
        (("--seed", "-1"), "--seed -1"),
        (("--estimator", "magic"), "magic"),
        (("--estimator", "family"), "--rate and --steps"),
        (("--sigma", "1"), "--rate and --steps"),
        (("--rate", "2", "--steps", "3"), "sampling rate"),
        (("--delta", "0", "--estimator", "gaussian"), "delta > 0"),
        (("--run-column", "nowhere", "--unit", "run"), "--run-column"),
        (("--run-column", "nowhere"), "no column 'nowhere'"),
        (("--record-column", "nowhere"), "no column 'nowhere'"),
        (("--score-column", "member"), "--score-column and --member-column name the same column"),
    ],
)
def test_bad_option_is_refused_against_one_line(audit: Run, tmp_path: Path, options: tuple[str, ...], words: str):
    outcome = audit("epsilon", save(runs_table(50), tmp_path / "scores.csv"), *options)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert words in outcome.err


def test_file_that_cannot_be_read_is_refused_against_one_line(audit: Run, tmp_path: Path):
    (tmp_path / "broken.parquet").write_bytes(b"nothing of the kind")
    (tmp_path / "scores.txt").write_text("score\n1\n")
    (tmp_path / "empty.csv").write_text("")
    for name, words in (
        ("missing.csv", "no such file"),
        ("broken.parquet", "cannot be read"),
        ("scores.txt", "expected a .parquet or a .csv"),
        ("empty.csv", "cannot be read"),
    ):
        outcome = audit("epsilon", tmp_path / name)
        assert outcome.code == 2
        assert words in outcome.err
        assert outcome.err.count("\n") == 1


def test_a_family_that_records_cannot_test_against_note(audit: Run, tmp_path: Path):
    path = save(records_table(), tmp_path / "scores.csv")
    assert "--rate and --steps were not used" in audit("epsilon", path, "--rate", "0.1", "--steps", "10").out


def test_delta_zero_leaves_gaussian_estimators_out_against_note(audit: Run, tmp_path: Path):
    outcome = audit("epsilon", save(runs_table(), tmp_path / "scores.csv"), "--delta", "0", "--json")
    result = json.loads(outcome.out)
    assert "gaussian" not in [bound["estimator"] for bound in result["bounds"]]
    assert any("gaussian left out" in note for note in result["notes"])


@pytest.mark.parametrize(("sigma", "code"), [(0.4, 0), (4.0, 4)])
def test_claimed_curve_against_exit_code(audit: Run, tmp_path: Path, sigma: float, code: int):
    """Full batch, one step: mu = 1/sigma is claimed where the scores have mu = 2."""
    path = save(runs_table(), tmp_path / "scores.csv")
    options = ("--rate", 1, "--steps", 1, "--sigma", sigma, "--json")
    outcome = audit("epsilon", path, *options)
    assert outcome.code == code
    result = json.loads(outcome.out)
    assert result["curve_test"]["refuted"] == bool(code)
    assert result["bounds"][-1]["estimator"] == "family"


def test_plan_against_simulated_tightness():
    """So many runs as planned for the Gaussian estimator do certify about the share that was asked for."""
    plan = make_plan(epsilon=8.0, delta=1e-5, tightness=0.8, confidence=0.95, unit="run")
    option = next(option for option in plan.options if option.estimator == "gaussian")
    assert option.reachable
    assert option.expected_tightness >= 0.8
    generator = np.random.default_rng(5)
    mu, per_side = float(gaussian_mu(8.0, 1e-5)), option.num_trials // 2
    bounds = [
        bound_epsilon_gaussian(
            RunEvidence(
                member_scores=generator.normal(mu, 1, per_side), non_member_scores=generator.normal(0, 1, per_side)
            ),
            delta=1e-5,
            confidence=0.95,
        ).lower
        for _ in range(100)
    ]
    assert 0.7 * 8.0 < np.median(bounds) < 0.86 * 8.0


def test_plan_answers_against_names(audit: Run):
    outcome = audit("plan", "--epsilon", 4, "--tightness", 0.5, "--unit", "run", "--json")
    assert outcome.code == 0
    plan = json.loads(outcome.out)
    assert plan["seconds_per_run"] is None
    assert "unknown" in plan["time_source"]
    for option in plan["options"]:
        assert option["seconds"] is None
        assert option["num_runs"] == option["num_trials"] == 2 * option["num_tested"]
        assert option["expected_lower"] <= option["ceiling"]
    weaker = json.loads(audit("plan", "--epsilon", 4, "--tightness", 0.3, "--unit", "run", "--json").out)
    for less, more in zip(weaker["options"], plan["options"], strict=True):
        assert less["num_trials"] <= more["num_trials"]


def test_plan_takes_its_time_from_finished_runs_against_timing_files(audit: Run, tmp_path: Path):
    for name, content in {
        "lira-dm-digits-aa": '{"seconds": 30.0, "runs": 20}',
        "lira-dm-digits-bb": '{"seconds": 10.0, "runs": 20}',
        "lira-real-digits-cc": '{"seconds": 9999.0, "runs": 1}',
        "lira-dm-digits-dd": "broken",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "timing.json").write_text(content)
    options = ("--epsilon", 8, "--tightness", 0.5, "--unit", "record", "--records", 1000, "--out", tmp_path, "--json")
    plan = json.loads(audit("plan", *options, "--method", "dm").out)
    assert plan["seconds_per_run"] == 1.0
    assert "lira-dm-digits-aa" in plan["time_source"]
    for option in plan["options"]:
        assert option["num_runs"] == max(2, -(-option["num_trials"] // 1000))
        assert option["seconds"] == option["num_runs"]


def test_plan_out_of_reach_against_words(audit: Run):
    outcome = audit("plan", "--epsilon", 8, "--tightness", 0.95, "--unit", "record")
    assert outcome.code == 0
    assert "out of reach" in outcome.out
    assert "unknown until a run of the method has finished" in outcome.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "0"), "epsilon"),
        (("--epsilon", "1", "--delta", "0"), "delta > 0"),
        (("--epsilon", "1", "--tightness", "1"), "tightness"),
        (("--epsilon", "1", "--confidence", "1"), "confidence"),
        (("--epsilon", "1", "--records", "0"), "records"),
        (("--epsilon", "1", "--method", "../x"), "--method"),
        (("--epsilon", "1", "--method", "dmm"), "did you mean dm?"),
        (("--epsilon", "1", "--nodes", "4"), "--nodes: describes an audit whose cost is estimated"),
        (("--epsilon", "1", "--dataset", "mnist"), "--dataset: describes an audit"),
        (("--epsilon", "1", "--set", "iterations=3"), "--set: describes an audit"),
        ((), "--epsilon"),
    ],
)
def test_bad_plan_is_refused_against_one_line(audit: Run, options: tuple[str, ...], words: str):
    outcome = audit("plan", *options)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert words in outcome.err


def test_every_estimator_of_records_and_the_claimed_curve_against_schema(audit: Run, tmp_path: Path):
    path = save(records_table(), tmp_path / "scores.csv")
    claim = ("--rate", "1", "--steps", "1", "--sigma", "1")
    outcome = audit("epsilon", path, "--json", *claim)
    found = json.loads(outcome.out)
    assert [bound["estimator"] for bound in found["bounds"]] == ["one-run", "one-run-dp", "one-run-fdp"]
    assert found["curve_test"]["unit"] == "record"
    assert (outcome.code == 4) == found["curve_test"]["refuted"] == (found["curve_test"]["p_value"] <= 0.05)
    outcome = audit("epsilon", path, *claim[:4], "--sigma", "4")
    assert outcome.code == 4
    assert "claimed curve: REFUTED" in outcome.out
    alone = json.loads(audit("epsilon", path, "--json", "--estimator", "one-run-dp").out)["bounds"]
    assert [bound["estimator"] for bound in alone] == ["one-run-dp"]


def test_records_of_one_run_leave_out_what_cannot_split_them_against_note(audit: Run, tmp_path: Path):
    path = save(records_table(num_runs=1, num_records=400), tmp_path / "scores.csv")
    outcome = audit("epsilon", path, "--json")
    found = json.loads(outcome.out)
    assert [bound["estimator"] for bound in found["bounds"]] == ["one-run", "one-run-dp"]
    assert any("one-run-fdp left out" in note for note in found["notes"])
    assert audit("epsilon", path, "--estimator", "one-run-fdp").code == 2
    assert audit("epsilon", path, "--estimator", "one-run-fdp", "--threshold", "grid").code == 0
