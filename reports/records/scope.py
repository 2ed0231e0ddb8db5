"""The settings in which something was tested. A verdict is as wide as these and no wider, so it prints them."""

from dataclasses import dataclass

KNOWN, UNKNOWN, PRIVATE = "known", "unknown", "private"
_RANDOMNESS = {
    KNOWN: "public randomness known to the adversary",
    UNKNOWN: "public randomness unknown to the adversary",
    PRIVATE: "no public randomness",
}


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What was tested on what. `ratio` is r of Dong et al., synthetic over condensed records; None: does not apply.

    `num_audited` of `num_records` records had coins and the rest was always in; None: all had coins.
    """

    dataset: str
    members_per_class: float | None = None
    ratio: float | None = None
    steps: int | None = None
    network: str | None = None
    randomness: str = UNKNOWN
    num_audited: int | None = None
    num_records: int | None = None

    def __post_init__(self) -> None:
        if self.randomness not in _RANDOMNESS:
            raise ValueError(f"randomness {self.randomness!r} is not one of {', '.join(_RANDOMNESS)}")


def describe_audited(num_audited: int | None, num_records: int | None) -> str | None:
    """Who was in doubt, where it was not everybody."""
    if num_audited is None or num_records is None:
        return None
    counts = f"{grouped(num_audited)} of {grouped(num_records)}"
    return f"{counts} records audited, all others in every run and known to the adversary"


def grouped(number: float, digits: str = ".0f") -> str:
    """A number, its thousands separated as everywhere in reports."""
    return f"{number:,{digits}}".replace(",", " ")


def describe_scope(scope: Scope) -> str:
    """One line for people."""
    parts = [
        scope.dataset,
        describe_audited(scope.num_audited, scope.num_records),
        None if scope.members_per_class is None else f"{grouped(scope.members_per_class)} members per class",
        None if scope.ratio is None else f"r = {scope.ratio:.2g}",
        None if scope.steps is None else f"{grouped(scope.steps)} step{'' if scope.steps == 1 else 's'}",
        scope.network,
        _RANDOMNESS[scope.randomness],
    ]
    return ", ".join(part for part in parts if part is not None)
