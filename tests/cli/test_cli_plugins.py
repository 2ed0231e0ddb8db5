"""Methods of somebody's own: the cookbook's code as it stands there, and what can go wrong in one line."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from audit.cli import main

PAGE = (ROOT / "docs" / "adding-a-method.md").read_text()
BLOCKS = {text.split()[1]: text for text in re.findall(r"```python\n(# .*?)```", PAGE, re.DOTALL)}
TINY = shlex.split(
    "--shadows 24 --records 200 --set victim.width=4 --set victim.depth=1 --set victim.epochs=6 --jobs 1 --json"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files of the cookbook, to which the command line is called."""
    for name, text in BLOCKS.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["audit", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_the_cookbook_has_two_methods_of_forty_lines():
    assert sorted(BLOCKS) == ["means.py", "noisy_means.py"]
    assert all(len([line for line in text.splitlines() if line]) <= 40 for text in BLOCKS.values())


def test_the_condenser_of_the_cookbook_is_audited_by_workers(folder):
    """In a process of its own, as a person calls it: nothing but the current directory tells where the file is."""
    command = [sys.executable, "-m", "audit.cli", "lira", "--method", "means.py:condense_means", *TINY]
    command += ["--set", "mixed=2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["method"] == "means.py:condense_means"
    assert re.fullmatch(r"runs/lira-means-condense_means-digits-model-[0-9a-f]{12}", record["run_directory"])
    assert "--method means.py:condense_means" in record["command"]


@pytest.mark.usefixtures("folder")
def test_the_private_method_of_the_cookbook_at_the_door(monkeypatch, capsys):
    code, out, err = run(
        monkeypatch, capsys, "worst-case", "--method", "noisy_means:noisy-means", "--trials", "2000", "--rate", "1",
        "--json",
    )  # fmt: skip
    assert code == 0, err
    record = json.loads(out)
    assert record["verdict"] == "NOT REFUTED"
    assert record["method"] == "noisy_means:noisy-means"
    assert re.fullmatch(r"runs/worst-case-noisy_means-noisy-means-transcript-[0-9a-f]{12}", record["run_directory"])
    assert {entry["group"]: entry["count"] for entry in record["ledger"]} == {0: 1, 1: 1}


def masked(text: str) -> list[str]:
    """What stays the same from machine to machine: everything but numbers and digests."""
    text = re.sub(r"-[0-9a-f]{12}/", "-DIGEST/", text)
    return re.sub(r"\d+(\.\d+)?(e-\d+)?", "#", text).strip().splitlines()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("start", "smaller"),
    [
        ("audit lira --method means.py:condense_means --shadows", [part for part in TINY if part != "--json"]),
        ("audit worst-case", ["--trials", "1000"]),
    ],
    ids=["lira", "worst-case"],
)
def test_printed_output_against_the_cookbook(start, smaller, monkeypatch, capsys):
    """The page's own commands, on less data: line by line the same but for the numbers."""
    blocks = re.findall(r"```\n(audit [^\n]*)\n```\n```\n(.*?)```", PAGE, re.DOTALL)
    ((command, shown),) = [block for block in blocks if block[0].startswith(start)]
    code, out, err = run(monkeypatch, capsys, *shlex.split(command)[1:], *smaller)
    assert code == 0, err
    assert masked(out) == masked(shown)


WRONG = {
    "raises.py": "raise ValueError('the moon is full')",
    "leaves.py": "import sys\nsys.exit(0)",
    "broken.py": "def (",
    "needs.py": "import a_module_that_is_not_there",
    "plain.py": "def thing(): pass",
    "bare.py": (
        "from condensers.registry import condenser\nclass Config: pass\n"
        "@condenser('bare', config=Config)\ndef bare(*_, **__): pass"
    ),
}


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("nowhere.py:thing", "there is no file"),
        ("no_such_module:thing", "there is no module 'no_such_module'"),
        ("means.no_such_part:thing", "there is no module 'means.no_such_part'"),
        ("means.py:absent", "no 'absent' in"),
        ("means.py:", "write a condenser of your own as module:name"),
        (":thing", "write a condenser of your own as module:name"),
        ("means.py:MeansConfig", "MeansConfig is not a condenser"),
        ("plain.py:thing", "thing is not a condenser; decorate it with @condenser"),
        ("raises.py:thing", "its import failed with ValueError: the moon is full"),
        ("leaves.py:thing", "its import failed with SystemExit"),
        ("broken.py:thing", "its import failed with SyntaxError"),
        ("needs.py:thing", "No module named 'a_module_that_is_not_there'"),
        ("bare.py:bare", "its config must be a dataclass with the field ipc"),
        ("means", "write a method of your own as module:name"),
    ],
    ids=str,
)
def test_what_cannot_be_loaded_is_one_line_and_exit_2(folder, monkeypatch, capsys, method, said):
    for name, text in WRONG.items():
        (folder / name).write_text(text)
    code, out, err = run(monkeypatch, capsys, "lira", "--method", method, *TINY)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (folder / "runs").exists()
