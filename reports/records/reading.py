"""From JSON back to the records it was written from, by their type hints; every value is checked against its hint.

Infinite numbers were written as null: where a number must stand, null is read as infinity. NaN is never written, and is
refused.
"""

import json
import math
import types
import typing
import unicodedata
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, NoReturn, TypeVar

Record = TypeVar("Record")
# Beyond these, nothing that an audit writes can be meant, and drawing it would take hours.
MOST_NUMBER, LONGEST_TEXT = 1e100, 20_000
_WORDS = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object; raises ValueError with one line where it is none."""
    try:
        raw = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except RecursionError:
        raise ValueError("not a record: its JSON is too deeply nested") from None
    if not isinstance(raw, dict):
        raise ValueError(f"holds {_kind_of(raw)}, expected a JSON object")
    return raw


def read_record(kind: type[Record], raw: dict[str, Any]) -> Record:
    """A record of dataclasses, tuples, dictionaries and numbers; raises ValueError with one line unless complete."""
    try:
        return _build(kind, raw, "")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a complete record of schema {str(raw.get('schema'))[:100]}: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"holds {name}, which is not a finite number")


def _build(kind: Any, raw: Any, place: str) -> Any:
    if not isinstance(raw, dict):
        raise ValueError(f"{place} is {_kind_of(raw)}, expected an object")
    hints = typing.get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}
    unknown = [name for name in raw if name not in known]
    if unknown:
        raise ValueError(f"{_below(place, unknown[0][:100])} is unknown")
    missing = [
        _below(place, name)
        for name, field in known.items()
        if name not in raw and field.default is MISSING and field.default_factory is MISSING
    ]
    if missing:
        raise ValueError(f"{', '.join(missing)} missing")
    return kind(**{name: _convert(hints[name], value, _below(place, name)) for name, value in raw.items()})


def _convert(hint: Any, value: Any, place: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if is_dataclass(hint):
        return _build(hint, value, place)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _convert_any(arguments, value, place)
    if origin in (tuple, list):
        return _convert_several(origin, arguments, value, place)
    if origin is dict:
        if not isinstance(value, dict):
            raise ValueError(f"{place} is {_kind_of(value)}, expected an object")
        return {key: _convert(arguments[1], entry, _below(place, key)) for key, entry in value.items()}
    if hint is float and value is None:
        return math.inf
    return _plain(hint, value, place)


def _convert_any(hints: tuple[Any, ...], value: Any, place: str) -> Any:
    """By the first of the hints that fits."""
    said = None
    for hint in hints:
        if hint is not types.NoneType:
            try:
                return _convert(hint, value, place)
            except ValueError as error:
                said = said or error
    raise said or ValueError(f"{place} is {_kind_of(value)}")


def _convert_several(origin: Any, hints: tuple[Any, ...], value: Any, place: str) -> Any:
    if not isinstance(value, list):
        raise ValueError(f"{place} is {_kind_of(value)}, expected a list")
    each = hints if origin is tuple and hints[-1] is not Ellipsis else (hints[0],) * len(value)
    if len(each) != len(value):
        raise ValueError(f"{place} has {len(value)} entries, expected {len(each)}")
    return origin(_convert(hint, one, f"{place}[{i}]") for i, (hint, one) in enumerate(zip(each, value, strict=True)))


def _plain(hint: Any, value: Any, place: str) -> Any:
    """A value as JSON has it, of the type that is hinted at."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > MOST_NUMBER:
        raise ValueError(f"{place} is out of range")
    if isinstance(value, str) and (len(value) > LONGEST_TEXT or not _can_be_printed(value)):
        raise ValueError(f"{place} is longer than {LONGEST_TEXT} characters or contains control characters")
    wanted = (int, float) if hint is float else hint
    if hint in _WORDS and (not isinstance(value, wanted) or (isinstance(value, bool) and hint is not bool)):
        raise ValueError(f"{place} is {_kind_of(value)}, expected {_WORDS[hint]}")
    return value


def _can_be_printed(text: str) -> bool:
    """Spaces that do not break are among the words of a verdict; Python calls only the plain one printable."""
    return all(one.isprintable() or one in "\n\t" or unicodedata.category(one) == "Zs" for one in text)


def _below(place: str, name: str) -> str:
    return f"{place}.{name[:100]}" if place else name


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
