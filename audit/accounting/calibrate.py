"""How much noise a target (ε, δ) takes."""

import math
from collections.abc import Callable
from functools import partial

from dp_accounting.dp_event import DpEvent

from audit.accounting.epsilon import MAX_EPSILON, epsilon_pld, epsilon_rdp
from audit.accounting.events import LEAST_NOISE, MOST_NOISE
from audit.accounting.privacy_loss import NoGuaranteeLeft
from audit.engine.progress import ProgressBar
from condensers.errors import BadInput

ACCOUNTANTS: dict[str, Callable[[DpEvent, float], float]] = {
    "pld": epsilon_pld,
    "rdp": epsilon_rdp,
    "rdp-mironov": partial(epsilon_rdp, conversion="mironov"),
}
TOLERANCE = 1e-4
LEAST_RDP_TARGET = 1e-2  # below, the largest order tried is in the way
Trial = tuple[float, float]  # noise multiplier, ε


def calibrate_noise(
    target_epsilon: float, delta: float, make_event: Callable[[float], DpEvent], accountant: str = "pld"
) -> float:
    """A noise multiplier that keeps ε at or below the target, and above 0.9999 of it.

    `make_event` builds the event from a noise multiplier; more noise must not cost more.
    """
    if not 0 < target_epsilon <= MAX_EPSILON:
        raise BadInput(f"target epsilon {target_epsilon:g}: must lie in (0, {MAX_EPSILON:g}]")
    if accountant not in ACCOUNTANTS:
        raise BadInput(f"accountant {accountant!r}: must be one of {', '.join(ACCOUNTANTS)}")

    def epsilon(noise: float) -> float:
        try:
            return ACCOUNTANTS[accountant](make_event(noise), delta)
        except NoGuaranteeLeft:
            return math.inf

    start, factor = 1.0, 2.0
    if accountant == "pld" and target_epsilon > LEAST_RDP_TARGET:
        # RDP is quick, and asks for a little more noise than PLD.
        start, factor = calibrate_noise(target_epsilon, delta, make_event, "rdp"), 1.2
    low, high = _bracket(epsilon, target_epsilon, start, factor)
    widest = math.log(high[0] / low[0])
    with ProgressBar(f"calibrating the noise to ε = {target_epsilon:g}", {0: 1}, announced=False) as bar:
        while high[1] < target_epsilon * (1 - TOLERANCE) and high[0] > low[0] * (1 + TOLERANCE / 100):
            noise = _between(low, high, target_epsilon)
            tried = (noise, epsilon(noise))
            low, high = (low, tried) if tried[1] <= target_epsilon else (tried, high)
            # Digits of the noise multiplier that are settled, of those that the tolerance asks for.
            left = max(math.log(high[0] / low[0]), TOLERANCE)
            bar.update(0, 1 - math.log(left / TOLERANCE) / math.log(widest / TOLERANCE))
    return high[0]


def _bracket(epsilon: Callable[[float], float], target: float, start: float, factor: float) -> tuple[Trial, Trial]:
    """Noise that costs more than the target, and `factor` times as much that does not."""
    low = high = (start, epsilon(start))
    while high[1] > target:
        if high[0] * factor > MOST_NOISE:
            raise BadInput(
                f"epsilon {target:g} is out of reach: a noise multiplier of {high[0]:g} still gives {high[1]:.4g}; "
                "choose a larger epsilon"
            )
        low, high = high, (high[0] * factor, epsilon(high[0] * factor))
    while low[1] <= target:
        if low[0] / factor < LEAST_NOISE:
            raise BadInput(
                f"epsilon {target:g} needs a noise multiplier below {LEAST_NOISE:g}, which is not supported; choose a "
                "smaller epsilon"
            )
        low, high = (low[0] / factor, epsilon(low[0] / factor)), low
    return low, high


def _between(low: Trial, high: Trial, target: float) -> float:
    """Where ε meets the target if log ε is straight in log noise, kept away from the ends; else halfway."""
    start, width = math.log(low[0]), math.log(high[0] / low[0])
    share = 0.5
    if math.isfinite(low[1]) and high[1] > 0:
        # A little past the crossing, so that the side at or below the target moves as well.
        share = math.log(low[1] / (target * (1 - TOLERANCE / 2))) / math.log(low[1] / high[1])
    return math.exp(start + width * min(max(share, 0.02), 0.98))
