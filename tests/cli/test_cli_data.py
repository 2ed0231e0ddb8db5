"""`audit data`: the list, one set, downloads; exit codes."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from audit.cli import main


@dataclass(frozen=True, kw_only=True)
class Outcome:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Outcome]


@pytest.fixture
def audit_data(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `audit data` within this process, with a root of its own in the environment."""

    def run(*arguments: str, root: Path) -> Outcome:
        monkeypatch.setenv("AUDIT_DATA_ROOT", str(root))
        monkeypatch.setattr(sys, "argv", ["audit", "data", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return Outcome(returncode=int(stop.value.code or 0), stdout=printed.out, stderr=printed.err)

    return run


def test_list_against_an_empty_root(tmp_path: Path, audit_data: Run) -> None:
    listed = audit_data("--json", root=tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    result = json.loads(listed.stdout)
    assert result["data_root"] == str(tmp_path)
    rows = {row["name"]: row for row in result["datasets"]}
    assert {"digits", "fashion-mnist", "mnist", "cifar10", "svhn", "celeba", "adult"} <= set(rows)
    assert rows["digits"]["here"]
    assert not rows["mnist"]["here"]
    assert rows["mnist"]["path"] is None
    assert str(tmp_path / "mnist") in rows["mnist"]["looked_in"]
    assert rows["mnist"]["get"] == "audit data --get mnist"


def test_list_against_a_filled_root(tmp_path: Path, audit_data: Run) -> None:
    (tmp_path / "adult.data").touch()
    listed = audit_data("--data-root", str(tmp_path), root=tmp_path / "unused")
    assert listed.returncode == 0
    lines = {line.split()[0]: line.split() for line in listed.stdout.splitlines() if line.strip()}
    assert lines["adult"] == ["adult", "14", "2", "32561", "16281", "yes", str(tmp_path)]
    assert lines["digits"][:6] == ["digits", "1×8×8", "10", "1797", "-", "yes"]
    assert "no" in lines["svhn"]


def test_digits_description(tmp_path: Path, audit_data: Run) -> None:
    described = audit_data("digits", "--json", root=tmp_path)
    assert (described.returncode, described.stderr) == (0, "")
    result = json.loads(described.stdout)
    assert (result["records"], result["classes"], result["shape"]) == (1797, 10, [1, 8, 8])
    assert sum(result["records_per_class"]) == 1797
    assert (result["content"], result["test_records"], result["duplicates"]) == ("as published", 0, 0)


def test_own_archive_description(tmp_path: Path, audit_data: Run) -> None:
    np.savez(tmp_path / "mine.npz", x=np.zeros((6, 4, 5), dtype=np.uint8), y=[0, 1, 0, 1, 0, 1])
    described = audit_data(str(tmp_path / "mine.npz"), "--records", "4", root=tmp_path)
    assert described.returncode == 0
    assert "records       4 (2 to 2 per class)" in described.stdout
    assert "duplicates    2 records" in described.stdout
    assert "content       not known" in described.stdout


def test_bad_archive_is_one_line_and_exit_2(tmp_path: Path, audit_data: Run) -> None:
    (tmp_path / "mine.npz").write_text("x,y\n")
    described = audit_data(str(tmp_path / "mine.npz"), root=tmp_path)
    assert (described.returncode, described.stdout) == (2, "")
    assert described.stderr.startswith("audit: ")
    assert described.stderr.count("\n") == 1
    assert "is text, not an .npz archive" in described.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["svhn"], "get it: audit data --get svhn"),
        (["nonsense"], "not one of digits, fashion-mnist"),
        (["--get", "nonsense"], "--get nonsense: no such data set"),
        (["--get", "celeba"], "cannot be downloaded"),
        (["--records", "5"], "can only be given together with DATASET"),
        (["digits", "--records", "5"], "must be at least 20"),
        (["digits", "--get", "mnist"], "not both"),
        (["--data-root", "nowhere"], "no such folder"),
        (["--recrods", "5"], "--recrods"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(tmp_path: Path, audit_data: Run, arguments: list[str], words: str) -> None:
    result = audit_data(*arguments, root=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_get_of_what_is_here_says_where(tmp_path: Path, audit_data: Run) -> None:
    (tmp_path / "adult.data").touch()
    result = audit_data("--get", "adult", root=tmp_path)
    assert (result.returncode, result.stdout) == (0, f"adult: {tmp_path}\n")


def test_process_exits_2_and_prints_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "audit.cli", "data", "--data-root", str(tmp_path / "nowhere")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in result.stderr.splitlines() if not line.startswith("audit: still working")]
    assert (result.returncode, result.stdout, len(said)) == (2, "", 1)
