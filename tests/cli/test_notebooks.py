"""The notebooks of the documentation, executed from start to end as a reader would."""

import os
from pathlib import Path

import pytest
from conftest import ROOT
from generate.execute_notebooks import execute

FOLDER = ROOT / "docs" / "notebooks"


def printed(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the cells print; a cell that fails raises."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    notebook = execute(FOLDER / name)
    return "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))


def certified(text: str, before: str) -> float:
    return float(text.split(before, 1)[1].split("epsilon >= ", 1)[1].split()[0])


@pytest.mark.slow
def test_first_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed("first-audit.ipynb", monkeypatch)
    assert certified(text, "level set") > 0.5
    assert certified(text, "control:") == 0.0


@pytest.mark.slow
def test_condenser_with_a_bug_is_refuted_and_its_fix_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed("find-a-bug.ipynb", monkeypatch)
    assert "\nREFUTED\n" in text
    assert "NOT REFUTED (smallest p = " in text


@pytest.mark.slow
def test_finished_run_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed("read-a-run.ipynb", monkeypatch)
    computed, stored = text.split("AUC from the scores ")[1].split("\n")[0].split(", in the record ")
    assert computed == stored
    assert certified(text, "one-run-dp") > 1.0


def test_every_notebook_is_executed_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in source for path in FOLDER.glob("*.ipynb"))
