"""Ray on a cluster of three nodes (a head and two workers, each processes of its own): what is lost is done again."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from ray_cluster import Cluster, Node, cluster_of, process_tree, wait_for
from ray_units import content_of

from audit.engine.ray import Ray
from condensers.errors import BadConfig

pytest.importorskip("ray", reason="Ray is not installed: pip install 'condensation-audit[ray]'")
pytestmark = pytest.mark.slow

LIRA = ["lira", "--method", "dm", "--level", "set", "--records", "120", "--shadows", "12", "--shard-runs", "2",
        "--set", "iterations=5", "--seed", "5"]  # fmt: skip
WORST_CASE = ["worst-case", "--method", "ldpdc", "--set", "noise_multiplier=4", "--trials", "6000", "--seed", "5"]
OWN = ["--method", "slow.py:condense_slowly"]
SLOW_LIRA = ["lira", *OWN, "--level", "set", "--records", "120", "--shadows", "12", "--shard-runs", "1"]
# A method that waits, so that nodes can be killed in the middle of a shard without much work for the processor. While
# the file `hold` exists, it does not end.
SLOW = '''
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from shades import GREY

from condensers.initial import balanced_labels
from condensers.pool import CondensedBatch
from condensers.registry import condenser


@dataclass(frozen=True, kw_only=True)
class SlowConfig:
    ipc: int = 1
    seconds: float = 0.0
    hold: str = ""


@condenser("slowly", config=SlowConfig)
def condense_slowly(pool, included, config, *, randomness, track):
    """Grey images with the first member's brightness, after a while."""
    time.sleep(config.seconds)
    while config.hold and Path(config.hold).exists():
        time.sleep(0.1)
    labels = balanced_labels(pool.num_classes, config.ipc, len(included), pool.images.device)
    brightness = pool.images[included.int().argmax(1)].flatten(1).mean(1)
    images = torch.full((*labels.shape, *pool.images.shape[1:]), GREY) + brightness[:, None, None, None, None]
    return CondensedBatch(images=images, labels=labels, initial_records=torch.full_like(labels, -1))
'''
LONG = 1200.0  # seconds that no part of a test should take, even on a busy machine
UNITS, SECONDS = 12, 2.0  # of the work that is disturbed


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with cluster_of(tmp_path / "cluster", 2) as made:
        yield made


def start(command: list[str], out: Path, cluster: Cluster | None = None, cwd: Path | None = None) -> subprocess.Popen:
    """The command as a person starts it, on the cluster or without one."""
    ray = [] if cluster is None else ["--executor", "ray", "--ray-address", cluster.address]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} if cluster is None else cluster.environment
    return subprocess.Popen(
        [sys.executable, "-m", "audit.cli", *command, "--out", str(out), *ray],
        env=environment,
        cwd=cwd or out.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen, status: int) -> str:
    """What it said on stderr."""
    try:
        _, said = process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert process.returncode == status, said
    return said


def start_held(out: Path, cluster: Cluster, folder: Path) -> tuple[subprocess.Popen, list[str], Path]:
    """An audit on the cluster that waits after two shards or more; its command, and the file that holds it."""
    (folder / "slow.py").write_text(SLOW)
    (folder / "shades.py").write_text("GREY = 0.5\n")
    hold = folder / "hold"
    command = [*SLOW_LIRA, "--set", "seconds=2", "--set", f"hold={hold}"]
    process = start(command, out, cluster, cwd=folder)
    wait_for(lambda: len(shards_in(out)) >= 2 or process.poll() is not None, LONG)
    hold.touch()
    return process, command, hold


def shards_in(out: Path) -> list[Path]:
    return sorted(out.glob("*/shards/*.safetensors"))


def start_units(cluster: Cluster, files: Path, num_units: int, num_bytes: int, seconds: float) -> subprocess.Popen:
    """A driver of units that wait (tests/ray_units.py)."""
    files.mkdir()
    numbers = [str(num_units), str(num_bytes), str(seconds)]
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests/ray_units.py"), cluster.address, str(files), *numbers],
        env=cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_all_units(files: Path, num_bytes: int) -> None:
    """Every file is there, with the bytes that it has without a cluster."""
    assert len(list(files.iterdir())) == UNITS
    for unit in range(UNITS):
        assert (files / f"{unit:05d}.bytes").read_bytes() == content_of(unit, num_bytes)


def assert_same_bytes(found: Path, expected: Path, kind: str) -> None:
    """All that an audit keeps, but how long it took and the pages."""
    (one,), (other,) = found.glob(f"{kind}-*"), expected.glob(f"{kind}-*")
    assert one.name == other.name
    names = {
        path.relative_to(other) for path in other.rglob("*") if path.suffix in (".safetensors", ".json", ".parquet")
    }
    assert len(names) > 3
    for name in names - {Path("timing.json")}:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def computing(node: Node) -> list[int]:
    """Processes of a node that compute a unit now."""
    found = []
    for number in process_tree(node.process.pid):
        with contextlib.suppress(OSError):
            if b"ray::compute_unit" in Path(f"/proc/{number}/cmdline").read_bytes():
                found.append(number)
    return found


def test_bytes_are_those_of_local_workers(cluster: Cluster, tmp_path: Path) -> None:
    for command in (LIRA, WORST_CASE):
        finish(start(command, tmp_path / "ray", cluster), 0)
        finish(start(command, tmp_path / "local"), 0)
        assert_same_bytes(tmp_path / "ray", tmp_path / "local", command[0])


def test_lost_head_ends_in_one_line_and_the_audit_resumes(cluster: Cluster, tmp_path: Path) -> None:
    """With workers of this machine, and on another cluster; the bytes are those of an undisturbed audit."""
    out, again, calm = (tmp_path / name for name in ("ray", "again", "calm"))
    process, command, hold = start_held(out, cluster, tmp_path)
    assert cluster.head is not None
    cluster.head.kill()
    said = finish(process, 3)
    hold.unlink()
    lines = [
        line for line in said.strip().splitlines() if not re.match(r"audit: (condensing|still working|\d+%)", line)
    ]
    assert len(lines) == 1, said
    assert re.match(r"audit: the Ray cluster failed \(.*\); finished work is kept: run the same command", lines[0])
    kept = {path.relative_to(out): path.stat().st_mtime_ns for path in shards_in(out)}
    assert 2 <= len(kept) < 12
    shutil.copytree(out, again)
    cluster.stop()
    assert "resuming" in finish(start(command, out, cwd=tmp_path), 0)
    with cluster_of(tmp_path / "another", 2) as another:
        assert "resuming" in finish(start(command, again, another, cwd=tmp_path), 0)
    for folder in (out, again):
        assert {name: (folder / name).stat().st_mtime_ns for name in kept} == kept
    finish(start(command, calm, cwd=tmp_path), 0)
    assert_same_bytes(out, calm, "lira")
    assert_same_bytes(again, calm, "lira")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_finished_and_the_audit_goes_on_without_ray(
    sent: signal.Signals, cluster: Cluster, tmp_path: Path
) -> None:
    """Workers are told to stop; the bytes are those of an undisturbed audit. SIGTERM ends the time of a job."""
    out, calm = (tmp_path / name for name in ("ray", "calm"))
    process, command, hold = start_held(out, cluster, tmp_path)
    process.send_signal(sent)
    said = finish(process, 3)
    assert re.search(r"audit: interrupted: .*12 runs.* run the same command again", said)
    assert "Traceback" not in said
    wait_for(lambda: not any(map(computing, cluster.workers)), LONG)
    hold.unlink()
    kept = {path.relative_to(out): path.stat().st_mtime_ns for path in shards_in(out)}
    assert 2 <= len(kept) < 12
    assert "resuming" in finish(start(command, out, cwd=tmp_path), 0)
    assert {name: (out / name).stat().st_mtime_ns for name in kept} == kept
    finish(start(command, calm, cwd=tmp_path), 0)
    assert_same_bytes(out, calm, "lira")


def test_own_methods_travel_to_other_kinds_of_audits(cluster: Cluster, tmp_path: Path) -> None:
    """And so do the sets on which a unit trains that another made."""
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "shades.py").write_text("GREY = 0.5\n")
    for command in (
        ["worst-case", *OWN, "--trials", "200"],
        ["utility", *OWN, "--records", "200", "--seeds", "2", "--ipc", "1"],
    ):
        finish(start(command, tmp_path / "runs", cluster, cwd=tmp_path), 0)


def test_two_lost_workers_lose_nothing(cluster: Cluster, tmp_path: Path) -> None:
    files = tmp_path / "files"
    process = start_units(cluster, files, UNITS, 1000, SECONDS)
    for _ in range(2):
        before = len(list(files.iterdir()))
        wait_for(lambda before=before: len(list(files.iterdir())) > before and computing(cluster.workers[0]), LONG)
        cluster.workers.pop(0).kill()
        cluster.add_worker()
    finish(process, 0)
    assert_all_units(files, 1000)


def test_node_that_joins_late_gets_work(tmp_path: Path) -> None:
    files = tmp_path / "files"
    with cluster_of(tmp_path / "cluster", 1) as cluster:
        process = start_units(cluster, files, UNITS, 1000, SECONDS)
        wait_for(lambda: bool(list(files.iterdir())), LONG)
        late = cluster.add_worker()
        wait_for(lambda: bool(computing(late)), LONG)
        assert len(list(files.iterdir())) < UNITS
        finish(process, 0)
    assert_all_units(files, 1000)


def test_straggler_is_run_twice_and_the_first_result_wins(cluster: Cluster, tmp_path: Path) -> None:
    """A worker that is stopped never answers; its unit is computed by another when the queue is empty."""
    files = tmp_path / "files"
    process = start_units(cluster, files, UNITS, 1000, SECONDS)
    wait_for(lambda: bool(list(files.iterdir())) and bool(computing(cluster.workers[0])), LONG)
    for number in computing(cluster.workers[0]):
        os.kill(number, signal.SIGSTOP)
    finish(process, 0)
    assert_all_units(files, 1000)


def test_memory_of_the_driver_does_not_grow_with_shards(cluster: Cluster, tmp_path: Path) -> None:
    """300 files of 1 MiB. The first fifth warms the allocator up; a driver that kept them would hold 240 MiB more at
    the end. Threads of Ray that start late have arenas of their own, so a few MiB may come at any time.
    """
    files = tmp_path / "files"
    process = start_units(cluster, files, 300, 1 << 20, 0.0)
    printed, said = process.communicate(timeout=LONG)
    assert process.returncode == 0, said
    memory = [number / 2**20 for number in json.loads(printed)["memory"]]
    assert len(list(files.iterdir())) == 300
    assert memory[-1] - memory[0] < 240 / 4, memory


def test_address_at_which_nothing_listens_is_refused_at_once() -> None:
    with pytest.raises(BadConfig, match="no Ray cluster can be reached there"):
        Ray(address="127.0.0.1:9").num_workers("cpu")
