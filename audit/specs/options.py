"""Options of the command line from the fields of a specification: one place for names, types, defaults and help."""

import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

import click
import msgspec

from audit.specs.spec import Spec, default_of, fields_of, meta_of, option_of, plain_type
from condensers.errors import BadConfig

Command = Callable[..., Any]


def with_fields(spec: type[Spec]) -> Callable[[Command], Command]:
    """An option for every field, in their order."""

    def decorate(function: Command) -> Command:
        for name, hint in reversed(fields_of(spec)):
            function = _option(spec, name, hint)(function)
        return function

    return decorate


def build(spec: type[Spec], flags: Mapping[str, Any]) -> Any:
    """The specification that the options ask for."""
    values = {name: flags[name] for name, _ in fields_of(spec)}
    for name, hint in fields_of(spec):
        if typing.get_origin(plain_type(hint)) in (Mapping, dict):
            values[name] = split_settings(flags[name])
    return spec(**values)


def split_settings(pairs: tuple[str, ...]) -> dict[str, str]:
    """KEY=VALUE, several times."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadConfig(f"--set {pair}: write it as KEY=VALUE")
        settings[name] = value
    return settings


def _option(spec: type[Spec], name: str, hint: Any) -> Callable[[Command], Command]:
    kind, default = plain_type(hint), default_of(spec, name)
    said = next((meta.description for meta in meta_of(hint) if meta.description), None)
    extra = {key: value for meta in reversed(list(meta_of(hint))) for key, value in (meta.extra or {}).items()}
    words = [option_of(name, hint), *([extra["also"]] if "also" in extra else []), name]
    shown: dict[str, Any] = {"help": said, "metavar": extra.get("metavar")}
    if kind is bool:
        return click.option(*words, is_flag=True, help=said)
    if typing.get_origin(kind) in (Mapping, dict):
        return click.option(*words, multiple=True, **shown)
    if typing.get_origin(kind) is tuple:
        return click.option(*words, type=_click_type(typing.get_args(kind)[0]), multiple=True, **shown)
    if default is msgspec.NODEFAULT:
        return click.option(*words, type=_click_type(kind), required=True, **shown)
    return click.option(*words, type=_click_type(kind), default=default, show_default=default is not None, **shown)


def _click_type(kind: Any) -> Any:
    if typing.get_origin(kind) is Literal:
        return click.Choice(list(typing.get_args(kind)))
    return {int: int, float: float, str: str}[kind]
