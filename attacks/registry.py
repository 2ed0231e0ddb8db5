"""The attacks there are. An attack is one file with one config and one function under `@attack`.

An attack turns what the adversary observed into scores of the test runs, higher for members:

    (observations, config) -> float32 array [test runs, records]

It may look at the membership of the fit runs only; `Observations` holds nothing else.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

import attacks
from condensers.errors import BadConfig
from condensers.plugins import entry_points, import_namesake, is_reference, load_entry_point, load_reference, mark
from condensers.spelling import did_you_mean


@dataclass(frozen=True, kw_only=True)
class Observations:
    """What an adversary has: signals of fit runs with their membership, and of test runs without it.

    `fit_signals` and `test_signals` are float32 `[runs, records, queries]`, `fit_members` bool `[fit runs, records]`.
    At level model a signal is ln(p/(1 − p)) of the victim's confidence; at level set it is a log likelihood ratio
    learned from the fit runs (attacks/released.py), and `ratios` says so.
    """

    fit_signals: np.ndarray
    fit_members: np.ndarray
    test_signals: np.ndarray
    ratios: bool = False


class ScoreTestRuns(Protocol):
    """What `@attack` decorates."""

    def __call__(self, observations: Observations, config: Any) -> np.ndarray: ...


# (members of the fit runs, config) -> whether records can be scored in blocks
ByRecord = Callable[[np.ndarray, Any], bool]


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A registered attack; `needs_fit_runs` says whether it learns from shadow runs, `levels` what it can look at.

    `by_record` says of the membership of the fit runs and a config whether the scores of a record depend on the signals
    of that record alone, so that records can be scored in blocks. `plugin` is the checksum of its sources if it is not
    of this package.
    """

    name: str
    summary: str
    config: type
    score: ScoreTestRuns
    needs_fit_runs: bool
    levels: tuple[str, ...]
    by_record: ByRecord | None = None
    plugin: str = ""


_ATTACKS: dict[str, Attack] = {}


def attack(
    name: str,
    *,
    config: type,
    needs_fit_runs: bool,
    levels: tuple[str, ...] = ("model",),
    by_record: ByRecord | None = None,
) -> Callable[[ScoreTestRuns], ScoreTestRuns]:
    """Register the function as the attack `name`; the first line of its docstring is its summary."""

    def register(function: ScoreTestRuns) -> ScoreTestRuns:
        summary = (function.__doc__ or "").strip().split("\n")[0]
        made = Attack(
            name=name,
            summary=summary,
            config=config,
            score=function,
            needs_fit_runs=needs_fit_runs,
            levels=levels,
            by_record=by_record,
        )
        mark(function, made)
        if function.__module__.startswith("attacks."):
            _ATTACKS[name] = made
        return function

    return register


def all_attacks() -> dict[str, Attack]:
    """Every attack of this package, by name."""
    for module in pkgutil.iter_modules(attacks.__path__):
        importlib.import_module(f"attacks.{module.name}")
    return dict(sorted(_ATTACKS.items()))


def get_attack(name: str) -> Attack:
    """Look an attack up: one of ours, one that an installed package offers, or module:name (condensers/plugins.py)."""
    if is_reference(name):
        return _from_outside(name, *load_reference(name, Attack, "attack"))
    import_namesake(attacks, name)
    if name in _ATTACKS:
        return _ATTACKS[name]
    found = all_attacks()
    if name in found:
        return found[name]
    installed = entry_points("attacks")
    if name in installed:
        return _from_outside(name, *load_entry_point(installed[name], Attack, "attack"))
    known = [*found, *installed]
    raise BadConfig(f"attack {name!r} is not one of {', '.join(known)}{did_you_mean(name, known)}")


def _from_outside(name: str, found: Attack, checksum: str) -> Attack:
    return replace(found, name=name, plugin=checksum)
