"""What a private method is handed: the public side of a door, with no record inside.

Records, members and private streams stay with the real door, behind a closure: no attribute leads to them, the ledger
is a copy, and nothing can be assigned. A method that reaches for what is private breaks its contract and is told so.
This is honesty, not a sandbox: a plugin is Python in the same process, and one that sets out to read closures, frames
or the memory of the process can (docs/faults.md says what remains possible).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from condensers.errors import BadConfig, BrokenContract
from condensers.ledger import Ledger
from condensers.mechanism import Door, Request, Vectors


class ReachedAround(BrokenContract, AttributeError):
    """A method asked the door for something that is private."""


class GuardedDoor:
    """Looks like the door, and holds nothing of it but a way to ask for what is public."""

    __slots__ = ("_ask",)

    def __init__(self, door: Door) -> None:
        object.__setattr__(self, "_ask", _public_side(door))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise ReachedAround(
                f"it reads door.{name}: a private method sees the records only through door.release (contract: replay)"
            )
        return self._ask(name)

    def __setattr__(self, name: str, value: object) -> None:
        raise ReachedAround(f"it assigns door.{name}: a method must not change the ledger or the settings of the door")

    def __delattr__(self, name: str) -> None:
        raise ReachedAround(f"it deletes door.{name}: a method must not change the door")


def _public_side(door: Door) -> Callable[[str], Any]:
    def ask(name: str) -> Any:
        value = getattr(door, name)
        if isinstance(value, Ledger):
            return Ledger.from_tensor(value.to_tensor())
        if not callable(value):
            return value
        if name == "release":
            return release

        def call(*arguments: Any, **keywords: Any) -> Any:
            return value(*arguments, **keywords)

        return call

    def release(requests: Any, **keywords: Any) -> Tensor:
        checked = [
            replace(request, vectors=_checked(request.vectors, keywords.get("dim")))
            if type(request) is Request
            else request
            for request in requests
        ]
        return door.release(checked, **keywords)

    return ask


def _checked(vectors: Vectors, dim: int | None) -> Vectors:
    """The same function; one line where it does not give every record a row of `dim` numbers."""

    def checked(images: Tensor, labels: Tensor) -> Tensor:
        found = vectors(images, labels)
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        expected = (*labels.shape, dim)
        if shape != expected and dim is not None:
            raise BadConfig(
                f"vectors returned {shape} for {tuple(labels.shape)} records; expected {expected}: one row of "
                "`dim` numbers for each record"
            )
        return found

    return checked
