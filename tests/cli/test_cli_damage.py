"""Nothing is lost where there is no room for results, shards are damaged, or a second process is at work."""

# ruff: noqa: F401, F811  (fixtures that are imported look unused, and arguments like them look like new definitions)

import contextlib
import resource
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from inline import compute_inline
from test_cli_attack import Run, inline, run
from tiny_audit import calm, directory_in, finished_shards, result_of, tiny

import audit.games.membership.pipeline
from audit.engine.executor import Local

pytestmark = pytest.mark.usefixtures("inline")


@contextlib.contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond this; the system refuses with EFBIG, as a full disk does with ENOSPC."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(("size", "name"), [(4096, "scores.parquet"), (16384, "report.json"), (65536, "report.pdf")])
def test_no_room_for_the_results_against_its_one_line(
    tiny: list[str],
    size: int,
    name: str,
    calm: Path,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "full"
    shutil.copytree(calm, out)
    monkeypatch.setattr(
        audit.games.membership.pipeline, "draw", lambda directory, *_: directory.pdf.write_bytes(bytes(100_000))
    )
    with room_for(size):
        outcome = run(*tiny, "--out", out)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.splitlines()[-1].startswith("audit: no room to write ")
    assert f"{name}: " in outcome.err.splitlines()[-1]
    assert run(*tiny, "--out", out).code == 0
    assert result_of(out) == result_of(calm)


def test_damaged_shards_are_said_and_redone(tiny: list[str], calm: Path, run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert run(*tiny, "--out", other, "--seed", "1").code == 0
    out = tmp_path / "damaged"
    shutil.copytree(calm, out)
    shards = finished_shards(out)
    whole = shards[3].read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    damages = {
        "cannot be read": whole[: len(whole) // 2],
        "does not match its checksum": bytes(flipped),
        "belongs to another run": finished_shards(other)[3].read_bytes(),
        "is a copy of 00005.safetensors": shards[5].read_bytes(),
    }
    for line, content in damages.items():
        shards[3].write_bytes(content)
        directory_in(out).scores.unlink()
        outcome = run(*tiny, "--out", out)
        assert outcome.code == 0
        told = [text for text in outcome.err.splitlines() if "damaged shard" in text]
        assert len(told) == 1
        assert told[0].startswith(f"audit: damaged shard: {shards[3]} {line}")
        assert told[0].endswith("; computing its runs again")
        assert "resuming" in outcome.err
        assert result_of(out) == result_of(calm)
        assert shards[3].read_bytes() == whole
    shards[3].write_bytes(whole[:100])
    shards[7].unlink()
    assert run(*tiny, "--out", out).code == 0
    assert result_of(out) == result_of(calm)


def test_shards_damaged_while_it_runs_against_their_one_line(
    tiny: list[str],
    calm: Path,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "rotten"
    shutil.copytree(calm, out)
    finished_shards(out)[0].unlink()

    def compute_and_spoil(*given: Any) -> None:
        compute_inline(*given)
        finished_shards(out)[1].write_bytes(b"")

    monkeypatch.setattr(Local, "run", compute_and_spoil)
    outcome = run(*tiny, "--out", out)
    assert outcome.code == 3
    assert "run the same command again to redo it" in outcome.err.splitlines()[-1]


def test_another_shard_size_changes_scores_by_rounding_only(
    tiny: list[str], calm: Path, run: Run, tmp_path: Path
) -> None:
    assert run(*tiny, "--out", tmp_path, "--shard-runs", "4").code == 0
    two, four = (pd.read_parquet(directory_in(out).scores) for out in (calm, tmp_path))
    assert two.drop(columns="score").equals(four.drop(columns="score"))
    np.testing.assert_allclose(four["score"], two["score"], rtol=1e-4, atol=1e-4)
    reports = [
        audit.games.membership.pipeline.schema.load(directory_in(out).report.read_text()) for out in (calm, tmp_path)
    ]
    assert reports[0].verdict == reports[1].verdict
    assert reports[0].roc.auc == pytest.approx(reports[1].roc.auc, abs=1e-3)


def test_a_second_process_is_kept_out(tiny: list[str], calm: Path, run: Run, tmp_path: Path) -> None:
    shutil.copytree(calm, tmp_path / "runs")
    with directory_in(tmp_path / "runs").held():
        outcome = run(*tiny, "--out", tmp_path / "runs")
    assert outcome.code == 3
    assert outcome.err.startswith("audit: another process is at work in ")
    assert shlex.quote(str(tmp_path)) in outcome.err
