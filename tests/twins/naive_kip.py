"""KIP one shadow at a time with plain autograd and torch.optim: the oracle of `condensers.kip` and the yardstick of
tests/bench_kip.py. Written after the formulas of Nguyen et al. (arXiv:2011.00050), not after our code."""

import math

import torch

W_VARIANCE, B_VARIANCE = 2.0, 0.01


def relu_expectations(covariance, left, right):
    """E[φ(u)φ(v)] and E[φ′(u)φ′(v)], Cho & Saul (2009)."""
    norms = torch.sqrt(left * right)
    cosine = (covariance / norms).clamp(-1 + 1e-15, 1 - 1e-15)
    angle = torch.acos(cosine)
    value = norms * (torch.sqrt(1 - cosine**2) + (math.pi - angle) * cosine) / (2 * math.pi)
    return value, (math.pi - angle) / (2 * math.pi)


def ntk(left, right, hidden_layers):
    """NTK of a fully connected network, `[n, m]`."""
    size = left.shape[1]
    sigma = W_VARIANCE * left @ right.T / size + B_VARIANCE
    left_variance = (W_VARIANCE * (left**2).sum(1) / size + B_VARIANCE)[:, None]
    right_variance = (W_VARIANCE * (right**2).sum(1) / size + B_VARIANCE)[None, :]
    theta = sigma
    for _ in range(hidden_layers):
        value, slope = relu_expectations(sigma, left_variance, right_variance)
        sigma = W_VARIANCE * value + B_VARIANCE
        theta = sigma + W_VARIANCE * theta * slope
        left_variance = W_VARIANCE * left_variance / 2 + B_VARIANCE
        right_variance = W_VARIANCE * right_variance / 2 + B_VARIANCE
    return theta


def self_ntk(images, hidden_layers):
    """K_SS; its diagonal, where the angle is 0 and has no derivative, from the norms alone."""
    variance = W_VARIANCE * (images**2).sum(1) / images.shape[1] + B_VARIANCE
    theta = variance
    for _ in range(hidden_layers):
        variance = W_VARIANCE * variance / 2 + B_VARIANCE
        theta = variance + W_VARIANCE * theta / 2
    on_diagonal = torch.eye(len(images), dtype=torch.bool)
    return torch.where(on_diagonal, torch.diag(theta), ntk(images, images, hidden_layers))


def fit_zca(images, regularisation):
    """Mean brightness, mean norm and whitening matrix of the records `[n, d]`."""
    brightness = images.mean(1, keepdim=True)
    centred = images - brightness
    norms = centred.norm(dim=1, keepdim=True)
    unit = centred / norms
    covariance = unit.T @ unit / len(unit)
    size = images.shape[1]
    values, vectors = torch.linalg.eigh(
        covariance + regularisation * covariance.trace() / size * torch.eye(size).double()
    )
    return brightness.mean(), norms.mean(), vectors @ torch.diag(values**-0.5) @ vectors.T


def choose(pool, members, per_class, randomness, step):
    """Records of one step: of every class the first `per_class` members in its public order."""
    chosen = []
    for label in range(pool.num_classes):
        records = torch.arange(pool.num_records)[pool.labels == label]
        if int(members[records].sum()) > per_class:
            order = randomness.public("minibatch", step, label).permutation(len(records))
            records = records[torch.from_numpy(order)]
        chosen.append(records[members[records]][:per_class])
    return torch.cat(chosen)


def condense_one(pool, members, config, randomness):
    """Synthetic images `[m, …]` of one run in float64; `members` bool `[records]`, `randomness` of that run alone."""
    shape = (pool.num_classes * config.ipc, *pool.images.shape[1:])
    records = pool.images.flatten(1).double()
    if config.zca:
        brightness, norm, whiten = fit_zca(records[members], config.zca_regularisation)
        records = records - records.mean(1, keepdim=True)
        records = records / records.norm(dim=1, keepdim=True) @ whiten
    noise = randomness.public("initial images").standard_normal(shape, dtype="float32")
    images = torch.from_numpy(noise).double().flatten(1).requires_grad_()
    one_hot = torch.eye(pool.num_classes, dtype=torch.float64) - 1 / pool.num_classes
    own_labels = one_hot.repeat_interleave(config.ipc, 0)
    optimiser = torch.optim.Adam([images], lr=config.learning_rate)
    per_class = config.batch // pool.num_classes
    all_fit = all(int(members[pool.labels == label].sum()) <= per_class for label in range(pool.num_classes))
    for step in range(config.iterations):
        if step == 0 or not all_fit:
            index = choose(pool, members, per_class, randomness, step)
            batch, batch_labels = records[index], one_hot[pool.labels[index]]
        kernel = self_ntk(images, config.hidden_layers)
        ridge = config.ridge * kernel.trace() / len(kernel)
        weights = torch.linalg.solve(kernel + ridge * torch.eye(len(kernel), dtype=torch.float64), own_labels)
        prediction = ntk(batch, images, config.hidden_layers) @ weights
        loss = 0.5 * ((prediction - batch_labels) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = images.detach()
    if config.zca:
        found = norm * (found @ torch.linalg.inv(whiten)) + brightness
    return found.view(shape)
