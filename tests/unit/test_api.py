"""The Python interface: every public name has an example that runs; records are what report.json holds, and draw."""

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import audit
from audit.engine.executor import InProcess, Local
from audit.records import MembershipRecord
from condensers.errors import BadConfig
from reports.records import schema

NAMES = [name for name in audit.__all__ if not name.startswith("__")]
SMALL = audit.Lira(method="real", records=120, shadows=8, level="set", seed=5)


@pytest.mark.parametrize("name", NAMES)
def test_public_name_has_an_example_that_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    thing = getattr(audit, name)
    module = importlib.import_module(thing.__module__)
    examples = doctest.DocTestFinder(recurse=False).find(thing, name, module=module, globs=dict(vars(module)))
    assert examples, name
    assert examples[0].examples, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(examples[0])
    assert runner.summarize(verbose=False).failed == 0


def test_importing_is_cheap() -> None:
    code = (
        "import time; t = time.perf_counter(); import audit; t = time.perf_counter() - t; audit.Lira(shadows=8);"
        "import sys; print(t, *(name for name in ('torch', 'numpy', 'pandas') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, *heavy = done.stdout.split()
    assert heavy == []
    assert float(seconds) < 0.1


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> MembershipRecord:
    return audit.run(SMALL, out=tmp_path_factory.mktemp("runs"), executor=InProcess(), progress=False)


def test_record_is_what_report_json_holds(record: MembershipRecord) -> None:
    stored = json.loads((Path(record.run_directory) / "report.json").read_text())
    assert record.epsilon.lower == stored["epsilon"]["lower"]
    assert record.roc.auc == stored["roc"]["auc"]
    assert isinstance(record, schema.Report)
    loaded = audit.load(record.run_directory)
    assert loaded == record


def test_record_draws_itself(record: MembershipRecord, tmp_path: Path) -> None:
    assert record.to_pdf(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    page = record.to_html(tmp_path / "a.html").read_text()
    assert record.verdict in page
    short = record._repr_html_()
    assert record.verdict in short
    assert "ε ≥" in short
    assert len(short) < 2000


def test_progress_goes_where_it_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record: MembershipRecord
) -> None:
    lines: list[str] = []
    again = audit.run(SMALL, out=tmp_path, executor=InProcess(), progress=lines.append)
    assert capsys.readouterr().err == ""
    assert lines[0] == "condensing 8 runs"
    assert again.epsilon == record.epsilon
    audit.run(SMALL, out=tmp_path, executor=InProcess(), progress=False)
    assert capsys.readouterr().err == ""
    audit.run(SMALL, out=tmp_path, executor=InProcess())
    assert "audit: drawing the report" in capsys.readouterr().err


def test_executor_changes_no_byte(tmp_path: Path, record: MembershipRecord) -> None:
    other = audit.run(SMALL, out=tmp_path, executor=Local(jobs=2), progress=False)
    for name in ("report.json", "scores.parquet", "shards/00000.safetensors"):
        assert (Path(other.run_directory) / name).read_bytes() == (Path(record.run_directory) / name).read_bytes()


def test_bound_epsilon_against_the_estimator() -> None:
    """The same scores through `audit epsilon`."""
    from audit.statistics.estimators.evidence import RecordEvidence
    from audit.statistics.estimators.one_run_dp import bound_epsilon_one_run_dp
    from audit.statistics.estimators.thresholds import Split

    generator = np.random.default_rng(1)
    members = generator.random((4, 500)) < 0.5
    scores = members + generator.normal(size=members.shape)
    expected = bound_epsilon_one_run_dp(
        RecordEvidence(members=members, scores=scores), delta=1e-5, confidence=0.95, choice=Split(seed=0)
    )
    assert audit.bound_epsilon(members, scores) == expected
    assert audit.bound_epsilon(members, scores, tries=100).lower < expected.lower
    runs = audit.bound_epsilon(members[0], scores[0], unit="run")
    assert (runs.estimator, runs.unit) == ("clopper-pearson", "run")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"members": [True], "scores": [1.0, 2.0]}, "the shapes must be equal"),
        ({"members": [True, False], "scores": [1.0, 0.0], "unit": "coin"}, "must be run or record"),
        ({"members": [[True, False]] * 4, "scores": [[1.0, 0.0]] * 4, "unit": "run"}, "records of one run are not"),
        ({"members": [1.0, float("nan")], "scores": [1.0, 0.0]}, "true and false, or 1 and 0"),
        ({"members": [1, 0.3], "scores": [1.0, 0.0], "unit": "run"}, "true and false, or 1 and 0"),
        ({"members": [True, False], "scores": [1.0, 0.0], "estimator": "magic"}, "choose from one-run, one-run-dp"),
    ],
)
def test_bad_evidence_in_one_line(given: dict, said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        audit.bound_epsilon(**given)


def test_no_such_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lyra'"):
        audit.lyra  # noqa: B018
    assert {"Lira", "run", "load"} <= set(dir(audit))


def code_block(page: str, number: int) -> str:
    """A block of Python in a page of the docs."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.S)[number]


def test_script_of_the_docs(tmp_path: Path) -> None:
    """The example of docs/python.md, with the condenser of docs/adding-a-method.md, as a reader would run it."""
    (tmp_path / "means.py").write_text(code_block("adding-a-method.md", 0))
    script = code_block("python.md", 0)
    assert len([line for line in script.splitlines() if line.strip()]) <= 16
    (tmp_path / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NO CLAIM ")
    assert (tmp_path / "roc.png").stat().st_size > 5000
    assert (tmp_path / "audit.pdf").read_bytes().startswith(b"%PDF")
