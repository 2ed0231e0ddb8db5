from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from attacks.victims import (
    VictimConfig,
    check_queries,
    logit_confidence,
    numbers_of,
    query_victims,
    train_victims,
    victim_network,
)
from condensers.errors import BadConfig
from condensers.initial import balanced_labels
from condensers.networks import classify, draw_parameters
from condensers.normalisation import OFFICIAL, SYMMETRIC, normalise
from condensers.pool import CondensedBatch
from condensers.randomness import Randomness, stream
from condensers.registry import untracked

CPU = torch.device("cpu")


def synthetic_of(runs=3, ipc=2):
    images = torch.from_numpy(stream(0, "synthetic").standard_normal((runs, 3 * ipc, 3, 12, 12), dtype="float32"))
    none = torch.full((runs, 3 * ipc), -1)
    return CondensedBatch(images=images, labels=balanced_labels(3, ipc, runs, CPU), initial_records=none)


def test_all_runs_together_against_torch_optim(small_pool):
    config = VictimConfig(width=8, depth=2, epochs=6, augmentation="none")
    network = victim_network(small_pool, config)
    synthetic = synthetic_of()
    randomness = Randomness(seed=2, runs=(4, 5, 6))
    trained = train_victims(network, synthetic, config, randomness=randomness, track=untracked)
    for position in range(3):
        one = draw_parameters(network, [randomness.private(position, "victim network")], CPU)
        leaves = {name: value.clone().requires_grad_() for name, value in one.items()}
        optimiser = torch.optim.SGD(leaves.values(), lr=0.01, momentum=0.9, weight_decay=5e-4)
        for epoch in range(6):
            if epoch == 3:
                optimiser.param_groups[0]["lr"] = 0.001
            optimiser.zero_grad()
            logits = classify(network, leaves, synthetic.images[position : position + 1])[0]
            F.cross_entropy(logits, synthetic.labels[position]).backward()
            optimiser.step()
        for name, value in leaves.items():
            torch.testing.assert_close(trained[name][position], value.detach()[0], rtol=1e-3, atol=1e-5)


def test_official_numbers_against_images_brought_into_them_before(small_pool):
    """Training with crop and cutout fills with 0 in the numbers that networks see; shifted queries with black."""
    numbers = OFFICIAL["cifar10"]
    config = VictimConfig(width=4, depth=1, epochs=4, augmentation="crop_cutout", normalisation="official")
    network, synthetic, randomness = (
        victim_network(small_pool, config),
        synthetic_of(),
        Randomness(seed=2, runs=(0, 1, 2)),
    )
    assert numbers_of(config, "cifar10") == numbers
    assert numbers_of(replace(config, normalisation="half"), "cifar10") == numbers_of(config, "digits") == SYMMETRIC
    ours = train_victims(network, synthetic, config, randomness=randomness, track=untracked, numbers=numbers)
    before = replace(synthetic, images=torch.stack([normalise(images, numbers) for images in synthetic.images]))
    theirs = train_victims(network, before, config, randomness=randomness, track=untracked)
    half = train_victims(network, synthetic, config, randomness=randomness, track=untracked)
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], rtol=0, atol=0)
    assert not torch.allclose(ours["conv0.weight"], half["conv0.weight"])
    seen, _ = query_victims(network, ours, small_pool, 2, numbers)
    brought = replace(small_pool, images=normalise(small_pool.images, numbers))
    expected, _ = query_victims(network, ours, brought, 1)
    torch.testing.assert_close(seen[:, :, :1], expected, rtol=1e-5, atol=1e-6)
    black = replace(small_pool, images=torch.full_like(small_pool.images, -1.0))
    still, _ = query_victims(network, ours, black, 2, numbers)
    torch.testing.assert_close(still[..., 0], still[..., 1])


def test_minibatches_visit_every_image_once_an_epoch(small_pool):
    config = VictimConfig(width=4, depth=1, epochs=2, batch=4, augmentation="none")
    network = victim_network(small_pool, config)
    synthetic = synthetic_of(runs=2, ipc=2)
    randomness = Randomness(seed=2, runs=(0, 1))
    once = train_victims(network, synthetic, config, randomness=randomness, track=untracked)
    whole = VictimConfig(**{**vars(config), "batch": 256})
    other = train_victims(network, synthetic, whole, randomness=randomness, track=untracked)
    assert not torch.allclose(once["conv0.weight"], other["conv0.weight"])


def test_augmented_training_depends_on_the_run_only(small_pool):
    config = VictimConfig(width=4, depth=1, epochs=3, augmentation="color_crop_cutout_flip_scale_rotate")
    network = victim_network(small_pool, config)
    synthetic = synthetic_of()
    together = train_victims(network, synthetic, config, randomness=Randomness(seed=2, runs=(7, 8, 9)), track=untracked)
    alone = train_victims(
        network,
        CondensedBatch(
            images=synthetic.images[1:2], labels=synthetic.labels[1:2], initial_records=synthetic.initial_records[1:2]
        ),
        config,
        randomness=Randomness(seed=2, runs=(8,)),
        track=untracked,
    )
    for name in together:
        torch.testing.assert_close(together[name][1], alone[name][0], rtol=1e-3, atol=1e-5)


def test_logit_confidence_against_naive_softmax():
    logits = torch.from_numpy(stream(0, "logits").standard_normal((2, 5, 4))) * 3
    labels = torch.tensor([0, 1, 2, 3, 1])
    p = logits.softmax(-1)[:, torch.arange(5), labels]
    torch.testing.assert_close(logit_confidence(logits, labels), torch.log(p / (1 - p)))
    saturated = torch.tensor([[[200.0, 0.0]]])
    assert logit_confidence(saturated, torch.tensor([0])) == 200


def test_queries_see_each_record_and_its_shifts(small_pool):
    config = VictimConfig(width=4, depth=1, epochs=1, augmentation="none")
    network = victim_network(small_pool, config)
    parameters = draw_parameters(network, [stream(0, "n", i) for i in range(2)], CPU)
    signals, correct = query_victims(network, parameters, small_pool, 3)
    assert signals.shape == (2, small_pool.num_records, 3)
    logits = classify(network, parameters, small_pool.images.unsqueeze(0))
    torch.testing.assert_close(signals[:, :, 0], logit_confidence(logits, small_pool.labels), rtol=1e-4, atol=1e-5)
    assert torch.equal(correct, logits.argmax(-1) == small_pool.labels)
    shifted = torch.full_like(small_pool.images, -1)
    shifted[:, :, :, 1:] = small_pool.images[:, :, :, :-1]
    logits = classify(network, parameters, shifted.unsqueeze(0))
    torch.testing.assert_close(signals[:, :, 1], logit_confidence(logits, small_pool.labels), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [4, 64])
def test_queries_go_on_where_they_were_interrupted(small_pool, width):
    """Wide networks are asked one by one; either way a later try takes over what was kept."""
    network = victim_network(small_pool, VictimConfig(width=width, depth=1, epochs=1, augmentation="none"))
    parameters = draw_parameters(network, [stream(0, "n", i) for i in range(2)], CPU)
    signals, correct = query_victims(network, parameters, small_pool, 2)
    kept, names = {}, []

    def interrupted(name, total, state):
        names.append(name)
        yield from range(total // 2)
        kept.update({key: value.clone() for key, value in state.items()})

    def resumed(_, total, state):
        state.update({key: value.clone() for key, value in kept.items()})
        yield from range(total // 2, total)

    query_victims(network, parameters, small_pool, 2, track=interrupted)
    assert names == ["query"]
    later = query_victims(network, parameters, small_pool, 2, track=resumed)
    assert torch.equal(later[0], signals)
    assert torch.equal(later[1], correct)


def test_numbers_of_queries_are_checked():
    check_queries(9, tabular=False)
    with pytest.raises(BadConfig, match="1…9"):
        check_queries(10, tabular=False)
    with pytest.raises(BadConfig, match="tables"):
        check_queries(2, tabular=True)
