"""L-BFGS (Liu & Nocedal, Mathematical Programming 45, 1989) for many small problems at once.

Every problem has its own history, direction and length of step. All problems are evaluated together: one whose trial
decreased enough (Armijo) goes on to a new direction, another one shortens its step, so no problem waits for the line
search of another one, and none depends on which others share its batch.
"""

from collections.abc import Callable

import torch
from torch import Tensor

SUFFICIENT_DECREASE = 1e-4
LEAST_CURVATURE = 1e-10  # sᵀy of a pair that is kept, over ‖y‖²
SHORTEST, LONGEST = 0.1, 0.5  # of a step that failed, by quadratic interpolation


def minimise(
    objective: Callable[[Tensor], Tensor], start: Tensor, *, evaluations: int, memory: int = 8
) -> tuple[Tensor, Tensor]:
    """The best points `[problems, dim]` that so many evaluations find, and their values `[problems]`.

    `objective` turns points into one value per problem, each a function of its own point alone.
    """
    point, value = start.detach(), torch.full_like(start[:, 0], torch.inf)
    gradient, direction = torch.zeros_like(start), torch.zeros_like(start)
    length = torch.ones_like(value)
    moves, changes = (start.new_zeros(memory, *start.shape) for _ in range(2))
    for number in range(evaluations):
        trial = (point + length.unsqueeze(1) * direction).requires_grad_()
        found = objective(trial)
        (slope,) = torch.autograd.grad(found.sum(), trial)
        trial, found = trial.detach(), found.detach()
        finite = found.isfinite() & slope.isfinite().all(1)
        along = length * (gradient * direction).sum(1)
        accepted = finite & (found <= value + SUFFICIENT_DECREASE * along)
        if number:
            move, change = trial - point, slope - gradient
            curved = (move * change).sum(1) > LEAST_CURVATURE * change.square().sum(1)
            kept = (accepted & curved).view(1, -1, 1)
            moves = torch.where(kept, torch.cat([move.unsqueeze(0), moves[:-1]]), moves)
            changes = torch.where(kept, torch.cat([change.unsqueeze(0), changes[:-1]]), changes)
        shorter = -along / (2 * (found - value - along)).clamp(min=1e-30)
        shorter = torch.where(finite, shorter, SHORTEST).clamp(SHORTEST, LONGEST)
        taken = accepted.unsqueeze(1)
        point, value = torch.where(taken, trial, point), torch.where(accepted, found, value)
        gradient = torch.where(taken, slope, gradient)
        direction = torch.where(taken, _direction(gradient, moves, changes), direction)
        first = 1 / gradient.abs().sum(1).clamp(min=1.0)  # without a history the scale of a step is not known
        fresh = torch.where(changes[0].square().sum(1) > 0, torch.ones_like(first), first)
        length = torch.where(accepted, fresh, length * shorter)
    return point, value


def _direction(gradient: Tensor, moves: Tensor, changes: Tensor) -> Tensor:
    """−H g by the two-loop recursion (Algorithm 7.4 of Nocedal & Wright); pairs not yet filled are 0 and do nothing."""
    products = (moves * changes).sum(2)
    weights = torch.where(products > 0, 1 / products.clamp(min=1e-30), 0.0)
    q, alphas = gradient, []
    for move, change, weight in zip(moves, changes, weights, strict=True):
        alpha = weight * (move * q).sum(1)
        q = q - alpha.unsqueeze(1) * change
        alphas.append(alpha)
    newest = changes[0].square().sum(1)
    scale = torch.where(newest > 0, products[0] / newest.clamp(min=1e-30), 1.0)
    q = scale.unsqueeze(1) * q
    for move, change, weight, alpha in reversed(list(zip(moves, changes, weights, alphas, strict=True))):
        beta = weight * (change * q).sum(1)
        q = q + (alpha - beta).unsqueeze(1) * move
    return -q
