"""A vote of the fit runs whose released class is nearest to the one that is looked at.

Where few records of a class are in doubt, several fit runs have nearly the same members, and where the public
randomness is known, a run with the same members releases the same images. The answer to members is far from linear:
one record in or out changes the images about as much as several do, so a linear model explains little of it, while the
nearest of a hundred runs has most of its members in common (docs/attacks.md has the comparison).

If the fit runs enumerate all combinations of the records in doubt (`--fit-design enumerated`), the nearest run has all
members of the set's class, and its members are read off: `match_runs`. Nothing is learned from fit runs about each
other there, since of each no other has the members.

Fit run r votes for its members with the weight (D_r / D)^-q, D_r being its squared distance and D the median between
fit runs. The power q is the one that predicts each fit run best from the others.
"""

import numpy as np

POWERS = (2.0, 4.0, 8.0, 16.0)
PRIOR = 1.0  # weight of one vote for and against, as of a run at the median distance
SMALLEST = 1e-9  # of a squared distance, relative to the median: what rounding leaves of equal images
LARGEST_LOG_WEIGHT = 30.0


def vote_of_nearest(released: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Log odds `[runs, records]` of sets `[runs, features]`, of which the first `len(members)` are fit runs.

    A fit run has no vote about itself.
    """
    num_fit = len(members)
    nearness = _nearness(released, num_fit)
    best, least = np.zeros((len(released), members.shape[1])), np.inf
    for power in POWERS:
        odds = _vote(power * nearness, members, own_vote=False)
        loss = float(np.logaddexp(0, np.where(members, -odds[:num_fit], odds[:num_fit])).mean())
        if loss < least:
            best, least = odds, loss
    return best


def match_runs(released: np.ndarray, members: np.ndarray) -> np.ndarray:
    """The same where fit runs enumerate all combinations. A fit run matches itself: its odds say nothing."""
    return _vote(POWERS[-1] * _nearness(released, len(members)), members, own_vote=True)


def _nearness(released: np.ndarray, num_fit: int) -> np.ndarray:
    """−ln of the squared distance of each run to each fit run over the median between fit runs, `[runs, fit runs]`."""
    squares = (released**2).sum(1)
    distances = np.maximum(squares[:, None] - 2 * released @ released[:num_fit].T + squares[:num_fit], 0.0)
    between = distances[:num_fit][~np.eye(num_fit, dtype=bool)]
    usual = max(float(np.median(between)), np.finfo(float).tiny)
    return -np.log(distances / usual + SMALLEST)


def _vote(log_weights: np.ndarray, members: np.ndarray, *, own_vote: bool) -> np.ndarray:
    weights = np.exp(np.minimum(log_weights, LARGEST_LOG_WEIGHT))
    if not own_vote:
        weights[np.arange(len(members)), np.arange(len(members))] = 0.0
    shares = (weights @ members.astype(np.float64) + PRIOR / 2) / (weights.sum(1, keepdims=True) + PRIOR)
    shares = np.clip(shares, 1e-12, 1 - 1e-12)
    return np.log(shares / (1 - shares))
