"""Expressions that readers stumbled over do not come back into pages, help and messages. Code blocks are not prose."""

import ast
import importlib
import json
import re
from functools import cache
from pathlib import Path

import click
import pytest
from conftest import ROOT

from audit.cli import COMMANDS

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")),
]
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
    r"\bspeaks? of\b": "adjacency; is about",
    r"[Ww]hat touched the records": "mechanism ledger",
    r"[Aa]dversary at the door": "transcript-level audit",
    r"told coins": "given labels independent of membership",
    r"\b[Ww]hoever\b": "an adversary who …; the other records",
    r"\bwho was in\b|those who were in\b": "which records are members",
    r"decided nothing": "labels independent of membership",
    r"believes in membership": "considers the record more likely to be a member",
    r"\bgives? (it|them|the record|a record|somebody)? ?away\b": "leaks",
    r"; your own is\b": "write a method of your own as",
    r"\bsay the same thing\b|\bboth say who\b": "both set …: give only one of them",
    r"learns from no run": "is not fitted on other runs",
    r"\bdoes not go with\b": "cannot be combined with",
    r"\b[Mm]ind that\b": "note that",
    r"\bhears?\b": "sees",
    r"\bwith as many (trials|coins)\b": "with the same number of trials",
    r"\banyone's (table|scores)\b": "the scores of any attack",
    r"\bfor the price of\b": "at the cost of",
    r"\bwould buy\b": "could certify",
    r"\bof one's own\b": "of your own, user-defined",
    r"\bmakes? the headline\b": "gives the headline bound",
    r"\bturns? red\b": "fails, raises an alarm",
    r"\bgravest\b": "most severe",
    r"np\.(int|float)\d+\(|__init__": "the number itself; what is missing",
}


@cache
def prose_of(page: Path) -> str:
    """A page without its code blocks, on one line; of a notebook, the Markdown cells."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return " ".join(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())


@pytest.mark.parametrize(("avoided", "better"), AVOIDED.items())
def test_expression_is_not_used(avoided: str, better: str) -> None:
    for page in PAGES:
        found = re.search(avoided, prose_of(page))
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
