"""Messages and help name only options that exist, and where a room belongs to one command, options of that command."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from conftest import ROOT

from audit.cli import COMMANDS

OPTION = re.compile(r"(?<![\w`-])--[a-z][a-z0-9-]*[a-z0-9](?![\w=]*\])")
# Of other programs, and `--debug`, which stands anywhere.
OTHERS = {"--debug", "--help", "--version", "--quiet", "--no-deps", "--no-binary", "--dest"}
OTHERS |= {"--disable-pip-version-check", "--no-input", "--require-hashes", "--requirement", "--hash"}
# The name that a specification gives to the ITEM of `audit reproduce`.
OTHERS |= {"--item"}
# Rooms that serve one command or a few of them.
OWNERS = {
    "audit/games/transcript": ("worst-case", "ladder", "plan"),
    "audit/games/visual": ("visual",),
    "audit/games/theory": ("theory",),
    "audit/statistics/plan.py": ("plan",),
    "audit/commands/coins.py": ("coins", "lira", "visual"),
    "audit/commands/condense.py": ("condense",),
    "audit/commands/bench.py": ("bench",),
    "audit/commands/plan.py": ("plan",),
    "audit/commands/init.py": ("init", "check"),
    "audit/commands/data.py": ("data", "lira"),
    "audit/commands/epsilon_table.py": ("epsilon",),
    "audit/statistics/estimators/table.py": ("epsilon",),
    "audit/accounting/account.py": ("account",),
    "audit/games/release.py": ("condense", "utility", "visual"),
    "audit/gate": ("check", "lira", "worst-case"),
}


def options_of(name: str) -> set[str]:
    module, attribute = COMMANDS[name][0].split(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return {word for param in command.params for word in (*param.opts, *param.secondary_opts) if word.startswith("--")}


def named_options(path: Path) -> Iterator[tuple[int, str]]:
    """Options in the texts of a file, docstrings among them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in OPTION.finditer(node.value):
                # `--over-` before a computed word, and `--{name}`, are not whole.
                if not node.value[found.end() :].startswith(("-", "{")):
                    yield node.lineno, found.group()


def strangers(files: list[Path], known: set[str]) -> list[str]:
    return [f"{path}:{line} {option}" for path in files for line, option in named_options(path) if option not in known]


FILES = [path for room in ("audit", "attacks", "condensers") for path in sorted((ROOT / room).rglob("*.py"))]


def test_every_option_that_a_text_names_exists() -> None:
    known = {option for name in COMMANDS for option in options_of(name)} | OTHERS
    strange = [
        f"{path}:{line} {option}" for path in FILES for line, option in named_options(path) if option not in known
    ]
    assert strange == []


@pytest.mark.parametrize("place", OWNERS)
def test_a_room_names_options_of_its_own_commands(place: str) -> None:
    known = {option for name in OWNERS[place] for option in options_of(name)} | OTHERS
    files = [path for path in FILES if path.is_relative_to(ROOT / place)]
    assert files
    strange = [
        f"{path}:{line} {option}" for path in files for line, option in named_options(path) if option not in known
    ]
    assert strange == []
