"""DP-SGD against Opacus, and against the victims whose place its networks take."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from conftest import released
from opacus import GradSampleModule
from opacus.accountants import RDPAccountant
from opacus.optimizers import DPOptimizer
from torch import nn

from attacks.victims import PRESETS, VictimConfig, victim_network
from audit.accounting.epsilon import epsilon_rdp
from audit.accounting.ledger import ledger_event
from condensers.dpsgd import DpsgdConfig
from condensers.errors import BadConfig
from condensers.gradient_matching import flatten_gradients
from condensers.mechanism import Door
from condensers.networks import Network, classify, fitting_network
from condensers.pool import CondensedBatch
from condensers.randomness import Randomness
from condensers.registry import condense_runs, get_method

RUNS = tuple(range(5))
SIZES = (12.0, 12.0, 12.0)
NETWORK = Network(kind="convnet", input_shape=(3, 12, 12), num_classes=3, width=4, depth=2)
SMALL = DpsgdConfig(
    iterations=4, batch=9, clip=3.4, noise_multiplier=1e-9, learning_rate=0.3, momentum=0.9, width=4, depth=2
)
# The first layer's input, the images, needs no gradient.
# Of Opacus, which is the oracle here; the second is of its oldest version that is allowed.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning"),
    pytest.mark.filterwarnings("ignore:Using a non-full backward hook:FutureWarning"),
]


def train(pool, members, config, *, runs=RUNS, seed=1, listeners=()):
    randomness = Randomness(seed=seed, runs=runs)
    method = get_method("dpsgd")
    return condense_runs(method, pool, members, config, class_sizes=SIZES, randomness=randomness, listeners=listeners)


def first_networks(pool, members):
    door = Door(pool, members, class_sizes=SIZES, randomness=Randomness(seed=1, runs=RUNS))
    return door.draw_networks(NETWORK)


def sampled(members, run, step):
    """The records of a run's sample, by the coins of its private stream."""
    coins = Randomness(seed=1, runs=RUNS).private(run, "door", step).random(72)
    return (members[run] & torch.from_numpy(coins < SMALL.batch / 36)).nonzero().flatten()


def as_module(parameters, run):
    """The network of a run in torch's own modules."""
    module = nn.Sequential()
    for block, channels in enumerate((3, 4)):
        module.add_module(f"conv{block}", nn.Conv2d(channels, 4, 3, padding=1))
        module.add_module(f"norm{block}", nn.GroupNorm(4, 4))
        module.add_module(f"relu{block}", nn.ReLU())
        module.add_module(f"pool{block}", nn.AvgPool2d(2))
    module.add_module("flatten", nn.Flatten())
    module.add_module("head", nn.Linear(36, 3))
    module.load_state_dict({name: value[run] for name, value in parameters.items()})
    return module


def opacus_of(parameters, run):
    module = GradSampleModule(as_module(parameters, run))
    optimiser = DPOptimizer(
        torch.optim.SGD(module.parameters(), lr=SMALL.learning_rate, momentum=SMALL.momentum),
        noise_multiplier=0.0,
        max_grad_norm=SMALL.clip,
        expected_batch_size=SMALL.batch,
    )
    return module, optimiser


def weights_of(module, attribute=None):
    found = {
        name.removeprefix("_module."): value if attribute is None else getattr(value, attribute)
        for name, value in module.named_parameters()
    }
    return flatten_gradients({name: value.detach().unsqueeze(0) for name, value in found.items()})[0]


def test_sum_of_clipped_gradients_against_opacus(small_pool, small_members):
    heard = []
    train(small_pool, small_members, dataclasses.replace(SMALL, iterations=1), listeners=[heard.append])
    start = first_networks(small_pool, small_members)
    clipped = total = 0
    for run in RUNS:
        chosen = sampled(small_members, run, 0)
        module, optimiser = opacus_of(start, run)
        F.cross_entropy(module(small_pool.images[chosen]), small_pool.labels[chosen]).backward()
        norms = torch.stack([p.grad_sample.flatten(1).norm(dim=1) for p in module.parameters()]).norm(dim=0)
        clipped, total = clipped + int((norms > SMALL.clip).sum()), total + len(norms)
        optimiser.pre_step()
        torch.testing.assert_close(heard[0].sums[run, 0], weights_of(module, "summed_grad"), rtol=1e-5, atol=1e-5)
    assert 0.2 < clipped / total < 0.8


def test_training_against_opacus(small_pool, small_members):
    """The same samples, no noise: after four steps with momentum the same network."""
    batch, _ = train(small_pool, small_members, SMALL)
    start = first_networks(small_pool, small_members)
    for run in RUNS:
        module, optimiser = opacus_of(start, run)
        for step in range(SMALL.iterations):
            chosen = sampled(small_members, run, step)
            optimiser.zero_grad()
            F.cross_entropy(module(small_pool.images[chosen]), small_pool.labels[chosen]).backward()
            optimiser.step()
        torch.testing.assert_close(released(batch)[run], weights_of(module), rtol=1e-4, atol=1e-5)
        own = {name: value[run : run + 1] for name, value in batch.networks.parameters.items()}
        logits = classify(batch.networks.network, own, small_pool.images[None])[0]
        torch.testing.assert_close(logits, module(small_pool.images).detach(), rtol=1e-4, atol=1e-4)


def test_noise_against_its_stream(small_pool, small_members):
    """Nobody is in: the step is noise of σC over L."""
    config = dataclasses.replace(SMALL, iterations=1, noise_multiplier=2.0)
    batch, _ = train(small_pool, torch.zeros_like(small_members), config)
    start = flatten_gradients(first_networks(small_pool, small_members))
    for run in RUNS:
        private = Randomness(seed=1, runs=RUNS).private(run, "door", 0)
        private.random(72)
        noise = torch.from_numpy(private.standard_normal(start.shape[1], dtype="float32"))
        expected = start[run] - SMALL.learning_rate * 2.0 * SMALL.clip * noise / SMALL.batch
        torch.testing.assert_close(released(batch)[run], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("noise", [1.5, 4.0])
def test_ledger_of_what_ran_against_opacus(small_pool, small_members, noise):
    config = dataclasses.replace(SMALL, iterations=30, noise_multiplier=noise)
    _, ledger = train(small_pool, small_members, config)
    accountant = RDPAccountant()
    for _ in range(30):
        accountant.step(noise_multiplier=noise, sample_rate=SMALL.batch / 36)
    whole = list(
        range(2, 64)
    )  # orders: of fractional ones dp-accounting takes an upper bound (audit/accounting/renyi.py)
    found = epsilon_rdp(ledger_event(ledger.entries), 1e-5, orders=whole)
    assert found == pytest.approx(accountant.get_epsilon(1e-5, alphas=whole), rel=1e-6)


@pytest.mark.parametrize("preset", ["quick", "paper"])
@pytest.mark.parametrize("table", [False, True], ids=["images", "table"])
def test_network_is_that_of_the_victims_of_other_methods(small_pool, preset, table):
    pool = dataclasses.replace(small_pool, images=small_pool.images.flatten(1)[:, :14]) if table else small_pool
    config = DpsgdConfig(**get_method("dpsgd").presets[preset])
    network = fitting_network(tuple(pool.images.shape[1:]), 3, kind=config.kind, width=config.width, depth=config.depth)
    assert network == victim_network(pool, VictimConfig(**PRESETS[preset]))


def test_every_run_starts_from_a_network_of_its_own(small_pool, small_members):
    start = flatten_gradients(first_networks(small_pool, small_members))
    assert len(torch.unique(start, dim=0)) == 5


def test_groups_of_runs_joined_against_all_at_once(small_pool, small_members):
    whole, _ = train(small_pool, small_members, SMALL)
    parts = [train(small_pool, small_members[run : run + 1], SMALL, runs=(run,))[0] for run in RUNS]
    torch.testing.assert_close(released(CondensedBatch.joined(parts)), released(whole), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("declared", ["set", "network"])
def test_a_method_that_releases_what_it_did_not_declare_is_refused(small_pool, small_members, declared):
    name = {"set": "dpsgd", "network": "ldpdc"}[declared]
    method = dataclasses.replace(get_method(name), releases=declared)
    config = SMALL if name == "dpsgd" else method.config(ipc=1, batch=4)
    with pytest.raises(BadConfig, match=f"{name} must release a {declared}"):
        condense_runs(
            method, small_pool, small_members, config, class_sizes=SIZES, randomness=Randomness(seed=1, runs=RUNS)
        )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier=0"),
        ({"batch": 0}, "batch=0"),
        ({"iterations": 0}, "iterations=0"),
        ({"clip": 0.0}, "clip=0"),
        ({"learning_rate": -1.0}, "learning_rate=-1"),
        ({"momentum": 1.0}, "momentum=1"),
        ({"kind": "vgg"}, "kind='vgg'"),
    ],
    ids=str,
)
def test_impossible_settings_of_dpsgd_are_refused(change, said):
    with pytest.raises(BadConfig, match=said):
        DpsgdConfig(**change)
