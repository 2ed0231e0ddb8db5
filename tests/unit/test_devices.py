"""Which devices compute, and how many workers they have."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from audit.commands.workers import executor_of
from audit.engine.executor import Local, gpus_of
from audit.games.settings import resolve_device
from condensers.errors import BadConfig

NONE = {"jobs": None, "executor": "local", "ray_address": None, "gpus_per_task": None, "memory_per_task": None,
        "max_retries": None}  # fmt: skip


@dataclass(frozen=True)
class WhichGpu:
    """Units that leave the number of the GPU that their worker sees."""

    device: str = "cuda"

    def load(self) -> None:
        return None

    def compute(self, loaded: None, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        time.sleep(1.0)  # so that no worker takes all units
        (folder / self.file(unit)).write_text(os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
        report(1.0)

    def file(self, unit: int) -> str:
        return f"{unit}.txt"


def test_each_gpu_has_a_worker_of_its_own(tmp_path: Path) -> None:
    executor = Local(gpus=(1, 3))
    assert executor.num_workers("cuda") == 2
    executor.run(WhichGpu(), range(4), tmp_path, lambda _unit, _share: None)
    assert {path.read_text() for path in tmp_path.iterdir()} == {"1", "3"}


def test_options_and_what_is_refused() -> None:
    assert executor_of({**NONE, "device": "cuda:0,1"}) == Local(gpus=(0, 1))
    assert executor_of({**NONE, "device": "cuda:1"}) == executor_of(NONE) == Local()
    assert gpus_of("auto") == gpus_of("") == gpus_of("mps") == ()
    for wrong, said in (
        ("cuda:0,0", "distinct GPU numbers"),
        ("cuda:0,x", "distinct GPU numbers"),
        ("cuda:7,8", "not avail"),
    ):
        with pytest.raises(BadConfig, match=said):
            resolve_device(wrong)
    with pytest.raises(BadConfig, match=r"--jobs 2: there is one worker per GPU \(0, 1\); leave it out"):
        executor_of({**NONE, "device": "cuda:0,1", "jobs": 2})
