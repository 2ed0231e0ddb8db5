"""The distance and the flat form of stacked gradients."""

import numpy as np
import torch

from condensers.gradient_matching import flatten_gradients, gradient_distance, unflatten_gradients


def _gradients(seed: int, networks: int = 3) -> dict[str, torch.Tensor]:
    generator = np.random.default_rng(seed)
    shapes = {"conv.weight": (4, 2, 3, 3), "conv.bias": (4,), "head.weight": (5, 6)}
    return {name: torch.from_numpy(generator.normal(size=(networks, *shape))) for name, shape in shapes.items()}


def test_gradient_distance_against_naive() -> None:
    target, found = _gradients(0), _gradients(1)
    naive = [0.0, 0.0, 0.0]
    for name in ("conv.weight", "head.weight"):
        for network in range(3):
            for row in range(target[name].shape[1]):
                a, b = target[name][network, row].numpy().ravel(), found[name][network, row].numpy().ravel()
                naive[network] += 1 - a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-6)
    assert np.allclose(gradient_distance(target, found).numpy(), naive)
    assert torch.allclose(gradient_distance(target, target), torch.zeros(3).double(), atol=1e-5)


def test_gradient_distance_ignores_scale_against_theory() -> None:
    target, found = _gradients(0), _gradients(1)
    scaled = {name: value * 7 for name, value in found.items()}
    assert torch.allclose(gradient_distance(target, found), gradient_distance(target, scaled), atol=1e-5)


def test_unflatten_gradients_against_flatten() -> None:
    gradients = _gradients(2)
    back = unflatten_gradients(flatten_gradients(gradients), {name: value[:1] for name, value in gradients.items()})
    assert all(torch.equal(back[name], gradients[name]) for name in gradients)
