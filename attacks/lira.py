"""LiRA: likelihood ratio attack (Carlini et al., arXiv:2112.03570, Algorithm 1), vectorised over records.

For each record a Gaussian is fitted to the signal of fit runs with it and of fit runs without it; a test run's score
is the log likelihood ratio. The offline variant looks at runs without the record only. At level set the signal is a log
likelihood ratio already, fitted to all records of a class together, and is the score.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from attacks.registry import Observations, attack
from condensers.errors import BadConfig, BadData

SMALLEST_DEVIATION = 1e-6


@dataclass(frozen=True, kw_only=True)
class LiraConfig:
    """`variance`: "record" fits one per record and side, "pooled" one per side for all records (better with few
    runs), "auto" is per record from 64 fit runs on, as its authors do, and takes a signal that is a likelihood ratio
    (level set) as it is."""

    online: bool = True
    variance: str = "auto"

    def __post_init__(self) -> None:
        if self.variance not in ("auto", "record", "pooled"):
            raise BadConfig(f"variance={self.variance!r} is not one of auto, record, pooled")


@attack("lira", config=LiraConfig, needs_fit_runs=True, levels=("model", "set"))
def score_lira(observations: Observations, config: LiraConfig) -> np.ndarray:
    """Likelihood ratio of each record's signal in runs with it and without it."""
    if observations.ratios and config.variance == "auto":
        return observations.test_signals.mean(2, dtype=np.float64).astype(np.float32)
    members = observations.fit_members
    num_in, num_out = members.sum(0), (~members).sum(0)
    fewest = int(min(num_in.min() if config.online else num_out.min(), num_out.min()))
    if fewest < 1:
        raise BadData(
            f"LiRA has no fit run {'with or without' if config.online else 'without'} some record "
            f"({len(members)} fit runs): raise --shadows"
        )
    pooled = config.variance == "pooled" or (config.variance == "auto" and len(members) < 64) or fewest < 2
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
