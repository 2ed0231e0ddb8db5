"""Checks of the fields of a method's config."""

import math
from collections.abc import Collection
from typing import Any

from condensers.errors import BadConfig
from condensers.spelling import did_you_mean


def check_choice(config: Any, name: str, allowed: Collection[str]) -> None:
    """Refuse a value that is none of those allowed."""
    value = getattr(config, name)
    if value not in allowed:
        raise BadConfig(f"{name}={value!r} is not one of {', '.join(allowed)}{did_you_mean(str(value), allowed)}")


def check_numbers(
    config: Any,
    *,
    at_least_one: Collection[str] = (),
    positive: Collection[str] = (),
    not_negative: Collection[str] = (),
    below_one: Collection[str] = (),
    prefix: str = "",
) -> None:
    """Refuse numbers outside their range; NaN is in none. `below_one` means [0, 1)."""
    for names, holds, range_in_words in (
        (at_least_one, lambda value: value >= 1, "be at least 1"),
        (positive, lambda value: value > 0, "be positive"),
        (not_negative, lambda value: 0 <= value < math.inf, "not be negative"),
        (below_one, lambda value: 0 <= value < 1, "lie in [0, 1)"),
    ):
        for name in names:
            if not holds(getattr(config, name)):
                raise BadConfig(f"{prefix}{name}={getattr(config, name)}: must {range_in_words}")
