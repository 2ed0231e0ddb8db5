"""Entropic optimal transport between weighted points, many problems at once (Cuturi 2013), in the log domain.

The cost is ‖x − y‖² + m‖x − y‖₁ over pixels, with labels far apart: "l1+l2" of DP-Sinkhorn's released code, where
one-hot labels times 15 stand beside the pixels. The gradient at points is that of the cost under the optimal plan
(envelope theorem). The regularisation falls geometrically to its final value, as in geomloss, which that code uses.
"""

import torch
from torch import Tensor


def transport_cost(left: Tensor, right: Tensor, apart: Tensor, mixture: float) -> Tensor:
    """`[problems, n, k]` of flat points `[problems, n, d]` and `[problems, k, d]`; `apart` where labels differ."""
    gap = left.unsqueeze(2) - right.unsqueeze(1)
    return gap.square().sum(3) + mixture * gap.abs().sum(3) + apart


def transport_plan(cost: Tensor, left: Tensor, right: Tensor, *, regularisation: float, iterations: int) -> Tensor:
    """The plan `[problems, n, k]` between weights `[problems, n]` and `[problems, k]`, of sum 1 or 0."""
    with torch.no_grad():
        log_left, log_right = left.log(), right.log()  # −∞ for who is absent
        there = (left > 0).unsqueeze(2) & (right > 0).unsqueeze(1)
        largest = torch.where(there, cost, 0.0).flatten(1).amax(1).clamp(min=regularisation)
        potential = torch.zeros_like(left)
        other = torch.zeros_like(right)
        for number in range(iterations):
            # From the largest cost down, the last third at the final value.
            share = min(1.0, 1.5 * number / max(1, iterations - 1))
            level = (largest * (regularisation / largest) ** share).view(-1, 1)
            scaled = (log_right + other / level).unsqueeze(1) - cost / level.unsqueeze(2)
            potential = -level * scaled.logsumexp(2)
            scaled = (log_left + potential / level).unsqueeze(2) - cost / level.unsqueeze(2)
            other = -level * scaled.logsumexp(1)
        exponent = (potential.unsqueeze(2) + other.unsqueeze(1) - cost) / regularisation
        plan = (exponent + log_left.unsqueeze(2) + log_right.unsqueeze(1)).exp()
        return torch.where(there, plan, 0.0)
