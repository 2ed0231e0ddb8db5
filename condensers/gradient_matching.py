"""What methods that match gradients share (DC, DSA: Zhao & Bilen; PSG: Chen, Kerkouche, Fritz).

Gradients are stacked like the networks of condensers/networks.py: every tensor has a leading axis of networks.
"""

import torch
from torch import Tensor

from condensers.networks import Parameters

SMALLEST_NORM = 1e-6  # added to the product of norms, as in the official code


def gradient_distance(target: Parameters, found: Parameters) -> Tensor:
    """Σ over layers and output rows of 1 − cosine, `[networks]` (Eq. (10) of Zhao & Bilen, arXiv:2006.05929).

    A row is all weights that lead to one output node; biases and norms, which have no rows, are left out as in the
    official code.
    """
    parts = []
    for name, wanted in target.items():
        if wanted.ndim > 2:
            wanted_rows, found_rows = wanted.flatten(2), found[name].flatten(2)
            norms = torch.linalg.vector_norm(wanted_rows, dim=-1) * torch.linalg.vector_norm(found_rows, dim=-1)
            cosine = (wanted_rows * found_rows).sum(-1) / (norms + SMALLEST_NORM)
            parts.append((1 - cosine).sum(-1))
    return torch.stack(parts).sum(0)


def flatten_gradients(gradients: Parameters) -> Tensor:
    """One vector for each network, `[networks, parameters]`, tensors in the order of their names."""
    return torch.cat([gradients[name].flatten(1) for name in sorted(gradients)], 1)


def unflatten_gradients(vectors: Tensor, like: Parameters) -> Parameters:
    """The inverse of `flatten_gradients`; shapes from `like`, whose axis of networks may have another length."""
    names = sorted(like)
    parts = vectors.split([like[name][0].numel() for name in names], dim=1)
    return {name: part.reshape(-1, *like[name].shape[1:]) for name, part in zip(names, parts, strict=True)}
