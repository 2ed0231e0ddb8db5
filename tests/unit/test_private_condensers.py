from math import sqrt

import numpy as np
import pytest
import torch

from condensers.augment import augment, draw_augmentation, parse_strategy
from condensers.dpmix import DpmixConfig
from condensers.errors import BadConfig
from condensers.ldpdc import LdpdcConfig
from condensers.ledger import FixedSize
from condensers.ndpdc import NdpdcConfig
from condensers.networks import Network, draw_parameters, embed
from condensers.pool import Pool
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, get_method

RUNS = tuple(range(5))
SIZES = (12.0, 12.0, 12.0)


def condense(name, pool, members, config, runs=RUNS, listeners=()):
    randomness = Randomness(seed=1, runs=runs)
    method = get_method(name)
    return condense_runs(method, pool, members, config, class_sizes=SIZES, randomness=randomness, listeners=listeners)


def sampled(pool, members, run, label, index, rate):
    """The records of one run's sample at one release, by the plainest reading."""
    randomness = Randomness(seed=1, runs=RUNS)
    records = pool.class_slices[label]
    coins = randomness.private(run, "door", index).random(pool.num_records)[records]
    chosen = [r for r, coin in zip(range(records.start, records.stop), coins, strict=True) if coin < rate]
    return [r for r in chosen if members[run, r]]


def noise_of(run, index, shape):
    generator = Randomness(seed=1, runs=RUNS).private(run, "door", index)
    generator.random(72)
    return torch.from_numpy(generator.standard_normal(shape, dtype="float32"))


def test_ldpdc_against_algorithm_1(small_pool, small_members):
    config = LdpdcConfig(ipc=2, batch=5, noise_multiplier=0.3)
    batch, ledger = condense("ldpdc", small_pool, small_members, config)
    assert batch.images.shape == (5, 6, 3, 12, 12)
    for run in RUNS:
        for image in range(2):
            noise = noise_of(run, image, (3, 432)) * 0.3 * sqrt(432)
            for label in range(3):
                records = sampled(small_pool, small_members, run, label, image, 5 / 12)
                total = noise[label] + sum((small_pool.images[r].flatten() for r in records), torch.zeros(432))
                torch.testing.assert_close(
                    batch.images[run, 2 * label + image].flatten(), total / 5, rtol=1e-4, atol=1e-4
                )
    assert sum(count for _, count in ledger.entries) == 6


def test_ndpdc_against_algorithm_2(small_pool, small_members):
    """Two steps of one run at a time, autograd through the whole loss as it is printed."""
    config = NdpdcConfig(
        ipc=3, batch=6, iterations=2, width=8, depth=2, clip=0.7, noise_multiplier=0.4, learning_rate=0.2
    )
    batch, _ = condense("ndpdc", small_pool, small_members, config)
    public = Randomness(seed=1, runs=RUNS)
    network = Network(kind="convnet", input_shape=(3, 12, 12), num_classes=3, width=8, depth=2)
    operations = parse_strategy(config.augmentation)

    def clipped(x):
        return x * torch.minimum(torch.ones(()), 0.7 / x.norm(dim=1, keepdim=True))

    start = torch.from_numpy(public.public("initial images").standard_normal((9, 3, 12, 12), dtype="float32"))
    for run in RUNS:
        images, velocity = start.clone(), torch.zeros_like(start)
        for step in range(2):
            parameters = draw_parameters(network, [public.public("network", step)], torch.device("cpu"))
            noise = noise_of(run, step, (3, network.num_features)) * 0.4 * 0.7
            leaf, loss = images.clone().requires_grad_(), torch.zeros(())
            for label in range(3):
                drawn = draw_augmentation(operations, public.public("augmentation", step, label))
                features = lambda x, d=drawn, p=parameters: embed(network, p, augment(x, d).unsqueeze(0))[0]  # noqa: E731
                records = sampled(small_pool, small_members, run, label, step, 6 / 12)
                real = clipped(features(small_pool.images[records])).sum(0) if records else 0.0
                synthetic = clipped(features(leaf[3 * label : 3 * label + 3])).sum(0)
                loss = loss + (6 / 3 * synthetic - (noise[label] + real)).square().sum()
            loss.backward()
            velocity = 0.5 * velocity + leaf.grad
            images = images - 0.2 * velocity
        torch.testing.assert_close(batch.images[run], images, rtol=1e-3, atol=1e-3)


def test_dpmix_against_its_definition(small_pool, small_members):
    """Image and label of every mixture, record by record; 4 of 36 nominal records are 8 of the 72 places."""
    config = DpmixConfig(ipc=1, batch=4, noise_multiplier=0.01)
    batch, ledger = condense("dpmix", small_pool, small_members, config)
    assert batch.labels.shape == (5, 3, 3)
    for run in RUNS:
        for step in range(3):
            coins = Randomness(seed=1, runs=RUNS).private(run, "door", step).random(72)
            records = [r for r in np.argsort(coins)[:8] if small_members[run, r]]
            noise = noise_of(run, step, (435,)) * 0.01 * 2 * sqrt(2)
            image = sum((small_pool.images[r].flatten() for r in records), noise[:432] * sqrt(432))
            label = sum((torch.eye(3)[small_pool.labels[r]] for r in records), noise[432:].clone())
            torch.testing.assert_close(batch.images[run, step].flatten(), image / 4, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(batch.labels[run, step], label / 4, rtol=1e-4, atol=1e-4)
    assert ledger.entries[0][0].sampling == FixedSize(batch=4, population=36)


@pytest.mark.parametrize(
    ("config", "change", "said"),
    [
        (LdpdcConfig, {"init": "real"}, "are not differentially private"),
        (LdpdcConfig, {"noise_multiplier": 0.0}, "positive"),
        (LdpdcConfig, {"noise_multiplier": float("nan")}, "positive"),
        (LdpdcConfig, {"batch": 0}, "at least 1"),
        (NdpdcConfig, {"init": "real"}, "are not differentially private"),
        (NdpdcConfig, {"iterations": 0}, "at least 1"),
        (NdpdcConfig, {"clip": 0.0}, "positive"),
        (NdpdcConfig, {"momentum": 1.0}, "momentum"),
        (NdpdcConfig, {"extractor": "vgg"}, "vgg"),
    ],
    ids=str,
)
def test_impossible_settings_are_refused(config, change, said):
    with pytest.raises(BadConfig, match=said):
        config(**change)


def test_a_class_smaller_than_the_batch_is_refused(small_pool, small_members):
    with pytest.raises(BadConfig, match=r"batch=13: must lie in 1…12, since class 0"):
        condense("ldpdc", small_pool, small_members, LdpdcConfig(ipc=1, batch=13))


@pytest.mark.parametrize("name", ["ldpdc", "ndpdc", "dpmix", "psg", "dyn-psg"])
def test_tables_are_condensed_too(name):
    """Records of 14 features; NDPDC through a linear layer of 14×64 (section V-D of Zheng & Li)."""
    rows = torch.from_numpy(stream(0, "table").uniform(-1, 1, (60, 14)).astype("float32"))
    pool = Pool(name="table", images=rows, labels=torch.arange(60) // 20, num_classes=3)
    small = {"ipc": 2, "batch": 4, "iterations": 3, "extractor": "linear", "width": 64, "augmentation": "none"}
    kind = get_method(name).config
    config = kind(**{key: value for key, value in small.items() if key in kind.__dataclass_fields__})
    batch, ledger = condense(name, pool, torch.ones(5, 60, dtype=torch.bool), config)
    assert batch.images.shape == (5, 6, 14)
    assert batch.images.isfinite().all()
    assert ledger.entries == tuple(sorted(get_method(name).plan(config, SIZES), key=repr))
