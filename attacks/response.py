"""How a released set answers to its members: a linear model learned from fit runs, and the test it yields.

The class part of what a run releases is y (class mean, or all images of the class). To first order
y = μ + A w + e, w_i = m_i/Σm − 1/n for the class's n records: a condenser sees its members through means. A is
learned from the fit runs by kernel ridge regression whose kernel over records says that similar records have similar
effects (Rasmussen & Williams 2006, §2.2, vector-valued); each principal direction of y has a penalty of its own,
the best by leave-one-out (their §5.4.2). The best linear test of record i against a Gaussian y is then Fisher's
discriminant a_iᵀ Σ_{−i}⁻¹ (y − μ), Σ_{−i} being the covariance of y without i: all other records are the noise.

Where few records of a class are in doubt and the others are always in, w_i = m_i − ½: the class mean is a sum over
nearly constant weights. There are more runs than records then, and records need not borrow from each other: a kernel
under which every record has an effect of its own stands beside that of the features, and each direction of y takes the
one that predicts left-out runs better.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PENALTIES = 10.0 ** np.arange(-4.0, 2.5, 0.5)
# Residuals are few for so many directions: their covariance is drawn towards its diagonal, and directions beyond a
# third of the runs are left out, where the sample's smallest variances are far below the true ones.
SHRINKAGE = 0.2
RUNS_PER_DIRECTION = 3
# With few records in doubt their effects are learned well enough for more directions (docs/results.md).
RUNS_PER_DIRECTION_FEW = 2
SMALLEST_SHARE = 1e-10
SMALLEST_KERNEL = 1e-100  # mean eigenvalue


@dataclass(frozen=True, kw_only=True)
class Response:
    """A fitted model of one class: `directions` turns y − `mean` into one log likelihood ratio per record."""

    mean: np.ndarray
    directions: np.ndarray

    def ratios(self, released: np.ndarray) -> np.ndarray:
        """Log likelihood ratios `[runs, records]` of sets `[runs, features]`."""
        return (released - self.mean) @ self.directions


def membership_weights(members: np.ndarray) -> np.ndarray:
    """w of every run `[runs, records]`: its weight in the run's class mean less that in the pool's."""
    counts = np.maximum(members.sum(1, keepdims=True), 1)
    return members / counts - 1 / members.shape[1]


def fit_response(released: np.ndarray, members: np.ndarray, features: np.ndarray, *, few: bool = False) -> Response:
    """Fit the model of one class: sets `[runs, …]`, membership `[runs, records]`, features `[records, …]`.

    The kernel over records is the inner product of their features; with `few` records in doubt, that or none.
    """
    weights = members - 0.5 if few else membership_weights(members)
    per_direction = RUNS_PER_DIRECTION_FEW if few else RUNS_PER_DIRECTION
    mean = released.mean(0)
    centred = released - mean
    # Principal directions from the inner products of runs: there are far fewer runs than pixels.
    variances, vectors = (values[..., ::-1] for values in np.linalg.eigh(centred @ centred.T))
    kept = variances > SMALLEST_SHARE * max(float(variances.sum()), np.finfo(float).tiny)
    kept[max(1, len(released) // per_direction) :] = False
    outputs = vectors[:, kept] * np.sqrt(variances[kept])
    basis = (outputs / variances[kept]).T @ centred
    crossed = [(weights @ features) @ features.T, *([weights] if few else [])]
    effects, residuals = _regress(outputs, weights, crossed)
    # Without record i: Σ_{−i}⁻¹ a_i = Σ⁻¹ a_i / (1 − v a_iᵀ Σ⁻¹ a_i) (Sherman & Morrison 1950).
    shift = 1.0 if few else 2 / members.shape[1]
    variance = shift**2 / 4
    noise = residuals.T @ residuals / len(residuals)
    noise = (1 - SHRINKAGE) * noise + SHRINKAGE * np.diag(np.diag(noise))
    covariance = variance * effects @ effects.T + noise
    solved = np.linalg.solve(covariance, effects) if len(effects) else effects
    explained = np.minimum(variance * (effects * solved).sum(0), 1 - 1e-6)
    return Response(mean=mean, directions=basis.T @ (shift * solved / (1 - explained)))


def _regress(outputs: np.ndarray, weights: np.ndarray, kernels: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Effects `[outputs, records]` and leave-one-out residuals `[runs, outputs]`, each output at its best penalty.

    `kernels` are w K `[runs, records]` of each kernel K over records; each output takes the best of them as well.
    """
    effects = np.zeros((outputs.shape[1], weights.shape[1]))
    residuals = outputs.copy()
    least = (outputs**2).mean(0)
    for crossed in kernels:
        values, vectors = np.linalg.eigh(crossed @ weights.T)
        values = np.maximum(values, 0.0)
        scale = float(values.mean())
        if scale < SMALLEST_KERNEL:  # the features of the records are equal: this kernel says nothing
            continue
        turned, turned_kernel = vectors.T @ outputs, vectors.T @ crossed
        for penalty in PENALTIES * scale:
            shares = values / (values + penalty)
            leverage = (vectors**2) @ shares
            # Leave-one-out residual of a linear smoother H: (y − Hy)_r / (1 − H_rr).
            left_out = (outputs - vectors @ (shares[:, None] * turned)) / (1 - leverage)[:, None]
            error = (left_out**2).mean(0)
            better = error < least
            least = np.where(better, error, least)
            residuals[:, better] = left_out[:, better]
            effects[better] = (turned[:, better] / (values + penalty)[:, None]).T @ turned_kernel
    return effects, residuals
