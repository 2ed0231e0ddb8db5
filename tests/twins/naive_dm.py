"""DM one shadow at a time, class by class, with torch.nn and torch.optim: the oracle of `condensers.dm` and the
yardstick of `make bench`. Written after the loop of the official code, not after ours."""

import torch
from torch import nn

from condensers.augment import augment, draw_augmentation, parse_strategy
from condensers.networks import Network, draw_parameters


class ConvNet(nn.Module):
    def __init__(self, channels: int, width: int, depth: int, padding: int) -> None:
        super().__init__()
        blocks = []
        for block in range(depth):
            blocks += [
                nn.Conv2d(channels, width, 3, padding=padding if block == 0 else 1),
                nn.GroupNorm(width, width, affine=True),
                nn.ReLU(),
                nn.AvgPool2d(2),
            ]
            channels = width
        self.features = nn.Sequential(*blocks)

    def forward(self, images):
        return self.features(images).flatten(1)


def convnet(network: Network, parameters) -> nn.Module:
    """A torch.nn network with the first of the stacked parameters."""
    model = ConvNet(network.input_shape[0], network.width, network.depth, network.first_padding)
    with torch.no_grad():
        for block in range(network.depth):
            for part, module in (("conv", model.features[4 * block]), ("norm", model.features[4 * block + 1])):
                module.weight.copy_(parameters[f"{part}{block}.weight"][0])
                module.bias.copy_(parameters[f"{part}{block}.bias"][0])
    return model.requires_grad_(False)


def condense_one(pool, members, config, randomness):
    """Synthetic images `[m, c, h, w]` of one run; `members` bool `[records]`, `randomness` of that run alone."""
    cpu = torch.device("cpu")
    shape = (pool.num_classes * config.ipc, *pool.images.shape[1:])
    noise = randomness.public("initial images").standard_normal(shape, dtype="float32")
    images = torch.from_numpy(noise).requires_grad_()
    optimiser = torch.optim.SGD([images], lr=config.learning_rate, momentum=config.momentum)
    network = Network(
        kind="convnet", input_shape=shape[1:], num_classes=pool.num_classes, width=config.width, depth=config.depth
    )
    operations = parse_strategy(config.augmentation)
    for step in range(config.iterations):
        model = convnet(network, draw_parameters(network, [randomness.public("network", step)], cpu))
        loss = torch.tensor(0.0)
        for label in range(pool.num_classes):
            records = torch.arange(pool.num_records)[pool.labels == label]
            if int(members[records].sum()) > config.batch:
                order = randomness.public("minibatch", step, label).permutation(len(records))
                records = records[torch.from_numpy(order)]
            real = pool.images[records[members[records]][: config.batch]]
            fake = images[label * config.ipc : (label + 1) * config.ipc]
            if operations:
                drawn = draw_augmentation(operations, randomness.public("augmentation", step, label))
                real, fake = augment(real, drawn), augment(fake, drawn)
            with torch.no_grad():
                target = model(real).mean(0)
            loss = loss + ((target - model(fake).mean(0)) ** 2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return images.detach()
