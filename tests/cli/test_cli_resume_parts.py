"""`audit utility` and `audit visual` killed with SIGKILL: the same command goes on to the same figures and bytes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from inline import compute_inline
from safetensors.numpy import save_file

import audit.games.visual.run
from attacks.perceptual import backbone_shapes
from audit.cli import main
from audit.data.load import load_pool
from audit.engine.cells import FOLDER
from audit.engine.executor import Local

pytestmark = pytest.mark.slow
# Run as the program is, but in workers however little there is to do, and with a pause after every finished part.
DRIVER = """
import time
import audit.engine.cells, audit.engine.executor, audit.games.membership.shard, audit.games.visual.matching
audit.engine.executor.WORTH_STARTING = 0.0
def pausing(write):
    def write_and_pause(*given, **named):
        write(*given, **named)
        time.sleep(0.4)
    return write_and_pause
audit.engine.cells.Cell.write = pausing(audit.engine.cells.Cell.write)
for module in (audit.games.membership.shard, audit.games.visual.matching):
    module.write_tensors = pausing(module.write_tensors)
if __name__ == "__main__":
    from audit.cli import main
    main()
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a file, which spares every process the import of scikit-learn."""
    pool, path = load_pool("digits", records=100), tmp_path_factory.mktemp("data") / "digits.npz"
    np.savez(path, images=(pool.images.numpy() + 1) / 2, labels=pool.labels.numpy())
    return path


def kill_when(happened: Callable[[], bool], arguments: list[str], tmp_path: Path) -> None:
    """Start the program in a process group of its own and kill the whole group at that moment."""
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    process = subprocess.Popen(
        [sys.executable, str(driver), *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 180
        while not happened():
            assert process.poll() is None, "it ended before it was killed"
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.02)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[list[str]], tuple[Any, str]]:
    """The program in this process, without pages."""
    monkeypatch.setattr(Local, "run", compute_inline)
    monkeypatch.setattr(audit.games.visual.run, "write_pages", lambda *_: None)

    def call(arguments: list[str]) -> tuple[Any, str]:
        monkeypatch.setattr(sys, "argv", ["audit", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 0
        printed = capsys.readouterr()
        return json.loads(printed.out), printed.err

    return call


def files(folder: Path, pattern: str) -> dict[Path, int]:
    """Finished files, with the times of their last change."""
    found = [path for path in folder.glob(pattern) if not path.name.startswith(".")]
    return {path: path.stat().st_mtime_ns for path in found}


def without_paths(record: Any) -> Any:
    return {name: value for name, value in record.items() if name not in ("run_directory", "pdf")}


def test_utility_killed_while_training_against_an_undisturbed_run(run, digits, tmp_path) -> None:
    arguments = [
        *("utility", "--dataset", str(digits), "--method", "dm", "--seeds", "3", "--architectures", "mlp", "--epochs"),
        *("4", "--set", "iterations=2", "--set", "width=4", "--match", "all", "--device", "cpu", "--json"),
    ]
    calm, _ = run([*arguments, "--out", str(tmp_path / "calm")])
    out = tmp_path / "torn"
    cells = out / FOLDER
    torn = [*arguments, "--out", str(out), "--jobs", "2"]
    kill_when(lambda: len(files(cells, "*.json")) >= 1, torn, tmp_path)
    kept = {path: changed for path, changed in files(cells, "*").items() if path.suffix != ".partial"}
    assert len(files(cells, "*.safetensors")) == 3
    result, err = run(torn)
    assert not files(cells, "*.partial")
    assert kept.items() <= files(cells, "*").items(), "what was finished was computed again"
    assert len(kept) < len(files(cells, "*"))
    assert "parts were finished before" in err
    assert without_paths(result) == without_paths(calm)
    assert not list(out.rglob(".*")), "temporary files are left"


def test_visual_killed_while_comparing_and_robbed_of_runs_against_an_undisturbed_run(run, digits, tmp_path) -> None:
    generator = np.random.default_rng(0)
    shapes = backbone_shapes("alexnet").items()
    weights = {name: generator.standard_normal(shape, dtype=np.float32) / 20 for name, shape in shapes}
    save_file(weights, tmp_path / "mine")
    arguments = [
        *("visual", "--dataset", str(digits), "--runs", "20", "--set", "iterations=3", "--set", "width=4", "--device"),
        *(
            "cpu",
            "--distance",
            "l2",
            "--distance",
            "lpips-alexnet",
            "--lpips-weights",
            str(tmp_path / "mine"),
            "--json",
        ),
    ]
    run([*arguments, "--out", str(tmp_path / "calm")])
    out = tmp_path / "torn"
    torn = [*arguments, "--out", str(out), "--jobs", "2"]
    kill_when(lambda: len(files(out, "*/shards/*.table.safetensors")) >= 1, torn, tmp_path)
    shards = sorted(files(out, "*/shards/0000?.safetensors"))
    assert len(shards) == 3
    assert 1 <= len(files(out, "*/shards/*.table.safetensors")) < 10
    shards[1].unlink()
    shards[2].write_bytes(shards[2].read_bytes()[:99])
    _, err = run(torn)
    assert "condensing 12 runs" in err
    assert "damaged shard" in err
    assert "comparing with 100 records by lpips-alexnet" in err
    (calm,), (made,) = (tmp_path / "calm").iterdir(), out.iterdir()
    names = {path.name for path in calm.iterdir()}
    assert names == {path.name for path in made.iterdir()} == {
        "config.json", "matches.parquet", "report.json", "synthetic.safetensors"
    }  # fmt: skip
    for name in names:
        assert (made / name).read_bytes() == (calm / name).read_bytes(), name
