"""`audit utility` interrupted, damaged, changed and asked for more: the same figures, and nothing done twice."""

import fcntl
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from inline import compute_inline

import audit.games.utility.bench
import audit.games.utility.work
from audit.cli import main
from audit.engine.cells import FOLDER
from audit.engine.executor import Local
from audit.games.utility.meter import Meter

SMALL = (
    *("--method", "dm", "--method", "real", "--seeds", "2", "--architectures", "mlp", "--records", "80"),
    *("--epochs", "4", "--set", "iterations=2", "--set", "width=4", "--match", "all", "--device", "cpu"),
)


@pytest.fixture
def run(monkeypatch, capsys):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(Local, "run", compute_inline)

    def call(out: Path, *arguments: str) -> tuple[int, Any, str]:
        monkeypatch.setattr(sys, "argv", ["audit", "utility", *SMALL, "--out", str(out), "--json", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, json.loads(printed.out) if printed.out else None, printed.err

    return call


def without_paths(record: Any) -> Any:
    return {name: value for name, value in record.items() if name not in ("run_directory", "pdf")}


@pytest.fixture
def calm(run, tmp_path):  # type: ignore[no-untyped-def]
    code, result, _ = run(tmp_path / "calm")
    assert code == 0
    return result


def cells(out: Path) -> set[str]:
    return {path.name for path in (out / FOLDER).iterdir()}


def interrupted_after(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during the training that follows so many finished ones."""
    measure, finished = audit.games.utility.work.measure, iter(range(number))

    def interrupting(*arguments: Any) -> Any:
        if next(finished, None) is None:
            raise KeyboardInterrupt
        return measure(*arguments)

    monkeypatch.setattr(audit.games.utility.work, "measure", interrupting)


def test_interrupted_anywhere_and_resumed_against_uninterrupted(run, calm, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Ever one training further, from none at all, in one folder."""
    out, kept, rounds = tmp_path / "out", 0, 0
    while True:
        with monkeypatch.context() as patched:
            interrupted_after(1 if rounds else 0, patched)
            code, result, err = run(out)
        if code == 0:
            break
        rounds += 1
        assert (code, result) == (3, None)
        last = err.splitlines()[-1]
        assert "run the same command again" in last
        assert str(out / FOLDER) in last
        assert len(cells(out)) > kept
        kept = len(cells(out))
        assert not list(out.rglob(".*"))
        assert not (out / "report.json").exists()
    assert rounds >= 4
    assert without_paths(result) == without_paths(calm)
    assert "parts were finished before" in err
    assert without_paths(json.loads((out / "report.json").read_text())) == without_paths(result)


def test_costly_networks_are_kept_one_by_one_against_all_at_once(run, calm, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Interrupted after one network of the first kind: it is not trained again, and the figures are the same."""
    monkeypatch.setattr(audit.games.utility.bench, "APART", 0.0)
    out, told = tmp_path / "out", []
    monkeypatch.setattr(Meter, "reach", lambda _, name, share: told.append((name, share)))
    with monkeypatch.context() as patched:
        interrupted_after(1, patched)
        code, _, _ = run(out)
    assert code == 3
    assert len([name for name in cells(out) if name.endswith(".json")]) == 1
    code, result, err = run(out)
    assert code == 0
    assert "parts were finished before" in err
    assert {name.only for name, share in told if share == 1.0 and hasattr(name, "only")} == {0, 1}
    for ours, theirs in zip(result["rows"], calm["rows"], strict=True):
        assert ours["accuracy"]["values"] == pytest.approx(theirs["accuracy"]["values"], abs=0.02)


def test_again_trains_and_condenses_nothing_against_files(run, calm, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(audit.games.utility.work, "measure", None)
    monkeypatch.setattr(audit.games.utility.work, "condense_all", None)
    code, result, _ = run(tmp_path / "calm")
    assert code == 0
    assert result == calm


@pytest.mark.parametrize("how", ["truncated", "altered", "swapped", "garbage"])
def test_damaged_cells_are_said_and_computed_again_against_undamaged(how, run, calm, tmp_path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "calm"
    numbers, tensors = (sorted((out / FOLDER).glob(f"*.{kind}")) for kind in ("json", "safetensors"))
    match how:
        case "truncated":
            for path in (numbers[0], tensors[0]):
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        case "altered":
            kept = json.loads(numbers[0].read_text())
            kept["result"]["accuracies"][0] = 1.0
            numbers[0].write_text(json.dumps(kept))
            content = bytearray(tensors[0].read_bytes())
            content[-3] ^= 1
            tensors[0].write_bytes(content)
        case "swapped":
            numbers[0].write_bytes(numbers[1].read_bytes())
            tensors[0].write_bytes(tensors[1].read_bytes())
        case "garbage":
            numbers[0].write_bytes(b"\xff\x00[")
            tensors[0].write_bytes(b"")
    code, result, err = run(out)
    assert code == 0
    assert err.count("damaged cell") == 2
    assert without_paths(result) == without_paths(calm)


@pytest.mark.parametrize(
    ("arguments", "shared"),
    [
        (("--seed", "1"), 0),
        (("--records", "90"), 0),
        (("--epochs", "5"), 4),
        (("--set", "iterations=3"), None),
        (("--ipc", "2"), None),
    ],
    ids=str,
)
@pytest.mark.usefixtures("calm")
def test_another_question_takes_only_what_it_shares_against_cells(arguments, shared, run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Other epochs leave the four condensed sets; other steps of dm leave what is not of dm."""
    out = tmp_path / "calm"
    before = cells(out)
    code, result, err = run(out, *arguments)
    assert code == 0
    _, alone, _ = run(tmp_path / "alone", *arguments)
    assert without_paths(result) == without_paths(alone)
    common = before & cells(tmp_path / "alone")
    assert shared is None or len(common) == shared
    assert ("were finished before" in err) == bool(common)


def test_a_second_process_is_kept_out_against_lock(run, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "out").mkdir()
    handle = os.open(tmp_path / "out", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        code, _, err = run(tmp_path / "out")
    finally:
        os.close(handle)
    assert code == 3
    assert "another process is at work" in err


def test_the_meter_counts_cost_and_forgets_what_was_found_against_arithmetic() -> None:
    meter = Meter("x")
    for name, cost in (("a", 10.0), ("b", 30.0), ("c", 60.0)):
        meter.expect(name, cost)
    assert meter.share == 0
    meter.reach("a", 1.0)
    assert meter.share == pytest.approx(0.1)
    meter.reach("b", 0.5)
    meter.reach("b", 0.4)
    assert meter.share == pytest.approx(0.25)
    meter.leave_out("c")
    assert meter.share == pytest.approx(25 / 40)
    meter.expect("b", 90.0)
    assert meter.share == pytest.approx(55 / 100)
    meter.reach("unheard of", 1.0)
    assert meter.share == pytest.approx(55 / 100)
    meter.leave_out("a")
    meter.leave_out("b")
    assert meter.share == 1.0


def test_time_left_is_told_on_stderr_against_lines(run, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("audit.engine.progress.PLAIN_SECONDS", 0.0)
    _, _, err = run(tmp_path / "out")
    measuring = err.partition("measuring")[2]
    told = [line for line in measuring.splitlines() if line.endswith(" s left")]
    assert "condensing 4 sets" in err
    assert "measuring 2 sets on 1 kind of network" in err
    assert len(told) > 5
    shares = [int(line.split()[1].split("%")[0]) for line in told]
    assert shares == sorted(shares)
    assert shares[-1] > 60
