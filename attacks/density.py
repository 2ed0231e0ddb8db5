"""Density and distance signals of sampled sets, as audits of synthetic data use them.

- Density ratio, after DOMIAS (van Breugel et al., arXiv:2302.12580): ln of the density of the released set at a record
  over that of the records in general; both by Gaussian kernels on principal components of the records, bandwidths by
  Scott's rule.
- Nearest ratio: −ln of the distance of a record to the nearest released image, less that to the nearest other record:
  the "distance to closest record" of the synthetic-data community, calibrated by a held-out set.

Neither learns from shadow runs. The adversary knows the pool: the reference density is that of all its records, each
left out of its own estimate. attacks/released.py combines both with what it learns itself.
"""

import numpy as np
from scipy.special import logsumexp

MOST_COMPONENTS = 8
SMALLEST = 1e-12


def density_ratios(records: np.ndarray, sets: list[np.ndarray]) -> np.ndarray:
    """ln p_set(x) − ln p_records(x) of one class's records `[n, pixels]` in every set of it, `[sets, n]`."""
    if len(records) < 3:
        return np.zeros((len(sets), len(records)))
    centre = records.mean(0)
    _, scales, components = np.linalg.svd(records - centre, full_matrices=False)
    kept = int(min(MOST_COMPONENTS, (scales > 1e-9 * max(scales[0], SMALLEST)).sum()))
    if not kept:
        return np.zeros((len(sets), len(records)))
    basis = components[:kept].T / (scales[:kept] / np.sqrt(len(records)))
    own = (records - centre) @ basis
    alone = _log_density(own, own, leave_out=True)
    return np.stack([_log_density(own, (images - centre) @ basis) - alone for images in sets])


def _log_density(points: np.ndarray, data: np.ndarray, *, leave_out: bool = False) -> np.ndarray:
    """ln of a Gaussian kernel estimate in whitened coordinates; constants that all points share are left out."""
    if not len(data):
        return np.zeros(len(points))
    count, dim = data.shape
    bandwidth = max(count, 2) ** (-1 / (dim + 4))  # Scott 1992; the spread is 1 after whitening
    squares = (points**2).sum(1)[:, None] - 2 * points @ data.T + (data**2).sum(1)
    exponents = -np.maximum(squares, 0.0) / (2 * bandwidth**2)
    if leave_out:
        np.fill_diagonal(exponents, -np.inf)
    return logsumexp(exponents, axis=1) - np.log(count) - dim * np.log(bandwidth)


def nearest_ratios(records: np.ndarray, sets: list[np.ndarray]) -> np.ndarray:
    """ln of the distance to the nearest other record over that to the nearest image of a set, `[sets, n]`."""
    if len(records) < 2:
        return np.zeros((len(sets), len(records)))
    usual = _nearest(records, records, leave_out=True)
    return np.stack(
        [
            (np.log(usual) - np.log(_nearest(records, images))) / 2 if len(images) else np.zeros(len(records))
            for images in sets
        ]
    )


def _nearest(points: np.ndarray, data: np.ndarray, *, leave_out: bool = False) -> np.ndarray:
    """Squared distances to the nearest, not below a rounding error."""
    squares = (points**2).sum(1)[:, None] - 2 * points @ data.T + (data**2).sum(1)
    if leave_out:
        np.fill_diagonal(squares, np.inf)
    return np.maximum(squares.min(1), SMALLEST)
