"""Expressions that readers stumbled over do not come back into pages, help and messages. Code blocks are not prose."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import click
import pytest
from conftest import ROOT

from audit.cli import COMMANDS

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [
    path for name in ("attacks", "audit", "condensers", "reports") for path in sorted((ROOT / name).rglob("*.py"))
]
# Expression: what to write instead.
AVOIDED = {
    r"comes from the crowd": "comes from the number of records",
    r"\bcores bear\b|\bbears? (that|little|much)\b": "fits on, tolerates, handles",
    r"not met a GPU": "is untested on GPUs",
    r"\b(images?|records?|members|event|numbers?) an? (class|run|set)\b": "per class, per run",
    r"waited for": "run to completion",
    r"cannot show here": "no larger ε can be certified with this many trials",
    r"\bWho (runs|holds|knows)\b": "If you run …; an adversary who …",
    r"ε speaks of|speaks of (it|them|ε)": "adjacency; is about",
    r"[Ww]hat touched the records": "mechanism ledger",
    r"[Aa]dversary at the door": "transcript-level audit",
    r"told coins": "given labels independent of membership",
    r"[Ww]hoever (looks|knows|holds)": "an adversary who …",
    r"\bgives? (it|them|the record|a record|somebody)? ?away\b": "leaks",
    r"; your own is\b": "write a method of your own as",
    r"\bsay the same thing\b|\bboth say who\b": "both set …: give only one of them",
    r"learns from no run": "is not fitted on other runs",
    r"\bdoes not go with\b": "cannot be combined with",
    r"\b[Mm]ind that\b": "note that",
    r"np\.(int|float)\d+\(|__init__": "the number itself; what is missing",
}


@pytest.mark.parametrize(("avoided", "better"), AVOIDED.items())
def test_expression_is_not_used(avoided: str, better: str) -> None:
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = re.search(avoided, " ".join(prose.split()))
        assert found is None, f"{page.relative_to(ROOT)}: {found and found.group()!r}; better: {better}"


@cache
def texts_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Strings of a source that may reach a person: all but docstrings, which `--help` is tested for by itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return tuple((node.lineno, node.value) for node in strings if id(node) not in alone and " " in node.value)


@cache
def helps() -> dict[str, str]:
    found = {}
    for name, (place, line) in COMMANDS.items():
        module, attribute = place.split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        found[name] = " ".join([line, *command.get_help(click.Context(command, info_name=name)).split()])
    return found


@pytest.mark.parametrize(("avoided", "better"), AVOIDED.items())
def test_expression_is_not_used_in_messages_and_help(avoided: str, better: str) -> None:
    for path in SOURCES:
        for line, text in texts_of(path):
            found = re.search(avoided, text)
            assert found is None, f"{path.relative_to(ROOT)}:{line}: {found and found.group()!r}; better: {better}"
    for name, text in helps().items():
        found = re.search(avoided, text)
        assert found is None, f"audit {name} --help: {found and found.group()!r}; better: {better}"


def test_every_option_has_a_help_text() -> None:
    for name, (place, _) in COMMANDS.items():
        module, attribute = place.split(":")
        for param in getattr(importlib.import_module(module), attribute).params:
            if isinstance(param, click.Option):
                assert param.help, f"audit {name} {param.opts[0]}"
