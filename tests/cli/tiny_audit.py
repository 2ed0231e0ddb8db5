"""An audit of twelve shards that takes a second, and what it leaves: for tests of what may happen to it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from inline import compute_inline
from test_cli_attack import TINY

import audit.games.membership.pipeline
from audit.cli import main
from audit.data.load import load_pool
from audit.engine.executor import Local
from audit.engine.store import RunDirectory

NUM_SHARDS = 12


def directory_in(out: Path) -> RunDirectory:
    (path,) = out.iterdir()
    return RunDirectory(path)


def result_of(out: Path) -> tuple[bytes, bytes]:
    directory = directory_in(out)
    assert list(directory.path.rglob(".*")) == [], "temporary files are left"
    assert list(directory.shards.glob("*.partial")) == []
    return directory.scores.read_bytes(), directory.report.read_bytes()


def finished_shards(out: Path) -> list[Path]:
    return sorted(out.glob("*/shards/*.safetensors"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Its arguments; the records lie in a file of their own."""
    pool, path = load_pool("digits", records=200), tmp_path_factory.mktemp("data") / "digits.npz"
    np.savez(path, images=(pool.images.numpy() + 1) / 2, labels=pool.labels.numpy())
    return [*TINY, "--shard-runs", "2", "--dataset", str(path)]


@pytest.fixture(scope="module")
def calm(tiny: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed audit, computed shard by shard in this process."""
    out = tmp_path_factory.mktemp("calm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Local, "run", compute_inline)
        patch.setattr(audit.games.membership.pipeline, "draw", lambda *_: None)
        patch.setattr(sys, "argv", ["audit", *tiny, "--out", str(out)])
        with pytest.raises(SystemExit):
            main()
    assert len(finished_shards(out)) == NUM_SHARDS
    return out
