import pytest
import torch
from twins.naive_dm import convnet

from condensers.errors import BadConfig
from condensers.networks import Network, classify, draw_parameters, embed
from condensers.randomness import stream

CPU = torch.device("cpu")


def network_of(**changes):
    values = {"kind": "convnet", "input_shape": (3, 12, 12), "num_classes": 4, "width": 8, "depth": 2}
    return Network(**{**values, **changes})


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 8, 8), (3, 13, 9)])
def test_embedding_against_torch_nn(shape):
    network = network_of(input_shape=shape, depth=3 if min(shape[1:]) >= 16 else 2)
    parameters = draw_parameters(network, [stream(0, "network")], CPU)
    images = torch.from_numpy(stream(0, "images").standard_normal((5, *shape), dtype="float32"))
    ours = embed(network, parameters, images.unsqueeze(0))[0]
    assert ours.shape == (5, network.num_features)
    torch.testing.assert_close(ours, convnet(network, parameters)(images), rtol=1e-4, atol=1e-5)


def test_the_papers_embedding_has_2048_dimensions():
    assert network_of(input_shape=(1, 28, 28), width=128, depth=3).num_features == 2048


@pytest.mark.parametrize("kind", ["convnet", "linear", "linear-relu"])
def test_stacked_networks_against_one_by_one(kind):
    network = network_of(kind=kind)
    together = draw_parameters(network, [stream(0, "network", i) for i in range(3)], CPU)
    images = torch.from_numpy(stream(0, "images").standard_normal((3, 6, 3, 12, 12), dtype="float32"))
    stacked = classify(network, together, images)
    shown_to_all = classify(network, together, images[:1])
    for i in range(3):
        alone = draw_parameters(network, [stream(0, "network", i)], CPU)
        torch.testing.assert_close(stacked[i], classify(network, alone, images[i : i + 1])[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(shown_to_all[i], classify(network, alone, images[:1])[0], rtol=1e-4, atol=1e-5)


def test_initial_weights_against_torch_default():
    network = network_of(width=64, depth=2)
    weight = draw_parameters(network, [stream(1, "network")], CPU)["conv1.weight"]
    theirs = torch.nn.Conv2d(64, 64, 3).weight
    assert weight.abs().max() <= 1 / (64 * 9) ** 0.5
    assert abs(weight.std() / theirs.std() - 1) < 0.02


def test_linear_extractor_keeps_lengths_in_expectation():
    network = network_of(kind="linear", width=4096)
    image = torch.from_numpy(stream(0, "image").standard_normal((1, 1, 3, 12, 12), dtype="float32"))
    length = embed(network, draw_parameters(network, [stream(0, "network")], CPU), image).square().sum()
    assert abs(length / image.square().sum() - 1) < 5 * (2 / 4096) ** 0.5


def test_impossible_networks_are_refused():
    with pytest.raises(BadConfig, match="halves"):
        network_of(input_shape=(1, 8, 8), depth=4)
    with pytest.raises(BadConfig, match="not one of"):
        network_of(kind="resnet")
    with pytest.raises(BadConfig, match="tables"):
        network_of(input_shape=(14,))
