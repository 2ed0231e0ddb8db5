"""Class-incremental learning from condensed sets."""

import json
from pathlib import Path

import pytest
import torch

from audit.data.load import load_pool
from audit.engine.executor import InProcess
from audit.engine.where import Where
from audit.games.run import run
from audit.games.utility.continual import OFFICIAL_ORDER, only_classes
from audit.specs.continual import Continual
from condensers.errors import BadConfig

SMALL = Continual(
    method="ldpdc", records=300, ipc=2, seeds=2, epochs=20, settings={"victim.width": "8"}, stages=5, device="cpu"
)


def test_stages_see_more_classes_and_less_accuracy(tmp_path: Path) -> None:
    result = run(SMALL, Where(out=tmp_path, executor=InProcess()), lambda _: None)
    assert [len(stage.classes) for stage in result.stages] == [2, 4, 6, 8, 10]
    assert result.stages[-1].classes == OFFICIAL_ORDER
    accuracies = [stage.accuracy.mean for stage in result.stages]
    assert accuracies[0] > 0.7, "two classes"
    assert accuracies[0] > accuracies[-1] > 0.1
    stored = json.loads((tmp_path / "report.json").read_text())
    assert [stage["accuracy"]["mean"] for stage in stored["stages"]] == accuracies


def test_a_second_run_takes_what_is_there(tmp_path: Path) -> None:
    where = Where(out=tmp_path, executor=InProcess())
    first = run(SMALL, where, lambda _: None)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert run(SMALL, where, lambda _: None) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == times


def test_classes_are_numbered_anew() -> None:
    pool = only_classes(load_pool("digits", records=100), (7, 2))
    assert pool.num_classes == 2
    assert torch.equal(pool.labels.unique(), torch.tensor([0, 1]))
    whole = load_pool("digits", records=100)
    assert torch.equal(pool.images[pool.labels == 0], whole.images[whole.labels == 7])


def test_classes_that_cannot_be_divided_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="--stages 3"):
        run(SMALL.but(stages=3), Where(out=tmp_path, executor=InProcess()), lambda _: None)
