"""Installed beside a project that has an `audit` package of its own, the suite disturbs nobody."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "__init__.py").write_text("BOOKS = 'ours'\n")
    (tmp_path / "test_books.py").write_text(
        "import audit\n\ndef test_books():\n    assert audit.BOOKS == 'ours'\n\n"
        "def test_fixture(assert_private):\n    pass\n"
    )
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Ours stands behind the project's folder on the path, as an installed package does."""
    environment = {**os.environ, "PYTHONPATH": f"{project}{os.pathsep}{ROOT}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True, timeout=120
    )


def test_its_tests_run_and_the_fixture_says_what_is_wrong(project: Path) -> None:
    done = run(project, "-m", "pytest", "-q", "-p", "condensation_audit.pytest_plugin", "-p", "no:cacheprovider")
    assert "1 passed, 1 error" in done.stdout
    assert "needs its own package 'audit'" in done.stdout


def test_the_unique_name(project: Path) -> None:
    done = run(project, "-c", "import condensation_audit; print('imported'); condensation_audit.Lira")
    assert done.stdout == "imported\n"
    assert done.stderr.strip().splitlines()[-1].startswith("ImportError: condensation_audit needs its own package")
    (project / "audit" / "__init__.py").unlink()
    (project / "audit").rmdir()
    done = run(project, "-m", "condensation_audit", "lira", "--shadows", "0")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
