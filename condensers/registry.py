"""The condensers there are. A method is one file with one config and one function under `@condenser`.

A condenser condenses many runs at once:

    (pool, included: Bool[runs, records], config, *, randomness, track) -> CondensedBatch

`track(name, total, state)` yields the steps of a long loop. It reports progress and may keep `state` (tensors by
name) so that an interrupted loop goes on where it was; a method keeps all that its next step needs in `state`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

import condensers
from condensers.errors import BadConfig
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness


class Track(Protocol):
    """Yields steps of a loop and watches over its state."""

    def __call__(self, name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]: ...


def untracked(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:  # noqa: ARG001
    """A track that only counts."""
    return iter(range(total))


class Condense(Protocol):
    """What `@condenser` decorates."""

    def __call__(
        self, pool: Pool, included: Tensor, config: Any, *, randomness: Randomness, track: Track
    ) -> CondensedBatch: ...


@dataclass(frozen=True, kw_only=True)
class Method:
    """A registered condenser. `presets` maps a preset's name to what it changes in `config`'s defaults."""

    name: str
    summary: str
    config: type
    condense: Condense
    presets: dict[str, dict[str, Any]]


_METHODS: dict[str, Method] = {}


def condenser(
    name: str, *, config: type, presets: dict[str, dict[str, Any]] | None = None
) -> Callable[[Condense], Condense]:
    """Register the function as the method `name`; the first line of its docstring is its summary."""

    def register(function: Condense) -> Condense:
        summary = (function.__doc__ or "").strip().split("\n")[0]
        _METHODS[name] = Method(
            name=name, summary=summary, config=config, condense=function, presets={"paper": {}, **(presets or {})}
        )
        return function

    return register


def all_methods() -> dict[str, Method]:
    """Every method of this package, by name; each file is found and imported, none is listed by hand."""
    for module in pkgutil.iter_modules(condensers.__path__):
        importlib.import_module(f"condensers.{module.name}")
    return dict(sorted(_METHODS.items()))


def get_method(name: str) -> Method:
    """Look a method up by name."""
    methods = all_methods()
    if name not in methods:
        raise BadConfig(f"--method {name!r} is not one of {', '.join(methods)}")
    return methods[name]
