"""DC and DSA one shadow at a time, class by class, with torch.nn and torch.optim: the oracle of `condensers.dc` and
the yardstick of `tests/bench_condensers.py`. Written after the loop of the official code, not after ours."""

import numpy as np
import torch
from torch import nn
from twins.naive_dm import ConvNet

from condensers.augment import augment, draw_augmentation, parse_strategy
from condensers.dc import parse_loops
from condensers.networks import Network, draw_parameters


class Classifier(nn.Module):
    def __init__(self, network: Network) -> None:
        super().__init__()
        self.body = ConvNet(network.input_shape[0], network.width, network.depth, network.first_padding)
        self.head = nn.Linear(network.num_features, network.num_classes)

    def forward(self, images):
        return self.head(self.body(images))


def classifier(network: Network, parameters) -> nn.Module:
    """A torch.nn network with the first of the stacked parameters."""
    model = Classifier(network)
    with torch.no_grad():
        for block in range(network.depth):
            for part, place in (("conv", 4 * block), ("norm", 4 * block + 1)):
                model.body.features[place].weight.copy_(parameters[f"{part}{block}.weight"][0])
                model.body.features[place].bias.copy_(parameters[f"{part}{block}.bias"][0])
        model.head.weight.copy_(parameters["head.weight"][0])
        model.head.bias.copy_(parameters["head.bias"][0])
    return model


def distance(real, fake):
    total = torch.tensor(0.0)
    for a, b in zip(real, fake, strict=True):
        if a.ndim == 1:
            continue
        for row_a, row_b in zip(a.flatten(1), b.flatten(1), strict=True):
            total = total + 1 - row_a @ row_b / (row_a.norm() * row_b.norm() + 1e-6)
    return total


def fast_distance(real, fake):
    """The same without a loop over rows, as the official code has it: for timing."""
    total = torch.tensor(0.0)
    for a, b in zip(real, fake, strict=True):
        if a.ndim > 1:
            a, b = a.flatten(1), b.flatten(1)
            total = total + (1 - (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1) + 1e-6)).sum()
    return total


def condense_one(pool, members, config, randomness, distance=distance):
    """Synthetic images `[m, c, h, w]` of one run; `members` bool `[records]`, `randomness` of that run alone."""
    cpu = torch.device("cpu")
    shape = (pool.num_classes * config.ipc, *pool.images.shape[1:])
    labels = torch.arange(pool.num_classes).repeat_interleave(config.ipc)
    if config.init == "real":
        generator = randomness.private(0, "initial records")
        chosen = [
            generator.choice(np.flatnonzero((members & (pool.labels == c)).numpy()), config.ipc, replace=False)
            for c in range(pool.num_classes)
        ]
        start = pool.images[torch.from_numpy(np.concatenate(chosen))].clone()
    else:
        start = torch.from_numpy(randomness.public("initial images").standard_normal(shape, dtype="float32"))
    images = start.requires_grad_()
    image_optimiser = torch.optim.SGD([images], lr=config.learning_rate, momentum=config.momentum)
    network = Network(
        kind="convnet", input_shape=shape[1:], num_classes=pool.num_classes, width=config.width, depth=config.depth
    )
    operations = parse_strategy(getattr(config, "augmentation", "none"))
    outer, inner = parse_loops(config.loops, config.ipc)
    entropy = nn.CrossEntropyLoss()
    for iteration in range(config.iterations):
        model = classifier(network, draw_parameters(network, [randomness.public("network", iteration)], cpu))
        weights = list(model.parameters())
        optimiser = torch.optim.SGD(weights, lr=config.network_learning_rate)
        for turn in range(outer):
            step = iteration * outer + turn
            loss = torch.tensor(0.0)
            for label in range(pool.num_classes):
                records = torch.arange(pool.num_records)[pool.labels == label]
                if int(members[records].sum()) > config.batch:
                    order = randomness.public("minibatch", step, label).permutation(len(records))
                    records = records[torch.from_numpy(order)]
                real = pool.images[records[members[records]][: config.batch]]
                fake = images[labels == label]
                if operations:
                    drawn = draw_augmentation(operations, randomness.public("augmentation", step, label))
                    real, fake = augment(real, drawn), augment(fake, drawn)
                real_loss = entropy(model(real), torch.full((len(real),), label))
                fake_loss = entropy(model(fake), torch.full((len(fake),), label))
                wanted = torch.autograd.grad(real_loss, weights)
                found = torch.autograd.grad(fake_loss, weights, create_graph=True)
                loss = loss + distance(wanted, found)
            image_optimiser.zero_grad()
            loss.backward()
            image_optimiser.step()
            if turn == outer - 1:
                break
            for epoch in range(inner):
                order = torch.from_numpy(randomness.public("inner order", step, epoch).permutation(len(images)))
                for first in range(0, len(images), config.network_batch):
                    index = order[first : first + config.network_batch]
                    shown = images.detach()[index]
                    if operations:
                        generator = randomness.public("inner augmentation", step, epoch, first)
                        shown = augment(shown, draw_augmentation(operations, generator, len(index)))
                    optimiser.zero_grad()
                    entropy(model(shown), labels[index]).backward()
                    optimiser.step()
    return images.detach()
