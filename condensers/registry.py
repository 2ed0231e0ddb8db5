"""The condensers there are. A method is one file with one config and one function under `@condenser`.

A condenser condenses many runs at once:

    (pool, included: Bool[runs, records], config, *, randomness, track) -> CondensedBatch

A private one, declared by its `plan`, is not handed the pool. It asks the door (condensers/mechanism.py) for releases
and has the public streams only:

    (door, config, *, randomness, track) -> CondensedBatch

`plan(config, class_sizes)` says which events it will make at the door; calibration rests on it, and a contract test
holds the ledger of what ran against it.

`track(name, total, state)` yields the steps of a long loop. It reports progress and may keep `state` (tensors by
name) so that an interrupted loop goes on where it was; a method keeps all that its next step needs in `state`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from torch import Tensor

import condensers
from condensers.errors import BadConfig
from condensers.ledger import Entries, Ledger
from condensers.mechanism import Door, Listener
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import PublicRandomness, Randomness


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


class CondensePrivately(Protocol):
    """What `@condenser` decorates where there is a plan."""

    def __call__(self, door: Door, config: Any, *, randomness: PublicRandomness, track: Track) -> CondensedBatch: ...


Plan = Callable[[Any, tuple[float, ...]], Entries]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A registered condenser. `presets` maps a preset's name to what it changes in `config`'s defaults.

    `condense` is a `CondensePrivately` if there is a `plan`, else a `Condense`. A private method's config has a
    `noise_multiplier`, and its preset "worst-case" is a small configuration for audits at the door.
    """

    name: str
    summary: str
    config: type
    condense: Any
    presets: dict[str, dict[str, Any]]
    plan: Plan | None = None

    @property
    def private(self) -> bool:
        return self.plan is not None


_METHODS: dict[str, Method] = {}

Decorated = TypeVar("Decorated", bound=Callable[..., CondensedBatch])


def condenser(
    name: str, *, config: type, presets: dict[str, dict[str, Any]] | None = None, plan: Plan | None = None
) -> Callable[[Decorated], Decorated]:
    """Register the function as the method `name`; the first line of its docstring is its summary."""

    def register(function: Decorated) -> Decorated:
        summary = (function.__doc__ or "").strip().split("\n")[0]
        _METHODS[name] = Method(
            name=name,
            summary=summary,
            config=config,
            condense=function,
            presets={"paper": {}, **(presets or {})},
            plan=plan,
        )
        return function

    return register


def condense_runs(
    method: Method,
    pool: Pool,
    included: Tensor,
    config: Any,
    *,
    class_sizes: tuple[float, ...],
    randomness: Randomness,
    track: Track = untracked,
    listeners: Sequence[Listener] = (),
) -> tuple[CondensedBatch, Ledger | None]:
    """Condense a group of runs, a private method through a door of its own; its ledger says what touched the records.

    `class_sizes` are the public N_c; listeners hear every release.
    """
    if not method.private:
        return method.condense(pool, included, config, randomness=randomness, track=track), None
    door = Door(pool, included, class_sizes=class_sizes, randomness=randomness, listeners=listeners)
    batch = method.condense(door, config, randomness=randomness.only_public, track=door.keep_ledger(track))
    return batch, door.ledger


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
