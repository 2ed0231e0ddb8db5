"""What all specifications share: validation, digest, the command line that reproduces them, and JSON both ways.

A specification says everything that a person decides about an audit. Everything follows from its fields: limits and
help stand beside their types, a wrong value is refused in one line when the specification is made, whoever makes it
(the command line, a `privacy.toml`, a claim, Python), and nothing inside the program goes through the command line.
Where results go and who computes them is no part of it.
"""

import hashlib
import json
import math
import shlex
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
from msgspec import Meta

import condensers
from condensers.errors import BadConfig
from condensers.plugins import check_name

Setting = str | int | float | bool
Settings = Annotated[
    Mapping[str, str],
    Meta(
        description="A setting of the method, of the victims (victim.KEY) or of the attack (attack.KEY). May be "
        "repeated.",
        extra={"option": "--set", "metavar": "KEY=VALUE"},
    ),
]
LONGEST_TEXT = 4096
_PLAIN = {"`int`": "a whole number", "`float`": "a number", "`str`": "text", "`bool`": "true or false"}


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A specification. `COMMAND` is the name of the command of the same kind."""

    COMMAND: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name, hint in fields_of(type(self)):
            _check(name, getattr(self, name), hint)

    @property
    def digest(self) -> str:
        """Equal for equal settings. A run directory's digest covers data, versions and code as well."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    def command(self) -> str:
        """The equivalent command line, with all digits of every number. Defaults are left out."""
        words = ["audit", self.COMMAND]
        for name, hint in fields_of(type(self)):
            value = getattr(self, name)
            if value == default_of(type(self), name):
                continue
            words += _words(option_of(name, hint), value, extra_of(hint).get("separator"))
        return shlex.join(words)

    def to_json(self) -> str:
        """Canonical JSON: every field, in alphabetical order.

        Fields whose annotation says `omit_default` were added later: they are left out unless they were set, so
        that older specifications keep their digests.
        """
        values = msgspec.to_builtins(self)
        for name, hint in fields_of(type(self)):
            if extra_of(hint).get("omit_default") and getattr(self, name) == default_of(type(self), name):
                del values[name]
        return json.dumps(values, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a specification back. If it is invalid, the error has a one-line message."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.ValidationError as error:
            raise BadConfig(f"{cls.COMMAND}: {explain(str(error))}") from None
        except msgspec.DecodeError as error:
            raise BadConfig(f"{cls.COMMAND}: not JSON: {error}") from None

    def but(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)


@cache
def fields_of(spec: type[Spec]) -> tuple[tuple[str, Any], ...]:
    """Names and annotated types of the fields, in the order of their declaration."""
    hints = typing.get_type_hints(spec, include_extras=True)
    return tuple((field.name, hints[field.name]) for field in msgspec.structs.fields(spec))


@cache
def _defaults(spec: type[Spec]) -> dict[str, Any]:
    return {
        field.name: field.default_factory() if field.default is msgspec.NODEFAULT else field.default
        for field in msgspec.structs.fields(spec)
        if not field.required
    }


def default_of(spec: type[Spec], name: str) -> Any:
    """The default of a field; NODEFAULT where it must be given."""
    return _defaults(spec).get(name, msgspec.NODEFAULT)


def meta_of(hint: Any) -> Iterator[Meta]:
    """The annotations of a type and of what it may be besides None, the outermost first."""
    if typing.get_origin(hint) is Annotated:
        first, *rest = typing.get_args(hint)
        yield from (one for one in reversed(rest) if isinstance(one, Meta))
        yield from meta_of(first)
    elif typing.get_origin(hint) in (types.UnionType, typing.Union):
        for one in typing.get_args(hint):
            yield from meta_of(one)


def plain_type(hint: Any) -> Any:
    """The type without annotations and without None."""
    if typing.get_origin(hint) is Annotated:
        return plain_type(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return plain_type(next(one for one in typing.get_args(hint) if one is not type(None)))
    return hint


def option_of(name: str, hint: Any) -> str:
    """The option of a field: its name with dashes, unless its annotation says otherwise."""
    return extra_of(hint).get("option", f"--{name.replace('_', '-')}")


def extra_of(hint: Any) -> dict[str, Any]:
    """What the annotations say about the option: `option`, `also`, `metavar`, and `separator` of a list in one word.

    And about the digest: `omit_default`.
    """
    return {key: value for meta in reversed(list(meta_of(hint))) for key, value in (meta.extra or {}).items()}


def as_settings(changes: Mapping[str, Setting]) -> dict[str, str]:
    """Settings as text, in which form they come from the command line."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in changes.items()}


def refuse_without_sets(spec: Any, names: tuple[str, ...]) -> None:
    """Refuse fields that speak of released sets where none is given."""
    for name in names:
        if getattr(spec, name) and not spec.synthetic:
            raise BadConfig(f"--{name.replace('_', '-')}: has no meaning without --synthetic FILE")


def _words(option: str, value: Any, separator: str | None) -> list[str]:
    match value:
        case True:
            return [option]
        case False:
            return [f"--no-{option.removeprefix('--')}"]
        case dict():
            return [word for name, one in value.items() for word in (option, f"{name}={one}")]
        case tuple() if separator is not None:
            return [option, separator.join(map(_text, value))]
        case tuple():
            return [word for one in value for word in (option, _text(one))]
        case _:
            return [option, _text(value)]


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _check(name: str, value: Any, hint: Any) -> None:
    kind = plain_type(hint)
    for text in _texts(value):
        check_text(option_of(name, hint), text)
    if extra_of(hint).get("names") == "condensers":
        for one in value if isinstance(value, tuple) else (value,):
            check_name(option_of(name, hint), str(one), condensers, "condenser")
    if typing.get_origin(kind) is tuple and isinstance(value, tuple):
        for one in value:
            _check_one(option_of(name, hint), one, typing.get_args(kind)[0])
    _check_one(option_of(name, hint), value, hint)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from (text for text in pair if isinstance(text, str))
    elif isinstance(value, tuple):
        yield from (text for text in value if isinstance(text, str))


def check_text(where: str, text: str) -> None:
    """Refuse a text that is longer than any name or path, and one with characters that would steer a terminal."""
    if len(text) > LONGEST_TEXT:
        raise BadConfig(f"{where}: has {len(text)} characters; at most {LONGEST_TEXT} are allowed")
    if not text.isprintable():
        raise BadConfig(f"{where} {text!r}: contains a control character, which is not allowed")


def _check_one(option: str, value: Any, hint: Any) -> None:
    finite = not isinstance(value, float) or math.isfinite(value)
    least = extra_of(hint).get("least")
    if least is not None and isinstance(value, float) and 0 < value < least:
        zero = "" if any(meta.gt == 0 for meta in meta_of(hint)) else "0 or "
        raise BadConfig(f"{option} {value}: must be {zero}at least {least:g}")
    try:
        msgspec.convert(value, hint)
        if finite:
            return
        said = "must be a finite number"
    except msgspec.ValidationError as error:
        said = explain(str(error))
    kind = plain_type(hint)
    if typing.get_origin(kind) is Literal:
        said = f"must be one of {', '.join(typing.get_args(kind))}"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        said = _describe_limits(hint, kind) or said
    raise BadConfig(f"{option} {value}: {said}")


def _describe_limits(hint: Any, kind: Any) -> str:
    """What the annotations allow, in words; empty where they say nothing."""
    found = {
        bound: getattr(meta, bound)
        for meta in meta_of(hint)
        for bound in ("ge", "gt", "le", "lt")
        if getattr(meta, bound) is not None
    }
    low, high = found.get("ge", found.get("gt")), found.get("le", found.get("lt"))
    if low is None or kind not in (int, float):
        return ""
    if high is None:
        return f"must be at least {low}" if kind is int else f"must be a finite number, {_from(found)}"
    if kind is int:
        return f"must lie in {low}…{high}"
    if "gt" in found and "lt" in found:
        return f"must lie strictly between {low:g} and {high:g}"
    return f"must lie in {'(' if 'gt' in found else '['}{low:g}, {high:g}{')' if 'lt' in found else ']'}"


def _from(found: dict[str, float]) -> str:
    return f"{found['ge']:g} or more" if "ge" in found else f"above {found['gt']:g}"


def explain(message: str) -> str:
    """A message of the library in the words of a person."""
    for theirs, ours in _PLAIN.items():
        message = message.replace(theirs, ours)
    return message[:1].lower() + message[1:].replace("`", "")
