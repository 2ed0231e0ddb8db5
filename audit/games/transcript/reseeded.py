"""The adversary against a generator of noise that was seeded with few bits: it tries every seed.

The released code of NDPDC, and that of Dosser with augmentation and more than one image per class, draws its noise
right after the augmentation has seeded the generator with the milliseconds of the clock modulo 100 000 (see
condensers/clock.py). An adversary who knows the code makes all 100 000 noises; a sum that is one of them had nobody in
its sample, a sum that is one of them plus the canary's vector had the canary. By chance, four coordinates agree with
one of all the seeds to a ten-thousandth with probability below 10⁻¹⁰.
"""

from functools import cache
from typing import Any

import numpy as np

from condensers.randomness import seeded_noise

COORDINATES = 4  # enough to know a seed by
TOLERANCE = 1e-4  # of the noise's standard deviation: float32 leaves about 1e-6


def explained_by_a_seed(sums: np.ndarray, vector: np.ndarray, scale: float, noise_seeds: int) -> np.ndarray:
    """Which of the sums `[runs, dim]` are the vector plus noise of that scale from one of the seeds."""
    coordinates = min(COORDINATES, sums.shape[1])
    noise = (sums - vector)[:, :coordinates] / scale
    distance, _ = _seeds(noise_seeds, coordinates).query(noise, distance_upper_bound=TOLERANCE)
    return np.isfinite(distance)


@cache
def _seeds(noise_seeds: int, coordinates: int) -> Any:
    from scipy.spatial import KDTree

    return KDTree(seeded_noise(np.arange(noise_seeds), coordinates).astype(np.float64))
