"""Commands that the documentation shows exist, with the options and kinds of values that it gives them."""

import re
import shlex
from pathlib import Path

import click
import pytest
from conftest import ROOT

from audit.cli import group

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# A word in capitals, an ellipsis, a variable, brackets, alternatives: something to be filled in.
PLACEHOLDER = re.compile(r"…|\$|\[|\||\b[A-Z]+(_DIR)?\b(?!=)")


def commands_in(text: str) -> list[str]:
    """All complete command lines of a page: lines of code blocks, and code within the text."""
    blocks = re.findall(r"```(?:bash|text)?\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`(audit [^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    parts = [part.strip() for line in lines for part in re.split(r" ; |(?<=\S)  +(?=audit )", line)]
    shown = [re.split(r"\s{2,}|\s#", part)[0] for part in parts if re.match(r"audit [a-z]", part)]
    return [command for command in shown if not PLACEHOLDER.search(command) and "--help" not in command]


def wrong_commands(text: str) -> list[str]:
    found = []
    for shown in commands_in(text):
        _, name, *words = shlex.split(shown)
        command = group.get_command(click.Context(group), name)
        if command is None:
            found.append(f"{shown}: no such command")
            continue
        try:
            command.make_context(name, words)
        except click.MissingParameter:
            pass  # the text names a command without what it needs
        except click.UsageError as error:
            if "requires an argument" not in error.format_message():
                found.append(f"{shown}: {error.format_message()}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_the_page_are_understood(page: Path) -> None:
    assert wrong_commands(page.read_text(encoding="utf-8")) == []


def test_wrong_commands_are_found() -> None:
    block = "audit lira --shaddows 8    # comment\naudit lira --shadows many\naudit lira --ipc 1\n"
    text = f"`audit lyra --shadows 8`\n```\n{block}```\n"
    assert [one.split(":")[0] for one in wrong_commands(text)] == [
        "audit lira --shaddows 8",
        "audit lira --shadows many",
        "audit lyra --shadows 8",
    ]
