"""The condensers there are. A method is one file with one config and one function under `@condenser`.

A condenser condenses many runs at once:

    (pool, included: Bool[runs, records], config, *, randomness, track) -> CondensedBatch

A private one, declared by its `plan`, is not handed the pool. It asks the door (condensers/mechanism.py) for releases
and has the public streams only:

    (door, config, *, randomness, track) -> CondensedBatch

A method releases synthetic sets, or (`releases="generator"`) generators and a set sampled from each, or
(`releases="network"`) networks that it trained itself.

`plan(config, class_sizes)` says which events it will make at the door; calibration rests on it, and a contract test
holds the ledger of what ran against it.

`track(name, total, state)` yields the steps of a long loop. It reports progress and may keep `state` (tensors by
name) so that an interrupted loop goes on where it was; a method keeps all that its next step needs in `state`.
"""

import importlib
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

import condensers
from condensers.errors import AuditError, BadConfig
from condensers.guard import GuardedDoor
from condensers.ledger import Entries, Ledger
from condensers.mechanism import Door, Listener
from condensers.normalisation import SYMMETRIC, Normalisation, normalise, official, to_symmetric
from condensers.plugins import (
    MARK,
    entry_points,
    import_namesake,
    is_reference,
    load_entry_point,
    load_reference,
    mark,
)
from condensers.pool import CondensedBatch, Pool
from condensers.published import published_presets
from condensers.randomness import PublicRandomness, Randomness
from condensers.spelling import did_you_mean


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

    What papers print for a preset, by data set and size, comes on top of that (condensers/published.py).

    `condense` is a `CondensePrivately` if there is a `plan`, else a `Condense`. A private method's config has a
    `noise_multiplier`, and its preset "worst-case" is a small configuration for audits at the door. `plugin` is the
    checksum of its sources if it is not of this package.
    """

    name: str
    summary: str
    config: type
    condense: Any
    presets: dict[str, dict[str, Any]]
    plan: Plan | None = None
    plugin: str = ""
    releases: str = "set"

    @property
    def private(self) -> bool:
        return self.plan is not None

    @property
    def makes_set(self) -> bool:
        return self.releases != "network"


_METHODS: dict[str, Method] = {}

Decorated = TypeVar("Decorated", bound=Callable[..., CondensedBatch])


def condenser(
    name: str,
    *,
    config: type,
    presets: dict[str, dict[str, Any]] | None = None,
    plan: Plan | None = None,
    releases: str = "set",
) -> Callable[[Decorated], Decorated]:
    """Register the function as the method `name`; the first line of its docstring is its summary."""

    def register(function: Decorated) -> Decorated:
        summary = (function.__doc__ or "").strip().split("\n")[0]
        method = Method(
            name=name,
            summary=summary,
            config=config,
            condense=function,
            presets={"paper": {}, "quick": {}, **{one: {} for one in published_presets(name)}, **(presets or {})},
            plan=plan,
            releases=releases,
        )
        mark(function, method)
        if function.__module__.startswith("condensers."):
            _METHODS[name] = method
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
    wanted = official(pool.name) if getattr(config, "normalisation", "") == "official" else SYMMETRIC
    if wanted != SYMMETRIC:
        pool = replace(pool, images=normalise(pool.images, wanted))
    if not method.private:
        with explained(method):
            batch = method.condense(pool, included, config, randomness=randomness, track=track)
        _check_shapes(method, pool, batch, len(randomness.runs))
        return _in_the_pools_numbers(batch, wanted), None
    door = Door(pool, included, class_sizes=class_sizes, randomness=randomness, listeners=listeners)
    batch = condense_through(door, method, pool, config, randomness=randomness, track=track)
    return _in_the_pools_numbers(batch, wanted), door.ledger


def condense_through(
    door: Door, method: Method, pool: Pool, config: Any, *, randomness: Randomness, track: Track = untracked
) -> CondensedBatch:
    """Condense behind this door; the method is handed its public side only. `pool` is for its shape."""
    with explained(method):
        batch = method.condense(
            GuardedDoor(door), config, randomness=randomness.only_public, track=door.keep_ledger(track)
        )
    _check_shapes(method, pool, batch, len(randomness.runs))
    return batch


def _in_the_pools_numbers(batch: CondensedBatch, wanted: Normalisation) -> CondensedBatch:
    if wanted == SYMMETRIC:
        return batch
    images = to_symmetric(batch.images.flatten(0, 1), wanted).view_as(batch.images)
    return replace(batch, images=images)


@contextmanager
def explained(method: Method) -> Iterator[None]:
    """Turn whatever the code of a plugin raises into one line that names the place; the traceback is its cause."""
    try:
        yield
    except (AuditError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if not method.plugin or "allocate memory" in str(error):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        own = inspect.getsourcefile(method.condense)
        place = next((frame for frame in reversed(frames) if frame.filename == own), frames[-1])
        given = (
            "(door, config, *, randomness, track)"
            if method.private
            else "(pool, included, config, *, randomness, track)"
        )
        raise BadConfig(
            f"{method.name}: {type(error).__name__}: {error} in {place.filename}, line {place.lineno}; it is called "
            f"with {given} and returns a CondensedBatch (docs/adding-a-method.md); --debug shows the traceback"
        ) from error


def _check_shapes(method: Method, pool: Pool, batch: Any, runs: int) -> None:
    """Refuse what a method of somebody's own may get wrong, before it becomes a riddle."""
    if not isinstance(batch, CondensedBatch):
        raise BadConfig(f"{method.name} returned {type(batch).__name__}, not a CondensedBatch")
    if (batch.networks is not None) != (method.releases == "network"):
        raise BadConfig(f"{method.name} must release a {method.releases}, but returned something else")
    if (batch.generators is not None) != (method.releases == "generator"):
        raise BadConfig(f"{method.name} must release a {method.releases}, but returned something else")
    size = batch.images.shape[1] if batch.images.ndim > 1 else 0
    expected = {
        "images": [(runs, size, *pool.images.shape[1:])],
        "labels": [(runs, size), (runs, size, pool.num_classes)],
        "initial_records": [(runs, size)],
    }
    for name, shapes in expected.items():
        found = tuple(getattr(batch, name).shape)
        if found not in shapes:
            raise BadConfig(f"{method.name} returned {name} of shape {found}, not {' or '.join(map(str, shapes))}")


def all_methods() -> dict[str, Method]:
    """Every method of this package, by name; each file is found and imported, none is listed by hand."""
    for module in pkgutil.iter_modules(condensers.__path__):
        importlib.import_module(f"condensers.{module.name}")
    return dict(sorted(_METHODS.items()))


def get_method(name: str) -> Method:
    """Look a method up: one of ours, one that an installed package offers, or module:name (condensers/plugins.py)."""
    if is_reference(name):
        return _from_outside(name, *load_reference(name, Method, "condenser"))
    import_namesake(condensers, name)
    if name in _METHODS:
        return _METHODS[name]
    methods = all_methods()
    if name in methods:
        return methods[name]
    installed = entry_points("condensers")
    if name in installed:
        return _from_outside(name, *load_entry_point(installed[name], Method, "condenser"))
    known = [*methods, *installed]
    raise BadConfig(
        f"--method {name!r} is not one of {', '.join(known)}; write a method of your own as module:name or "
        f"path/to/file.py:name{did_you_mean(name, known)}"
    )


def require_set(method: Method, instead: str) -> None:
    """Refuse a method that releases no images; `instead` is what can be done with it."""
    if not method.makes_set:
        raise BadConfig(f"--method {method.name}: it releases a {method.releases}, not a synthetic set; {instead}")


def name_of(condenser: Any) -> str:
    """The name by which `get_method` finds a condenser: given as such, or as the decorated function itself."""
    if isinstance(condenser, str):
        return condenser
    method = condenser if isinstance(condenser, Method) else getattr(condenser, MARK, None)
    if not isinstance(method, Method):
        raise BadConfig(f"{condenser!r} is not a condenser: decorate the function with @condenser, or give its name")
    if _METHODS.get(method.name) is method:
        return method.name
    module = sys.modules.get(method.condense.__module__)
    if module is not None and "." in module.__name__ and module.__spec__ is not None:
        return f"{module.__name__}:{method.condense.__name__}"  # of a package, whose imports may be relative
    return f"{inspect.getsourcefile(method.condense)}:{method.condense.__name__}"


def _from_outside(name: str, method: Method, checksum: str) -> Method:
    """A method under the name that a person gave, by which a worker finds it again."""
    needed = [*(["ipc"] if method.makes_set else []), *(["noise_multiplier"] if method.private else [])]
    present = {field.name for field in fields(method.config)} if is_dataclass(method.config) else set()
    missing = [field for field in needed if field not in present]
    if missing:
        raise BadConfig(f"{name}: its config must be a dataclass with the field {' and '.join(missing)}")
    return replace(method, name=name, plugin=checksum)
