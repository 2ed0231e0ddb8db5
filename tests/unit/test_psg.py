"""PSG and Dyn-PSG against plain loops: one run, one record at a time."""

import dataclasses
import gc
import math

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call, grad

from condensers.dyn_psg import DynPsgConfig
from condensers.errors import BadConfig
from condensers.generator import Generator, adam_step, draw_codes, draw_generator, generate
from condensers.ledger import EVERYBODY, Event, Ledger, Poisson
from condensers.mechanism import Door, Request
from condensers.networks import Network, classify, draw_parameters
from condensers.psg import PsgConfig, record_gradients
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, get_method

CPU = torch.device("cpu")
RUNS = tuple(range(5))
SIZES = (12.0, 12.0, 12.0)
NETWORK = Network(kind="convnet", input_shape=(3, 12, 12), num_classes=3, width=4, depth=2)
SMALL = {"ipc": 2, "iterations": 2, "outer": 2, "batches": 2, "inner": 3, "batch": 9, "width": 4, "depth": 2}


def condense(name, pool, members, config, listeners=()):
    randomness = Randomness(seed=1, runs=RUNS)
    method = get_method(name)
    return condense_runs(method, pool, members, config, class_sizes=SIZES, randomness=randomness, listeners=listeners)


def naive_gradient(parameters, image, label):
    """torch.func's gradient of one record under one network without an axis of networks, as a flat vector."""

    def loss(own):
        logits = classify(NETWORK, {name: value.unsqueeze(0) for name, value in own.items()}, image[None, None])[0]
        return F.cross_entropy(logits, label[None])

    found = grad(loss)(parameters)
    return torch.cat([found[name].flatten() for name in sorted(found)])


def networks_of_runs():
    return draw_parameters(NETWORK, [stream(5, "network", run) for run in RUNS], CPU)


def test_record_gradients_against_torch_func_of_one_run_at_a_time(small_pool):
    images, labels = small_pool.images[::9], small_pool.labels[::9]
    stacked = networks_of_runs()
    apart = record_gradients(images.expand(5, *images.shape), labels.expand(5, -1), network=NETWORK, parameters=stacked)
    for run in RUNS:
        own = {name: value[run] for name, value in stacked.items()}
        expected = torch.stack([naive_gradient(own, *record) for record in zip(images, labels, strict=True)])
        torch.testing.assert_close(apart[run], expected, rtol=1e-5, atol=1e-5)
        shared = record_gradients(
            images, labels, network=NETWORK, parameters={name: value[None] for name, value in own.items()}
        )
        torch.testing.assert_close(shared, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("chunk", [None, 3])
def test_release_with_a_network_per_run_against_naive(small_pool, small_members, chunk):
    stacked, clip, rate = networks_of_runs(), 0.8, 0.3
    door = Door(small_pool, small_members, class_sizes=SIZES, randomness=Randomness(seed=1, runs=RUNS))
    request = Request(
        group=EVERYBODY,
        sampling=Poisson(rate=rate),
        vectors=lambda images, labels: record_gradients(images, labels, network=NETWORK, parameters=stacked),
    )
    dim = sum(value[0].numel() for value in stacked.values())
    sums = door.release([request], dim=dim, clip=clip, noise_multiplier=1e-9, per_run=True, chunk=chunk)[:, 0]
    for run in RUNS:
        coins = Randomness(seed=1, runs=RUNS).private(run, "door", 0).random(72)
        expected = torch.zeros(dim)
        for record in range(72):
            if small_members[run, record] and coins[record] < rate:
                own = {name: value[run] for name, value in stacked.items()}
                vector = naive_gradient(own, small_pool.images[record], small_pool.labels[record])
                expected += vector * min(1.0, clip / float(vector.norm()))
        torch.testing.assert_close(sums[run], expected, rtol=1e-5, atol=1e-5)


def cosine_distance(first, second):
    total = torch.zeros(())
    for name in first:
        if first[name].ndim > 1:
            rows = zip(first[name].flatten(1), second[name].flatten(1), strict=True)
            total = total + sum(1 - a @ b / (a.norm() * b.norm() + 1e-6) for a, b in rows)
    return total


@pytest.mark.parametrize(("name", "sigma"), [("psg", 0.3), ("dyn-psg", 0.3), ("psg", 0.0)])
def test_method_against_its_algorithm(name, sigma, small_pool, small_members):
    """Every line of Algorithm 2 (Algorithm 1 of Dyn-PSG) for one run: sample, clip, noise, match, train.

    Without noise, the mean gradient of the sample, unclipped (main.py of the released code).
    """
    extra = {"clip": 3.0, "decay": 0.2} if name == "dyn-psg" else {"clip": 0.5}
    config = get_method(name).config(**SMALL, noise_multiplier=sigma, network_learning_rate=0.1, **extra)
    batch, _ = condense(name, small_pool, small_members, config)
    public, run = Randomness(seed=1, runs=RUNS), 3
    images = torch.from_numpy(public.public("initial images").standard_normal((6, 3, 12, 12), dtype="float32"))
    labels, velocity, index = torch.tensor([0, 0, 1, 1, 2, 2]), torch.zeros_like(images), 0

    def of_set(own, chosen):
        logits = classify(NETWORK, {key: value.unsqueeze(0) for key, value in own.items()}, chosen.unsqueeze(0))[0]
        return F.cross_entropy(logits, labels)

    for number in range(2):
        drawn = draw_parameters(NETWORK, [public.public("network", number)], CPU)
        theta = {key: value[0] for key, value in drawn.items()}
        dim = sum(value.numel() for value in theta.values())
        for outer in (1, 2):
            clip = (config.clip * (1 - 0.2 * outer) if name == "dyn-psg" else config.clip) if sigma else math.inf
            for _ in range(2):
                private = public.private(run, "door", index)
                coins, noise = private.random(72), torch.from_numpy(private.standard_normal(dim, dtype="float32"))
                index += 1
                clipped = [
                    vector * min(1.0, clip / float(vector.norm()))
                    for record in range(72)
                    if small_members[run, record] and coins[record] < 9 / 36
                    for vector in [naive_gradient(theta, small_pool.images[record], small_pool.labels[record])]
                ]
                scale = max(float(vector.norm()) for vector in clipped) if name == "dyn-psg" else clip
                flat = (sum(clipped) + (sigma * scale * noise if sigma else 0)) / (9 if sigma else len(clipped))
                parts = flat.split([theta[key].numel() for key in sorted(theta)])
                real = {key: part.view_as(theta[key]) for key, part in zip(sorted(theta), parts, strict=True)}
                leaf = images.clone().requires_grad_()
                own = {key: value.clone().requires_grad_() for key, value in theta.items()}
                found = torch.autograd.grad(of_set(own, leaf), list(own.values()), create_graph=True)
                cosine_distance(real, dict(zip(own, found, strict=True))).backward()
                velocity = 0.5 * velocity + leaf.grad
                images = images - 0.1 * velocity
            for _ in range(3):
                own = {key: value.clone().requires_grad_() for key, value in theta.items()}
                found = dict(zip(own, torch.autograd.grad(of_set(own, images), list(own.values())), strict=True))
                theta = {key: value - 0.1 * found[key] for key, value in theta.items()}
    torch.testing.assert_close(batch.images[run], images, rtol=1e-3, atol=1e-4)


class Dcgan(torch.nn.Module):
    """The released generator in torch's own modules, one run at a time."""

    def __init__(self, shape):
        super().__init__()
        self.shape, width = shape, shape.width
        channels = (4 * width, 2 * width, width, 3)
        self.first = torch.nn.Linear(shape.num_codes, math.prod(shape.first_shape))
        for block, kernel in enumerate(shape.kernels):
            up = torch.nn.ConvTranspose2d(*channels[block : block + 2], kernel, stride=2 if block == 2 else 1)
            setattr(self, f"up{block}", up)

    def forward(self, codes):
        def norm(x):
            return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-8)

        height, width = self.shape.cropped
        x = norm(self.first(codes).view(len(codes), *self.shape.first_shape).relu())
        x = norm(self.up0(x)[:, :, :height, :width].relu())
        return self.up2(norm(self.up1(x).relu()))


@pytest.mark.parametrize(("height", "width"), [(12, 8), (9, 10), (28, 28), (32, 20)])
def test_generator_against_torch_modules(height, width):
    shape = Generator(input_shape=(3, height, width), num_classes=4, latent=10, width=5, squashed=False)
    codes = draw_codes(shape, torch.arange(4).repeat_interleave(2), stream(0, "codes"))
    drawn = [draw_generator(shape, stream(0, "generator", run), CPU) for run in range(3)]
    stacked = {name: torch.cat([each[name] for each in drawn]) for name in drawn[0]}
    images = generate(shape, stacked, codes)
    assert images.shape == (3, 8, 3, height, width)
    module = Dcgan(shape)
    for run, each in enumerate(drawn):
        own = {name: value[0] for name, value in each.items()}
        own["first.weight"] = own["first.weight"].T
        expected = functional_call(module, own, (codes,))[..., :height, :width]
        torch.testing.assert_close(images[run], expected, rtol=1e-4, atol=1e-5)


def test_generator_of_28_pixels_against_the_released_code():
    shape = Generator(input_shape=(1, 28, 28), num_classes=10, latent=10, width=64)
    assert (shape.first_shape, shape.cropped, shape.kernels) == ((256, 4, 4), (7, 7), (5, 5, 8))


def test_adam_against_torch():
    generator = stream(0, "adam")
    weights = {"w": torch.from_numpy(generator.normal(size=(3, 4)))}
    leaf = weights["w"].clone().requires_grad_()
    optimiser = torch.optim.Adam([leaf], lr=0.01)
    first = second = {"w": torch.zeros(3, 4, dtype=torch.float64)}
    for step in range(1, 6):
        gradient = torch.from_numpy(generator.normal(size=(3, 4)))
        weights, first, second = adam_step(weights, first, second, {"w": gradient}, step=step, learning_rate=0.01)
        leaf.grad = gradient
        optimiser.step()
        torch.testing.assert_close(weights["w"], leaf.detach())


def test_generator_prior_trains_weights_and_keeps_its_codes(small_pool, small_members):
    config = PsgConfig(**SMALL, prior="generator", generator_width=3, noise_multiplier=0.5)
    heard: list[torch.Tensor] = []
    batch, ledger = condense("psg", small_pool, small_members, config, [lambda release: heard.append(release.sums)])
    assert ledger.entries == get_method("psg").plan(config, SIZES)
    assert len(torch.unique(batch.images.flatten(1), dim=0)) == 5
    alone, _ = condense_runs(
        get_method("psg"), small_pool, small_members[2:3], config, class_sizes=SIZES,
        randomness=Randomness(seed=1, runs=(2,)),
    )  # fmt: skip
    torch.testing.assert_close(alone.images[0], batch.images[2], rtol=1e-3, atol=1e-3)
    shape = Generator(input_shape=(3, 12, 12), num_classes=3, latent=10, width=3, squashed=False)
    public = Randomness(seed=1, runs=RUNS)
    codes = draw_codes(shape, batch.labels[0], public.public("generator codes"))
    start = generate(shape, draw_generator(shape, public.public("generator"), CPU), codes)
    # Adam's first step moves every weight by the learning rate, later ones by less or as much: 8 steps of 0.01.
    assert 1e-3 < float((batch.images - start).abs().max()) < 1


def test_interrupted_generator_goes_on_from_its_state(small_pool, small_members):
    config = PsgConfig(**SMALL, prior="generator", generator_width=3)
    expected, _ = condense("psg", small_pool, small_members, config)
    kept = {}

    def stopping(_name, _total, state):
        yield from range(3)
        kept.update({key: value.clone() for key, value in state.items()})

    def resuming(_name, total, state):
        state.update(kept)
        return iter(range(3, total))

    for track in (stopping, resuming):
        found, _ = condense_runs(
            get_method("psg"), small_pool, small_members, config, class_sizes=SIZES,
            randomness=Randomness(seed=1, runs=RUNS), track=track,
        )  # fmt: skip
    assert torch.equal(found.images, expected.images)


@pytest.mark.parametrize(
    ("ipc", "schedule"), [(1, (1, 1)), (5, (1, 1)), (10, (10, 50)), (20, (20, 25)), (60, (50, 10))]
)
def test_schedule_against_paper(ipc, schedule):
    config = PsgConfig(ipc=ipc)
    assert (config.num_outer, config.num_inner) == schedule
    assert PsgConfig(ipc=ipc, outer=3, inner=2).num_outer == 3


@pytest.mark.parametrize("name", ["psg", "dyn-psg"])
def test_as_published_makes_one_round_more_than_it_accounts(name, small_pool, small_members):
    method = get_method(name)
    config = method.config(**SMALL, as_published=True)
    accounted: list[bool] = []
    _, ledger = condense(name, small_pool, small_members, config, [lambda release: accounted.append(release.accounted)])
    assert accounted == [True] * 8 + [False] * 4
    assert ledger.num_releases == 12
    assert {event.accounted: count for event, count in ledger.entries} == {True: 8, False: 4}
    assert ledger.entries == tuple(sorted(method.plan(config, SIZES), key=repr))
    assert Ledger.from_tensor(ledger.to_tensor()).entries == ledger.entries


def test_noise_by_the_batch_is_marked_and_nothing_is_released_of_an_empty_sample(small_pool, small_members):
    heard = []
    config = DynPsgConfig(**SMALL, noise_multiplier=1.0)
    nobody = torch.zeros_like(small_members)
    _, ledger = condense("dyn-psg", small_pool, nobody, config, [heard.append])
    assert all(float(release.sums.abs().max()) == 0.0 for release in heard)
    assert {release.noise_by for release in heard} == {"batch-max"}
    assert {event.noise_by for event, _ in ledger.entries} == {"batch-max"}
    assert [release.clip for release in heard] == pytest.approx([8 * 0.95, 8 * 0.95, 8 * 0.9, 8 * 0.9] * 2)


@pytest.mark.parametrize("per_run", [False, True])
def test_noise_by_the_batch_against_theory(small_pool, per_run):
    """The spread of the noise is σ times the largest clipped norm of each run's own sample."""
    members = torch.zeros(5, 72, dtype=torch.bool)
    for run in RUNS:
        members[run, : run + 1] = True
    lengths = torch.linspace(0.2, 2.0, 72)

    def vectors(images, labels):
        places = (images.flatten(labels.ndim)[..., None, :] - small_pool.images.flatten(1)).abs().sum(-1).argmin(-1)
        return torch.zeros(*labels.shape, 20000).index_fill(-1, torch.tensor([0]), 1.0) * lengths[places].unsqueeze(-1)

    door = Door(small_pool, members, class_sizes=SIZES, randomness=Randomness(seed=2, runs=RUNS))
    request = Request(group=EVERYBODY, sampling=Poisson(rate=1.0), vectors=vectors)
    sums = door.release(
        [request], dim=20000, clip=0.25, noise_multiplier=2.0, per_run=per_run, noise_by="batch-max"
    )[:, 0]  # fmt: skip
    expected = 2.0 * torch.minimum(lengths[:5], torch.tensor(0.25))
    torch.testing.assert_close(sums[:, 1:].std(1), expected, rtol=0.03, atol=0)


@pytest.mark.parametrize("prior", ["none", "generator"])
def test_memory_does_not_grow_with_the_number_of_releases(small_pool, small_members, prior):
    """At the same place of the second and of the fifth round, of four releases each."""
    held = []

    def count_numbers(release):
        if release.index in (6, 18):
            gc.collect()
            alive = (found for found in gc.get_objects() if type(found) is torch.Tensor)
            held.append(sum(found.numel() for found in alive if found.is_floating_point()))

    config = PsgConfig(**{**SMALL, "iterations": 5}, prior=prior, generator_width=3)
    condense("psg", small_pool, small_members, config, [count_numbers])
    assert held[0] >= held[1] > 0  # what other tests left behind may be freed in between


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        (PsgConfig, {"init": "real"}, "are not differentially private"),
        (PsgConfig, {"noise_multiplier": -1.0}, "noise_multiplier=-1"),
        (PsgConfig, {"iterations": 0}, "iterations=0"),
        (PsgConfig, {"outer": -1}, "outer=-1"),
        (PsgConfig, {"clip": 0.0}, "clip=0"),
        (PsgConfig, {"momentum": 1.0}, "momentum=1"),
        (PsgConfig, {"prior": "vae"}, "prior='vae'"),
        (PsgConfig, {"extractor": "vgg"}, "extractor='vgg'"),
        (DynPsgConfig, {"decay": 0.1}, "decay=0.1"),
        (DynPsgConfig, {"decay": -0.1}, "decay=-0.1"),
    ],
    ids=str,
)
def test_impossible_settings_of_psg_are_refused(kind, change, said):
    with pytest.raises(BadConfig, match=said):
        kind(**change)


def test_a_pool_smaller_than_the_batch_is_refused(small_pool, small_members):
    with pytest.raises(BadConfig, match=r"batch=37: must lie in 1…36, since the whole set has 36 records"):
        condense("psg", small_pool, small_members, PsgConfig(**{**SMALL, "batch": 37}))


def test_a_generator_of_tables_is_refused(small_pool, small_members):
    table = dataclasses.replace(small_pool, images=small_pool.images.flatten(1)[:, :14])
    config = PsgConfig(**SMALL, extractor="linear", prior="generator")
    with pytest.raises(BadConfig, match="prior=generator"):
        condense("psg", table, small_members, config)


@pytest.mark.parametrize("change", [{"noise_by": "wishes"}, {"noise_multiplier": 0.0}], ids=str)
def test_impossible_events_are_refused(change):
    with pytest.raises(BadConfig):
        Event(**{"group": EVERYBODY, "sampling": Poisson(rate=0.5), "noise_multiplier": 1.0, **change})
