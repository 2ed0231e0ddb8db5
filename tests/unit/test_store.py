"""The run directory: whoever finds a file finds it whole, what was altered is noticed, checkpoints are gone on from."""

import errno
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from small_specs import spec_of
from torch import Tensor

import audit.games.membership.shard
from audit.engine.store import (
    DamagedShard,
    RunDirectory,
    explain_failure,
    read_tensors,
    write_atomically,
    write_tensors,
    write_text,
)
from audit.games.membership.config import AuditConfig
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import compute_shard, load_checked_pool
from condensers.errors import BadInput, Incomplete

DIGEST = "0123456789ab"


def tensors() -> dict[str, Tensor]:
    return {
        "images": torch.arange(12, dtype=torch.float32).view(2, 3, 2) / 7,
        "labels": torch.tensor([[0, 1, 2], [0, 1, 2]]),
        "correct": torch.tensor([True, False]),
        "steps done": torch.tensor(3),
        "none": torch.empty(0, 4),
    }


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "00000.safetensors"
    write_tensors(path, tensors(), digest=DIGEST)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_shard_reads_back_as_written(shard: Path) -> None:
    found = read_tensors(shard, digest=DIGEST)
    assert set(found) == set(tensors())
    for name, tensor in tensors().items():
        assert torch.equal(found[name], tensor)
        assert found[name].dtype == tensor.dtype
    assert names(shard.parent) == [shard.name]


def test_tensors_that_are_views_are_written_as_they_look(tmp_path: Path) -> None:
    whole = torch.arange(24.0).view(4, 6)
    seen = {"transposed": whole.t(), "expanded": whole[:1].expand(3, 6), "strided": whole[::2, 1::2]}
    write_tensors(tmp_path / "views", seen, digest=DIGEST)
    found = read_tensors(tmp_path / "views", digest=DIGEST)
    assert all(torch.equal(found[name], tensor) for name, tensor in seen.items())


def test_equal_tensors_give_equal_bytes(shard: Path) -> None:
    """The library writes several metadata in an order that changes between processes: there is one."""
    before = shard.read_bytes()
    write_tensors(shard, dict(reversed(tensors().items())), digest=DIGEST)
    assert shard.read_bytes() == before
    header = json.loads(before[8 : 8 + int.from_bytes(before[:8], "little")])
    assert list(header["__metadata__"]) == ["audit"]


def test_every_flipped_byte_is_noticed(shard: Path) -> None:
    """Each byte in turn, one bit flipped: refused, or (spaces that pad the header) read back the same."""
    whole = shard.read_bytes()
    harmless = 0
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        shard.write_bytes(damaged)
        try:
            found = read_tensors(shard, digest=DIGEST)
        except DamagedShard:
            continue
        harmless += 1
        assert all(torch.equal(found[name], tensor) for name, tensor in tensors().items())
    assert harmless <= 8


def test_every_truncation_is_noticed(shard: Path) -> None:
    whole = shard.read_bytes()
    for length in range(len(whole)):
        shard.write_bytes(whole[:length])
        with pytest.raises(DamagedShard, match="cannot be read"):
            read_tensors(shard, digest=DIGEST)
    shard.write_bytes(whole + b"\0")
    with pytest.raises(DamagedShard):
        read_tensors(shard, digest=DIGEST)


def test_shard_of_another_run_or_place_is_refused(shard: Path) -> None:
    with pytest.raises(DamagedShard, match="belongs to another run"):
        read_tensors(shard, digest="ba9876543210")
    copy = shard.with_name("00001.safetensors")
    shutil.copy(shard, copy)
    with pytest.raises(DamagedShard, match=r"is a copy of 00000\.safetensors"):
        read_tensors(copy, digest=DIGEST)


def test_things_that_are_no_shards_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a shard\n" * 100)
    (tmp_path / "folder").mkdir()
    for name in ("text", "folder", "absent"):
        with pytest.raises(DamagedShard, match="cannot be read"):
            read_tensors(tmp_path / name, digest=DIGEST)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_text(path, "old")

    def fail_midway(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(Incomplete, match=r"no room to write .*report\.json: No space left on device; finished"):
        write_atomically(path, fail_midway)
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, lambda temporary: temporary.write_text(str(1 / 0)))
    assert path.read_text() == "old"
    assert names(tmp_path) == ["report.json"]


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, Incomplete),
        (errno.EDQUOT, Incomplete),
        (errno.EFBIG, Incomplete),
        (errno.EROFS, BadInput),
        (errno.EACCES, BadInput),
        (errno.ENOTDIR, BadInput),
        (errno.EIO, BadInput),
    ],
)
def test_failures_to_write_against_their_exit_codes(number: int, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=os.strerror(number)) as caught, explain_failure(Path("there")):
        raise OSError(number, os.strerror(number))
    assert "\n" not in str(caught.value)


def unwritable(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "file").write_text("")
    yield tmp_path / "file"
    yield tmp_path / "file" / "below"
    yield tmp_path / ("long" * 100)
    yield Path("/proc/audit")


def test_a_folder_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    for path in unwritable(tmp_path):
        with pytest.raises(BadInput, match=r"cannot write to .*; choose another --out"):
            RunDirectory(path / "run").create()
    assert names(tmp_path) == ["file"]


def test_left_behind_temporary_files_are_swept_away(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.create()
    (directory.path / "figures").mkdir()
    kept = [directory.config, directory.shard(0), directory.checkpoint(1, "condense")]
    left = [
        directory.path / ".report.json.123.tmp",
        directory.shards / ".00001.safetensors.99.tmp",
        directory.path / ".report.pdf.7.unfinished",
        directory.path / "figures" / ".roc.png.7.unfinished",
    ]
    for path in [*kept, *left]:
        path.write_text("")
    with directory.held():
        assert [path for path in left if path.exists()] == []
        left[1].write_text("by a worker that was stopped")
    assert [path for path in left if path.exists()] == []
    assert all(path.exists() for path in kept)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    with directory.held():
        busy = directory.path / ".report.json.1.tmp"
        busy.write_text("")
        with pytest.raises(Incomplete, match="another process is at work"), directory.held():
            pass
        assert busy.exists(), "the one that was kept out must not sweep"
    with directory.held():
        pass


def resolve(flags: str) -> AuditConfig:
    """A small audit: two runs in a shard, six steps of condensing, six of training."""
    tiny = (
        "--records 200 --shadows 24 --shard-runs 2 --set iterations=6 --set width=4 --set depth=1 "
        "--set victim.width=4 --set victim.depth=1 --set victim.epochs=6"
    )
    return resolve_config(spec_of(f"lira {tiny} {flags}"), None)[0]


def test_tensors_that_share_memory_are_kept(tmp_path: Path) -> None:
    """As in the state of a loop whose moments start as one tensor."""
    whole = torch.arange(6.0).view(2, 3)
    state = {"all": whole, "again": whole, "row": whole[0], "empty": whole[:0], "empty too": whole[:0]}
    write_tensors(tmp_path / "state", state, digest="d")
    found = read_tensors(tmp_path / "state", digest="d")
    assert found.keys() == state.keys()
    assert all(torch.equal(found[name], state[name]) for name in state)


class Interruption(Exception):
    """Stands for a kill in the middle of a shard."""


@pytest.mark.parametrize("flags", ["", "--independent-randomness"])
@pytest.mark.parametrize("stop", [1, 4, 7, 11])
def test_a_shard_goes_on_from_its_checkpoint(
    flags: str, stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after any of its steps, a shard repeats none of those it saved, and ends in the same bytes."""
    monkeypatch.setattr(audit.engine.checkpoints, "CHECKPOINT_SECONDS", 0.0)
    config = resolve(flags)
    pool = load_checked_pool(config, None)

    def compute(name: str, report: Callable[[float], None]) -> Path:
        directory = RunDirectory(tmp_path / name)
        directory.create()
        compute_shard(config, pool, directory, 1, report)
        return directory.shard(1)

    steps: list[float] = []
    undisturbed = compute("calm", lambda fraction: steps.append(fraction)).read_bytes()
    assert steps == sorted(steps)
    assert steps[-1] == 1.0

    count = itertools.count(1)

    def interrupt(fraction: float) -> None:
        if next(count) == stop:
            raise Interruption(fraction)

    with pytest.raises(Interruption):
        compute("torn", interrupt)
    partial = list((tmp_path / "torn" / "shards").glob("*.partial"))
    assert partial
    left: list[float] = []
    assert compute("torn", lambda fraction: left.append(fraction)).read_bytes() == undisturbed
    assert left == steps[stop:]
    assert [path.name for path in (tmp_path / "torn" / "shards").iterdir()] == ["00001.safetensors"]


def test_damaged_checkpoints_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit.engine.checkpoints, "CHECKPOINT_SECONDS", 0.0)
    config = resolve("")
    pool = load_checked_pool(config, None)
    directory = RunDirectory(tmp_path / "run")
    directory.create()
    compute_shard(config, pool, directory, 0, lambda *_: None)
    whole = directory.shard(0).read_bytes()

    def interrupt(fraction: float) -> None:
        if fraction > 0.5:
            raise Interruption

    with pytest.raises(Interruption):
        compute_shard(config, pool, directory, 0, interrupt)
    checkpoint = directory.checkpoint(0, "condense")
    saved = checkpoint.read_bytes()
    flipped = bytearray(saved)
    flipped[-5] ^= 1
    for damaged in (b"", saved[:-7], bytes(flipped), whole, os.urandom(300)):
        directory.shard(0).unlink(missing_ok=True)
        checkpoint.write_bytes(damaged)
        steps: list[float] = []
        compute_shard(config, pool, directory, 0, lambda fraction, steps=steps: steps.append(fraction))
        assert directory.shard(0).read_bytes() == whole
        assert len(steps) == 6 + 6 + 1 + 1, "it began anew: condensed, trained, queried, and was whole"
