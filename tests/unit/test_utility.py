"""`audit utility`: intervals, subsets, search and cost."""

import csv
import io
import json
import sys

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from scipy import stats

from attacks.victims import VictimConfig
from audit.cli import main
from audit.data.split import hold_out
from audit.engine.cells import Cell
from audit.games.utility.networks import make_network
from audit.games.utility.training import (
    Measurement,
    Recipe,
    difference_interval,
    measure,
    random_subsets,
    smallest_matching,
    training_flops,
)
from audit.games.utility.work import FLOPS, counting_flops
from reports.figures.utility import draw_size
from reports.records.utility import Accuracy, MatchingSubset, UtilityRow

TRAINING = VictimConfig(width=8, depth=2, epochs=40, augmentation="none")


def measured(values):
    return Measurement(accuracies=tuple(values), num_images=10, seconds=1.0, flops=1.0)


def run_search(search, accuracy):
    """What the search returns when it is told these accuracies."""
    size = next(search)
    while True:
        try:
            size = search.send(accuracy(size))
        except StopIteration as done:
            return done.value


def recipe(seeds=2, **changes):
    return Recipe(**{"training": TRAINING, "large_epochs": 5, "divisor": 16, "seeds": seeds, "seed": 0, **changes})


def test_intervals_against_scipy():
    ours, theirs = np.random.default_rng(0).normal(0.8, 0.03, 5), np.random.default_rng(1).normal(0.7, 0.05, 7)
    found = measured(ours).interval()
    expected = stats.ttest_1samp(ours, 0).confidence_interval(0.95)
    assert found == pytest.approx((expected.low, expected.high))
    gap = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    assert difference_interval(measured(ours), measured(theirs)) == pytest.approx((gap.low, gap.high))
    assert measured([0.1, 0.6, 0.9]).interval() == (0.0, 1.0)
    assert difference_interval(measured([0.1, 0.9]), measured([0.2, 0.9])) == (-1.0, 1.0)
    assert measured([0.5]).interval() is None
    assert measured([0.5]).deviation is None
    assert difference_interval(measured([0.5]), measured(ours)) is None


def test_passes_of_the_recipe_and_of_large_sets():
    plan = recipe(training=VictimConfig(epochs=300), large_epochs=100)
    assert plan.config("convnet", 10).epochs == 300
    assert plan.config("convnet", 512).epochs == 300
    assert plan.config("convnet", 1024).epochs == 150
    assert plan.config("convnet", 60_000).epochs == 10
    assert plan.config("resnet18", 10).epochs == 100
    assert plan.config("alexnet", 10).epochs == 300
    assert recipe(training=VictimConfig(epochs=3)).config("mlp", 60_000).epochs == 3


def test_subsets_are_nested_members_of_their_classes(digits):
    small, labels = random_subsets(digits, (2,) * 10, seeds=3, seed=1)
    large, _ = random_subsets(digits, (5,) * 10, seeds=3, seed=1)
    assert small.shape == (3, 20, 1, 8, 8)
    assert labels[0].tolist() == np.repeat(np.arange(10), 2).tolist()
    for seed in range(3):
        assert torch.equal(large[seed].view(10, 5, 1, 8, 8)[:, :2].flatten(0, 1), small[seed])
    assert not torch.equal(small[0], small[1])


@pytest.mark.parametrize("start", [1, 10, 100])
@pytest.mark.parametrize("needed", [1, 7, 60, 100])
def test_search_against_trying_every_size(start, needed):
    asked = []

    def accuracy(size):
        asked.append(size)
        return size / 100

    found = run_search(smallest_matching(needed / 100, start, 100), accuracy)
    sizes = sorted({round(size) for size in np.geomspace(1, 100, 24)} | {start})
    assert found == next(size for size in sizes if size >= needed)
    assert len(set(asked)) <= 10


def test_search_that_cannot_succeed():
    assert run_search(smallest_matching(0.9, 1, 50), lambda _: 0.5) is None


def test_flops_of_a_perceptron_against_counting(small_pool):
    network = make_network("mlp", (3, 12, 12), 3)
    images, labels = small_pool.images[:20], small_pool.labels[:20]
    layers = [(432, 128), (128, 128), (128, 3)]
    forward = sum(2 * a * b for a, b in layers)
    # Backward: gradients of all weights, and of all inputs but the images.
    backward = forward + sum(2 * a * b for a, b in layers[1:])
    assert training_flops(network, TRAINING, images, labels) == 40 * 20 * (forward + backward)


def test_flops_of_a_condensation_are_those_of_all_steps(tmp_path):
    weight = torch.zeros(8, 4)

    def loop(track):
        for _ in track("condense", 7, {}):
            torch.zeros(5, 8) @ weight

    tracker = Cell.of({}, "tensors").tracker(tmp_path, lambda _: None, "condense")
    loop(counting_flops(tracker))
    assert tracker.costs[FLOPS] == 7 * 2 * 5 * 8 * 4


@pytest.mark.parametrize("name", ["convnet", "resnet18"])
def test_measurement_depends_on_nothing_but_seed_and_set(digits, name):
    train, test = hold_out(digits)
    images, labels = random_subsets(train, (3,) * 10, seeds=2, seed=0)
    first, again = (measure(recipe(), name, images, labels, test) for _ in range(2))
    assert first.accuracies == again.accuracies
    one_set = measure(recipe(), name, images[:1], labels[:1], test)
    assert one_set.accuracies[0] == pytest.approx(first.accuracies[0], abs=0.02)
    assert one_set.accuracies[1] != first.accuracies[1]


@pytest.mark.parametrize("name", ["convnet", "mlp", "resnet18"])
def test_networks_trained_apart_against_together(digits, name):
    train, test = hold_out(digits)
    images, labels = random_subsets(train, (3,) * 10, seeds=2, seed=0)
    together = measure(recipe(), name, images, labels, test)
    parts = [measure(recipe(), name, images, labels, test, chosen=range(s, s + 1)) for s in range(2)]
    joined = Measurement.joined(parts)
    # Rounding differs between one wide convolution and two narrow ones.
    assert joined.accuracies == pytest.approx(together.accuracies, abs=0.01)
    assert (joined.num_images, joined.flops) == (together.num_images, together.flops)


def test_soft_labels_train_like_the_hard_ones_they_equal(digits):
    train, test = hold_out(digits)
    images, labels = random_subsets(train, (3,) * 10, seeds=2, seed=0)
    soft = torch.nn.functional.one_hot(labels, 10).float()
    assert measure(recipe(), "mlp", images, soft, test).accuracies == pytest.approx(
        measure(recipe(), "mlp", images, labels, test).accuracies
    )


@pytest.fixture
def run(monkeypatch, capsys):
    def call(command, *arguments):
        monkeypatch.setattr(sys, "argv", ["audit", command, *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


SMALL = ("--epochs", "60", "--set", "victim.width=16", "--set", "iterations=60", "--set", "width=16")


def test_dm_beats_the_random_subset_on_digits(run, tmp_path):
    code, out, _ = run(
        "utility", "--method", "dm", "--method", "ldpdc", "--epsilon", "30", "--seeds", 3, "--match", "none",
        "--no-full", *SMALL, "--out", tmp_path, "--json",
    )  # fmt: skip
    result = json.loads(out)
    assert code == 0
    assert [(row["set"], row["epsilon"]) for row in result["rows"]] == [("dm", None), ("ldpdc", 30.0)]
    best, noisy = result["rows"]
    assert best["gain"]["interval"][0] > 0
    assert best["condensing_flops"] > 0
    assert noisy["random_subset"] == best["random_subset"]
    table = list(csv.DictReader(io.StringIO((tmp_path / "utility.csv").read_text())))
    assert float(table[0]["accuracy"]) == best["accuracy"]["mean"]
    assert table[0]["full"] == ""
    assert float(table[0]["training_seconds"]) > 0
    assert (tmp_path / "figures" / "utility.png").read_bytes().startswith(b"\x89PNG")
    stored = json.loads((tmp_path / "report.json").read_text())
    assert stored | {"run_directory": str(tmp_path), "pdf": str(tmp_path / "report.pdf")} == result
    assert "seconds" not in json.dumps(stored)


def test_released_set_beside_real_records(run, tmp_path):
    run("condense", "--method", "real", "--ipc", 3, "--hold-out", "--out", tmp_path / "ours")
    images = np.load(tmp_path / "ours" / "synthetic.npz")["x"]
    np.savez(tmp_path / "theirs.npz", x=images, y=np.repeat(np.arange(10), 3))
    code, out, _ = run(
        "utility", "--synthetic", tmp_path / "ours" / "synthetic.pt", "--synthetic", tmp_path / "theirs.npz",
        "--architectures", "mlp", "--seeds", 2, "--epochs", 40, "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == 0
    assert "theirs.npz may have been made from" in out
    assert "synthetic.pt may have been made from" not in out
    assert "(a guess" in out
    rows = json.loads((tmp_path / "out" / "report.json").read_text())["rows"]
    assert rows[0]["accuracy"]["values"] == rows[1]["accuracy"]["values"]
    assert rows[0]["random_subset"]["images"] == 30
    assert rows[0]["matching_subset"]["searched"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--architectures", "vit"), "--architectures vit: must be one of convnet, mlp"),
        (("--ipc", "1,x"), "--ipc 1,x"),
        (("--ipc", "500"), "smallest class"),
        (("--seeds", "0"), "--seeds 0"),
        (("--epochs", "0"), "--epochs 0: must lie in"),
        (("--set", "wrong=1"), "no such setting"),
        (("--synthetic", "no.pt"), "no such file"),
        (("--method", "ldpdc", "--epsilon", "0"), "epsilon 0"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_writes_nothing(run, tmp_path, arguments, said):
    code, out, err = run("utility", *arguments, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("low", "high"), [(0.88, 0.95), (0.985, 0.995), (0.1, 0.9)])
def test_axis_labels_against_their_places(low, high):
    """No label is rounded: 97.5% was once printed as 98%."""
    mean = (low + high) / 2
    found = Accuracy(mean=mean, deviation=None, interval=(low, high), n=1, values=(mean,), images=10, flops=1.0)
    row = UtilityRow(
        set="dm", ipc=1, epsilon=None, images=10, architecture="convnet", accuracy=found, random_subset=found,
        gain=None, matching_subset=MatchingSubset(searched=False, images=None), full=None, condensing_flops=None,
    )  # fmt: skip
    axes = Figure(figsize=(3.9, 2.6)).subplots()
    draw_size(axes, [row], ["dm"], "ConvNet")
    places = axes.get_yticks()
    labels = axes.yaxis.get_major_formatter().format_ticks(places)
    assert [float(label.rstrip("%")) / 100 for label in labels] == pytest.approx(places, abs=1e-9)
