"""The reference of the Python interface: every public name of `audit`, from its docstring and its fields."""

import inspect
import typing
from typing import Any, Literal

import msgspec

import audit
from audit.engine.executor import Executor
from audit.specs.spec import Spec, default_of, fields_of, meta_of, option_of, plain_type

Member = tuple[str, Any]  # public name, what it is


def describe_api() -> str:
    """Markdown with a directive of autodoc for each name, and a table of fields under each specification."""
    functions, specifications, executors = _public_names()
    return "\n\n".join(
        [
            "## Functions",
            *(_directive("function", f"audit.{name}") for name, _ in functions),
            "## Specifications",
            "A specification has the fields of its command's options, with the same defaults and limits. All of them "
            "have these methods:",
            _directive("class", "audit.specs.spec.Spec", members="digest, command, to_json, from_json, but"),
            *(_specification(name, thing) for name, thing in specifications),
            "## Executors",
            *(_directive("class", f"audit.{name}") for name, _ in executors),
            "## Records",
            "`audit.run` and `audit.load` return a record. Its fields are those of [report.json](report-json.md), and "
            "all records have these methods:",
            _directive("class", "audit.records.Drawable", members="to_pdf, to_html"),
        ]
    )


def _public_names() -> tuple[list[Member], list[Member], list[Member]]:
    functions: list[Member] = []
    specifications: list[Member] = []
    executors: list[Member] = []
    for name in sorted(name for name in audit.__all__ if not name.startswith("_")):
        thing = getattr(audit, name)
        if inspect.isfunction(thing):
            functions.append((name, thing))
        elif issubclass(thing, Spec):
            specifications.append((name, thing))
        elif thing is Executor or hasattr(thing, "run"):
            executors.append((name, thing))
        else:
            raise LookupError(f"audit.{name}: neither function, specification nor executor; say here where it belongs")
    return functions, specifications, executors


def _directive(kind: str, name: str, **options: str) -> str:
    lines = [f".. auto{kind}:: {name}", *(f"   :{option}: {value}" for option, value in options.items())]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def _specification(name: str, spec: type[Spec]) -> str:
    return "\n\n".join([f"### audit.{name}", _directive("class", f"audit.{name}"), _fields(spec)])


def _fields(spec: type[Spec]) -> str:
    rows = [
        f"| `{name}` | {_cell(_type(hint))} | `{_default(spec, name)}` | `{option_of(name, hint)}` "
        f"| {_cell(_help(hint))} |"
        for name, hint in fields_of(spec)
    ]
    return "\n".join(["| field | type | default | option | meaning |", "|---|---|---|---|---|", *rows])


def _type(hint: Any) -> str:
    kind = plain_type(hint)
    if typing.get_origin(kind) is Literal:
        return " or ".join(f"`{value!r}`" for value in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return f"tuple of {_type(typing.get_args(kind)[0])}"
    return "mapping" if typing.get_origin(kind) else getattr(kind, "__name__", str(kind))


def _default(spec: type[Spec], name: str) -> str:
    found = default_of(spec, name)
    return "required" if found is msgspec.NODEFAULT else repr(found)


def _help(hint: Any) -> str:
    return next((meta.description for meta in meta_of(hint) if meta.description), "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;")
