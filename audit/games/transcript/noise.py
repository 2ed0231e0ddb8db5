"""Is the noise what the ledger says? A goodness-of-fit test of the sums of runs that have no records.

Without records a sum is noise alone, and what is released of a whole sample or of a shard is noise around a vector
that is known (whole_samples.py): in units of its claimed deviation every coordinate of every request, release and
run is an independent standard normal variable. Each of six looks has a p-value that is exact under the claim, or
Kolmogorov-Smirnov's; together they are one try, by Bonferroni. No ε is read off it.
"""

import numpy as np
import torch
from scipy import special
from torch import Tensor

from audit.games.transcript.features import thin
from audit.games.transcript.whole_samples import WholeSamples
from condensers.mechanism import Release, Request
from reports.records.worst_case import NoiseTest

MOST_RUNS, MOST_ITEMS, COORDINATES = 600, 16, 64
_SMALLEST = 1e-30


class NoiseRecorder:
    """A listener that keeps the noise of the runs that have no records, in units of what is claimed."""

    def __init__(self, empty: np.ndarray, whole: WholeSamples) -> None:
        self._whole = whole
        self._rows = np.flatnonzero(empty)[:MOST_RUNS]
        self._items: list[Tensor] = []
        self._squares: dict[tuple[int, int], Tensor] = {}
        self._numbers: dict[tuple[int, int], int] = {}

    def __call__(self, release: Release) -> None:
        for position, request in enumerate(release.requests):
            scale = release.noise_multiplier * (2.0 if release.apart else request.sensitivity)
            noise = release.sums[self._rows, position].double() / (release.clip * scale)
            if not isinstance(request, Request):
                noise = noise - self._whole.expect(release, request)[0][self._rows] / scale
            key = (position, noise.shape[1])
            self._squares[key] = self._squares.get(key, 0) + noise.square().sum(0)
            self._numbers[key] = self._numbers.get(key, 0) + len(noise)
            if len(self._items) < MOST_ITEMS:
                self._items.append(thin(noise, COORDINATES))

    def tensors(self) -> dict[str, Tensor]:
        """To be kept: items `[runs, items, coordinates]`, and the p-value of the variance of every coordinate."""
        narrow = min(item.shape[1] for item in self._items)
        worst = [_variances(self._squares[key].numpy(), self._numbers[key]) for key in self._squares]
        return {
            "noise": torch.stack([item[:, :narrow] for item in self._items], 1),
            "noise variance": torch.tensor(min(1.0, len(worst) * min(worst)), dtype=torch.float64),
        }


def _variances(squares: np.ndarray, number: int) -> float:
    """Of the coordinates of one request, each the sum of so many squares: χ², two-sided, Bonferroni."""
    low, high = special.chdtr(number, squares), special.chdtrc(number, squares)
    return float(min(1.0, 2 * len(squares) * np.minimum(low, high).min()))


def examine_noise(kept: dict[str, Tensor], num_tries: int) -> NoiseTest:
    """All looks at what a recorder kept; `p_value` is corrected for the looks and for the other tries."""
    noise = kept["noise"].numpy()
    looks = {
        "the distribution of the coordinates": _law(noise.ravel()),
        "the variance of a coordinate": float(kept["noise variance"]),
        "the length of a sum": _lengths(noise),
        "independence of requests and steps": _between_items(noise),
        "independence of runs": _between_runs(noise),
        "noise that occurs twice": _repeated(noise),
    }
    worst = min(looks, key=lambda name: looks[name])
    return NoiseTest(
        p_value=float(min(1.0, max(_SMALLEST, len(looks) * looks[worst]) * num_tries)),
        worst=worst,
        looks={name: float(max(_SMALLEST, value)) for name, value in looks.items()},
        num_values=int(noise.size),
        num_tries=num_tries,
    )


def _law(values: np.ndarray) -> float:
    from scipy import stats

    return float(stats.kstest(values, "norm").pvalue)


def _lengths(noise: np.ndarray) -> float:
    """Squared lengths are χ²: shows noise whose size changes from run to run."""
    from scipy import stats

    squares = np.square(noise).sum(-1).ravel()
    return float(stats.kstest(squares, stats.chi2(noise.shape[-1]).cdf).pvalue)


def _between_items(noise: np.ndarray) -> float:
    """Given one of two items, the inner product over its length is standard normal, whichever the pair."""
    runs, items, dim = noise.shape
    if items < 2:
        return 1.0
    flat = noise.transpose(1, 0, 2).reshape(items, runs * dim)
    products = flat @ flat.T
    scores = np.abs(products) / np.sqrt(np.maximum(np.diag(products), 1e-300))[:, None]
    upper = scores[np.triu_indices(items, 1)]
    return _two_sided(upper)


def _between_runs(noise: np.ndarray) -> float:
    """Of successive runs, all items together."""
    flat = noise.reshape(len(noise), -1)
    lengths = np.sqrt(np.maximum(np.square(flat[:-1]).sum(1), 1e-300))
    return _two_sided(np.abs((flat[:-1] * flat[1:]).sum(1)) / lengths) if len(flat) > 1 else 1.0


def _two_sided(scores: np.ndarray) -> float:
    return float(min(1.0, 2 * scores.size * special.ndtr(-scores.max())))


def _repeated(noise: np.ndarray) -> float:
    """Items of four or more coordinates are equal with no probability worth computing."""
    if noise.shape[-1] < 4:
        return 1.0
    rows = noise.reshape(-1, noise.shape[-1]).round(4)
    return 1.0 if len(np.unique(rows, axis=0)) == len(rows) else _SMALLEST
