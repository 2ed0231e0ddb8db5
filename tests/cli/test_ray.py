"""Ray as an executor, on a real cluster of this machine: the bytes are those of every other executor."""

from pathlib import Path

import pytest

import audit
from audit.commands.workers import executor_of
from audit.engine.executor import InProcess, Local
from audit.engine.ray import Ray
from condensers.errors import BadConfig

NONE = {"jobs": None, "executor": "local", "ray_address": None, "gpus_per_task": None, "memory_per_task": None,
        "max_retries": None}  # fmt: skip
SMALL = audit.Lira(method="real", records=120, shadows=12, level="set", shard_runs=3, seed=5)
OWN = '''
from dataclasses import dataclass

import torch
from shades import GREY

from condensers.initial import balanced_labels
from condensers.pool import CondensedBatch
from condensers.registry import condenser


@dataclass(frozen=True, kw_only=True)
class GreyConfig:
    ipc: int = 1


@condenser("grey", config=GreyConfig)
def condense_grey(pool, included, config, *, randomness, track):
    """Grey images."""
    labels = balanced_labels(pool.num_classes, config.ipc, len(included), pool.images.device)
    images = torch.full((*labels.shape, *pool.images.shape[1:]), GREY)
    return CondensedBatch(images=images, labels=labels, initial_records=torch.full_like(labels, -1))
'''


def test_options() -> None:
    assert executor_of(NONE) == Local()
    asked = {**NONE, "executor": "ray", "ray_address": "head:6379", "gpus_per_task": 0.5, "max_retries": 1}
    assert executor_of(asked) == Ray(address="head:6379", gpus_per_task=0.5, max_retries=1)
    for wrong, said in (
        ({"gpus_per_task": 1.0}, "without --executor ray"),
        ({"executor": "ray", "jobs": 2}, "leave out --jobs"),
        ({"executor": "ray", "gpus_per_task": -1.0}, "must lie in"),
        ({"executor": "ray", "max_retries": -1}, "must lie in"),
        ({"executor": "ray", "memory_per_task": 5}, "in bytes"),
    ):
        with pytest.raises(BadConfig, match=said):
            executor_of({**NONE, **wrong})


@pytest.fixture(scope="module")
def cluster() -> object:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'condensation-audit[ray]'")
    yield ray
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_bytes_do_not_depend_on_the_executor(tmp_path: Path) -> None:
    """Half of the shards locally, the rest with Ray; then all in this process."""
    first = audit.run(SMALL, out=tmp_path / "both", executor=InProcess(), progress=False)
    for name in ("00001", "00002"):
        (Path(first.run_directory) / "shards" / f"{name}.safetensors").unlink()
    lines: list[str] = []
    mixed = audit.run(SMALL, out=tmp_path / "both", executor=Ray(), progress=lines.append)
    assert any("resuming" in line for line in lines)
    alone = audit.run(SMALL, out=tmp_path / "alone", executor=InProcess(), progress=False)
    compared = 0
    for path in Path(alone.run_directory).rglob("*"):
        if path.suffix in (".safetensors", ".json", ".parquet") and path.name != "timing.json":
            relative = path.relative_to(alone.run_directory)
            assert (Path(mixed.run_directory) / relative).read_bytes() == path.read_bytes(), relative
            compared += 1
    assert compared == 4 + 3


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_own_method_travels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "shades.py").write_text("GREY = 0.5\n")
    monkeypatch.chdir(tmp_path)
    record = audit.run(SMALL.but(method="own.py:condense_grey"), out="runs", executor=Ray(), progress=False)
    assert record.epsilon.lower == 0.0


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_units_get_the_files_that_they_read(tmp_path: Path) -> None:
    """Scores are learned from the files of other units, which no worker of the cluster has."""
    spec = audit.WorstCase(method="ldpdc", settings={"noise_multiplier": "4"}, trials=200, design=("alone",))
    here, there = (
        Path(audit.run(spec, out=tmp_path / name, executor=executor, progress=False).run_directory)
        for name, executor in (("here", InProcess()), ("there", Ray()))
    )
    shards = sorted(path.relative_to(here) for path in here.glob("shards/*.safetensors"))
    assert len(shards) == 3, "a group, and a fit of the transcript and of the set"
    for name in [*shards, Path("report.json")]:
        assert (there / name).read_bytes() == (here / name).read_bytes(), name
