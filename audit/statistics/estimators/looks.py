"""Several rules looked at side by side, whatever is counted under each, and the bound on which enough of them agree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Looks:
    """Counts under rules with these thresholds, `[..., looks]`; `num_agreeing` bounds must exceed what is reported."""

    thresholds: Floats
    num_agreeing: int = 1

    @property
    def num_looks(self) -> int:
        return self.thresholds.shape[-1]


Counts = TypeVar("Counts", bound=Looks)


def join_looks(parts: Sequence[Counts], num_agreeing: int = 1) -> Counts:
    """The looks of all parts, in their order; what is not an array is the same in all of them."""
    first = parts[0]
    arrays = [field.name for field in fields(first) if isinstance(getattr(first, field.name), np.ndarray)]
    joined = {name: np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in arrays}
    return replace(first, **joined, num_agreeing=num_agreeing)


def bound_looks(
    counts: Counts, bounds_of: Callable[[Counts, float], Floats], significance: float
) -> tuple[float, Floats, int]:
    """The significance of each look, the bounds at it, and the look whose bound is reported."""
    each = share_significance(significance, num_looks=counts.num_looks, num_agreeing=counts.num_agreeing)
    bounds = bounds_of(counts, each)
    return each, bounds, int(agreed_look(bounds, num_agreeing=counts.num_agreeing))


def share_significance(significance: float, *, num_looks: int, num_agreeing: int) -> float:
    """The significance of each look when `num_agreeing` of `num_looks` bounds must exceed what is reported."""
    return significance * num_agreeing / num_looks


def agreed_look(bounds: Floats, *, num_agreeing: int) -> NDArray[np.intp]:
    """Which look holds the `num_agreeing`-th largest bound, along the last axis."""
    return np.argsort(-bounds, axis=-1, kind="stable")[..., num_agreeing - 1]
