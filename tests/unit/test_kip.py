import dataclasses

import pytest
import torch
from twins.naive_kip import condense_one

from condensers import ridge as ridge_module
from condensers.errors import BadConfig
from condensers.kip import KipConfig, condense_kip
from condensers.ntk import Kernel
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from condensers.registry import untracked
from condensers.ridge import Targets, _one_run_gradient, kernel_in_pieces, pull_back, ridge_gradient, solve_ridge
from condensers.whitening import centre_and_scale, fit_whitening

RUNS = tuple(range(5))


def condense(pool, members, config, track=untracked, runs=RUNS):
    return condense_kip(pool, members, config, randomness=Randomness(seed=1, runs=runs), track=track)


def draw(*shape, key="images"):
    return torch.from_numpy(stream(0, "kip", key, *shape).standard_normal(shape))


@pytest.mark.parametrize(
    "changes",
    [{}, {"ipc": 3}, {"batch": 12}, {"hidden_layers": 2, "ipc": 2}, {"ridge": 1e-2, "learning_rate": 0.2}],
    ids=str,
)
def test_batch_of_runs_against_naive_one_at_a_time(small_pool, small_members, changes):
    """In float64, as the loop holds them: the released images are rounded to float32."""
    config = KipConfig(**{"iterations": 4, **changes})
    kept = {}

    def watching(_, total, state):
        kept.update(state)
        return iter(range(total))

    batch = condense(small_pool, small_members, config, watching)
    assert torch.equal(batch.images, kept["images"].float())
    for run in RUNS:
        naive = condense_one(small_pool, small_members[run], config, Randomness(seed=1, runs=(run,)))
        torch.testing.assert_close(kept["images"][run], naive, rtol=1e-8, atol=1e-8)


def test_whitened_runs_against_naive(small_pool, small_members):
    config = KipConfig(iterations=4, zca=True, ipc=2)
    batch = condense(small_pool, small_members, config)
    for run in RUNS:
        naive = condense_one(small_pool, small_members[run], config, Randomness(seed=1, runs=(run,)))
        torch.testing.assert_close(batch.images[run].double(), naive, rtol=1e-5, atol=1e-5)


@pytest.fixture
def regression():
    images, labels = draw(2, 5, 1, 6, 6), draw(5, 3, key="labels")
    targets = [
        Targets(images=draw(size, 1, 6, 6, key="records"), labels=draw(size, 3, key="truth")) for size in (11, 8)
    ]
    return images, labels, targets


def flattened(images, targets):
    return images.flatten(2), [dataclasses.replace(one, images=one.images.flatten(1)) for one in targets]


def loss_by_definition(kernel, images, labels, targets, ridge):
    total = torch.zeros((), dtype=torch.float64)
    for own, theirs in zip(images, targets, strict=True):
        weights = solve_ridge(kernel(own, own), labels, ridge)
        total = total + 0.5 * ((kernel(theirs.images, own) @ weights - theirs.labels) ** 2).mean()
    return total


@pytest.mark.parametrize(
    "kernel",
    [Kernel(kind="fc", depth=1), Kernel(kind="fc", depth=2), Kernel(kind="conv", depth=2)],
    ids=lambda k: f"{k.kind}{k.depth}",
)
def test_gradient_against_autograd_of_the_definition(regression, kernel, monkeypatch):
    images, labels, targets = regression
    if kernel.kind == "fc":
        images, targets = flattened(images, targets)
    leaf = images.clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss_by_definition(kernel, leaf, labels, targets, 1e-3), leaf)
    found = ridge_gradient(kernel, images, labels, targets, ridge=1e-3)
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)
    monkeypatch.setattr(ridge_module, "ENTRIES_AT_ONCE", 15)
    monkeypatch.setattr(Kernel, "pairs_at_once", lambda *_: 6)
    in_pieces = ridge_gradient(kernel, images, labels, targets, ridge=1e-3)
    torch.testing.assert_close(in_pieces, expected, rtol=1e-8, atol=1e-10)


def test_pieces_against_the_whole(monkeypatch):
    kernel, left, right = Kernel(kind="conv", depth=1), draw(5, 1, 4, 4), draw(4, 1, 4, 4, key="others")
    gradient = draw(5, 4, key="gradient")
    whole = kernel(left, right), pull_back(kernel, left, right, gradient, both=False)
    monkeypatch.setattr(Kernel, "pairs_at_once", lambda *_: 3)
    torch.testing.assert_close(kernel_in_pieces(kernel, left, right), whole[0], rtol=1e-12, atol=0)
    torch.testing.assert_close(pull_back(kernel, left, right, gradient, both=False), whole[1], rtol=1e-12, atol=1e-14)


def test_shallow_gradient_against_any_kernels(regression):
    images, labels, targets = regression
    images, targets = flattened(images, targets)
    kernel = Kernel(kind="fc", depth=1)
    found = ridge_gradient(kernel, images, labels, targets, ridge=1e-6)
    for run in range(2):
        expected = _one_run_gradient(kernel, images[run], labels, targets[run], 1e-6)
        torch.testing.assert_close(found[run], expected, rtol=1e-7, atol=1e-9)


def test_images_that_start_from_records_have_finite_gradients(small_pool, small_members):
    batch = condense(small_pool, small_members, KipConfig(iterations=2, init="real", ipc=2))
    assert bool(batch.images.isfinite().all())
    moved = (batch.images - small_pool.images[batch.initial_records]).abs()
    assert float(moved.max()) <= 2 * 0.04 * 1.01  # a step of Adam is at most the learning rate at first


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": "conv", "blocks": 1},
        {"kernel": "conv", "blocks": 3, "zca": True},
        {"siamese": "color_crop_cutout_scale_rotate"},
        {"siamese": "flip_crop", "zca": True, "init": "real"},
    ],
    ids=str,
)
def test_every_variant_lowers_the_loss_of_its_members(small_pool, small_members, changes):
    """…and a resumed loop, which recomputes the whitening, ends with the same bytes."""
    pool = Pool(
        name="small", images=small_pool.images[::6, :, :8, :8], labels=small_pool.labels[::6].clone(), num_classes=3
    )
    members = small_members[:2, ::6].clone()
    members[:, ::4] = True
    config = KipConfig(iterations=6, learning_rate=0.02, **changes)
    first = condense(pool, members, config, runs=(0, 1))
    kept = {}

    def stopping(_, __, state):
        yield from range(2)
        kept.update({key: value.clone() for key, value in state.items()})

    def resuming(_, total, state):
        state.update(kept)
        return iter(range(2, total))

    condense(pool, members, config, stopping, runs=(0, 1))
    assert torch.equal(condense(pool, members, config, resuming, runs=(0, 1)).images, first.images)
    if not config.zca:
        start = condense(pool, members, dataclasses.replace(config, learning_rate=1e-12), runs=(0, 1))
        assert member_loss(pool, members, config, first) < member_loss(pool, members, config, start)


def member_loss(pool, members, config, batch):
    labels = torch.eye(3, dtype=torch.float64) - 1 / 3
    kernel = Kernel(kind=config.kernel, depth=config.blocks if config.kernel == "conv" else 1)
    targets = [Targets(images=pool.images[row].double(), labels=labels[pool.labels[row]]) for row in members]
    images = batch.images.double()
    if config.kernel == "fc":
        images, targets = flattened(images, targets)
    return float(loss_by_definition(kernel, images, labels, targets, config.ridge))


def test_whitening_against_its_definition():
    records = draw(40, 6) + 3
    fitted = fit_whitening(records, regularisation=1e-9)
    unit, _, _ = centre_and_scale(records)
    torch.testing.assert_close(unit.mean(1), torch.zeros(40, dtype=torch.float64), rtol=0, atol=1e-12)
    white = unit @ fitted.matrix
    # Centred images have no brightness left: one of the six directions is empty.
    values = torch.linalg.eigvalsh(white.mT @ white / 40)
    torch.testing.assert_close(values[1:], torch.ones(5, dtype=torch.float64), rtol=1e-6, atol=0)
    back = fitted.undo(white)
    torch.testing.assert_close((back - fitted.brightness) / fitted.norm, unit, rtol=0, atol=1e-6)
    assert abs(float(back.mean()) - float(records.mean())) < 1e-6


def test_members_of_one_brightness_each_are_not_whitened():
    """They have no direction to whiten along, and no norm to give back."""
    fitted = fit_whitening(torch.tensor([[0.3] * 4, [-0.1] * 4], dtype=torch.float64), regularisation=0.1)
    assert torch.equal(fitted.matrix, torch.eye(4, dtype=torch.float64))
    torch.testing.assert_close(fitted.undo(torch.ones(1, 4).double()), torch.full((1, 4), 0.1, dtype=torch.float64))


def test_whitened_sets_are_on_the_scale_of_the_pool(digits):
    members = torch.from_numpy(stream(0, "members").random((2, digits.num_records)) < 0.5)
    batch = condense(digits, members, KipConfig(zca=True, init="real", iterations=1), runs=(0, 1))
    assert abs(float(batch.images.mean() - digits.images.mean())) < 0.05
    assert 0.8 < float(batch.images.std() / digits.images.std()) < 1.2


@pytest.mark.parametrize(
    "change",
    [{"ipc": 0}, {"init": "zero"}, {"kernel": "rbf"}, {"ridge": 0.0}, {"blocks": 0}, {"siamese": "blur"}, {"batch": 0}],
    ids=str,
)
def test_impossible_settings_are_refused(change):
    with pytest.raises(BadConfig):
        KipConfig(**change)


def test_what_does_not_fit_the_pool_is_refused(small_pool, small_members):
    table = Pool(name="table", images=small_pool.images.flatten(1), labels=small_pool.labels, num_classes=3)
    for pool, changes, message in (
        (small_pool, {"batch": 2}, "batch=2: must be at least 3"),
        (small_pool, {"kernel": "conv", "blocks": 4}, "halve 12×12 pixels to nothing"),
        (table, {"kernel": "conv"}, "kernel=conv needs images"),
        (table, {"siamese": "crop"}, "tables cannot be augmented"),
    ):
        with pytest.raises(BadConfig, match=message):
            condense(pool, small_members, KipConfig(**changes))
    assert condense(table, small_members, KipConfig(iterations=1)).images.shape == (5, 3, 432)
