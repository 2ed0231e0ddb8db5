"""What a guarantee allows at every false-positive rate: the trade-off curve f(α) of Dong, Roth, Su (arXiv:1905.02383).

Whoever tells "the record is in" from "it is not" with false-positive rate α has a false-negative rate of at least f(α).
An (ε, δ) point gives max(0, 1 − δ − e^ε α, e^−ε (1 − δ − α)) (Wasserman & Zhou; Kairouz, Oh, Viswanath,
arXiv:1311.0776); a mechanism gives the largest of these over its whole profile δ(ε). Each of them is a straight line
in α, and the largest of any of them is a valid bound: a curve is kept as its lines.
"""

import math
from dataclasses import dataclass

import numpy as np
from dp_accounting.dp_event import DpEvent
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution, from_laplace_mechanism

from audit.accounting.claims import StatedClaim
from audit.accounting.epsilon import epsilon_pld, epsilon_rdp
from audit.accounting.events import subsampled_gaussian
from audit.accounting.privacy_loss import privacy_losses
from condensers.errors import BadInput
from reports.records.schema import Claim

NUM_LINES = 4000
MAX_SLOPE = 600.0  # of the logarithm; e^709 is the largest double
ROUNDING = 1e-10  # added to every δ: far above what convolution in double precision gets wrong


@dataclass(frozen=True, kw_only=True)
class TradeoffCurve:
    """FNR ≥ intercept − slope · FPR for every pair, and FNR ≥ 0. Never above the true curve.

    Slopes ascend, and each line is the highest somewhere: neighbours cross at falling false-positive rates.

    Unless `source` says "directed" it holds whichever of "in" and "out" is called positive.
    """

    slopes: np.ndarray
    intercepts: np.ndarray
    source: str

    def false_negative_rate(self, false_positive_rate: np.ndarray) -> np.ndarray:
        """The provable lower bound on the false-negative rate at each false-positive rate."""
        rates = np.asarray(false_positive_rate, dtype=float)
        if np.any(~((rates >= 0) & (rates <= 1))):
            raise BadInput("false-positive rates must lie in [0, 1]")
        crossings = np.diff(self.intercepts) / np.diff(self.slopes)
        line = np.searchsorted(-crossings, -rates, side="right")
        return np.maximum(self.intercepts[line] - self.slopes[line] * rates, 0.0)


def tradeoff_curve(event: DpEvent, *, directed: bool = False, interval: float | None = None) -> TradeoffCurve:
    """The curve that the privacy loss distribution proves for an event, whatever the record's class.

    `directed`: only for false positives that are records left out and called present. Sharper than the symmetric
    curve, as Poisson sampling makes "in" and "out" unlike. A larger `interval` is faster and looser, never wrong.
    """
    return curve_of_losses(privacy_losses(event, interval), directed=directed)


def curve_of_losses(losses: list[PrivacyLossDistribution], *, directed: bool = False) -> TradeoffCurve:
    """The curve of the worst of several privacy loss distributions."""
    remove, add = [loss._pmf_remove for loss in losses], [loss._pmf_add for loss in losses]
    last = max((part.size + part.to_dense_pmf()._lower_loss) * part._discretization for part in remove + add)
    epsilons = _nodes(min(last, MAX_SLOPE))
    source = "privacy loss distribution"
    if directed:
        return _curve(epsilons, _worst_deltas(epsilons, remove), _worst_deltas(epsilons, add), source + ", directed")
    deltas = _worst_deltas(epsilons, remove + add)
    return _curve(epsilons, deltas, deltas, source)


def point_curve(epsilon: float, delta: float) -> TradeoffCurve:
    """All that an (ε, δ) point proves."""
    if not (0 <= epsilon < 700 and 0 <= delta <= 1):
        raise BadInput(f"point ({epsilon:g}, {delta:g}): epsilon must lie in [0, 700), delta in [0, 1]")
    return _curve(np.array([epsilon]), np.array([delta]), np.array([delta]), f"({epsilon:g}, {delta:g}) point")


def stated_curve(claim: StatedClaim, delta: float) -> tuple[TradeoffCurve, Claim]:
    """What a stated claim allows at every false-positive rate, and its ε at `delta`."""
    numbers, source = claim.numbers, f"stated claim {claim.text}"
    match claim.kind:
        case "point":
            epsilon = numbers["epsilon"]
            point = Claim(epsilon_rdp=None, epsilon_pld=epsilon, delta=delta, source=source)
            return point_curve(epsilon, delta), point
        case "laplace":
            once = from_laplace_mechanism(numbers["scale"])
            loss = once.self_compose(int(numbers["steps"])) if numbers.get("steps", 1) > 1 else once
            known = Claim(
                epsilon_rdp=None, epsilon_pld=float(loss.get_epsilon_for_delta(delta)), delta=delta, source=source
            )
            return curve_of_losses([loss]), known
    event = subsampled_gaussian(
        sampling_rate=numbers.get("rate", 1.0),
        noise_multiplier=numbers["sigma"] if claim.kind == "gaussian" else 1 / numbers["mu"],
        steps=int(numbers.get("steps", 1)),
    )
    proved = Claim(
        epsilon_rdp=epsilon_rdp(event, delta), epsilon_pld=epsilon_pld(event, delta), delta=delta, source=source
    )
    return tradeoff_curve(event, directed=True), proved


def _curve(epsilons: np.ndarray, remove: np.ndarray, add: np.ndarray, source: str) -> TradeoffCurve:
    """TPR ≤ e^ε FPR + δ with the record against without it, TNR ≤ e^ε FNR + δ without it against with it."""
    slopes = np.concatenate([np.exp(-epsilons[::-1]), np.exp(epsilons)])
    intercepts = np.concatenate([(np.exp(-epsilons) * (1 - add))[::-1], 1 - remove])
    kept = _upper_envelope(slopes.tolist(), intercepts.tolist())
    return TradeoffCurve(slopes=slopes[kept], intercepts=intercepts[kept], source=source)


def _upper_envelope(slopes: list[float], intercepts: list[float]) -> list[int]:
    """Which of the lines b − s·α, slopes ascending, are the highest somewhere on α > 0."""
    kept: list[int] = []
    crossings: list[float] = []
    for new, (slope, intercept) in enumerate(zip(slopes, intercepts, strict=True)):
        while kept:
            rise, gap = intercept - intercepts[kept[-1]], slope - slopes[kept[-1]]
            crossing = rise / gap if gap > 0 else math.copysign(math.inf, rise)
            if crossing < (crossings[-1] if crossings else math.inf):
                break
            kept.pop()
            if crossings:
                crossings.pop()
        if not kept:
            kept.append(new)
        elif crossing > 0:
            kept.append(new)
            crossings.append(crossing)
    return kept


def _nodes(last: float) -> np.ndarray:
    """Where to draw lines: evenly, and ever more densely towards 0, where the losses of small samples lie."""
    return np.union1d(np.linspace(0.0, last, NUM_LINES // 4), np.geomspace(1e-6 * last, last, NUM_LINES // 4))


def _worst_deltas(epsilons: np.ndarray, parts: list[pld_pmf.PLDPmf]) -> np.ndarray:
    worst = np.max([_deltas(epsilons, part) for part in parts], axis=0)
    return np.clip(np.maximum.accumulate(worst[::-1])[::-1] + ROUNDING, 0.0, 1.0)


def _deltas(epsilons: np.ndarray, pmf: pld_pmf.PLDPmf) -> np.ndarray:
    """δ(ε) = E[(1 − e^(ε − loss))⁺] at each ε ≥ 0, from two running sums over the losses above it."""
    dense = pmf.to_dense_pmf()
    losses = (np.arange(dense.size) + dense._lower_loss) * dense._discretization
    losses, masses = losses[losses >= 0], dense._probs[losses >= 0]
    mass_above = np.append(np.cumsum(masses[::-1])[::-1], 0.0) + dense._infinity_mass
    weighted_above = np.append(np.cumsum((masses * np.exp(-losses))[::-1])[::-1], 0.0)
    first = np.searchsorted(losses, epsilons, side="right")
    return mass_above[first] - np.exp(epsilons) * weighted_above[first]
