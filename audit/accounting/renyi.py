"""Rényi accounting of one branch of an event, and its conversion to (ε, δ).

Divergences: Mironov, Talwar, Zhang (arXiv:1908.10530) for Poisson samples, Wang, Balle, Kasiviswanathan
(arXiv:1808.00087) for fixed-size ones, as dp-accounting has them. Of a fractional order it sums the absolute values of
an alternating series, which makes it an upper bound, a loose one below order 2; Opacus keeps the signs.

Every order gives a valid ε, so the grid is a matter of tightness only: a coarse walk that stops once ε has been rising,
then two refinements around the best order. Papers that used a library's fixed grid print a slightly larger ε.
"""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
from dp_accounting import NeighboringRelation, UnsupportedEventError
from dp_accounting.rdp import RdpAccountant

from audit.accounting.events import REPLACE_ONE, Leaf
from condensers.errors import BadInput

CONVERSIONS = ("balle", "mironov")
# The grid of Opacus, which Zheng & Li used.
OPACUS_ORDERS = (*(1 + tenth / 10 for tenth in range(1, 100)), *range(12, 64))


@lru_cache(maxsize=256)  # the search for a noise multiplier is the same for every seed of an audit
def branch_epsilon(
    branch: tuple[Leaf, ...],
    relation: str,
    delta: float,
    conversion: str = "balle",
    orders: tuple[float, ...] | None = None,
) -> float:
    """The smallest ε over the orders given, or over a grid that adapts to the branch."""
    if not branch:
        return 0.0
    if orders is not None:
        return max(0.0, float(_epsilons(branch, relation, np.array(orders, float), delta, conversion).min()))
    tried, values = np.empty(0), np.empty(0)
    for chunk in np.array_split(_grid(0.02, 1e4, 24), 8):
        fresh = _epsilons(branch, relation, chunk, delta, conversion)
        tried, values = np.append(tried, chunk), np.append(values, fresh)
        finite = fresh[np.isfinite(fresh)]  # fractional orders that did not converge say nothing about a rise
        if finite.size > 1 and finite.argmin() == 0:
            break
    for _ in range(2):
        best = int(values.argmin())
        low, high = tried[max(best - 1, 0)] - 1, tried[min(best + 1, len(tried) - 1)] - 1
        chunk = np.setdiff1d(_grid(low, high, 12), tried)
        tried = np.append(tried, chunk)
        values = np.append(values, _epsilons(branch, relation, chunk, delta, conversion))
        ascending = np.argsort(tried)
        tried, values = tried[ascending], values[ascending]
    return max(0.0, float(values.min()))


def _epsilons(branch: tuple[Leaf, ...], relation: str, orders: np.ndarray, delta: float, conversion: str) -> np.ndarray:
    rdp = _divergences(branch, relation, orders)
    if conversion == "mironov":
        return rdp + math.log(1 / delta) / (orders - 1)  # Proposition 3, arXiv:1702.07476; Lemma II.5 of Zheng & Li
    # Theorem 21 of Balle et al., arXiv:1905.09982; Lemma II.4 of Zheng & Li
    return rdp + np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)


def _divergences(branch: tuple[Leaf, ...], relation: str, orders: np.ndarray) -> np.ndarray:
    kind = NeighboringRelation.REPLACE_ONE if relation == REPLACE_ONE else NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = RdpAccountant(orders=orders, neighboring_relation=kind)
    try:
        with _quiet_about_excluded_orders():
            for leaf in branch:
                accountant.compose(leaf.event, leaf.count)
    except UnsupportedEventError as error:
        raise BadInput(f"RDP cannot account for it: {error}") from None
    return np.maximum(accountant.rdp, 0.0)


@contextmanager
def _quiet_about_excluded_orders() -> Iterator[None]:
    """dp-accounting warns of each order at which its series does not converge; it rightly counts it as infinite."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _grid(low: float, high: float, size: int) -> np.ndarray:
    """Orders 1 + x, and the whole ones next to them: a fractional one may not converge, and is dear when large."""
    orders = 1.0 + np.geomspace(low, high, size)
    whole = np.maximum(np.round(orders), 2.0)
    return np.unique(np.concatenate([orders[orders < 64], whole]))
