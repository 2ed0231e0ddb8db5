"""Nothing is lost: kill, Ctrl-C, a full disk, workers that stop. The same command goes on to the same bytes."""

# ruff: noqa: F401, F811  (fixtures that are imported look unused, and arguments like them look like new definitions)

import contextlib
import importlib
import multiprocessing
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from inline import compute_inline
from test_cli_attack import Run, inline, run
from tiny_audit import NUM_SHARDS, calm, directory_in, finished_shards, result_of, tiny

import audit.engine.executor
import audit.games.membership.pipeline
from audit.cli import main
from audit.data.load import load_pool
from audit.engine.executor import Local
from audit.engine.store import RunDirectory
from condensers.randomness import stream

pytestmark = pytest.mark.usefixtures("inline")
# Run as the program is; what stands above `__main__` holds in the workers as well.
DRIVER = """
import sys, time
import audit.engine.checkpoints, audit.games.membership.shard
track = audit.games.membership.shard.Tracker.track
def slowly(self, name, total, state):
    for step in track(self, name, total, state):
        yield step
        time.sleep(0.05)
audit.games.membership.shard.Tracker.track = slowly
audit.engine.checkpoints.CHECKPOINT_SECONDS = 0.1
if __name__ == "__main__":
    import contextlib
    import audit.cli, audit.games.membership.pipeline
    from audit.cli import main
    audit.cli.heartbeat = contextlib.nullcontext  # a slow machine would say that it is alive between other lines
    audit.games.membership.pipeline.draw = lambda *_: None
    main()
"""


@contextlib.contextmanager
def started(arguments: list[str], tmp_path: Path, limit: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """The program in a process group of its own, as a shell starts it."""
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    process = subprocess.Popen(
        [sys.executable, str(driver), *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for(happened: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def group_members(group: int) -> list[int]:
    """Living processes of a process group."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, its_group = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(int(entry.name))
    return found


def young_workers(group: int) -> list[int]:
    """Workers of a process group, from the moment on when they are programs of their own."""
    return [one for one in group_members(group) if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def hears_interrupts(process: int) -> bool:
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    deaf_to = int(status["SigBlk"], 16) | int(status["SigIgn"], 16)
    return not deaf_to & 1 << signal.SIGINT - 1


def snapshot(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}


def test_kills_and_interrupts_against_an_undisturbed_run(tiny: list[str], calm: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "torn"
    moment = stream(0, "moment").uniform(0, 0.5, 3)

    with started([*tiny, "--out", str(out), "--jobs", "2"], tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "audit: condensing and training 24 runs\n"
        wait_for(lambda: young_workers(process.pid) != [])
        assert not any(hears_interrupts(worker) for worker in young_workers(process.pid)), "it would show a traceback"
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    assert errors.startswith("audit: interrupted: 0 of 24 runs are finished")
    assert errors.count("\n") == 1

    with started([*tiny, "--out", str(out), "--jobs", "2"], tmp_path) as process:
        wait_for(lambda: any(out.glob("*/shards/*.partial")))
        time.sleep(moment[0])
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = len(finished_shards(out))
    assert done < NUM_SHARDS

    with started([*tiny, "--out", str(out), "--jobs", "1"], tmp_path) as process:
        wait_for(lambda: len(finished_shards(out)) > done)
        time.sleep(moment[1])
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    lines = errors.splitlines()
    assert lines[-1].startswith("audit: interrupted: ")
    assert lines[-1].endswith("run the same command again to resume")
    assert all(line.startswith("audit: ") for line in lines)
    done = len(finished_shards(out))
    assert done < NUM_SHARDS

    with started([*tiny, "--out", str(out), "--jobs", "2"], tmp_path) as process:
        wait_for(lambda: len(finished_shards(out)) > done)
        time.sleep(moment[2])
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_for(lambda: group_members(process.pid) == [], seconds=5)
    before = snapshot(out)
    time.sleep(0.5)
    assert snapshot(out) == before, "an orphan went on writing"

    last = run(*tiny, "--out", out)
    assert last.code == 0
    assert f"resuming {directory_in(out).path}: " in last.err
    assert result_of(out) == result_of(calm)
    shards = [[path.read_bytes() for path in finished_shards(folder)] for folder in (out, calm)]
    assert shards[0] == shards[1]


@pytest.mark.parametrize("to_all", [True, False], ids=["to all processes", "to the parent"])
def test_end_of_a_jobs_time_is_an_interrupt(tiny: list[str], tmp_path: Path, *, to_all: bool) -> None:
    """Schedulers send SIGTERM at a time limit, some to one process, some to all."""
    out = tmp_path / "ended"
    with started([*tiny, "--out", str(out), "--jobs", "2"], tmp_path) as process:
        wait_for(lambda: len(finished_shards(out)) >= 1)
        (os.killpg if to_all else os.kill)(process.pid, signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        wait_for(lambda: group_members(process.pid) == [], seconds=5)
    assert process.returncode == 3, errors
    lines = errors.splitlines()
    assert lines[-1].startswith("audit: interrupted: ")
    assert all(line.startswith("audit: ") for line in lines)


def test_a_full_disk_stops_the_workers_and_loses_nothing(tiny: list[str], calm: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "full"
    shutil.copytree(calm, out)
    for path in [*finished_shards(out)[4:], directory_in(out).scores, directory_in(out).report]:
        path.unlink()
    kept = {path: path.read_bytes() for path in finished_shards(out)}
    with started([*tiny, "--out", str(out), "--jobs", "2"], tmp_path, limit=4096) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 3, errors
    assert "no room to write" in errors.splitlines()[-1]
    assert all(line.startswith("audit: ") for line in errors.splitlines())
    assert {path: path.read_bytes() for path in finished_shards(out)} == kept
    assert list(out.rglob(".*")) == []
    assert run(*tiny, "--out", out).code == 0
    assert result_of(out) == result_of(calm)


REAL_RUN = Local.run
FAULTY = """
import os, signal, time
from condensers.errors import Incomplete

def crash(unit, folder):
    raise ValueError("a fault of the program")

def die(unit, folder):
    os.kill(os.getpid(), signal.SIGKILL)

def give_up(unit, folder):
    raise Incomplete("no room to write")

def be_interrupted(unit, folder):
    os.kill(os.getpid(), signal.SIGINT)
    if unit == 4:
        os.kill(os.getppid(), signal.SIGINT)
    time.sleep(60)
"""


@pytest.fixture
def failing(
    tiny: list[str], calm: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], list[str]]]:
    """Let real workers do something else than compute, in a run whose first four shards are finished."""
    (tmp_path / "faulty.py").write_text(FAULTY)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "failed"
    shutil.copytree(calm, out)
    for path in finished_shards(out)[4:]:
        path.unlink()

    def prepare(name: str) -> list[str]:
        monkeypatch.setattr(audit.engine.executor, "_compute", getattr(importlib.import_module("faulty"), name))
        monkeypatch.setattr(Local, "run", REAL_RUN)
        return [*tiny, "--out", str(out), "--jobs", "2"]

    yield prepare
    assert len(finished_shards(out)) == 4
    assert list(out.rglob(".*")) == []
    monkeypatch.setattr(Local, "run", compute_inline)
    assert run(*tiny, "--out", out).code == 0
    assert result_of(out) == result_of(calm)


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        ("die", "audit: a worker process was killed (out of memory?); finished work is kept"),
        ("give_up", "audit: no room to write"),
        ("be_interrupted", "audit: interrupted: 8 of 24 runs are finished"),
    ],
)
def test_workers_that_stop_keep_what_is_finished(
    fault: str, line: str, failing: Callable[[str], list[str]], run: Run
) -> None:
    started_at = time.monotonic()
    outcome = run(*failing(fault))
    assert (outcome.code, outcome.out) == (3, "")
    assert time.monotonic() - started_at < 40, "it waited for workers that sleep for a minute"
    assert multiprocessing.active_children() == []
    assert outcome.err.splitlines()[-1].startswith(line)
    assert all(text.startswith("audit: ") for text in outcome.err.splitlines())


def test_a_crash_of_a_worker_shows_its_own_traceback(
    failing: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception that nobody catches: Python prints it, with the worker's traceback, and exits 1."""
    monkeypatch.setattr(sys, "argv", ["audit", *failing("crash")])
    with pytest.raises(ValueError, match="a fault of the program") as caught:
        main()
    assert "faulty.py" in str(caught.value.__cause__)
