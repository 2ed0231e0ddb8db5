"""`audit worst-case` killed and run again goes on to the bytes of an undisturbed run, by any number of workers."""

# ruff: noqa: F401, F811  (fixtures that are imported look unused, and arguments like them look like new definitions)

import os
import signal
import sys
from pathlib import Path

import pytest
from inline import compute_inline
from test_cli_attack import Run, inline, run
from test_cli_resume import started, wait_for
from tiny_audit import finished_shards

from audit.cli import main
from audit.engine.executor import Local

pytestmark = pytest.mark.usefixtures("inline")
COMMAND = ["worst-case", "--method", "ldpdc", "--set", "noise_multiplier=4", "--trials", "10000", "--seed", "5"]


@pytest.mark.slow
@pytest.mark.parametrize("finished", [1, 10], ids=["while condensing", "while learning"])
def test_a_killed_audit_goes_on_to_the_same_bytes(finished: int, run: Run, tmp_path: Path) -> None:
    """Eight groups of runs, and twelve fits."""
    torn, calm = tmp_path / "torn", tmp_path / "calm"
    with started([*COMMAND, "--out", str(torn), "--jobs", "2"], tmp_path) as process:
        wait_for(lambda: len(finished_shards(torn)) >= finished, seconds=300)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kept = {path: path.stat().st_mtime_ns for path in finished_shards(torn)}
    assert not any(torn.glob("*/report.json"))
    resumed, whole = run(*COMMAND, "--out", torn), run(*COMMAND, "--out", calm)
    assert (resumed.code, whole.code) == (0, 0)
    assert "resuming" in resumed.err
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(finished_shards(torn)) == len(finished_shards(calm)) > len(kept)
    for mine, theirs in zip(sorted(torn.rglob("*")), sorted(calm.rglob("*")), strict=True):
        assert mine.relative_to(torn) == theirs.relative_to(calm)
        if mine.suffix in (".json", ".safetensors"):
            assert mine.read_bytes() == theirs.read_bytes(), mine


@pytest.mark.parametrize("place", [1, -1], ids=["group", "fit"])
def test_a_damaged_part_is_computed_again(place: int, run: Run, tmp_path: Path) -> None:
    small = [*COMMAND[:-4], "--trials", "200"]
    first = run(*small, "--out", tmp_path)
    before = {path: path.read_bytes() for path in finished_shards(tmp_path)}
    damaged = finished_shards(tmp_path)[place]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    again = run(*small, "--out", tmp_path)
    assert "damaged shard" in again.err
    assert first.out == again.out
    assert {path: path.read_bytes() for path in finished_shards(tmp_path)} == before
