"""Methods that train generators: they learn, their batch is their run, and settings that cannot work are refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

from attacks.density import density_ratios, nearest_ratios
from attacks.gan_leak import GanLeakConfig, reconstruct, score_gan_leak
from attacks.perceptual import load_perceptual, pairwise_lpips
from attacks.registry import Observations
from audit.accounting.ledger import claims_anything
from audit.data.weights import read_file
from audit.engine.checkpoints import Tracker
from audit.games.membership.game import nominal_class_sizes
from audit.games.transcript.resolve import resolve_experiment
from audit.specs.worst_case import WorstCase
from condensers import dp_cgan
from condensers.discriminator import discriminate, draw_discriminator, gradients_of_each, with_labels
from condensers.dp_cgan import mean_on_fake
from condensers.dp_hp import DpHpConfig, hermite_features
from condensers.dp_merf import DpMerfConfig
from condensers.dp_sinkhorn import DpSinkhornConfig, alternates_gradient, sinkhorn_gradient
from condensers.errors import BadConfig, BadInput
from condensers.generator import Generator, Generators, draw_codes, draw_generator, generate
from condensers.gs_wgan import GsWganConfig
from condensers.mechanism import Door
from condensers.psg import PsgConfig
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, condense_through, get_method
from condensers.samples import shard_members
from condensers.sinkhorn import transport_cost, transport_plan
from condensers.subspace import find_subspace, find_subspace_roughly

CPU = torch.device("cpu")
WEIGHTS = Path(__file__).parents[2].parent / "shared" / "weights"
# Little noise, so that learning shows in few steps; accuracy is that of the nearest class mean of the set.
LEARNING = {
    "dp-merf": {"noise_multiplier": 0.5, "iterations": 100},
    "dp-hp": {"noise_multiplier": 0.5, "iterations": 60},
    "dp-kip": {"noise_multiplier": 0.5, "iterations": 40},
    "dp-sinkhorn": {"noise_multiplier": 0.01, "iterations": 60, "batch_generated": 20, "sinkhorn_iterations": 8},
    "gs-wgan": {"noise_multiplier": 0.005, "iterations": 250, "shards": 4},
    "dp-cgan": {"noise_multiplier": 0.02, "iterations": 500},
    "cgan": {"iterations": 600, "batch": 40, "batch_generated": 40},
    "mtt": {"iterations": 20, "steps_per_expert": 10, "student_steps": 5, "width": 8},
}


def accuracy_of_class_means(images, labels, pool):
    means = torch.stack([images[labels == label].mean(0).flatten() for label in range(10)])
    return (torch.cdist(pool.images.flatten(1), means).argmin(1) == pool.labels).float().mean().item()


@pytest.mark.parametrize(("asked", "pixels", "variance"), [(0.0, 64, 10.0), (0.0, 784, 122.5), (105.0, 784, 105.0)])
def test_kernel_of_dp_merf_fits_the_images(asked: float, pixels: int, variance: float) -> None:
    assert DpMerfConfig(length_scale=asked).kernel_variance(pixels) == variance


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNING)
def test_every_method_learns_digits_above_chance(name, digits):
    method = get_method(name)
    changes = {"ipc": 1 if name in ("mtt", "dp-kip") else 20, **LEARNING[name]}
    config = method.config(**{**method.presets["quick"], **changes})
    included = torch.from_numpy(stream(0, "members").random((1, digits.num_records)) < 0.5)
    batch, _ = condense_runs(
        method,
        digits,
        included,
        config,
        class_sizes=nominal_class_sizes(digits),
        randomness=Randomness(seed=0, runs=(0,)),
    )
    assert accuracy_of_class_means(batch.images[0], batch.labels[0], digits) > 0.2


def test_gradients_of_a_discriminator_against_autograd():
    drawn = draw_discriminator((1, 3, 3), 4, 5, stream(0, "D"), CPU)
    own = {name: value.unsqueeze(0).requires_grad_() for name, value in drawn.items()}
    inputs = with_labels(
        torch.randn(1, 6, 1, 3, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([[0, 1, 2, 3, 0, 1]]), 4
    )
    for real in (True, False):
        scores = discriminate(own, inputs)
        loss = torch.nn.functional.softplus(-scores if real else scores)
        found = gradients_of_each(own, inputs, real=real)
        for record in range(6):
            expected = torch.autograd.grad(loss[0, record], list(own.values()), retain_graph=True)
            for name, value in zip(own, expected, strict=True):
                torch.testing.assert_close(found[name][0, record], value[0])


def test_hermite_features_against_the_gaussian_kernel():
    """Mehler's formula: Σ_k φ_k(x) φ_k(y) = exp(−ρ/(1 − ρ²)·(x − y)²), so that no feature vector is longer than 1."""
    config = DpHpConfig(length_scale=0.5)
    x = torch.linspace(0, 1, 7, dtype=torch.float64)
    features = hermite_features(x, 60, config.rho)
    expected = torch.exp(-config.rho / (1 - config.rho**2) * (x[:, None] - x[None]) ** 2)
    torch.testing.assert_close(features @ features.T, expected, rtol=1e-6, atol=1e-9)
    assert features.norm(dim=1).max() <= 1 + 1e-9


def test_transport_plan_against_marginals_and_assignment():
    points = torch.tensor([[0.0], [5.0], [9.0]], dtype=torch.float64)
    targets = torch.tensor([[5.2], [8.7], [0.1], [3.0]], dtype=torch.float64)  # the last one is absent
    cost = (points - targets.T).square().unsqueeze(0)
    left = torch.full((1, 3), 1 / 3, dtype=torch.float64)
    right = torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0.0]], dtype=torch.float64)
    plan = transport_plan(cost, left, right, regularisation=0.05, iterations=60)
    torch.testing.assert_close(plan.sum(1), right, rtol=1e-3, atol=1e-4)
    assert plan[0].argmax(1).tolist() == [2, 0, 1]


@pytest.mark.parametrize("size", ["fixed", "realised"])
def test_gradient_at_alternates_against_naive(size):
    """−Σ P (2(x′ − x) + m sign(x′ − x)) over the plan between all points and those with the alternates, run by run."""
    config = DpSinkhornConfig(batch=3, batch_generated=4, debias=0.5, size=size, mixture=0.7, regularisation=5.0)
    count = config.num_generated
    made = torch.randn(3, count + count // 2, 5, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(count).repeat(2)[: made.shape[1]] % 2
    sizes = torch.tensor([4, 2, 3]) if size == "realised" else None
    found = alternates_gradient(config, made, labels, sizes)
    assert found.shape == (3, count // 2, 5)
    for run in range(3):
        counted = count if sizes is None else int(sizes[run])
        alternates = int(0.5 * counted)
        first = made[run, :counted].double()
        taken = [*range(alternates, counted), *range(count, count + alternates)]
        last = made[run, taken].double()
        apart = (labels[:counted, None] != labels[taken]) * (2 * 15.0**2 + 2 * 0.7 * 15)
        cost = transport_cost(first[None], last[None], apart[None], 0.7)
        weights = torch.full((1, counted), 1.0 / counted, dtype=torch.float64)
        plan = transport_plan(cost, weights, weights, regularisation=5.0, iterations=50)[0]
        expected = torch.zeros(count // 2, 5, dtype=torch.float64)
        for number in range(alternates):
            column = counted - alternates + number
            gap = last[column] - first
            expected[number] = -(plan[:, column, None] * (2 * gap + 0.7 * gap.sign())).sum(0)
        assert (expected[:alternates] != 0).any()
        torch.testing.assert_close(found[run], expected.float(), rtol=1e-4, atol=1e-6)
    alone = DpSinkhornConfig(batch=3, batch_generated=4, debias=0.0)
    assert alternates_gradient(alone, made[:, :4], labels[:4], None).shape == (3, 0, 5)


@pytest.mark.parametrize(("debias", "count"), [(0.29, 100), (0.58, 50), (0.2, 50)])
def test_as_many_alternates_are_made_as_the_debiasing_takes(debias, count):
    """29% of 100 is 28.999… in double precision, and 29 in single precision."""
    config = DpSinkhornConfig(batch_generated=count, debias=debias, sinkhorn_iterations=2, regularisation=50.0)
    made = torch.randn(1, sum(config.batches), 2, generator=torch.Generator().manual_seed(0))
    found = alternates_gradient(config, made, torch.zeros(sum(config.batches), dtype=torch.int64), None)
    assert found.shape == (1, int(debias * count), 2)
    assert (found != 0).all()


def test_points_beyond_the_size_of_a_sample_take_no_part():
    """As the released code, which makes as many as the sample has records."""
    config = DpSinkhornConfig(batch=3, debias=0.5, size="realised", regularisation=5.0)
    count = config.num_generated
    generator = torch.Generator().manual_seed(0)
    made = torch.randn(2, count + count // 2, 5, generator=generator)
    labels = torch.arange(count).repeat(2)[: made.shape[1]] % 2
    images, own = torch.randn(2, 4, 5, generator=generator), torch.tensor([[0, 1, 1, 0]] * 2)
    present = torch.tensor([[True] * 4, [True, True, False, False]])
    before = sinkhorn_gradient(config, made, labels, images, own, present)
    assert (before[0, :4] != 0).any()
    assert not before[0, 4:count].any()
    assert not before[0, count + 2 :].any()
    other = made.clone()
    other[0, 4:count] *= -1
    other[0, count + 2 :] *= -1
    torch.testing.assert_close(sinkhorn_gradient(config, other, labels, images, own, present), before)


def test_rough_components_against_exact_ones():
    features = torch.randn(1, 40, 12, generator=torch.Generator().manual_seed(0)) * torch.linspace(5, 0.1, 12)
    exact = find_subspace(features, 3)
    rough = find_subspace_roughly(features, torch.randn(12, 3, generator=torch.Generator().manual_seed(1)))
    overlap = torch.linalg.svdvals(exact.basis[0].T @ rough.basis[0])
    assert overlap.min() > 0.7
    assert overlap[:2].min() > 0.95


def test_reconstruction_finds_an_image_of_the_generator_and_no_other():
    shape = Generator(input_shape=(1, 4, 4), num_classes=2, latent=2, width=16, kind="mlp")
    drawn = [draw_generator(shape, stream(0, "generator", run), CPU) for run in range(2)]
    both = Generators.joined([Generators(generator=shape, parameters=each) for each in drawn])
    labels = torch.tensor([0, 1, 0])
    made = generate(shape, both.parameters, draw_codes(shape, labels, stream(0, "codes")))
    config = GanLeakConfig(steps=200, starts=2)
    own = reconstruct(both, made[0], labels, config, stream(0, "starts"))
    assert bool((own[0] > own[1] + 2).all()), "what a generator made lies nearer to it than to another one"
    alone = reconstruct(both, made[0][:1], labels[:1], config, stream(0, "starts"))
    torch.testing.assert_close(alone, own[:, :1], rtol=1e-2, atol=1e-1)


@pytest.mark.skipif(not WEIGHTS.is_dir(), reason="no weights beside the checkout")
def test_reconstruction_by_lpips_finds_an_image_of_the_generator_and_no_other():
    shape = Generator(input_shape=(1, 8, 8), num_classes=2, latent=2, width=16, kind="mlp")
    drawn = [draw_generator(shape, stream(0, "generator", run), CPU) for run in range(2)]
    both = Generators.joined([Generators(generator=shape, parameters=each) for each in drawn])
    labels = torch.tensor([0, 1])
    made = generate(shape, both.parameters, draw_codes(shape, labels, stream(0, "codes")))
    metric = load_perceptual("alexnet", read_file(WEIGHTS / "alexnet_features.safetensors").tensors, CPU)
    config = GanLeakConfig(distance="lpips-alexnet", steps=30, starts=2)
    own = reconstruct(both, made[0], labels, config, stream(0, "starts"), metric)
    assert bool((own[0] > own[1] + 1).all())
    nearest = torch.diag(pairwise_lpips(metric, made[0], made[1])).float().log()
    assert bool((-own[1] <= nearest).all()), "the search ends at no greater distance than at the code itself"


def test_reference_takes_off_what_generators_without_the_record_reach():
    members = np.array([[True], [False], [False]])
    fit = np.array([9.0, 1.0, 3.0], dtype=np.float32).reshape(3, 1, 1)
    seen = Observations(fit_signals=fit, fit_members=members, test_signals=np.full((1, 1, 1), 5.0, dtype=np.float32))
    assert score_gan_leak(seen, GanLeakConfig(calibration="reference")) == pytest.approx(3.0)
    assert score_gan_leak(seen, GanLeakConfig(calibration="none")) == pytest.approx(5.0)


def test_copied_records_stand_out_in_density_and_distance():
    generator = stream(0, "density")
    records = generator.normal(size=(60, 6))
    copied = records[:10] + 0.01 * generator.normal(size=(10, 6))
    for ratios in (density_ratios(records, [copied]), nearest_ratios(records, [copied])):
        assert ratios[0, :10].mean() > ratios[0, 10:].mean() + 0.5


def test_a_record_moves_the_discriminator_of_its_own_shard_alone(small_pool):
    """The accounting counts on it, also where shards are empty: 3 of 4 here."""
    method, randomness = get_method("gs-wgan"), Randomness(seed=1, runs=(0,))
    config = GsWganConfig(
        shards=4, iterations=2, warm_up=3, critic_steps=1, width=4, generator="mlp", generator_width=2,
        batch_generated=4, learning_rate=0.1,
    )  # fmt: skip
    first, *_ = shard_members(np.ones((1, small_pool.num_records), dtype=bool), 4, randomness)
    found = []
    for number in (2, 3):
        members = torch.zeros(1, small_pool.num_records, dtype=torch.bool)
        members[0, np.flatnonzero(first)[:number]] = True
        door = Door(small_pool, members, class_sizes=(12.0,) * 3, randomness=randomness)
        condense_through(door, method, small_pool, config, randomness=randomness)
        found.append({name: value for name, value in door._Door__learners.items() if name.startswith("D.")})
    for name, value in found[0].items():
        torch.testing.assert_close(found[1][name][1:], value[1:], rtol=0, atol=1e-4, msg=name)
    assert (found[1]["D.first.weight"][0] - found[0]["D.first.weight"][0]).abs().max() > 0.1


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_dp_cgan_is_kept_in_checkpoints_under_every_optimiser(optimiser, small_pool, small_members, tmp_path):
    """A file of tensors takes none that share memory, as two moments do that nothing moves."""
    method, randomness = get_method("dp-cgan"), Randomness(seed=1, runs=tuple(range(5)))
    config = method.config(
        iterations=2, batch=4, batch_generated=4, width=4, generator_width=4, latent=2, optimiser=optimiser
    )
    tracker = Tracker(digest="", place=lambda loop: tmp_path / loop, report=lambda _: None, stages={"condense": 1.0})
    condense_runs(
        method, small_pool, small_members, config, class_sizes=(12.0,) * 3, randomness=randomness, track=tracker.track
    )
    assert (tmp_path / "condense").exists()


def test_gradients_on_generated_images_in_parts_against_all_at_once(monkeypatch):
    """At the published sizes those of one run take 245 MB."""
    judges = [draw_discriminator((1, 4, 4), 2, 8, stream(0, "judge", run), CPU) for run in range(5)]
    judge = {name: torch.stack([each[name] for each in judges]) for name in judges[0]}
    fake = torch.randn(5, 7, 18, generator=torch.Generator().manual_seed(0))
    whole = mean_on_fake(judge, fake, 0.5)
    monkeypatch.setattr(dp_cgan, "CHUNK_BYTES", 2 * 4 * 7 * whole.shape[1])
    sizes = []
    each = dp_cgan.gradients_of_each
    monkeypatch.setattr(
        dp_cgan, "gradients_of_each", lambda own, part, **rest: sizes.append(len(part)) or each(own, part, **rest)
    )
    torch.testing.assert_close(mean_on_fake(judge, fake, 0.5), whole)
    assert sizes == [2, 2, 1]


def test_psg_without_noise_claims_nothing(small_pool, small_members):
    config = PsgConfig(
        ipc=1, iterations=2, outer=1, batches=1, inner=1, batch=4, width=4, depth=1, noise_multiplier=0.0
    )
    randomness = Randomness(seed=1, runs=tuple(range(5)))
    _, ledger = condense_runs(
        get_method("psg"), small_pool, small_members, config, class_sizes=(12.0,) * 3, randomness=randomness
    )
    assert ledger.entries == get_method("psg").plan(config, (12.0,) * 3)
    assert not claims_anything(ledger.entries)


@pytest.mark.parametrize("method", ["dm", "psg"])
def test_official_normalisation_gives_back_the_pools_numbers(method, digits):
    """Standard normal noise around the official mean, in the pool's numbers, before a step has moved it far."""
    from dataclasses import replace

    pool = replace(digits, name="mnist")
    small = {"iterations": 1, "width": 4, "depth": 1, "learning_rate": 1e-9, "normalisation": "official"}
    chosen = get_method(method)
    config = chosen.config(**small, **({"outer": 1, "inner": 1, "batches": 1} if method == "psg" else {}), ipc=20)
    batch, _ = condense_runs(
        chosen, pool, torch.ones(1, pool.num_records, dtype=torch.bool), config, class_sizes=(170.0,) * 10,
        randomness=Randomness(seed=0, runs=(0,)),
    )  # fmt: skip
    assert batch.images.mean().item() == pytest.approx(2 * 0.1307 - 1, abs=0.03)
    assert batch.images.std().item() == pytest.approx(2 * 0.3081, abs=0.03)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DpMerfConfig(generator="transformer"), "generator="),
        (lambda: DpMerfConfig(init="real"), "--init real"),
        (lambda: DpMerfConfig(adjacency="swap"), "adjacency="),
        (lambda: DpMerfConfig(length_scale=-1.0), "length_scale="),
        (lambda: DpMerfConfig(length_scale=float("nan")), "length_scale="),
        (lambda: Generator(input_shape=(14,), num_classes=2, latent=2, width=4), "do not fit records of a table"),
        (lambda: GsWganConfig(accounting="none"), "accounting="),
        (lambda: get_method("gs-wgan").plan(GsWganConfig(shards=5000), (90.0,) * 10), "cannot be divided"),
        (lambda: get_method("gs-wgan").plan(GsWganConfig(shards=1), (90.0,) * 10), "choose 2…900"),
        (lambda: DpHpConfig(epochs=20, iterations=10), "epochs="),
        (lambda: GanLeakConfig(distance="psnr"), "distance="),
        (
            lambda: resolve_experiment(WorstCase(method="dp-cgan", shape="5", settings={"generator": "dcgan"})),
            "do not fit records of a table",
        ),
        (lambda: resolve_experiment(WorstCase(method="gs-wgan", settings={"shards": "21"})), "shards=21: 20 records"),
        (
            lambda: resolve_experiment(WorstCase(method="dp-merf", epsilon=1e5)),
            r"--epsilon 100000.0: must lie in \[0.001, 500\]",
        ),
        (
            lambda: resolve_experiment(WorstCase(method="dp-merf", epsilon=1e-9, delta=1e-12)),
            r"--epsilon 1e-09: must lie in \[0.001, 500\]",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_line(make, said):
    with pytest.raises((BadConfig, BadInput), match=said) as error:
        make()
    assert "\n" not in str(error.value)
