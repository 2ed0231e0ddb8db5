"""From JSON back to the records it was written from, by their type hints.

Infinite numbers were written as null: where a number must stand, null is read as infinity.
"""

import json
import math
import types
import typing
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

Record = TypeVar("Record")


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object; raises ValueError with one line where it is none."""
    try:
        raw = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ValueError(f"holds a {type(raw).__name__}, expected a JSON object")
    return raw


def read_record(kind: type[Record], raw: dict[str, Any]) -> Record:
    """A record of dataclasses, tuples, dictionaries and numbers; raises ValueError with one line unless complete."""
    try:
        return _build(kind, raw)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"not a complete record of schema {raw.get('schema')}: {error}") from None


def _build(kind: Any, raw: Any) -> Any:
    hints = typing.get_type_hints(kind)
    known = {field.name for field in fields(kind)}
    return kind(**{name: _convert(hints[name], value) if name in known else value for name, value in raw.items()})


def _convert(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if is_dataclass(hint):
        return _build(hint, value)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _convert(next(each for each in arguments if each is not type(None)), value)
    if origin is tuple:
        each = arguments if arguments[-1] is not Ellipsis else (arguments[0],) * len(value)
        return tuple(_convert(part, entry) for part, entry in zip(each, value, strict=True))
    if origin is list:
        return [_convert(arguments[0], entry) for entry in value]
    if origin is dict:
        return {key: _convert(arguments[1], entry) for key, entry in value.items()}
    return math.inf if hint is float and value is None else value
