"""The networks of `audit utility`: the official sizes, and torch's own layers as oracle."""

import numpy as np
import pytest
import torch
from torch import nn

from audit.games.utility.networks import ARCHITECTURES, draw_networks, make_network, run_networks
from condensers.errors import BadConfig
from condensers.networks import Network, classify, draw_parameters

# On 3×32×32 and ten classes: the sizes of the layers in networks.py of the DC/DSA/DM code, summed by hand.
OFFICIAL_LAYERS = {
    "convnet": 320_010,
    "mlp": 411_146,
    "lenet": 62_006,
    "alexnet": 1_872_202,
    "vgg11": 9_231_114,
    "resnet18": 11_173_962,
}


def generators(count):
    return [np.random.default_rng(number) for number in range(count)]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_number_of_parameters_against_the_official_layers(name):
    assert make_network(name, (3, 32, 32), 10).num_parameters == OFFICIAL_LAYERS[name]


def test_lenet_on_28_pixels_against_the_classical_count():
    assert make_network("lenet", (1, 28, 28), 10).num_parameters == 61_706


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 64, 64)], ids=str)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_stack_against_its_networks_one_by_one(name, shape):
    network = make_network(name, shape, 7, width=8, depth=2, divisor=16)
    assert network.resizes == (shape == (1, 8, 8) and name not in ("convnet", "mlp"))
    parameters = draw_networks(network, generators(2), torch.device("cpu"))
    images = torch.from_numpy(np.random.default_rng(9).standard_normal((2, 3, *shape)).astype(np.float32))
    together = run_networks(network, parameters, images)
    assert together.shape == (2, 3, 7)
    for number in range(2):
        alone = {key: value[number : number + 1] for key, value in parameters.items()}
        single = run_networks(network, alone, images[number : number + 1])
        assert torch.allclose(single[0], together[number], atol=1e-4)
    shared = run_networks(network, parameters, images[:1])
    assert torch.allclose(shared[0], together[0], atol=1e-4)


def test_convnet_against_the_condensers_own():
    network = make_network("convnet", (1, 28, 28), 10, width=8, depth=3)
    other = Network(kind="convnet", input_shape=(1, 28, 28), num_classes=10, width=8, depth=3)
    drawn = draw_parameters(other, generators(2), torch.device("cpu"))
    mine = draw_networks(network, generators(2), torch.device("cpu"))
    assert [value.shape for value in mine.values()] == [value.shape for value in drawn.values()]
    renamed = dict(zip(mine, drawn.values(), strict=True))
    images = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 4, 1, 28, 28)).astype(np.float32))
    assert torch.allclose(run_networks(network, renamed, images), classify(other, drawn, images), atol=1e-5)


class Block(nn.Module):
    """A basic block of a residual network, with torch's modules."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.inside = nn.Sequential(
            nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.GroupNorm(width, width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.GroupNorm(width, width),
        )  # fmt: skip
        same = stride == 1 and before == width
        self.shortcut = (
            nn.Sequential()
            if same
            else nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.GroupNorm(width, width))
        )

    def forward(self, x):
        return torch.relu(self.inside(x) + self.shortcut(x))


def test_resnet18_against_torch_modules():
    network = make_network("resnet18", (3, 32, 32), 10, divisor=16)
    widths = [(4, 4, 1), (4, 4, 1), (4, 8, 2), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 32, 2), (32, 32, 1)]
    modules = nn.Sequential(
        nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.GroupNorm(4, 4), nn.ReLU(), *(Block(*w) for w in widths),
        nn.AvgPool2d(4), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    parameters = draw_networks(network, generators(1), torch.device("cpu"))
    ours = dict(parameters)
    # A block enters its shortcut first; torch's modules have it last.
    order = sorted(ours, key=lambda key: (int(key.split(".")[0]), ".shortcut." in key))
    with torch.no_grad():
        for parameter, key in zip(modules.parameters(), order, strict=True):
            parameter.copy_(ours[key][0])
        images = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 3, 32, 32)).astype(np.float32))
        assert torch.allclose(run_networks(network, parameters, images[None])[0], modules(images), atol=1e-4)


def test_draws_are_keyed_and_leave_the_global_generator_alone():
    network = make_network("vgg11", (1, 8, 8), 3, divisor=32)
    before = torch.get_rng_state()
    first, second = (draw_networks(network, generators(2), torch.device("cpu")) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(torch.get_rng_state(), before)
    weight = first["1.weight"]
    assert not torch.equal(weight[0], weight[1])
    bound = 1 / 3  # 1/√(1 channel · 3 · 3)
    assert float(weight.abs().max()) <= bound
    assert float(weight.std()) == pytest.approx(bound / 3**0.5, rel=0.4)


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [("vit", (3, 32, 32), "not one of"), ("lenet", (14,), "needs images"), ("convnet", (1, 4, 4), "to nothing")],
    ids=str,
)
def test_networks_that_cannot_be_are_refused(name, shape, said):
    with pytest.raises(BadConfig, match=said):
        make_network(name, shape, 10)


def test_table_gets_a_perceptron():
    network = make_network("mlp", (14,), 2)
    parameters = draw_networks(network, generators(3), torch.device("cpu"))
    assert run_networks(network, parameters, torch.zeros(1, 5, 14)).shape == (3, 5, 2)
