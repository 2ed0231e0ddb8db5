"""What events cost at a given δ.

The neighbouring relation is the event's own (`events.neighbouring_relation`). An event that an accountant does not
know is refused, never approximated.

Conversions from RDP: "balle" is Balle et al. 2020 (Lemma II.4 of Zheng & Li), "mironov" the older and larger one (Lemma
II.5 there, Theorem 3 of Dyn-PSG), on which the figures published for DP-MERF and GS-WGAN rest.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from dp_accounting import dp_event
from dp_accounting.dp_event import DpEvent

from audit.accounting.events import Leaf, branches, neighbouring_relation
from audit.accounting.privacy_loss import NoGuaranteeLeft, privacy_losses
from audit.accounting.renyi import CONVERSIONS, branch_epsilon
from condensers.errors import BadInput

MAX_EPSILON = 500.0
SMALLEST_DELTA = 1e-12  # of PLD: convolutions in double precision resolve no less


def epsilon_rdp(
    event: DpEvent, delta: float, *, conversion: str = "balle", orders: Sequence[float] | None = None
) -> float:
    """The smallest ε that Rényi differential privacy proves at δ; `orders` fixes the grid, as a paper's library did."""
    _check_delta(delta)
    if conversion not in CONVERSIONS:
        raise BadInput(f"conversion {conversion!r}: must be one of {', '.join(CONVERSIONS)}")
    relation = neighbouring_relation(event)
    grid = None if orders is None else tuple(orders)
    return _checked(max(branch_epsilon(branch, relation, delta, conversion, grid) for branch in branches(event)))


def epsilon_pld(event: DpEvent, delta: float) -> float:
    """The smallest ε that the privacy loss distribution proves at δ: the tightest there is, rounded up."""
    _check_delta(delta)
    if delta < SMALLEST_DELTA:
        raise BadInput(
            f"delta {delta:g}: must be at least {SMALLEST_DELTA:g}, the smallest that a privacy loss distribution "
            "resolves"
        )
    return _checked(max(loss.get_epsilon_for_delta(delta) for loss in privacy_losses(event)))


def epsilon_rdp_opacus(event: DpEvent, delta: float) -> float:
    """Opacus' RDP on Opacus' own orders, conversion of Balle et al.; a record is added or removed."""
    from opacus.accountants import RDPAccountant
    from opacus.accountants.analysis.rdp import compute_rdp, get_privacy_spent

    _check_delta(delta)
    orders = RDPAccountant.DEFAULT_ALPHAS
    worst = 0.0
    for branch in branches(event):
        rdp = sum(
            compute_rdp(q=rate, noise_multiplier=noise, steps=steps, orders=orders)
            for rate, noise, steps in _poisson_parameters(branch)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an order at the end of the grid is looser, not wrong
            worst = max(worst, float(get_privacy_spent(orders=orders, rdp=rdp, delta=delta)[0]))
    return _checked(worst)


def epsilon_prv_opacus(event: DpEvent, delta: float) -> float:
    """Opacus' PRV (Gopi, Lee, Wutschitz, arXiv:2106.02848), the upper end of its error of 0.01; a record is removed."""
    from opacus.accountants import PRVAccountant

    _check_delta(delta)
    worst = 0.0
    for branch in branches(event):
        accountant = PRVAccountant()
        accountant.history = [(noise, rate, steps) for rate, noise, steps in _poisson_parameters(branch)]
        with np.errstate(divide="ignore"):  # log(1 − rate) where everybody takes part
            worst = max(worst, float(accountant.get_epsilon(delta=delta)))
    return _checked(worst)


def epsilon_lower(event: DpEvent, delta: float) -> float | None:
    """No accountant can prove less than this at δ: the lower end of Opacus' PRV (Gopi et al., arXiv:2106.02848).

    It is the ε of the mechanism itself where some record uses the whole clipping norm in every release, up to the
    error that PRV bounds, 0.01 or a hundredth of ε. None for samples of fixed size, of which PRV knows no exact law.
    """
    from opacus.accountants import PRVAccountant

    _check_delta(delta)
    if any(isinstance(leaf.event, dp_event.SampledWithoutReplacementDpEvent) for b in branches(event) for leaf in b):
        return None
    error, delta_error, least = max(0.01, epsilon_rdp(event, delta) / 100), delta / 1000, 0.0
    for branch in branches(event):
        accountant = PRVAccountant()
        accountant.history = [(noise, rate, steps) for rate, noise, steps in _poisson_parameters(branch)]
        with np.errstate(divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # RDP, which only bounds PRV's domain, may end at its smallest order
            losses = accountant._get_dprv(eps_error=error, delta_error=delta_error)
        least = max(least, float(losses.compute_epsilon(delta, delta_error, error)[0]))
    return least


def _poisson_parameters(branch: Sequence[Leaf]) -> list[tuple[float, float, int]]:
    parameters = []
    for leaf in branch:
        match leaf.event:
            case dp_event.GaussianDpEvent(noise_multiplier=noise):
                parameters.append((1.0, noise, leaf.count))
            case dp_event.PoissonSampledDpEvent(sampling_probability=rate, event=inner):
                parameters.append((rate, inner.noise_multiplier, leaf.count))
            case _:
                raise BadInput(
                    f"Opacus supports Poisson sampling only, not a {type(leaf.event).__name__}; leave out the "
                    "cross-check"
                )
    return parameters


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise BadInput(f"delta {delta:g}: must lie in (0, 1)")


def _checked(epsilon: float) -> float:
    if not epsilon <= MAX_EPSILON:
        raise NoGuaranteeLeft(
            f"epsilon is above {MAX_EPSILON:g}, which guarantees nothing: use more noise, fewer steps or a lower "
            "sampling rate"
        )
    return float(epsilon)
