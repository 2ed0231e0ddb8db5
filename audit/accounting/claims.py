"""Claims that a person states: a point `2`, or a curve `gaussian:sigma=2,rate=.5,steps=10`, `gdp:1.2`, `laplace:1`.

- a number: (ε, δ) at the δ of the audit;
- `gaussian:sigma=S[,rate=Q][,steps=T]`: T Poisson-subsampled Gaussian releases, S over the clipping norm;
- `gdp:MU`: μ-Gaussian differential privacy (Dong, Roth, Su, arXiv:1905.02383), one Gaussian release of 1/μ;
- `laplace:B[,steps=T]`: T Laplace releases of scale B over the L1 sensitivity, so 1/B-DP each.
"""

import math
from dataclasses import dataclass

from audit.accounting.epsilon import MAX_EPSILON
from audit.accounting.events import LEAST_NOISE, MAX_STEPS, MOST_NOISE
from condensers.errors import BadConfig
from condensers.spelling import did_you_mean

FORMS = "a number, gaussian:sigma=S,rate=Q,steps=T, gdp:MU or laplace:B"
_FIELDS = {"gaussian": ("sigma", "rate", "steps"), "gdp": ("mu",), "laplace": ("scale", "steps")}


@dataclass(frozen=True, kw_only=True)
class StatedClaim:
    """A claim, read: `kind` is "point" or the name of a curve."""

    kind: str
    numbers: dict[str, float]
    text: str


def parse_claim(text: str | float) -> StatedClaim:
    """One line for whatever is wrong with it; nothing is computed yet."""
    words = str(text).strip()
    kind, colon, rest = words.partition(":")
    if not colon:
        epsilon = _number(words, words, zero=True)
        if epsilon > MAX_EPSILON:
            raise BadConfig(f"--claim {words}: must be at most {MAX_EPSILON:g}; a larger ε guarantees nothing")
        return StatedClaim(kind="point", numbers={"epsilon": epsilon}, text=words)
    if kind not in _FIELDS:
        raise BadConfig(f"--claim {words}: {kind!r} is not a kind of claim; write {FORMS}{did_you_mean(kind, _FIELDS)}")
    numbers: dict[str, float] = {}
    for position, part in enumerate(rest.split(",")):
        name, equals, value = part.partition("=")
        name, value = (name.strip(), value) if equals else (_FIELDS[kind][min(position, 0)], name)
        if name not in _FIELDS[kind] or name in numbers:
            raise BadConfig(
                f"--claim {words}: {part!r} is not a parameter of {kind}, or is given twice; there are "
                f"{', '.join(_FIELDS[kind])}"
            )
        numbers[name] = _number(value, words)
    if _FIELDS[kind][0] not in numbers:
        raise BadConfig(f"--claim {words}: {_FIELDS[kind][0]} is missing; write {FORMS}")
    steps = numbers.get("steps", 1.0)
    if steps > MAX_STEPS or steps != int(steps) or numbers.get("rate", 1.0) > 1:
        raise BadConfig(f"--claim {words}: steps must be a whole number up to {MAX_STEPS}, and rate at most 1")
    noise = numbers.get("sigma") or numbers.get("scale") or 1 / numbers["mu"]
    if not LEAST_NOISE <= noise <= MOST_NOISE:
        raise BadConfig(
            f"--claim {words}: its noise multiplier, {noise:g}, must lie between {LEAST_NOISE:g} and {MOST_NOISE:g}"
        )
    return StatedClaim(kind=kind, numbers=numbers, text=words)


def _number(value: str, words: str, *, zero: bool = False) -> float:
    try:
        number = float(value)
    except ValueError:
        raise BadConfig(f"--claim {words}: {value!r} is not a number; write {FORMS}") from None
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise BadConfig(f"--claim {words}: {value} must be a finite number, {'0 or more' if zero else 'above 0'}")
    return number
