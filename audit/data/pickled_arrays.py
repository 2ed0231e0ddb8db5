"""Arrays out of a pickle that is never unpickled: its opcodes are read as data.

A pickle is a program for a machine that may call anything. Here a machine of our own reads the few opcodes with which
numpy's float32 arrays in nested dictionaries are written, calls nothing, and refuses every other opcode or name.
"""

import math
import pickletools
from dataclasses import dataclass
from typing import Any

import numpy as np

from condensers.errors import BadData

RECONSTRUCT, NDARRAY, DTYPE = "numpy.core.multiarray _reconstruct", "numpy ndarray", "numpy dtype"
_FLOAT32 = ("f4", False, True)
_LITTLE_ENDIAN = (3, "<", None, None, None, -1, -1, 0)
_DEEPEST = 4


@dataclass(frozen=True)
class _Name:
    """A name that the pickle would have imported."""

    text: str


@dataclass
class _Dtype:
    """A dtype before and after its state; only little-endian float32 is known."""

    ready: bool = False


@dataclass
class _Array:
    """An array before and after its state."""

    values: np.ndarray | None = None


class _Mark:
    """Where a tuple or a group of items starts on the stack."""


def read_pickled_arrays(content: bytes, *, where: str) -> dict[str, np.ndarray]:
    """The float32 arrays by dotted name; BadData for anything else."""
    try:
        return dict(_flatten(_interpret(content), "", _DEEPEST))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise BadData(f"{where}: not a dictionary of float32 arrays ({error})") from None


def _interpret(content: bytes) -> Any:
    stack: list[Any] = []
    memo: dict[Any, Any] = {}
    for opcode, argument, position in pickletools.genops(content):
        match opcode.name:
            case "PROTO":
                pass
            case "EMPTY_DICT":
                stack.append({})
            case "MARK":
                stack.append(_Mark())
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "BINUNICODE" | "BINBYTES" | "SHORT_BINBYTES" | "BININT" | "BININT1" | "BININT2":
                stack.append(argument)
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[opcode.name])
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(_pop(stack, int(opcode.name[-1])))
            case "TUPLE":
                stack.append(_pop_to_mark(stack))
            case "GLOBAL":
                stack.append(_Name(str(argument)))
            case "REDUCE":
                name, arguments = _pop(stack, 2)
                stack.append(_make(name, arguments))
            case "BUILD":
                target, state = _pop(stack, 2)
                _give_state(target, state)
                stack.append(target)
            case "SETITEM":
                key, value = _pop(stack, 2)
                stack[-1][str(key)] = value
            case "SETITEMS":
                items = _pop_to_mark(stack)
                stack[-1].update(zip(map(str, items[::2]), items[1::2], strict=True))
            case "STOP":
                return stack.pop()
            case other:
                raise ValueError(f"opcode {other} at byte {position}")
    raise ValueError("it ends too early")


def _pop(stack: list[Any], count: int) -> tuple[Any, ...]:
    if len(stack) < count:
        raise ValueError("an operation lacks its arguments")
    values = tuple(stack[-count:])
    del stack[-count:]
    return values


def _pop_to_mark(stack: list[Any]) -> tuple[Any, ...]:
    start = max((place for place, value in enumerate(stack) if isinstance(value, _Mark)), default=None)
    if start is None:
        raise ValueError("a group without a beginning")
    values = tuple(stack[start + 1 :])
    del stack[start:]
    return values


def _make(name: Any, arguments: Any) -> _Dtype | _Array:
    if name == _Name(DTYPE) and arguments == _FLOAT32:
        return _Dtype()
    if name == _Name(RECONSTRUCT) and arguments == (_Name(NDARRAY), (0,), b"b"):
        return _Array()
    raise ValueError(f"it would call {name.text if isinstance(name, _Name) else type(name).__name__}")


def _give_state(target: Any, state: Any) -> None:
    if isinstance(target, _Dtype) and state == _LITTLE_ENDIAN:
        target.ready = True
        return
    if not isinstance(target, _Array):
        raise ValueError("a state of what has none")
    version, shape, dtype, in_columns, content = state
    if version != 1 or in_columns is not False or not (isinstance(dtype, _Dtype) and dtype.ready):
        raise ValueError("an array that is not of little-endian float32 by rows")
    if not all(type(length) is int and length >= 0 for length in shape) or 4 * math.prod(shape) != len(content):
        raise ValueError(f"{len(content)} bytes for an array of shape {shape}")
    target.values = np.frombuffer(content, dtype="<f4").reshape(shape)


def _flatten(value: Any, name: str, depth: int) -> list[tuple[str, np.ndarray]]:
    if isinstance(value, _Array) and value.values is not None:
        return [(name, value.values)]
    if not isinstance(value, dict) or not depth:
        raise ValueError(f"{name or 'its content'} is neither an array nor a dictionary of arrays")
    return [
        entry for key, inner in value.items() for entry in _flatten(inner, f"{name}.{key}" if name else key, depth - 1)
    ]
