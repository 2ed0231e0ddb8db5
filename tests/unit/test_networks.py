import pytest
import torch
import torch.nn.functional as F
from twins.naive_dm import convnet

from condensers.errors import BadConfig
from condensers.networks import Network, average_pool, classify, draw_parameters, embed
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


@pytest.mark.parametrize("shape", [(3, 5, 8, 8), (2, 7, 32, 32), (4, 6, 9, 13), (1, 2, 2, 6)])
def test_average_pool_against_torch_to_the_last_bit(shape):
    images, slope = (
        torch.from_numpy(stream(0, "pool", i).standard_normal(size, dtype="float32"))
        for i, size in enumerate((shape, (*shape[:2], shape[2] // 2, shape[3] // 2)))
    )
    images.requires_grad_()
    ours, theirs = average_pool(images), F.avg_pool2d(images, 2)
    assert torch.equal(ours, theirs)
    (our_slope,), (their_slope,) = (torch.autograd.grad(pooled, images, slope) for pooled in (ours, theirs))
    assert torch.equal(our_slope, their_slope)


def test_emulated_bfloat16_against_rounding_by_hand():
    network = network_of(kind="linear", width=16, precision="bfloat16-emulated")
    parameters = draw_parameters(network, [stream(0, "network")], CPU)
    images = torch.from_numpy(stream(0, "images").standard_normal((1, 5, 3, 12, 12), dtype="float32")).requires_grad_()
    features = embed(network, parameters, images)
    weight = to_bfloat16(parameters["linear.weight"][0])
    product = to_bfloat16(images.detach()[0].flatten(1)).double() @ weight.double().T
    torch.testing.assert_close(features[0].double(), product, rtol=2**-8, atol=1e-6)
    assert torch.equal(features, to_bfloat16(features))
    slope = torch.from_numpy(stream(0, "slope").standard_normal(features.shape, dtype="float32"))
    (found,) = torch.autograd.grad(features, images, slope)
    expected = to_bfloat16(slope[0]).double() @ weight.double()
    torch.testing.assert_close(found[0].flatten(1).double(), expected, rtol=2**-8, atol=1e-5)
    assert torch.equal(found, to_bfloat16(found))


def test_emulated_bfloat16_is_near_float32():
    exact = network_of()
    parameters = draw_parameters(exact, [stream(0, "network")], CPU)
    images = torch.from_numpy(stream(0, "images").standard_normal((1, 5, 3, 12, 12), dtype="float32"))
    rounded = classify(network_of(precision="bfloat16-emulated"), parameters, images)
    difference = (rounded - classify(exact, parameters, images)).abs().max()
    assert 1e-5 < difference < 0.05


def test_bfloat16_is_refused_on_a_cpu():
    network = network_of(precision="bfloat16")
    parameters = draw_parameters(network, [stream(0, "network")], CPU)
    with pytest.raises(BadConfig, match="precision=bfloat16: not supported on cpu here; choose bfloat16-emulated"):
        embed(network, parameters, torch.zeros(1, 2, 3, 12, 12))


def to_bfloat16(values):
    """Round to the nearest number with 8 significant bits, ties to even, by integer arithmetic."""
    bits = values.detach().contiguous().view(torch.int32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & -0x10000).view(torch.float32)
