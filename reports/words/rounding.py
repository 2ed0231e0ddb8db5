"""Numbers with as many digits as they deserve.

A lower bound is rounded down and a claimed upper bound up, so that no digit says more than was shown; a measured
rate gets two significant digits of its interval's half-width.
"""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal

NARROW_SPACE = "\u202f"
HIGHEST_CEILING = 20.0  # no number of runs or coins that could be made has a higher one that limits anything
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_ROUNDING_SLACK = 1e-9  # 1.1 × 100 is 110.00000000000001 in binary


def count(number: int) -> str:
    """230016 as 230 016."""
    return f"{number:,}".replace(",", NARROW_SPACE)


def down(value: float, decimals: int = 2) -> str:
    """Rounded towards zero: what a lower bound may be printed as."""
    if not math.isfinite(value):
        return _infinite(value)
    return f"{math.floor(value * 10**decimals + _ROUNDING_SLACK) / 10**decimals:.{decimals}f}"


def up(value: float, decimals: int = 2) -> str:
    """Rounded away from zero: what an upper bound may be printed as."""
    if not math.isfinite(value):
        return _infinite(value)
    return f"{math.ceil(value * 10**decimals - _ROUNDING_SLACK) / 10**decimals:.{decimals}f}"


def say_ceiling(ceiling: float) -> str:
    """A ceiling rounded down; one that limits nothing, as of estimators that assume a family, without its digits."""
    if math.isinf(ceiling):
        return "none"
    return f"> {HIGHEST_CEILING:g}" if ceiling > HIGHEST_CEILING else down(ceiling)


def decimals_apart(lower: float, claimed: float | None) -> int:
    """Decimals (2 to 6) at which a bound rounded down still stands above a claim rounded up, if it does."""
    if claimed is None or not math.isfinite(lower) or not lower > claimed:
        return 2
    return next(
        (decimals for decimals in range(2, 6) if float(down(lower, decimals)) > float(up(claimed, decimals))), 6
    )


def small(value: float, digits: int = 3) -> str:
    """0.00001 as 10⁻⁵, 0.00002 as 2·10⁻⁵, 0 as 0; to so many significant digits below 0.01."""
    if value == 0:
        return "0"
    return _as_power(value, digits) if 0 < abs(value) < 0.01 else f"{value:g}"


def rough(value: float, digits: int = 2) -> str:
    """Of any size to a few digits: 3.1e9 as 3.1·10⁹, 0.000173 as 1.7·10⁻⁴."""
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 1e5:
        return _as_power(rounded)
    return count(int(rounded)) if rounded >= 1000 else small(rounded)


def significant(value: float) -> str:
    """Three digits, zeros at the end kept so that a column is of one precision: 1.6 as 1.60, 3 as 3.00."""
    return f"{value:#.3g}".rstrip(".") if 0.01 <= abs(value) < 1000 else rough(value, 3)


def _as_power(value: float, digits: int = 3) -> str:
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    factor = f"{float(mantissa):g}"
    return power if factor == "1" else f"{factor}·{power}"


def say_delta(delta: float) -> str:
    """How δ is written wherever a person reads it; JSON and command lines keep plain numbers."""
    return f"δ = {small(delta, digits=6)}"


def probability(value: float) -> str:
    """A p-value to two digits, rounded up; what a double cannot hold is not 0."""
    if value < 1e-300:
        return "< 10⁻³⁰⁰"
    return small(round_up(value))


def round_up(value: float, digits: int = 2) -> float:
    """The smallest number of so many significant digits that is not below a positive one."""
    exact = Decimal(repr(float(value)))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_CEILING))


def percent(value: float, decimals: int | None = None) -> str:
    """0.001 as 0.1%, 0.95 as 95%, 0.983333 as 98.3%; what is below 1 is never printed as 100%, unless to a number of
    decimals, nor a confidence above what it is."""
    if decimals is not None:
        return f"{100 * value:.{decimals}f}%".replace("-", "−")
    if not 0.5 < value < 1:
        return f"{100 * value:.3g}%" if value < 1 else f"{100 * value:g}%"
    digits = max(1, 1 - math.floor(math.log10(100 * (1 - value)) + _ROUNDING_SLACK))
    return f"{float(down(100 * value, digits)):.15g}%"


def up_percent(value: float) -> str:
    """An upper bound on a rate: three significant digits of its per cents, rounded up, never above 100%."""
    if not 0 < value < 1:
        return percent(min(max(value, 0.0), 1.0), 0)
    decimals = min(max(2 - math.floor(math.log10(100 * value)), 0), 6)
    return f"{min(float(up(100 * value, decimals)), 100.0):.{decimals}f}%"


def signed(value: float) -> str:
    """Three decimals and a true minus sign."""
    return f"{value:.3f}".replace("-", "−")


def decimals_of(interval: tuple[float, float], *, most: int = 4) -> int:
    """Decimals that show two significant digits of the interval's half-width; `most` where it has no width."""
    half_width = abs(interval[1] - interval[0]) / 2
    if not 0 < half_width < math.inf:
        return most
    return min(max(1 - math.floor(math.log10(half_width)), 0), most)


def common_decimals(intervals: Iterable[tuple[float, float]]) -> int:
    """Of the figures of one column, those of the narrowest interval, so that they stand below each other."""
    return max((decimals_of(interval) for interval in intervals if interval[0] != interval[1]), default=2)


def measured(value: float, interval: tuple[float, float], decimals: int | None = None) -> tuple[str, str]:
    """A figure and its interval: ("0.641", "[0.637, 0.645]"); to more decimals where its column has more."""
    decimals = max(decimals_of(interval) if decimals is None else decimals, 2)
    low, high = interval
    return f"{value:.{decimals}f}", f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def measured_percent(value: float, interval: tuple[float, float], decimals: int | None = None) -> tuple[str, str]:
    """A rate and its interval in per cent: ("3.47%", "[3.12%, 3.85%]"); to so many decimals where its column has."""
    if decimals is None:
        decimals = max(decimals_of((100 * interval[0], 100 * interval[1]), most=3), 1)
    low, high = interval
    return percent(value, decimals), f"[{percent(low, decimals)}, {percent(high, decimals)}]"


def with_interval(figure: str, interval: str) -> str:
    """Both for a cell, which may part them but not the interval."""
    return f"{figure} {interval.replace(' ', chr(0xA0))}"


def ordinary(value: float) -> str:
    """Two decimals, for figures without an interval."""
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else _infinite(value)


def _infinite(value: float) -> str:
    return "∞" if value > 0 else "−∞" if value < 0 else "not a number"
