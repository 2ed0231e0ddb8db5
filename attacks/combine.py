"""Several statistics of (record, released set) made into one log likelihood ratio, learned from fit runs.

A statistic whose tail matters and whose scale means nothing (a distance) first becomes a log odds by isotonic
regression of membership on it (Zadrozny & Elkan 2002), pooled over records; then logistic regression weighs all of
them.
"""

from dataclasses import dataclass

import numpy as np

# A block of the isotonic fit is drawn towards even odds by this many records: a few lucky ones prove nothing.
PRIOR_RECORDS = 10.0
RIDGE = 1.0
NEWTON_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class Odds:
    """A rising step function from a statistic to log odds of membership: `odds[k]` from `starts[k]` on."""

    starts: np.ndarray
    odds: np.ndarray

    def __call__(self, statistic: np.ndarray) -> np.ndarray:
        return self.odds[np.searchsorted(self.starts[1:], statistic, side="right")]


def fit_odds(statistic: np.ndarray, members: np.ndarray) -> Odds:
    """Log odds of membership given a statistic, rising in it; both of any one shape."""
    from sklearn.isotonic import isotonic_regression

    values, group, counts = np.unique(statistic, return_inverse=True, return_counts=True)
    inside = np.bincount(group.ravel(), weights=members.ravel())
    fitted = isotonic_regression(inside / counts, sample_weight=counts.astype(np.float64))
    first = np.flatnonzero(np.append(True, np.diff(fitted) > 0))
    total, held = np.add.reduceat(counts, first), np.add.reduceat(inside, first)
    odds = np.log((held + PRIOR_RECORDS / 2) / (total - held + PRIOR_RECORDS / 2))
    return Odds(starts=values[first], odds=isotonic_regression(odds, sample_weight=total.astype(np.float64)))


def cross_fit_odds(fit: np.ndarray, members: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log odds of fit runs, each half's learned on the other half, and of test runs, learned on all fit runs."""
    odds = np.empty(fit.shape)
    odds[::2] = fit_odds(fit[1::2], members[1::2])(fit[::2])
    odds[1::2] = fit_odds(fit[::2], members[::2])(fit[1::2])
    return odds, fit_odds(fit, members)(test)


def fit_weights(statistics: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Weights `[statistics + 1]` of a logistic regression, the last a constant; `statistics` `[n, statistics]`.

    Newton's method on the likelihood with a ridge of one record, which keeps weights finite where members separate.
    """
    columns = np.concatenate([statistics, np.ones((len(statistics), 1))], 1)
    scale = np.maximum(np.sqrt((columns**2).mean(0)), np.finfo(float).tiny)
    columns = columns / scale
    weights = np.zeros(columns.shape[1])
    for _ in range(NEWTON_STEPS):
        expected = 0.5 * (1 + np.tanh(columns @ weights / 2))
        slope = columns.T @ (members - expected) - RIDGE * weights
        curvature = (columns * (expected * (1 - expected))[:, None]).T @ columns
        step = np.linalg.solve(curvature + RIDGE * np.eye(len(weights)), slope)
        # A step of Newton may overshoot where members separate.
        weights = weights + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-9:
            break
    return weights / scale
