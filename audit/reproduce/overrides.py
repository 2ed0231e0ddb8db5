"""What --set says, and which items it can say anything about: a setting that nothing would use is refused.

A misspelt setting would otherwise leave the scale as it is, and an item run for days.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from attacks.victims import VictimConfig
from audit.games.settings import FLAGS
from audit.reproduce.cells import PlannedCell
from audit.specs.pictures import Visual
from condensers.errors import BadConfig
from condensers.registry import get_method
from condensers.spelling import did_you_mean

VICTIMS = tuple(f"victim.{field.name}" for field in fields(VictimConfig))


def known_settings(settings: Mapping[str, str], method: str) -> dict[str, str]:
    """Those of --set that the method has."""
    own = {field.name for field in fields(get_method(method).config)}
    return {name: value for name, value in settings.items() if name in own}


def settings_taken(planned: Iterable[PlannedCell]) -> frozenset[str]:
    """All settings that something of what is planned has: of its methods, and of the networks that it trains."""
    return frozenset(name for cell in planned for name in _settings_of(cell.spec))


def refuse_unused(settings: Mapping[str, str], taken: frozenset[str], item: str) -> None:
    """One line for the first setting that is not among those of the item."""
    for name, value in settings.items():
        if name not in taken:
            raise BadConfig(f"--set {name}={value}: not a setting of {item}{did_you_mean(name, sorted(taken))}")


def _settings_of(spec: Any) -> set[str]:
    """None of a budget or of `Theory`, which have no settings; no networks are trained for pictures or on no set."""
    if not hasattr(spec, "settings"):
        return set()
    methods = [get_method(name) for name in (spec.methods if hasattr(spec, "methods") else (spec.method,))]
    own = {field.name for method in methods for field in fields(method.config)} - FLAGS.keys()
    trains = not isinstance(spec, Visual) and all(method.makes_set for method in methods)
    return own | (set(VICTIMS) if trains else set())
