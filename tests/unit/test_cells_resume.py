"""Cells of `audit utility` that were interrupted go on from their checkpoints and end as if nothing had happened."""

import itertools
import json

import pytest
import torch

import audit.engine.checkpoints
from attacks.victims import VictimConfig
from audit.games.full_pool import true_class_sizes
from audit.games.utility.training import Recipe
from audit.games.utility.work import CondenseWork, Order, RandomSubset, Source, Training, TrainWork, digests_of, load_on
from condensers.registry import get_method

SMALL = {
    "dm": {"iterations": 5, "width": 4, "depth": 1, "ipc": 1},
    "ndpdc": {"iterations": 5, "width": 4, "depth": 1, "ipc": 1, "batch": 5},
    "dosser": {"iterations": 3, "optimisation_steps": 4, "width": 4, "depth": 1, "ipc": 1, "batch": 5},
}


class Interruption(Exception):
    """Stands for a kill in the middle of a cell."""


@pytest.fixture(scope="module")
def records():
    split = load_on("digits", None, 200, "cpu")
    train, test = digests_of(split)
    return split, Source(dataset="digits", data_root=None, records=200, device="cpu", train=train, test=test)


def condensing(records):
    split, source = records
    sizes = true_class_sizes(split.train)

    def of(method):
        found = get_method(method)
        config = found.config(**{**found.presets["quick"], **SMALL[method]})
        return CondenseWork.of(source, 3, (Order(method=method, config=vars(config), class_sizes=sizes, run=0),))

    return {method: of(method) for method in SMALL}


def training(records, tmp_path):
    split, source = records
    victims = VictimConfig(width=4, depth=1, epochs=5)
    recipe = Recipe(training=victims, large_epochs=3, divisor=16, seeds=2, seed=0)
    networks = ("convnet", "resnet18")  # trained together, and one after the other
    return {
        name: TrainWork.of(source, recipe, (Training(architecture=name, on=RandomSubset((1,) * 10)),), split, tmp_path)
        for name in networks
    }


def content(work, folder):
    """Without the seconds."""
    path = folder / work.file(0)
    if path.suffix == ".json":
        return {name: value for name, value in json.loads(path.read_text())["result"].items() if name != "seconds"}
    return {name: value.tolist() for name, value in work.cells[0].read(folder).items() if name != "seconds"}


@pytest.mark.parametrize("stop", [1, 3, 5])
@pytest.mark.parametrize("name", [*SMALL, "convnet", "resnet18"])
def test_a_cell_goes_on_from_its_checkpoint(name, stop, records, tmp_path, monkeypatch):
    monkeypatch.setattr(audit.engine.checkpoints, "CHECKPOINT_SECONDS", 0.0)
    work = (condensing(records) if name in SMALL else training(records, tmp_path))[name]
    split = records[0]
    steps: list[float] = []
    work.compute(split, 0, tmp_path / "calm", steps.append)
    assert steps[-1] == 1.0
    count = itertools.count(1)

    def interrupt(share):
        if next(count) == stop:
            raise Interruption(share)

    torn = tmp_path / "torn"
    with pytest.raises(Interruption):
        work.compute(split, 0, torn, interrupt)
    assert list(torn.glob("cells/*.partial"))
    left: list[float] = []
    work.compute(split, 0, torn, left.append)
    assert content(work, torn) == content(work, tmp_path / "calm")
    assert left == steps[stop:], "no step that was kept is repeated"
    assert [path.name for path in torn.glob("cells/*")] == [work.file(0).removeprefix("cells/")]


def test_seconds_of_earlier_tries_are_kept(tmp_path, monkeypatch, records):
    monkeypatch.setattr(audit.engine.checkpoints, "CHECKPOINT_SECONDS", 0.0)
    cell = condensing(records)["dm"].cells[0]
    first = cell.tracker(tmp_path, lambda _: None, "condense")
    loop = first.track("condense", 3, {"x": torch.zeros(2)})
    next(loop)
    object.__setattr__(first, "started", first.started - 100)  # as if it had taken so long
    next(loop)
    again = cell.tracker(tmp_path, lambda _: None, "condense")
    assert list(again.track("condense", 3, {"x": torch.zeros(2)})) == [1, 2]
    assert 100 <= again.seconds < 110
