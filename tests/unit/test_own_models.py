"""Models that a person trained: signals in tables and archives, the game with callables, the same statistics."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from test_api import code_block

import audit
from attacks.lira import LiraConfig, score_lira
from attacks.registry import Observations
from audit.engine.where import Where
from audit.games.models.run import run_models
from audit.games.models.signals import ModelSignals, read_signals, to_logits, write_signals
from audit.games.run import run
from audit.records import MembershipRecord
from audit.specs.membership import Lira, Loss, Rmia
from condensers.errors import AuditError, BadConfig, BadData
from condensers.randomness import stream
from reports.records import schema

NUM_RECORDS, NUM_MODELS, NUM_TREES = 200, 28, 12
IMAGES, LABELS = (array[:NUM_RECORDS] for array in load_digits(return_X_y=True))


def train_forest(members: np.ndarray, run: int) -> RandomForestClassifier:
    return RandomForestClassifier(n_estimators=NUM_TREES, random_state=run).fit(IMAGES[members], LABELS[members])


def confidence(model: RandomForestClassifier) -> np.ndarray:
    """Of the true label, smoothed: a vote of all trees is not a probability of 1."""
    share = model.predict_proba(IMAGES)[np.arange(NUM_RECORDS), np.searchsorted(model.classes_, LABELS)]
    return (NUM_TREES * share + 0.5) / (NUM_TREES + 1)


def audit_forests(out: Path, **changes) -> MembershipRecord:
    settings = {"train": train_forest, "query": confidence, "signal": "confidence", "records": NUM_RECORDS}
    settings |= {"models": NUM_MODELS, "test_runs": 8, "labels": LABELS, "name": "forests on digits"}
    return audit.audit_models(**settings | changes, out=out, progress=False)


@pytest.fixture(scope="module")
def forests(tmp_path_factory: pytest.TempPathFactory) -> MembershipRecord:
    return audit_forests(tmp_path_factory.mktemp("forests"), groups="label")


def test_forests_that_overfit_are_found_out(forests: MembershipRecord) -> None:
    assert forests.roc.auc_interval[0] > 0.8
    assert forests.epsilon.lower > 0.5
    assert (forests.game.num_fit_runs, forests.game.num_test_runs) == (20, 8)
    assert forests.epsilon.threshold_choice.endswith("cross-fitted fit runs")
    assert forests.method == "own models"
    assert forests.level == "model"
    assert sum("ASSERTED BY THE AUDITOR" in text for text in forests.epsilon.assumptions) == 2


def test_groups_of_own_models_share_the_error(forests: MembershipRecord) -> None:
    assert [group.name for group in forests.groups] == [f"label {label}" for label in range(10)]
    assert {group.epsilon.num_tries for group in forests.groups} == {10}
    assert [group.num_records for group in forests.groups] == np.bincount(LABELS).tolist()


def test_shuffled_membership_finds_nothing(tmp_path: Path) -> None:
    control = audit_forests(tmp_path, shuffle_membership=True)
    low, high = control.roc.auc_interval
    assert low < 0.5 < high
    assert abs(control.roc.auc - 0.5) < 0.05
    assert control.epsilon.lower == 0
    assert "CONTROL" in control.threat_model[0]


def test_models_of_other_records_than_those_drawn_are_not_told_apart(tmp_path: Path) -> None:
    """What is refuted is the training: one that looks at other coins leaks nothing about these."""

    def train_on_others(members: np.ndarray, run: int) -> RandomForestClassifier:
        return train_forest(stream(9, "other coins", run).random(len(members)) < 0.5, run)

    blind = audit_forests(tmp_path, train=train_on_others)
    assert abs(blind.roc.auc - 0.5) < 0.05
    assert blind.epsilon.lower == 0


def test_kept_signals_give_the_same_record_again(
    forests: MembershipRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = Path(forests.run_directory)
    monkeypatch.chdir(directory.parent)
    assert forests.command.startswith(f"audit lira --groups label --scores {directory.name}/signals.npz --fair-coins")
    spec = Lira(scores=f"{directory.name}/signals.npz", fair_coins=True, groups="label")
    assert spec.command() == forests.command
    run(spec, Where(out=tmp_path), lambda _: None)
    assert (tmp_path / directory.name / "report.json").read_bytes() == (directory / "report.json").read_bytes()
    assert audit.load(directory) == forests


def test_pages_speak_of_models_and_not_of_condensation(forests: MembershipRecord) -> None:
    page = Path(forests.run_directory, "report.html").read_text(encoding="utf-8")
    assert "Privacy audit of trained models" in page
    assert "forests on digits: own models" in page
    assert "trained by the auditor; nothing was condensed" in page
    assert "Groups of records, by label" in page
    assert "as the auditor asserts" in page
    for word in ("Synthetic set of one run", "f_S", "condensations"):
        assert word not in page
    assert Path(forests.pdf).read_bytes().startswith(b"%PDF")


def simulated(runs: int = 12, records: int = 60, leak: float = 2.0, **changes) -> ModelSignals:
    generator = stream(1, "simulated models")
    members = generator.random((runs, records)) < 0.5
    signals = generator.normal(size=(runs, records, 1)) + leak * members[:, :, None]
    return ModelSignals(name="simulated", kind="logit", signals=signals.astype(np.float32), members=members, **changes)


def as_table(found: ModelSignals) -> pd.DataFrame:
    runs, records = found.members.shape
    return pd.DataFrame(
        {
            "run": np.repeat(np.arange(runs), records),
            "record": np.tile(np.arange(records), runs),
            "member": found.members.ravel().astype(int),
            "logit": found.signals.ravel(),
        }
    )


def test_scores_against_the_attack_itself(tmp_path: Path) -> None:
    found = simulated()
    report = run_models(Lira(scores="x", fair_coins=True, test_runs=4), found, Where(out=tmp_path), lambda _: None)
    expected = score_lira(
        Observations(fit_signals=found.signals[:8], fit_members=found.members[:8], test_signals=found.signals[8:]),
        LiraConfig(),
    )
    table = pd.read_parquet(Path(report.run_directory) / "scores.parquet")
    np.testing.assert_array_equal(table["score"].to_numpy(), expected.ravel())
    np.testing.assert_array_equal(table["member"].to_numpy(), found.members[8:].ravel())
    assert table["run"].unique().tolist() == [8, 9, 10, 11]


def test_every_kind_of_file_holds_the_same_signals(tmp_path: Path) -> None:
    found = simulated(tested=np.arange(12) % 3 == 0, labels=np.arange(60) % 4)
    table = as_table(found).assign(label=np.tile(found.labels, 12))
    table["role"] = np.where(np.repeat(found.tested, 60), "test", "fit")
    shuffled = table.sample(frac=1, random_state=0)
    shuffled.to_csv(tmp_path / "a.csv", index=False, float_format="%.9g")
    shuffled.assign(member=shuffled["member"].astype(bool)).to_parquet(tmp_path / "b.parquet")
    write_signals(tmp_path / "c.npz", found)
    for name in ("a.csv", "b.parquet", "c.npz"):
        read = read_signals(tmp_path / name)
        assert read.sha256 == found.sha256, name
    first = (tmp_path / "c.npz").read_bytes()
    write_signals(tmp_path / "c.npz", found)
    assert (tmp_path / "c.npz").read_bytes() == first
    assert replace(found, labels=None).sha256 != found.sha256


def test_roles_decide_what_is_tested(tmp_path: Path) -> None:
    found = simulated(tested=np.arange(12) % 3 == 0)
    spec = Rmia(scores="x", fair_coins=True)
    report = run_models(spec, found, Where(out=tmp_path), lambda _: None)
    assert report.config["test_runs"] == [0, 3, 6, 9]
    assert report.config["fit_runs"] == [1, 2, 4, 5, 7, 8, 10, 11]
    with pytest.raises(BadConfig, match="--test-runs: the signals say"):
        run_models(spec.but(test_runs=2), found, Where(out=tmp_path), lambda _: None)


def test_one_model_and_no_shadow_by_its_losses(tmp_path: Path) -> None:
    found = simulated(runs=1, records=800, leak=6.0)
    losses = as_table(found).assign(loss=np.logaddexp(0, -found.signals.ravel())).drop(columns="logit")
    losses.to_csv(tmp_path / "one.csv", index=False)
    report = run(Loss(scores=str(tmp_path / "one.csv"), fair_coins=True), Where(out=tmp_path), lambda _: None)
    assert report.epsilon.lower > 1
    assert report.game.num_fit_runs == 0
    assert report.epsilon.num_trials == 800
    assert report.roc.interval_unit == "records"


@pytest.mark.parametrize(
    ("kind", "values"),
    [("confidence", [0.0, 0.25, 0.5, 1.0]), ("loss", [20.0, np.log(4), np.log(2), 0.0])],
)
def test_signals_on_one_scale_against_theory(kind: str, values: list[float]) -> None:
    expected = [np.log(1e-7), np.log(1 / 3), 0.0, -np.log(1e-7)]
    np.testing.assert_allclose(to_logits(np.array(values), kind, "x"), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"drop": "member"}, "no column 'member'"),
        ({"drop": "logit"}, "needs one of logit, confidence, loss"),
        ({"loss": 1.0}, "needs one of logit, confidence, loss, has logit, loss"),
        ({"rows": slice(0, -1)}, "every run must have the same records"),
        ({"rows": slice(0, 0)}, "has no rows"),
        ({"record": 3}, "every run must have the same records"),
        ({"run": 0.5}, "column 'run' must hold whole numbers"),
        ({"member": 2}, "allowed are true, false, 1 and 0"),
        ({"logit": np.nan}, "signals are NaN or infinite"),
        ({"logit": 1e300}, "a logit is beyond"),
        ({"role": "both"}, "must say fit or test"),
        ({"label": 0.5}, "column 'label' must hold whole numbers"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_line(tmp_path: Path, changes: dict, said: str) -> None:
    table = as_table(simulated())
    if "drop" in changes:
        table = table.drop(columns=changes["drop"])
    elif "rows" in changes:
        table = table.iloc[changes["rows"]]
    else:
        table = table.assign(**changes)
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(AuditError, match=said) as error:
        read_signals(tmp_path / "t.csv")
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"members": np.ones((2, 3), bool)}, "needs one of logit"),
        ({"logit": np.ones((2, 3))}, "holds no array members"),
        ({"logit": np.ones((2, 3)), "members": np.ones((2, 4), bool)}, "expected a signal for every run and record"),
        ({"logit": np.ones((2, 3)), "members": np.full((2, 3), 2)}, "expected true or false"),
        ({"loss": -np.ones((2, 3)), "members": np.ones((2, 3), bool)}, "never negative"),
        ({"confidence": 2 * np.ones((2, 3)), "members": np.ones((2, 3), bool)}, r"outside \[0, 1\]"),
        ({"logit": np.ones((2, 3)), "members": np.ones((2, 3), bool), "labels": np.zeros(2, int)}, "labels have shape"),
        ({"logit": np.array([None]), "members": np.ones((1, 1), bool)}, "Python objects, which are never loaded"),
    ],
)
def test_an_archive_that_cannot_be_read_is_one_line(tmp_path: Path, arrays: dict, said: str) -> None:
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(BadData, match=said):
        read_signals(tmp_path / "t.npz")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scores": "x.csv"}, "state with --fair-coins that every record"),
        ({"fair_coins": True}, "--fair-coins: has no meaning without --scores"),
        ({"scores": "x.csv", "fair_coins": True, "method": "kip"}, "--method: has no meaning with --scores"),
        ({"scores": "x.csv", "fair_coins": True, "shadows": 9}, "--shadows: has no meaning with --scores"),
        ({"scores": "x.csv", "fair_coins": True, "synthetic": ("a.pt",)}, "--synthetic: has no meaning with --scores"),
    ],
)
def test_what_does_not_go_with_own_models(changes: dict, said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        Lira(**changes)


def test_too_few_fit_runs_are_refused(tmp_path: Path) -> None:
    def attempt(found: ModelSignals, spec: Lira | Rmia) -> None:
        run_models(spec, found, Where(out=tmp_path), lambda _: None)

    with pytest.raises(BadData, match="leaves 2 runs to fit lira on, which needs 3"):
        attempt(simulated(runs=3), Lira(scores="x", fair_coins=True))
    found = simulated()
    found.members[:9, 7] = True
    with pytest.raises(BadData, match="1 records, the first of them 7, are in all of the 9 fit runs"):
        attempt(found, Lira(scores="x", fair_coins=True))
    attempt(found, Rmia(scores="x", fair_coins=True))
    with pytest.raises(BadData, match="is not a valid name"):
        attempt(replace(simulated(), name="\x1b[31m"), Lira(scores="x", fair_coins=True))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"query": lambda _model: np.zeros(3)}, r"signals of shape \[3\]; expected \[200\]"),
        ({"query": lambda _model: np.full(200, np.nan)}, "NaN or infinite"),
        ({"signal": "entropy"}, "must be one of logit, confidence, loss"),
        ({"attack": "gan-leak"}, "must be one of lira, rmia, loss"),
        ({"records": 1}, "at least 2"),
        ({"models": 3, "test_runs": 1, "train": None}, "leaves 2 runs to fit lira on"),  # before anything is trained
        ({"models": 5, "test_runs": 1, "train": None}, "LiRA needs runs with and without each record"),
        ({"method": "dm", "shadows": 8}, "has no meaning with --scores"),
    ],
)
def test_callables_that_give_no_signals_are_refused(tmp_path: Path, changes: dict, said: str) -> None:
    with pytest.raises(AuditError, match=said):
        audit_forests(tmp_path, **{"train": lambda _members, _run: None, "query": lambda _: np.zeros(200)} | changes)


def test_members_cannot_be_changed_by_the_training(tmp_path: Path) -> None:
    def train(members: np.ndarray, _run: int) -> None:
        members[:] = True

    with pytest.raises(ValueError, match="read-only"):
        audit_forests(tmp_path, train=train)


def test_record_is_one_that_everything_reads(forests: MembershipRecord) -> None:
    stored = Path(forests.run_directory, "report.json").read_text()
    assert schema.load(stored).roc.auc == forests.roc.auc
    assert json.loads(stored)["schema"] == schema.SCHEMA
    assert not (Path(forests.run_directory) / "shards").is_dir() or not any(
        (Path(forests.run_directory) / "shards").iterdir()
    )


def test_script_of_the_docs(tmp_path: Path) -> None:
    """The example of docs/own-models.md, as a reader would run it, with fewer models."""
    script = code_block("own-models.md", 0).replace("models=40", "models=24").replace("test_runs=10", "test_runs=4")
    assert "models=24" in script
    (tmp_path / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("AUC 0.")
    assert done.stdout.strip().endswith("report.pdf")
    assert len(list((tmp_path / "runs").glob("lira-own-models-forests-on-digits-*/report.pdf"))) == 1
