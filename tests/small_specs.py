"""Small specifications for tests."""

import shlex
from typing import Any

from audit.gate.file import KINDS
from audit.specs.membership import Compare, Ladder, Membership, as_lira
from audit.specs.options import parse, split_settings


def small_spec(attack: str = "lira", **changes: Any) -> Membership:
    """200 records, 16 runs, nothing compiled; `changes` may hold settings as on the command line."""
    small = {"records": 200, "shadows": 16, "device": "cpu", "compile": "off"}
    if "changes" in changes:
        changes["settings"] = split_settings(changes.pop("changes"))
    return KINDS[attack](**small | changes)


def spec_of(command: str | list[str]) -> Any:
    """The specification of `audit …`; of what compares levels, that of its condensations at level model."""
    name, *words = shlex.split(command) if isinstance(command, str) else command
    if name == "audit":
        name, *words = words
    kind = {**KINDS, "compare": Compare, "ladder": Ladder}[name]
    spec = parse(kind, words)
    return as_lira(spec, level="model") if isinstance(spec, Compare | Ladder) else spec
