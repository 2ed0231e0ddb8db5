"""What the records of all kinds of audit share, so that they can be drawn alike and stand side by side."""

import typing
from dataclasses import dataclass

from reports.records.schema import Claim, EpsilonBound, HasCurve, Roc, Tradeoff, Utility


class AnyReport(typing.Protocol):
    """Of `audit lira`, `rmia` and `loss`, of `audit visual`, or of `audit worst-case`."""

    @property
    def command(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def attack(self) -> str: ...
    @property
    def dataset(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def verdict_reason(self) -> str: ...
    @property
    def epsilon(self) -> EpsilonBound: ...
    @property
    def bounds(self) -> tuple[EpsilonBound, ...]: ...
    @property
    def claimed(self) -> Claim | None: ...
    @property
    def roc(self) -> Roc | None: ...
    @property
    def tradeoff(self) -> Tradeoff | None: ...
    @property
    def utility(self) -> Utility | None: ...
    @property
    def threat_model(self) -> tuple[str, ...]: ...
    @property
    def digest(self) -> str: ...
    @property
    def run_directory(self) -> str: ...


class NamedCurve(HasCurve, typing.Protocol):
    """An operating characteristic, and whose it is."""

    @property
    def method(self) -> str: ...
    @property
    def attack(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Corner:
    """Rates that one rule certainly reaches, both at once: at most this FPR, at least this TPR."""

    number: int
    false_positive_rate: float
    true_positive_rate: float
    outside: bool
