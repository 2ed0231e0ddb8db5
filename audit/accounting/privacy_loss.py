"""Events to privacy loss distributions, discretised so that nothing is understated.

Discretisation: Doroshenko et al., Connect the Dots (arXiv:2207.04380), as dp-accounting has it. Every quantity drawn
from such a distribution is pessimistic: δ(ε) is never below the truth, apart from rounding in double precision.

Fixed-size samples, which dp-accounting knows for RDP only: Theorem 11 of Zhu, Dong, Wang, Optimal Accounting of
Differential Privacy via Characteristic Function (arXiv:2106.08567). Replacing a record, a sample of m out of n without
replacement has δ(ε) of the Poisson pair at rate m/n: of "remove" for ε ≥ 0, of "add" for ε < 0.
"""

import math
from functools import lru_cache

import numpy as np
from dp_accounting import dp_event
from dp_accounting.dp_event import DpEvent
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

from audit.accounting.events import Leaf, branches, neighbouring_relation, sampling_rate
from audit.accounting.renyi import branch_epsilon
from condensers.errors import BadInput

COARSEST_INTERVAL = 1e-3
MAX_GRID_POINTS = 1_000_000
MAX_GRID_POINTS_OF_A_RELEASE = 25_000
STAGE = 1000
NEGLIGIBLE = 1e-22  # about the mass that dp-accounting cuts off one release
MAX_LOSS = 1400.0


class NoGuaranteeLeft(BadInput):
    """So little noise that nothing is protected, and nothing is computed."""


def privacy_losses(event: DpEvent, interval: float | None = None) -> list[pld.PrivacyLossDistribution]:
    """One distribution for each class that no other one dominates; the guarantee is the worst of them."""
    relation = neighbouring_relation(event)
    return [_compose(branch, relation, interval) for branch in branches(event)]


@lru_cache(maxsize=24)  # a claim, its curve, the search for its noise and audits of other seeds ask for the same ones
def _compose(branch: tuple[Leaf, ...], relation: str, interval: float | None) -> pld.PrivacyLossDistribution:
    largest = branch_epsilon(branch, relation, NEGLIGIBLE)
    if not largest <= MAX_LOSS:
        raise NoGuaranteeLeft(
            f"there is so little noise that the privacy loss exceeds {MAX_LOSS:g}, which guarantees nothing: use "
            "more noise, fewer steps or a lower sampling rate"
        )
    step = max(interval or _interval(branch, relation), 2 * largest / MAX_GRID_POINTS)
    total = pld.identity(value_discretization_interval=step)
    for leaf in branch:
        total = total.compose(_distribution(leaf, step))
    return total


def _interval(branch: tuple[Leaf, ...], relation: str) -> float:
    """A fiftieth of the typical loss of one release, where that is not too fine a grid for its largest loss.

    Rounding a loss to the grid adds at most interval²/4 to its variance, so ε grows by about 1e-4 of itself.
    """
    typical = min((_typical_loss(leaf) for leaf in branch), default=1.0)
    largest = max((branch_epsilon((Leaf(leaf.event, 1),), relation, NEGLIGIBLE) for leaf in branch), default=0.0)
    return min(COARSEST_INTERVAL, max(typical / 50, largest / MAX_GRID_POINTS_OF_A_RELEASE))


def _typical_loss(leaf: Leaf) -> float:
    """Root of the Rényi divergence of order 2, at most the total variation: rare huge losses are not typical."""
    if isinstance(leaf.event, dp_event.GaussianDpEvent):
        return math.sqrt(leaf.count) / leaf.event.noise_multiplier
    rate, noise = sampling_rate(leaf.event), leaf.event.event.noise_multiplier
    return min(math.sqrt(math.log1p(rate**2 * math.expm1(min(noise**-2, 600.0)))), 2 * rate)


def _distribution(leaf: Leaf, step: float) -> pld.PrivacyLossDistribution:
    match leaf.event:
        case dp_event.GaussianDpEvent(noise_multiplier=noise):
            return pld.from_gaussian_mechanism(noise / math.sqrt(leaf.count), value_discretization_interval=step)
        case dp_event.PoissonSampledDpEvent(sampling_probability=rate, event=inner):
            once = pld.from_gaussian_mechanism(
                inner.noise_multiplier, value_discretization_interval=step, sampling_prob=rate
            )
        case dp_event.SampledWithoutReplacementDpEvent(source_dataset_size=population, sample_size=batch, event=inner):
            once = pld.PrivacyLossDistribution(_fixed_size(batch / population, inner.noise_multiplier, step))
        case _:
            raise BadInput(f"no privacy loss distribution is known for a {type(leaf.event).__name__}")
    return once if leaf.count == 1 else _self_composed(once, leaf.count)


def _self_composed(once: pld.PrivacyLossDistribution, count: int) -> pld.PrivacyLossDistribution:
    """In stages, as dp-accounting's bound on the range of very many releases of a narrow distribution is a loose one.

    Dense from the start: the sparse form works out size ** count, a number of `count` digits.
    """
    remove = once._pmf_remove.to_dense_pmf()
    dense = pld.PrivacyLossDistribution(remove, None if once._symmetric else once._pmf_add.to_dense_pmf())
    stages, rest = divmod(count, STAGE)
    if stages < STAGE / 10:
        return dense.self_compose(count)
    total = _self_composed(dense.self_compose(STAGE), stages)
    return total.compose(dense.self_compose(rest)) if rest else total


def _fixed_size(rate: float, noise_multiplier: float, step: float) -> pld_pmf.PLDPmf:
    remove, add = (
        GaussianPrivacyLoss(noise_multiplier, sampling_prob=rate, adjacency_type=kind)
        for kind in (AdjacencyType.REMOVE, AdjacencyType.ADD)
    )
    last = math.ceil(remove.connect_dots_bounds().epsilon_upper / step)
    epsilons = np.arange(-last, last + 1) * step
    # Theorem 11 (2), arXiv:2106.08567
    deltas = np.concatenate([add.get_delta_for_epsilon(epsilons[:last]), remove.get_delta_for_epsilon(epsilons[last:])])
    return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -last, last, np.clip(deltas, 0.0, 1.0))
