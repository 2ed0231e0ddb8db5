"""Options of the command line from the fields of a specification: one place for names, types, defaults and help."""

import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import click
import msgspec

from audit.specs.spec import Spec, default_of, extra_of, fields_of, meta_of, option_of, plain_type
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
        kind = plain_type(hint)
        if typing.get_origin(kind) in (Mapping, dict):
            values[name] = split_settings(flags[name])
        elif "separator" in extra_of(hint) and not isinstance(flags[name], tuple):
            values[name] = _split(option_of(name, hint), flags[name], kind, extra_of(hint))
    return spec(**values)


def parse(spec: type[Spec], words: Sequence[str]) -> Any:
    """The specification that the words of a command line ask for, which may hold nothing but its fields."""

    @click.command(spec.COMMAND)
    @with_fields(spec)
    def asked(**_flags: Any) -> None:
        """Only its options are used."""

    return build(spec, asked.make_context(spec.COMMAND, list(words)).params)


def split_settings(pairs: tuple[str, ...]) -> dict[str, str]:
    """KEY=VALUE, several times."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadConfig(f"--set {pair}: write it as KEY=VALUE")
        settings[name] = value
    return settings


def _split(option: str, text: str | None, kind: Any, extra: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of a list in one word, in their order; each of them once, unless they may repeat."""
    convert = {int: int, float: float}.get(plain_type(typing.get_args(kind)[0]), str.strip)
    try:
        found = tuple(convert(part) for part in text.split(extra["separator"])) if text else ()
    except ValueError:
        raise BadConfig(f"{option} {text}: write numbers separated by commas") from None
    return found if extra.get("repeats") else tuple(dict.fromkeys(found))


def _option(spec: type[Spec], name: str, hint: Any) -> Callable[[Command], Command]:
    kind, default = plain_type(hint), default_of(spec, name)
    said = next((meta.description for meta in meta_of(hint) if meta.description), None)
    extra, option = extra_of(hint), option_of(name, hint)
    words = [option, *([extra["also"]] if "also" in extra else []), name]
    shown: dict[str, Any] = {"help": said, "metavar": extra.get("metavar"), "hidden": extra.get("hidden", False)}
    if kind is bool and default:
        return click.option(f"{option}/--no-{option[2:]}", name, default=True, show_default=True, help=said)
    if kind is bool:
        return click.option(*words, is_flag=True, help=said)
    if "separator" in extra:
        text = extra["separator"].join(map(str, default)) or None
        return click.option(*words, type=str, default=text, show_default=text is not None, **shown)
    if typing.get_origin(kind) in (Mapping, dict):
        return click.option(*words, multiple=True, **shown)
    if typing.get_origin(kind) is tuple:
        one = _click_type(plain_type(typing.get_args(kind)[0]))
        return click.option(*words, type=one, multiple=True, default=default, show_default=bool(default), **shown)
    if default is msgspec.NODEFAULT:
        return click.option(*words, type=_click_type(kind), required=True, **shown)
    return click.option(*words, type=_click_type(kind), default=default, show_default=default is not None, **shown)


def _click_type(kind: Any) -> Any:
    if typing.get_origin(kind) is Literal:
        return click.Choice(list(typing.get_args(kind)))
    return {int: int, float: float, str: str}[kind]
