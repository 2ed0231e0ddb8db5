from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from audit.accounting.ledger import calibrate_method, claim_from_ledger
from audit.data.auxiliary import attach_auxiliary
from condensers.augment import augment, draw_augmentation, parse_strategy
from condensers.dosser import DosserConfig
from condensers.errors import BadConfig, BadData, BadInput
from condensers.ledger import Poisson
from condensers.mechanism import Door
from condensers.networks import Network, draw_parameters, embed
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, get_method, untracked
from condensers.signals import Views, expand_images
from condensers.subspace import find_subspace

RUNS = tuple(range(5))
SIZES = (12.0, 12.0, 12.0)
SMALL = {
    "ipc": 2, "iterations": 2, "optimisation_steps": 5, "batch": 6, "clip": 0.7, "noise_multiplier": 0.4,
    "learning_rate": 0.2, "ema": 0.6, "subspace": 5, "auxiliary_images": 8, "auxiliary_noise": 0.5, "width": 6,
    "depth": 2,
}  # fmt: skip


def condense(config, pool, members, runs=RUNS, listeners=(), track=untracked, **changes):
    randomness = Randomness(seed=1, runs=runs, **changes)
    return condense_runs(
        get_method("dosser"), pool, members, config, class_sizes=SIZES, randomness=randomness, listeners=listeners,
        track=track,
    )  # fmt: skip


def sample_and_noise(pool, members, run, index, rate, dim):
    """Who takes part in a release of all classes, and its noise, by the plainest reading."""
    generator = Randomness(seed=1, runs=RUNS).private(run, "door", index)
    coins = generator.random(pool.num_records)
    noise = torch.from_numpy(generator.standard_normal((3, dim), dtype="float32"))
    chosen = [
        [r for r in range(part.start, part.stop) if members[run, r] and coins[r] < rate] for part in pool.class_slices
    ]
    return chosen, noise


def components(features, dim):
    mean = features.mean(0)
    _, _, rows = np.linalg.svd((features - mean).double().numpy(), full_matrices=False)
    columns = [row if row[np.abs(row).argmax()] > 0 else -row for row in rows[:dim]]
    return mean, torch.from_numpy(np.stack(columns, 1)).float()


def naive_dosser(config, pool, members, run):
    """One run: networks and projections are kept, every class has its step of a plain optimiser."""
    public = Randomness(seed=1, runs=RUNS)
    network = Network(kind="convnet", input_shape=(3, 12, 12), num_classes=3, width=6, depth=2)
    operations = parse_strategy(config.augmentation)
    share = config.auxiliary == "share"
    if share:
        chosen, noise = sample_and_noise(pool, members, run, 0, 1.0, 432)
        means = []
        for label in range(3):
            total = noise[label] * config.noise_multiplier * config.auxiliary_noise * sqrt(432)
            total = total + sum((pool.images[r].flatten() for r in chosen[label]), torch.zeros(432))
            means.append((total / 12).clamp(-1, 1).view(3, 12, 12))
        turns = [draw_augmentation(operations, public.public("auxiliary augmentation", turn)) for turn in range(3)]
        auxiliary = torch.cat([torch.stack(means), *(augment(torch.stack(means), turn) for turn in turns[1:])])[:8]
    else:
        auxiliary = torch.from_numpy(public.public("auxiliary images").standard_normal((8, 3, 12, 12), dtype="float32"))

    def clipped(x):
        return x * torch.minimum(torch.ones(()), config.clip / x.norm(dim=1, keepdim=True))

    signals = []
    for index in range(config.iterations):
        parameters = draw_parameters(network, [public.public("network", index)], torch.device("cpu"))
        drawn = [draw_augmentation(operations, public.public("augmentation", index, label)) for label in range(3)]
        mean, basis = components(embed(network, parameters, auxiliary.unsqueeze(0))[0], config.subspace)

        def view(x, label, p=parameters, d=drawn, m=mean, b=basis):
            return clipped((embed(network, p, augment(x, d[label]).unsqueeze(0))[0] - m) @ b)

        chosen, noise = sample_and_noise(pool, members, run, index + share, 6 / 12, config.subspace)
        noisy = noise * config.noise_multiplier * config.clip
        for label in range(3):
            if chosen[label]:
                noisy[label] += view(pool.images[chosen[label]], label).sum(0)
        signals.append((view, noisy))
    start = torch.from_numpy(public.public("initial images").standard_normal((6, 3, 12, 12), dtype="float32"))
    images, average = start.clone().requires_grad_(), start.clone()
    optimiser = torch.optim.SGD([images], lr=config.learning_rate, momentum=config.momentum)
    for step in range(config.optimisation_steps):
        view, noisy = signals[int(public.public("signal", step).integers(config.iterations))]
        for label in range(3):
            part = images[2 * label : 2 * label + 2]
            shown = torch.cat([expand_images(image.unsqueeze(0)) for image in part]) if config.pea else part
            optimiser.zero_grad()
            (noisy[label] - 6 / len(shown) * view(shown, label).sum(0)).square().sum().backward()
            optimiser.step()
        average = config.ema * average + (1 - config.ema) * images.detach()
    return torch.cat([expand_images(image.unsqueeze(0)) for image in average]) if config.pea else average


@pytest.mark.parametrize(("auxiliary", "pea"), [("share", False), ("noise", True)])
def test_dosser_against_naive_one_run(small_pool, small_members, auxiliary, pea):
    config = DosserConfig(**SMALL, auxiliary=auxiliary, pea=pea)
    batch, _ = condense(config, small_pool, small_members)
    assert batch.images.shape[1] == batch.labels.shape[1] == batch.initial_records.shape[1] == (24 if pea else 6)
    for run in (0, 3):
        expected = naive_dosser(config, small_pool, small_members, run)
        torch.testing.assert_close(batch.images[run], expected, rtol=1e-5, atol=1e-5)


def test_signals_and_their_memory_do_not_depend_on_the_optimisation(small_pool, small_members):
    """What was released, and the size of all that is kept between steps, whatever I₂."""
    heard, sizes = [], []
    for steps in (1, 6):
        sums, states = [], []

        def watching(_, total, state, states=states):
            for step in range(total):
                yield step
                states.append({name: (value.shape, value.dtype) for name, value in state.items() if name != "ledger"})

        config = DosserConfig(**SMALL | {"optimisation_steps": steps})
        condense(config, small_pool, small_members, listeners=[lambda r, s=sums: s.append(r.sums)], track=watching)
        heard.append(sums)
        sizes += states
    assert len(heard[0]) == len(heard[1]) == 3
    assert all(torch.equal(one, other) for one, other in zip(*heard, strict=True))
    assert all(size == sizes[0] for size in sizes)
    assert sizes[0]["signals"][0] == (5, 2, 3, 5)


def test_views_are_made_again_to_the_byte(small_pool, small_members):
    config = DosserConfig(**SMALL)
    randomness = Randomness(seed=1, runs=RUNS)
    door = Door(small_pool, small_members, class_sizes=SIZES, randomness=randomness)
    means = torch.from_numpy(stream(0, "means").uniform(-1, 1, (5, 3, 3, 12, 12)).astype("float32"))
    views = [Views(door, config, randomness.only_public).draw(1, means) for _ in range(2)]
    assert torch.equal(views[0].subspace.basis, views[1].subspace.basis)
    assert torch.equal(views[0].subspace.mean, views[1].subspace.mean)
    assert all(torch.equal(value, views[1].parameters[name]) for name, value in views[0].parameters.items())
    alone = Door(small_pool, small_members[2:3], class_sizes=SIZES, randomness=Randomness(seed=1, runs=(2,)))
    one = Views(alone, config, randomness.only_public).draw(1, means[2:3])
    torch.testing.assert_close(one.subspace.basis[0], views[0].subspace.basis[2], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("images", "features"), [(7, 20), (30, 12)])
def test_subspace_against_singular_vectors(images, features):
    values = torch.from_numpy(stream(0, "features").normal(1, 2, (3, images, features)).astype("float32"))
    found = find_subspace(values, 4)
    for run in range(3):
        mean, basis = components(values[run], 4)
        torch.testing.assert_close(found.mean[run, 0], mean, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(found.basis[run], basis, rtol=1e-4, atol=1e-5)
    gram = found.basis.mT @ found.basis
    torch.testing.assert_close(gram, torch.eye(4).expand(3, 4, 4), rtol=0, atol=1e-5)


def test_directions_without_variance_are_zero():
    values = torch.zeros(1, 6, 4)
    values[0, :, 1] = torch.arange(6.0)
    basis = find_subspace(values, 3).basis[0]
    torch.testing.assert_close(basis.abs(), torch.eye(4)[:, [1, 0, 0]] * torch.tensor([1.0, 0.0, 0.0]))


@pytest.mark.parametrize("side", [8, 7])
def test_pea_against_quarters_enlarged_one_by_one(side):
    images = torch.from_numpy(stream(0, "images").uniform(-1, 1, (2, 3, side, side)).astype("float32"))
    found = expand_images(images)
    assert found.shape == (8, 3, side, side)
    half = side // 2
    for number in range(2):
        for quarter, (top, left) in enumerate([(0, 0), (0, half), (half, 0), (half, half)]):
            bottom, right = (half if top == 0 else side), (half if left == 0 else side)
            for row in range(side):
                for column in range(side):
                    y = min(max((row + 0.5) * (bottom - top) / side - 0.5, 0), bottom - top - 1)
                    x = min(max((column + 0.5) * (right - left) / side - 0.5, 0), right - left - 1)
                    y0, x0 = int(y), int(x)
                    y1, x1 = min(y0 + 1, bottom - top - 1), min(x0 + 1, right - left - 1)
                    part = images[number, :, top:bottom, left:right]
                    value = (1 - y + y0) * ((1 - x + x0) * part[:, y0, x0] + (x - x0) * part[:, y0, x1])
                    value = value + (y - y0) * ((1 - x + x0) * part[:, y1, x0] + (x - x0) * part[:, y1, x1])
                    torch.testing.assert_close(found[4 * number + quarter, :, row, column], value)


def test_share_is_composed_and_one_number_pays_for_both():
    method, sizes = get_method("dosser"), (90.0,) * 10
    config = calibrate_method(method, method.config(**method.presets["quick"]), sizes, epsilon=1.0, delta=1e-5)
    entries = method.plan(config, sizes)
    assert 0.999 < claim_from_ledger(entries, 1e-5).epsilon_pld <= 1.0
    of_one_class = [entry for entry in entries if entry[0].group == 3]
    (sums, count), (means, once) = of_one_class
    assert (count, once) == (50, 1)
    assert sums.sampling == Poisson(rate=20 / 90)
    assert means.sampling == Poisson(rate=1.0)
    assert means.noise_multiplier == pytest.approx(config.auxiliary_noise * config.noise_multiplier)
    without = replace(config, auxiliary="noise")
    assert claim_from_ledger(method.plan(without, sizes), 1e-5).epsilon_pld < 0.95


def test_fresh_noise_repeats_clean_sums_and_accounts_for_none_of_it(small_pool, small_members):
    changes = {"noise_multiplier": 1e-4, "optimisation_steps": 12, "auxiliary": "noise", "augmentation": "none"}
    config = DosserConfig(**SMALL | changes)
    heard = []
    _, ledger = condense(
        replace(config, fresh_noise=True), small_pool, small_members, listeners=[lambda r: heard.append(r.sums)]
    )
    assert ledger.entries == tuple(sorted(get_method("dosser").plan(config, SIZES), key=repr))
    order = [int(stream(1, "public", "game", "signal", step).integers(2)) for step in range(12)]
    again = [index for place, index in enumerate(order) if index in order[:place]]
    assert len(heard) == 2 + len(again)
    noises = []
    for index, sums in zip(again, heard[2:], strict=True):
        torch.testing.assert_close(sums, heard[index], rtol=0, atol=1e-3)
        assert not torch.equal(sums, heard[index])
        noises.append(sums - heard[index])
    assert len(torch.unique(torch.stack(noises).flatten(1), dim=0)) == len(again)


def test_fresh_noise_is_refused_for_a_real_release(small_pool, small_members):
    config = DosserConfig(**SMALL | {"optimisation_steps": 12, "augmentation": "none"}, fresh_noise=True)
    with pytest.raises(BadConfig, match="can be audited, but not used for a release"):
        condense(config, small_pool, small_members, from_operating_system=True)


def test_variants_are_offered_only_where_the_official_code_has_them():
    """With augmentation and ipc > 1 a step seeds the generator before it draws; otherwise it does not."""
    seeds = {"ipc": 2, "augmentation": "color_crop"}
    for change in ({"ipc": 1}, {"augmentation": "none"}):
        assert DosserConfig(**seeds | change, fresh_noise=True).noise_source == "stream"
        with pytest.raises(BadConfig, match=r"noise_source=clock: .* no step of the official code seeds") as caught:
            DosserConfig(**seeds | change, noise_source="clock")
        assert "\n" not in str(caught.value)
    assert not DosserConfig(**seeds, noise_source="clock").fresh_noise
    with pytest.raises(BadConfig, match=r"fresh_noise=true: .* every visit adds the same noise") as caught:
        DosserConfig(**seeds, fresh_noise=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"init": "real"}, "are not differentially private"),
        ({"noise_multiplier": 0.0}, "positive"),
        ({"optimisation_steps": 0}, "at least 1"),
        ({"subspace": 0}, "at least 1"),
        ({"auxiliary_images": 1}, "at least 2"),
        ({"auxiliary_noise": 0.0}, "positive"),
        ({"ema": 1.0}, "ema"),
    ],
    ids=str,
)
def test_impossible_settings_are_refused(change, said):
    with pytest.raises(BadConfig, match=said):
        DosserConfig(**change)


def write_images(path, shape, count=40):
    images = stream(0, "public").integers(0, 256, (count, *shape)).astype(np.uint8)
    np.savez(path, x_train=images, y_train=np.arange(count) % 2)
    return str(path)


def test_public_auxiliary_images_are_used_and_pinned_by_their_checksum(small_pool, small_members, tmp_path):
    name = write_images(tmp_path / "public.npz", (12, 12, 3))
    config = DosserConfig(**SMALL, auxiliary=name)
    pool, pinned = attach_auxiliary(small_pool, config, "small", None)
    assert len(pinned.auxiliary_checksum) == 64
    assert attach_auxiliary(small_pool, pinned, "small", None)[1] == pinned
    batch, ledger = condense(pinned, pool, small_members)
    assert batch.images.isfinite().all()
    assert len(ledger.entries) == 3
    write_images(tmp_path / "public.npz", (12, 12, 3), count=42)
    assert attach_auxiliary(small_pool, pinned, "small", None)[1] != pinned
    assert attach_auxiliary(small_pool, DosserConfig(**SMALL), "small", None) == (small_pool, DosserConfig(**SMALL))


@pytest.mark.parametrize(
    ("auxiliary", "said"),
    [
        ("other.npz", r"auxiliary images of shape 1×8×8 do not fit the records of small, 3×12×12; choose"),
        ("few.npz", r"--set auxiliary_images=8: .* has 4 images"),
        ("absent.npz", r"--set auxiliary=absent.npz: no such file"),
        ("small", r"--set auxiliary=small: these are the private records themselves"),
    ],
)
def test_auxiliary_images_that_do_not_fit_are_refused_in_one_line(small_pool, tmp_path, monkeypatch, auxiliary, said):
    monkeypatch.chdir(tmp_path)
    write_images("other.npz", (8, 8, 1))
    write_images("few.npz", (12, 12, 3), count=4)
    with pytest.raises(BadInput, match=said) as caught:
        attach_auxiliary(small_pool, DosserConfig(**SMALL, auxiliary=auxiliary), "small", None)
    assert "\n" not in str(caught.value)


def test_images_that_nobody_handed_over_are_asked_for(small_pool, small_members):
    with pytest.raises(BadConfig, match="choose share or noise"):
        condense(DosserConfig(**SMALL, auxiliary="mnist"), small_pool, small_members)


def test_tables_have_no_quarters_but_are_condensed(small_members):
    rows = torch.from_numpy(stream(0, "table").uniform(-1, 1, (72, 14)).astype("float32"))
    pool = Pool(name="table", images=rows, labels=torch.arange(72) // 24, num_classes=3)
    config = DosserConfig(**SMALL | {"width": 10}, extractor="linear", augmentation="none")
    batch, _ = condense(config, pool, small_members)
    assert batch.images.shape == (5, 6, 14)
    assert batch.images.isfinite().all()
    with pytest.raises(BadConfig, match="leave it out for tables"):
        condense(replace(config, pea=True), pool, small_members)


def test_a_pool_moves_its_auxiliary_images_along(small_pool):
    pool = replace(small_pool, auxiliary=small_pool.images[:4])
    assert torch.equal(pool.to(torch.device("cpu")).auxiliary, small_pool.images[:4])
    with pytest.raises(BadData, match="do not fit"):
        replace(small_pool, auxiliary=F.pad(small_pool.images[:4], (1, 1)))


def test_subspaces_that_are_kept_change_no_byte(small_pool, small_members, monkeypatch):
    """Whether the subspace of a signal is found again at every visit or kept, the sets are the same."""
    finds, images = [], []
    for room in (0, 1 << 30):
        found = []
        monkeypatch.setattr("condensers.signals.KEPT_BYTES", room)
        monkeypatch.setattr(
            "condensers.signals.find_subspace", lambda *given, found=found: found.append(1) or find_subspace(*given)
        )
        batch, _ = condense(DosserConfig(**SMALL | {"optimisation_steps": 12}), small_pool, small_members)
        finds.append(len(found))
        images.append(batch.images)
    assert finds[1] == SMALL["iterations"] < finds[0]
    assert torch.equal(*images)
