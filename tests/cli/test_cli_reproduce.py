"""`audit reproduce` from the command line: the list, one item, and every item at scale smoke."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from audit.cli import main
from audit.commands.reproduce import reproduce
from audit.reproduce.tables import published_items
from audit.specs.options import build
from audit.specs.reproduce import Reproduce
from reports.records.reproduction import NOT_RUN

MINUTES_FOR_ALL = 20  # of two idle cores


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["audit", "reproduce", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_the_list_names_every_item_and_what_cannot_be_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = call(monkeypatch, capsys)
    assert status == 0
    assert all(f"  {name} " in text for name in published_items())
    for quoted in ("G-PATE", "DataLens", "DPDM"):
        assert quoted in text
    status, text, _ = call(monkeypatch, capsys, "--json")
    assert [entry["item"] for entry in json.loads(text)] == list(published_items())


def test_the_list_tells_a_part_of_a_data_set_against_its_labels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    labels = np.repeat(np.arange(10), 20)
    np.savez(tmp_path / "cifar10_few.npz", x_train=np.zeros((200, 32, 32, 3), dtype=np.uint8), y_train=labels)
    status, text, _ = call(monkeypatch, capsys, "--data-root", str(tmp_path))
    assert status == 0
    assert "cifar10 (200 of 50 000 training records here)" in text
    assert text.count("scale smoke needs only digits") == 1
    (tmp_path / "cifar10_few.npz").write_bytes(b"no archive")
    status, text, _ = call(monkeypatch, capsys, "--data-root", str(tmp_path))
    assert (status, "cifar10 (cannot be read)" in text) == (0, True)


def test_nothing_could_be_tested_against_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("zheng-li/figure-1", "--scale", "reduced", "--data-root", str(tmp_path), "--out", str(tmp_path / "runs"))
    status, text, said = call(monkeypatch, capsys, *words)
    assert status == 3
    assert text.startswith("zheng-li/figure-1   5 values: not run.")
    assert "nothing could be tested: the data of every value are missing" in said.splitlines()[-1]
    assert next((tmp_path / "runs").glob("*/report.pdf")).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dong/table-99",), "no such table or figure"),
        (("dong",), "there are dong/table-1, dong/table-2, dong/table-3, dong/table-4, dong/figure-2"),
        (("dong/table-1", "--all"), "give only one of them"),
        (("--scale", "reduced"), "--scale: give an item or --all"),
        (("--method", "dm"), "--method: give an item or --all"),
        (("--plan",), "--plan: give an item or --all"),
        (("dong/table-1", "--scale", "full", "--records", "0"), "--records 0: must be at least 1"),
        (("dong/table-1", "--seeds", "0"), "--seeds 0: must lie in 1…10000"),
        (("dong/table-1", "--seeds", "-1"), "--seeds -1: must lie in 1…10000"),
        (("dong/table-1", "--seed", "-1"), "--seed -1: must lie in 0…"),
        (("dong/table-1", "--set", "iteration=5"), "not a setting of dong/table-1; did you mean iterations?"),
        (("--all", "--set", "iteration=5"), "not a setting of any item; did you mean iterations?"),
        (("dong/table-1", "--scale", "huge"), "is not one of 'smoke', 'reduced', 'full'"),
        (("dong/table-1", "--dataset", "moon"), "--dataset moon: not in dong/table-1, which has fashion-mnist"),
    ],
)
def test_bad_usage_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    status, out, err = call(monkeypatch, capsys, *words)
    assert (status, out) == (2, "")
    assert said in err.strip().splitlines()[-1]


def test_the_command_of_a_specification_asks_for_it_again() -> None:
    made = Reproduce(
        item="dong/table-2", scale="reduced", datasets=("cifar10", "celeba-64"), methods=("kip with zca",),
        only=("ratio=0.01",), ratio_of="all", seeds=3, settings={"iterations": "5"}, seed=7, device="cpu",
    )  # fmt: skip
    program, name, *words = shlex.split(made.command())
    assert (program, name, words[0]) == ("audit", "reproduce", "dong/table-2")
    assert build(Reproduce, reproduce.make_context(name, words).params) == made
    assert Reproduce.from_json(made.to_json()) == made


def test_one_item_ends_with_its_pages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("zheng-li/table-1", "--method", "ldpdc", "--out", str(tmp_path), "--json")
    status, text, _ = call(monkeypatch, capsys, *words)
    record = json.loads(text)
    assert status == 0
    assert [row["agreement"] for row in record["rows"]] == ["not compared", "within both intervals"]
    assert {"table.csv", "table.md", "report.pdf"} <= {path.name for path in Path(record["run_directory"]).iterdir()}


def test_the_time_of_an_item_is_told_before_it_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("--plan", "--method", "ldpdc", "--out", str(tmp_path / "runs"))
    status, text, _ = call(monkeypatch, capsys, "zheng-li/table-1", *words, "--json")
    accuracy, budget = json.loads(text)["zheng-li/table-1"]
    assert (status, budget["seconds"]) == (0, 0.0)
    assert 0 < accuracy["seconds"] < 600
    status, text, _ = call(monkeypatch, capsys, "zheng-li/table-1", *words)
    assert text.startswith("zheng-li/table-1: ")
    assert accuracy["command"] in text
    status, text, _ = call(monkeypatch, capsys, "dong/table-2", "--plan", "--method", "dm")
    assert "audit loss --records 300" in text
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_every_item_runs_at_scale_smoke(tmp_path: Path) -> None:
    """All items by one command, as in CI; nothing but digits is needed, so no figure may be left out."""
    words = [sys.executable, "-m", "audit.cli", "reproduce", "--all", "--scale", "smoke", "--json"]
    done = subprocess.run(
        [*words, "--out", str(tmp_path)], capture_output=True, text=True, timeout=60 * MINUTES_FOR_ALL, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    records = json.loads(done.stdout)
    assert [record["item"] for record in records] == list(published_items())
    for record in records:
        assert record["rows"]
        assert all(row["agreement"] != NOT_RUN for row in record["rows"]), record["item"]
