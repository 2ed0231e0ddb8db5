"""Scores that are learned: fitted on one part of the runs, tested on the rest, with no fault in view.

Two need no fit and are tested on all runs: the projection on the canary of what is released for its class, and minus
the distance of whatever is nearest to it.

For every observation (transcript, set, model) there is a linear discriminant of its columns, boosted trees on all
families together, and a discriminant of each family by itself, whose columns are turned into normal scores by the ranks
of the fitted runs and taken with their squares. Nothing of the tested runs has a part in a fit; a family that does not
vary in the fitted runs is left out, which only they decide.
"""

import warnings

import numpy as np
from scipy import special

FIT_ON = 0.4  # of the runs
FAMILY_NAMES = {
    "linear": "linear discriminant",
    "distance": "distance to the canary",
    "moments": "moments and spread",
    "differences": "differences",
    "energy": "energy beside the canary",
    "labels": "labels and sizes",
    "logits": "logits",
    "weights": "weights",
}
PLAIN = ("projection", "nearest")  # the columns of the family "plain"
TREES = "boosted trees"
NAMES = (*PLAIN, *(FAMILY_NAMES[family] for family in sorted(FAMILY_NAMES)), TREES)  # in the order of a record
TREE_COLUMNS = 48  # of "linear" that the trees see besides the other families, evenly spaced


def learn(features: dict[str, np.ndarray], has_canary: np.ndarray) -> dict[str, np.ndarray]:
    """Scores of the tested runs, which are the last ones, by name; higher: the canary was in."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums of several threads differ in their last bits from machine to machine
        return _learn(features, has_canary)


def _learn(features: dict[str, np.ndarray], has_canary: np.ndarray) -> dict[str, np.ndarray]:
    num_fit = int(FIT_ON * len(has_canary))
    target = has_canary[:num_fit]
    if min(target.sum(), (~target).sum()) < 10:
        return {}
    columns = {name: np.nan_to_num(values.astype(np.float64)) for name, values in features.items()}
    plain = columns.pop("plain", np.empty((len(has_canary), 0))).T
    unfitted = dict(zip(PLAIN, plain, strict=False))
    scores = {}
    for family, values in columns.items():
        prepared = (_standardised if family == "linear" else _normal_scores)(values, num_fit)
        if prepared.shape[1]:
            scores[FAMILY_NAMES[family]] = _discriminant(prepared, target)
    together = np.concatenate([_thinned(values, family) for family, values in columns.items()], axis=1)
    together = together[:, np.ptp(together[:num_fit], axis=0) > 0]
    if together.shape[1]:
        scores[TREES] = _trees(together, target)
    return unfitted | {name: values[num_fit:] for name, values in scores.items()}


def _thinned(values: np.ndarray, family: str) -> np.ndarray:
    if family not in ("linear", "weights") or values.shape[1] <= TREE_COLUMNS:
        return values
    return values[:, np.linspace(0, values.shape[1] - 1, TREE_COLUMNS).round().astype(int)]


def _standardised(values: np.ndarray, num_fit: int) -> np.ndarray:
    fitted = values[:num_fit]
    deviation = fitted.std(0)
    kept = deviation > 1e-9 * (1e-30 + np.abs(fitted).max(0))
    return np.clip((values[:, kept] - fitted[:, kept].mean(0)) / deviation[kept], -8, 8)


def _normal_scores(values: np.ndarray, num_fit: int) -> np.ndarray:
    """Normal quantiles of the mid-ranks among the fitted runs, and their squares."""
    ordered = np.sort(values[:num_fit], axis=0)
    kept = [column for column in range(values.shape[1]) if ordered[0, column] < ordered[-1, column]]
    if not kept:
        return np.empty((len(values), 0))
    ranks = np.stack(
        [
            np.searchsorted(ordered[:, column], values[:, column], "left")
            + np.searchsorted(ordered[:, column], values[:, column], "right")
            for column in kept
        ],
        axis=1,
    )
    normal = special.ndtri((ranks / 2 + 0.5) / (num_fit + 1))
    return np.concatenate([normal, normal**2], axis=1)


def _discriminant(values: np.ndarray, target: np.ndarray) -> np.ndarray:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are linear functions of one another
        fitted = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(values[: len(target)], target)
        return np.nan_to_num(fitted.decision_function(values))


def _trees(values: np.ndarray, target: np.ndarray) -> np.ndarray:
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, learning_rate=0.2, min_samples_leaf=20, early_stopping=False, random_state=0
    )
    return trees.fit(values[: len(target)], target).decision_function(values)
