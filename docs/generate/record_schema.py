"""The fields of every kind of `report.json`, read from the typed records that write and read it."""

import dataclasses
import inspect
import json
import types
import typing
from typing import Any

from reports.records.kinds import AnyRecord


def kinds() -> tuple[type, ...]:
    """Every kind of record there is."""
    return typing.get_args(AnyRecord)


def describe_records() -> str:
    """Markdown: a table of the kinds, each kind with its fields, then the parts that they consist of."""
    rows = [f"| [{kind.__name__}](#{anchor(kind)}) | `{schema_of(kind)}` |" for kind in kinds()]
    table = "\n".join(["| record | `schema` |", "|---|---|", *rows])
    parts = [part for part in _parts_of(list(kinds())) if part not in kinds()]
    return "\n\n".join([table, "## Records", *map(_describe, kinds()), "## Parts", *map(_describe, parts)])


def schema_of(kind: type) -> str:
    """The value of the field `schema` by which a record of this kind is recognised."""
    return next(str(one.default) for one in dataclasses.fields(kind) if one.name == "schema")


def anchor(kind: type) -> str:
    return kind.__name__.lower()


def _describe(kind: type) -> str:
    hints = typing.get_type_hints(kind)
    rows = [f"| `{one.name}` | {_show(hints[one.name])} | {_default(one)} |" for one in dataclasses.fields(kind)]
    table = "\n".join(["| field | type | default |", "|---|---|---|", *rows])
    return "\n\n".join([f"### {kind.__name__}", inspect.getdoc(kind) or "", table])


def _parts_of(kinds: list[type]) -> list[type]:
    """All dataclasses that fields of these lead to, in the order in which they are met."""
    met: list[type] = []
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop(0)
        if kind not in met:
            met.append(kind)
            waiting += [part for hint in typing.get_type_hints(kind).values() for part in _dataclasses_in(hint)]
    return met


def _dataclasses_in(hint: Any) -> list[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return [hint]
    return [part for argument in typing.get_args(hint) for part in _dataclasses_in(argument)]


def _show(hint: Any) -> str:
    """A type in the words of JSON, with links to the parts."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return f"[{hint.__name__}](#{anchor(hint)})"
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_show(argument) for argument in arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return f"[{', '.join(_show(argument) for argument in arguments)}]"
    if origin in (tuple, list):
        return f"array of {_show(arguments[0])}"
    if origin is dict or hint is dict:
        return f"object of {_show(arguments[1])}" if arguments else "object"
    names = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", Any: "any value"}
    return names.get(hint, f"`{hint}`")


def _default(one: dataclasses.Field) -> str:
    """What stands for a field that a file lacks, as JSON."""
    if one.default is not dataclasses.MISSING:
        return f"`{json.dumps(one.default, ensure_ascii=False)}`"
    if one.default_factory is not dataclasses.MISSING:
        return f"`{json.dumps(one.default_factory())}`"
    return "required"
