"""LiRA: likelihood ratio attack (Carlini et al., arXiv:2112.03570, Algorithm 1), vectorised over records.

For each record a Gaussian is fitted to the signal of fit runs with it and of fit runs without it; a test run's score
is the log likelihood ratio. The offline variant looks at runs without the record only. At level set the signal is a log
likelihood ratio already, fitted to all records of a class together, and is the score.

Differs from the authors' code (tensorflow/privacy, research/mi_lira_2021/plot.py, `generate_ours` and
`generate_ours_offline`) in four ways:

- The centre of a Gaussian is the mean of all fit runs. Theirs is the median of as many runs as the record with the
  fewest has.
- A deviation per record has the unbiased variance (ddof 1). Theirs has ddof 0.
- A deviation for all records is pooled over the residuals from each record's mean, for either side. Theirs
  (`fix_variance`) is the deviation of all signals from their common mean, spread between records included, and online
  that of the runs with the record serves both sides.
- Offline, a high signal alone is evidence of membership (one-sided tail, as in the paper). In their code a signal that
  is improbable on either side is.

`estimator=carlini` computes their formulas; tests/unit/test_attacks.py holds it against them.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from attacks.registry import Observations, attack
from condensers.errors import BadConfig, BadData

SMALLEST_DEVIATION = 1e-6
ESTIMATORS = ("moments", "carlini")
ENOUGH_RUNS = 64  # for a variance per record (Carlini et al., section VI)


@dataclass(frozen=True, kw_only=True)
class LiraConfig:
    """`estimator`: "moments" is ours, "carlini" that of the authors' code.

    `variance`: "record" fits one per record and side, "pooled" one for all records (better with few runs; the authors'
    `fix_variance`), "auto" is per record from 64 fit runs on, as its authors do. With moments, auto takes a signal that
    is a likelihood ratio (level set) as it is.
    """

    online: bool = True
    variance: str = "auto"
    estimator: str = "moments"

    def __post_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise BadConfig(f"estimator={self.estimator!r} is not one of {', '.join(ESTIMATORS)}")
        if self.variance not in ("auto", "record", "pooled"):
            raise BadConfig(f"variance={self.variance!r} is not one of auto, record, pooled")


def _by_record(members: np.ndarray, config: LiraConfig) -> bool:
    """With a variance per record; a pooled one, and the authors' number of runs, look at all records."""
    return config.estimator == "moments" and not _pools(members, config) and min(_fewest(members)) >= 2


@attack("lira", config=LiraConfig, needs_fit_runs=True, levels=("model", "set"), by_record=_by_record)
def score_lira(observations: Observations, config: LiraConfig) -> np.ndarray:
    """Likelihood ratio of each record's signal in runs with it and without it."""
    if observations.ratios and config.variance == "auto" and config.estimator == "moments":
        return observations.test_signals.mean(2, dtype=np.float64).astype(np.float32)
    members = observations.fit_members
    fewest_in, fewest_out = _fewest(members)
    fewest = min(fewest_in, fewest_out) if config.online else fewest_out
    if fewest < 1:
        raise BadData(
            f"LiRA needs fit runs {'with and without' if config.online else 'without'} every record, which "
            f"{len(members)} fit runs do not have for some record: raise --shadows"
        )
    pooled = _pools(members, config)
    if config.estimator == "carlini":
        return score_carlini(observations, online=config.online, pooled=pooled)
    pooled = pooled or fewest < 2
    if pooled and len(members) < 3:
        raise BadData(f"LiRA cannot estimate a variance from {len(members)} fit runs: raise --shadows")
    scores = np.zeros(observations.test_signals.shape[:2])
    for query in range(observations.test_signals.shape[2]):
        fit = observations.fit_signals[:, :, query].astype(np.float64)
        test = observations.test_signals[:, :, query].astype(np.float64)
        mean_out, deviation_out = fit_gaussian(fit, ~members, pooled=pooled)
        standard_out = (test - mean_out) / deviation_out
        if config.online:
            mean_in, deviation_in = fit_gaussian(fit, members, pooled=pooled)
            standard_in = (test - mean_in) / deviation_in
            # ln of Eq. (8), arXiv:2206.00240: ln N(φ; μ_in, σ_in²) − ln N(φ; μ_out, σ_out²)
            scores += np.log(deviation_out / deviation_in) + (standard_out**2 - standard_in**2) / 2
        else:
            # Offline variant: 1 − Pr[N(μ_out, σ_out²) > φ], monotone in −ln of the upper tail, which does not saturate.
            scores += -log_ndtr(-standard_out)
    return (scores / observations.test_signals.shape[2]).astype(np.float32)


def _fewest(members: np.ndarray) -> tuple[int, int]:
    """Of all records the fewest fit runs with one, and without one."""
    num_in = members.sum(0)
    return int(num_in.min()), int(len(members) - num_in.max())


def _pools(members: np.ndarray, config: LiraConfig) -> bool:
    return config.variance == "pooled" or (config.variance == "auto" and len(members) < ENOUGH_RUNS)


def fit_gaussian(signals: np.ndarray, chosen: np.ndarray, *, pooled: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean per record, and deviation per record or pooled over records, of the chosen runs' signals."""
    weight = chosen.astype(np.float64)
    count = weight.sum(0)
    mean = (weight * signals).sum(0) / count
    squares = (weight * (signals - mean) ** 2).sum(0)
    if pooled:
        variance = np.full_like(mean, squares.sum() / max(count.sum() - len(count), 1))
    else:
        variance = squares / (count - 1)
    return mean, np.maximum(np.sqrt(variance), SMALLEST_DEVIATION)


def score_carlini(observations: Observations, *, online: bool, pooled: bool) -> np.ndarray:
    """The authors' code, higher for members (it prints the negative): `generate_ours`, `generate_ours_offline`."""
    members, fit = observations.fit_members, observations.fit_signals.astype(np.float64)
    test = observations.test_signals.astype(np.float64)
    without, within = _first_runs(fit, ~members), _first_runs(fit, members) if online else None
    if within is None:
        scores = -_log_density(test, without, without, pooled=pooled)
    else:
        scores = _log_density(test, within, within, pooled=pooled)
        # With a fixed variance, their `std_out` is that of the runs with the record.
        scores -= _log_density(test, without, within if pooled else without, pooled=pooled)
    largest = np.finfo(np.float32).max
    return scores.mean(2).clip(-largest, largest).astype(np.float32)


def _first_runs(signals: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Of each record the first chosen runs, as many as the record with fewest has, `[number, records, queries]`."""
    order = np.argsort(~chosen, axis=0, kind="stable")[: chosen.sum(0).min()]
    return np.take_along_axis(signals, order[:, :, None], axis=0)


def _log_density(test: np.ndarray, centred: np.ndarray, spread: np.ndarray, *, pooled: bool) -> np.ndarray:
    """ln N(φ; median, σ²) up to ln √2π, which cancels or moves all scores alike."""
    deviation = (spread.std() if pooled else spread.std(0)) + 1e-30
    return -(((test - np.median(centred, 0)) / deviation) ** 2) / 2 - np.log(deviation)
