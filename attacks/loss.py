"""Loss-threshold attack (Yeom et al.; Eq. (7) of Dong et al., arXiv:2206.00240) and Dong et al.'s two protocols.

The score is the negative cross-entropy of the victim; it needs no shadow runs. The protocols choose a threshold on
one half of the chosen records and measure the advantage 2·(accuracy − ½) on the other half, per run:

- Table 2: N + N members and non-members choose, N + N others test; 10 seeds.
- Table 1: records that images were initialised from, against as many other members.
"""

from dataclasses import dataclass

import numpy as np

from attacks.registry import Observations, attack


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """The attack has no settings."""


@attack("loss", config=LossConfig, needs_fit_runs=False, by_record=lambda _members, _config: True)
def score_loss(observations: Observations, config: LossConfig) -> np.ndarray:  # noqa: ARG001
    """Negative loss of each record under the victim."""
    # −ln p with φ = ln(p/(1 − p)): the loss is ln(1 + e^{−φ}).
    return -np.logaddexp(0.0, -observations.test_signals[:, :, 0]).astype(np.float32)


def advantage(
    scores: np.ndarray, positives: np.ndarray, negatives: np.ndarray, generator: np.random.Generator, most: int
) -> float | None:
    """Advantage of one run: threshold from one half, accuracy on the other half.

    `positives` and `negatives` are record numbers; at most `most` of each go to either half. None where a half
    would be empty.
    """
    half = min(len(positives) // 2, len(negatives) // 2, most)
    if half == 0:
        return None
    positives, negatives = generator.permutation(positives), generator.permutation(negatives)
    threshold = best_threshold(scores[positives[:half]], scores[negatives[:half]])
    true_positive = (scores[positives[half : 2 * half]] >= threshold).mean()
    true_negative = (scores[negatives[half : 2 * half]] < threshold).mean()
    return float(true_positive + true_negative - 1)


def best_threshold(positives: np.ndarray, negatives: np.ndarray) -> float:
    """The score from which on "member" is the guess, most accurate on these records; half-way to the next lower one."""
    values = np.concatenate([positives, negatives]).astype(np.float64)
    order = np.argsort(-values, kind="stable")
    gain = np.cumsum(np.where(order < len(positives), 1.0, -1.0))
    ordered = values[order]
    last_of_ties = np.append(ordered[1:] != ordered[:-1], True)
    gain = np.where(last_of_ties, gain, -np.inf)
    best = int(np.argmax(gain))
    if gain[best] <= 0:
        return float("inf")
    return float((ordered[best] + ordered[best + 1]) / 2) if best + 1 < len(ordered) else float("-inf")
