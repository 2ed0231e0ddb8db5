"""RMIA: robust membership inference with few shadow runs (Zarifzadeh, Liu, Shokri, ICML 2024, arXiv:2312.03262).

A record x is compared with other records z under the same victim. With Pr(x|θ) the victim's confidence and Pr(x) its
mean over reference runs, LR(x, z) = [Pr(x|θ)/Pr(x)] / [Pr(z|θ)/Pr(z)], and the score is the share of z with LR(x, z) ≥
γ. Online, Pr(x) averages runs with x and runs without it; offline it is guessed from runs without it.

Differs from the paper: z are the other records of the pool, members and others alike, since the adversary knows the
pool and no further data; γ is 1 unless told otherwise, since confidences that hardly differ leave no z behind a γ of
2; ties, which a share of few z has many of, are broken by x's own ratio. With no fit run on one side of a record the
other side stands in for both. At level set the confidence is the logistic function of the signal, a log likelihood
ratio.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from attacks.registry import Observations, attack
from condensers.errors import BadConfig, BadData

SMALLEST_CONFIDENCE = 1e-12


@dataclass(frozen=True, kw_only=True)
class RmiaConfig:
    """`gamma` is the paper's γ; `offline_scale` its a, by which the offline variant makes up for runs with x."""

    online: bool = True
    gamma: float = 1.0
    offline_scale: float = 0.3

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise BadConfig(f"gamma={self.gamma}: must be positive")
        if not 0 <= self.offline_scale <= 1:
            raise BadConfig(f"offline_scale={self.offline_scale}: must lie in [0, 1]")


@attack("rmia", config=RmiaConfig, needs_fit_runs=True, levels=("model", "set"))
def score_rmia(observations: Observations, config: RmiaConfig) -> np.ndarray:
    """Share of other records whose confidence rose less, relative to reference runs; works with few runs."""
    if not len(observations.fit_members):
        raise BadData("RMIA needs at least one fit run: raise --shadows")
    usual = _usual_confidence(observations, config)
    confidence = expit(observations.test_signals.astype(np.float64)).mean(2)
    ratios = np.log(np.maximum(confidence, SMALLEST_CONFIDENCE)) - np.log(usual)
    num_records = ratios.shape[1]
    scores = np.empty(ratios.shape)
    for run, own in enumerate(ratios):
        # Pr_z[LR(x, z) ≥ γ]: z with ln ratio(z) ≤ ln ratio(x) − ln γ. With γ ≤ 1 it counts x itself, like all others.
        scores[run] = np.searchsorted(np.sort(own), own - np.log(config.gamma), side="right") / num_records
        scores[run] += np.tanh(own) / (4 * num_records)
    return scores.astype(np.float32)


def _usual_confidence(observations: Observations, config: RmiaConfig) -> np.ndarray:
    """Pr(x) of every record."""
    members = observations.fit_members
    confidence = expit(observations.fit_signals.astype(np.float64)).mean(2)
    num_in, num_out = members.sum(0), (~members).sum(0)
    mean = confidence.mean(0)
    outside = np.where(num_out > 0, (confidence * ~members).sum(0) / np.maximum(num_out, 1), mean)
    if config.online:
        inside = np.where(num_in > 0, (confidence * members).sum(0) / np.maximum(num_in, 1), mean)
        usual = (inside + outside) / 2
    else:
        # Pr(x) ≈ ½((1 + a)·Pr_out(x) + (1 − a)), the linear guess of arXiv:2312.03262 for offline attacks.
        usual = ((1 + config.offline_scale) * outside + (1 - config.offline_scale)) / 2
    return np.maximum(usual, SMALLEST_CONFIDENCE)
