"""Batched L-BFGS against SciPy's, and that no problem depends on the others."""

import numpy as np
import torch
from scipy.optimize import minimize, rosen

from attacks.lbfgs import minimise

STARTS = torch.from_numpy(np.random.default_rng(0).uniform(-2, 2, (12, 2)))  # in two dimensions there is one minimum


def rosenbrock(points: torch.Tensor) -> torch.Tensor:
    return (100 * (points[:, 1:] - points[:, :-1] ** 2) ** 2 + (1 - points[:, :-1]) ** 2).sum(1)


def test_minima_against_scipy():
    points, values = minimise(rosenbrock, STARTS, evaluations=300)
    expected = [minimize(rosen, start.numpy(), method="L-BFGS-B", options={"ftol": 1e-15}) for start in STARTS]
    np.testing.assert_allclose(values, [found.fun for found in expected], atol=1e-6)
    np.testing.assert_allclose(points, np.stack([found.x for found in expected]), atol=1e-3)


def test_a_quadratic_is_solved_in_few_evaluations_against_gradient_descent():
    scales = torch.tensor([1.0, 1000.0], dtype=torch.float64)

    def bowl(points: torch.Tensor) -> torch.Tensor:
        return (scales * points**2).sum(1)

    values = minimise(bowl, STARTS, evaluations=40)[1]
    descent = STARTS.clone()
    for _ in range(40):
        descent = descent - descent * 2 * scales / 2000
    assert values.max() < 1e-6 < bowl(descent).min()


def test_no_problem_depends_on_the_others():
    together = minimise(rosenbrock, STARTS, evaluations=60)[1]
    alone = torch.cat([minimise(rosenbrock, start.unsqueeze(0), evaluations=60)[1] for start in STARTS])
    torch.testing.assert_close(together, alone, rtol=1e-6, atol=1e-12)


def test_what_is_not_finite_is_not_accepted():
    def walled(points: torch.Tensor) -> torch.Tensor:
        value = (points - 3).square().sum(1)
        return torch.where(points.amax(1) > 2.5, torch.nan, value)

    points, values = minimise(walled, torch.zeros(1, 2), evaluations=60)
    assert bool(values.isfinite().all())
    assert float(points.amax()) <= 2.5
    assert float(values) < 2.0
