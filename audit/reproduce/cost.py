"""What an item will cost here, before it is run: a probe of some seconds for each specification that differs."""

from collections.abc import Callable
from dataclasses import dataclass

from audit.engine.where import Where
from audit.games.predict import predict
from audit.reproduce.plan import plan_item
from audit.reproduce.tables import published_item
from audit.specs.account import Account
from audit.specs.membership import Lira, Loss
from audit.specs.reproduce import Reproduce
from audit.specs.spec import Spec
from audit.specs.utility import Utility
from condensers.errors import MissingData


@dataclass(frozen=True, kw_only=True)
class Expected:
    """One specification of an item: how many values it serves, and its seconds of the clock, or why not."""

    command: str
    values: int
    seconds: float | None
    why_not: str = ""


def expect_item(spec: Reproduce, where: Where, say: Callable[[str], None]) -> tuple[Expected, ...]:
    """Probe every specification of the item once; nothing is written."""
    by_command: dict[str, list[Spec]] = {}
    for cell in plan_item(spec, published_item(spec.item)):
        by_command.setdefault(cell.spec.command(), []).append(cell.spec)
    return tuple(_expect(command, specs, where, say) for command, specs in by_command.items())


def _expect(command: str, specs: list[Spec], where: Where, say: Callable[[str], None]) -> Expected:
    match specs[0]:
        case Account():
            return Expected(command=command, values=len(specs), seconds=0.0)
        case Lira() | Loss() | Utility() as one:
            try:
                seconds = predict(one, where, say).seconds()
            except MissingData:
                return Expected(command=command, values=len(specs), seconds=None, why_not="its data were not found")
            return Expected(command=command, values=len(specs), seconds=seconds)
    return Expected(command=command, values=len(specs), seconds=None, why_not="no probe for this kind of audit")
