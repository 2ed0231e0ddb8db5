"""`audit condense`: the release, its label, its noise."""

import json
import sys

import numpy as np
import pytest
import torch

import audit.engine.checkpoints
from audit.accounting.ledger import claim_from_ledger
from audit.cli import main
from audit.commands.condense import _for_people
from audit.data.split import hold_out, load_split
from audit.games.full_pool import true_class_sizes
from audit.sets.synthetic import read_synthetic
from condensers.registry import get_method

QUICK_DM = ("--method", "dm", "--set", "iterations=3", "--set", "width=4")
PRIVATE = ("--method", "ldpdc", "--ipc", "2", "--set", "noise_multiplier=2.5")


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["audit", "condense", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


def test_release_read_back_through_every_layout_is_one_set(run, tmp_path):
    code, out, _ = run(*QUICK_DM, "--ipc", 2, "--out", tmp_path / "set", "--json")
    record = json.loads(out)
    assert code == 0
    sets = [read_synthetic(tmp_path / "set" / f"synthetic.{kind}") for kind in ("safetensors", "npz", "pt")]
    for found in sets:
        assert torch.equal(found.images, sets[0].images)
        assert found.labels.tolist() == np.repeat(np.arange(10), 2).tolist()
        assert found.label == {name: value for name, value in record.items() if name != "files"}
    assert record["config"]["iterations"] == 3
    assert record["sha256"] == sets[0].label["sha256"]
    assert (tmp_path / "set" / "synthetic.png").stat().st_size < 100_000
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == [
        "label.json", "synthetic.npz", "synthetic.png", "synthetic.pt", "synthetic.safetensors",
    ]  # fmt: skip


def test_unprotected_set_depends_on_the_seed_and_says_nothing_of_it(run, tmp_path):
    texts = []
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        assert run(*QUICK_DM, "--seed", seed, "--out", tmp_path / name, "--format", "npz")[0] == 0
        texts.append((tmp_path / name / "label.json").read_text())
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]
    assert "seed" not in texts[0]


def test_noise_of_a_release_is_from_the_operating_system(run, tmp_path):
    labels, images = [], []
    for name in ("a", "b"):
        assert run(*PRIVATE, "--seed", 3, "--out", tmp_path / name)[0] == 0
        found = read_synthetic(tmp_path / name / "synthetic.safetensors")
        labels.append({key: value for key, value in found.label.items() if key != "sha256"})
        images.append(found.images)
    assert labels[0] == labels[1]
    assert labels[0]["public_seed"] == 3
    # Two independent draws of N(0, (2.5·8/20)²) and more a pixel: none agree.
    assert float((images[0] - images[1]).abs().mean()) > 0.5
    correlation = np.corrcoef(images[0].flatten(), images[1].flatten())[0, 1]
    assert abs(correlation) < 0.9


def test_epsilon_on_the_label_against_the_account_of_the_plan(run, tmp_path, digits):
    code, out, _ = run(*PRIVATE, "--delta", "1e-6", "--out", tmp_path / "set")
    label = json.loads((tmp_path / "set" / "label.json").read_text())
    method = get_method("ldpdc")
    planned = claim_from_ledger(method.plan(method.config(**label["config"]), true_class_sizes(digits)), 1e-6)
    assert label["privacy"]["epsilon_pld"] == planned.epsilon_pld
    assert label["privacy"]["epsilon_rdp"] == planned.epsilon_rdp
    assert label["privacy"]["delta"] == 1e-6
    assert label["privacy"]["neighbouring"] == "add-or-remove-one"
    assert [entry["count"] for entry in label["ledger"]] == [2] * 10
    # The whole class, not half of it as in the membership game.
    assert label["ledger"][0]["sampling"]["rate"] == 20 / 178
    assert code == 0
    assert "spent" in out


def test_epsilon_calibrates(run, tmp_path):
    assert run("--method", "ldpdc", "--epsilon", "3", "--out", tmp_path / "set", "--format", "pt")[0] == 0
    privacy = json.loads((tmp_path / "set" / "label.json").read_text())["privacy"]
    assert 0.999 * 3 <= privacy["epsilon_pld"] <= 3


def test_replacement_stands_on_the_label_of_fixed_size_samples(run, tmp_path):
    assert run("--method", "dpmix", "--set", "noise_multiplier=4", "--out", tmp_path / "set")[0] == 0
    found = read_synthetic(tmp_path / "set" / "synthetic.pt")
    assert found.label["privacy"]["neighbouring"] == "replace-one"
    assert found.labels.shape == (10, 10)


@pytest.mark.parametrize("arguments", [("--method", "real"), (*QUICK_DM, "--init", "real")], ids=["real", "init"])
def test_real_records_are_announced_and_not_numbered(run, tmp_path, arguments):
    code, out, _ = run(*arguments, "--out", tmp_path / "set")
    assert code == 0
    assert "REAL RECORDS ARE IN THIS RELEASE" in out
    label = json.loads((tmp_path / "set" / "label.json").read_text())
    assert label["starts_from_records"] is True
    assert "initial_records" not in json.dumps(label)


def test_no_fact_of_the_records_is_on_the_label(run, tmp_path, digits):
    """A neighbouring pool, one record changed, gives the same label but for the set's own digest."""
    images = (digits.images.numpy() + 1) / 2
    labels = []
    for name in ("a", "b"):
        np.savez(tmp_path / "own.npz", x=images, y=digits.labels.numpy())
        images = np.concatenate([np.ones_like(images[:1]), images[1:]])
        for method in (QUICK_DM, PRIVATE):
            out = tmp_path / f"{name}-{method[1]}"
            assert run(*method, "--dataset", tmp_path / "own.npz", "--out", out, "--format", "npz")[0] == 0
            labels.append(json.loads((out / "label.json").read_text()))
    for first, second in ((labels[0], labels[2]), (labels[1], labels[3])):
        assert {name for name in first if first[name] != second[name]} == {"sha256"}
    assert str(tmp_path) not in json.dumps(labels)


def test_held_out_quarter_is_what_utility_tests_on(run, tmp_path, digits):
    train, test = hold_out(digits)
    split = load_split("digits")
    assert torch.equal(split.test.images, test.images)
    assert not split.official
    assert train.num_records + test.num_records == digits.num_records
    counts = torch.bincount(test.labels)
    assert torch.equal(counts, torch.bincount(digits.labels) // 4)
    run("--method", "real", "--ipc", 130, "--hold-out", "--out", tmp_path / "set", "--format", "npz")
    found = read_synthetic(tmp_path / "set" / "synthetic.npz")
    assert found.label["held_out_quarter"] is True
    released = {record.numpy().tobytes() for record in found.images}
    assert released <= {record.numpy().tobytes() for record in train.images}


@pytest.mark.parametrize("method", [QUICK_DM, PRIVATE], ids=["dm", "ldpdc"])
def test_interrupted_release_goes_on_and_leaves_no_checkpoint(run, tmp_path, monkeypatch, method):
    # Keeps the state after every step and stops after the first.
    monkeypatch.setattr(audit.engine.checkpoints, "CHECKPOINT_SECONDS", -1.0)
    track = audit.engine.checkpoints.Tracker.track

    def stopping(self, name, total, state):
        for step in track(self, name, total, state):
            if step == 1:
                raise KeyboardInterrupt
            yield step

    out = tmp_path / "set"
    with monkeypatch.context() as patch:
        patch.setattr(audit.engine.checkpoints.Tracker, "track", stopping)
        code, printed, err = run(*method, "--out", out)
    assert (code, printed) == (3, "")
    assert "nothing was released" in err
    assert [path.name for path in out.iterdir()] == ["shards"]
    steps = []

    def counting(self, name, total, state):
        for step in track(self, name, total, state):
            steps.append(step)
            yield step

    monkeypatch.setattr(audit.engine.checkpoints.Tracker, "track", counting)
    code, _, err = run(*method, "--out", out)
    assert code == 0
    assert "resuming an interrupted condensation" in err
    assert steps[0] == 1
    assert not (out / "shards").exists()
    label = json.loads((out / "label.json").read_text())
    if label["ledger"] is None:
        assert run(*method, "--out", tmp_path / "whole")[0] == 0
        assert json.loads((tmp_path / "whole" / "label.json").read_text()) == label
    else:
        assert {entry["count"] for entry in label["ledger"]} == {2}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--method", "no"), "--method 'no'"),
        (("--method", "dm", "--epsilon", "1"), "adds no noise"),
        (("--format", "pickle"), "--format pickle: must be one of safetensors, npz, pt, all"),
        (("--ipc", "500"), "smallest class"),
        (("--seed", "-1"), "--seed -1"),
        (("--set", "wrong=1"), "no such setting"),
        (("--method", "ldpdc", "--init", "real"), "are not differentially private"),
        (("--method", "ldpdc", "--set", "noise_multiplier=0.002"), "more noise"),
        (("--method", "ldpdc", "--epsilon", "1", "--set", "noise_multiplier=1"), "both determine"),
        (("--method", "ldpdc", "--delta", "0"), "delta"),
        (("--records", "3"), "--records 3"),
        (("--dataset", "nowhere"), "nowhere"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_writes_nothing(run, tmp_path, arguments, said):
    code, out, err = run(*arguments, "--out", tmp_path / "set")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "set").exists()


def test_a_folder_is_released_into_once(run, tmp_path):
    assert run("--method", "real", "--out", tmp_path)[0] == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, _, err = run("--method", "real", "--out", tmp_path)
    assert code == 2
    assert "spends ε again" in err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_spent_epsilon_is_printed_rounded_up():
    privacy = {"epsilon_pld": 1.00001, "epsilon_rdp": 1.2, "delta": 1e-5, "neighbouring": "n", "source": "s"}
    label = {"num_images": 1, "num_classes": 1, "dataset": "d", "method": "m", "privacy": privacy,
             "starts_from_records": False}  # fmt: skip
    assert "ε ≤ 1.0001 spent" in _for_people(label, {})
