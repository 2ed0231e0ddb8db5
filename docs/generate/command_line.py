"""The reference of the command line, read from the click commands themselves."""

import inspect
import re

import click

from audit.cli import COMMANDS, group


def describe_commands() -> str:
    """Markdown: a table of all commands, then one section for each."""
    context = click.Context(group, info_name="audit")
    rows = [f"| [`audit {name}`](#audit-{name}) | {_cell(line)} |" for name, (_, line) in COMMANDS.items()]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    sections = [_describe(group.get_command(context, name), name, context) for name in group.list_commands(context)]
    return "\n\n".join([table, *sections])


def _describe(command: click.Command | None, name: str, parent: click.Context) -> str:
    if command is None:
        raise LookupError(f"audit {name}: listed, but there is no such command")
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join([f"audit {name}", *command.collect_usage_pieces(context)])
    options = [
        _option_row(one, record[0])
        for one in command.get_params(context)
        if isinstance(one, click.Option) and (record := one.get_help_record(context))
    ]
    return "\n\n".join(
        [
            f"## audit {name}",
            f"```text\n{usage}\n```",
            _paragraphs(command.help or ""),
            "\n".join(["| option | meaning | default |", "|---|---|---|", *options]),
        ]
    )


def _option_row(option: click.Option, as_in_help: str) -> str:
    shown = ", ".join([*option.opts, *option.secondary_opts]) if option.is_flag else as_in_help
    default = option.to_info_dict()["default"]
    known = option.show_default and not option.is_flag and default not in (None, ())
    return f"| `{_code(shown)}` | {_cell(option.help or '')} | {f'`{_code(str(default))}`' if known else ''} |"


def _paragraphs(text: str) -> str:
    """The help text; a paragraph that starts with \\b is kept line by line, as click does."""
    blocks = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"```text\n{block[1:].strip()}\n```" if block.startswith("\b") else _prose(block) for block in blocks
    )


def _prose(text: str) -> str:
    """Text as Markdown that shows it as it is; names of options, and what is in backticks, are set as code."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        plain = parts[place].replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_")
        parts[place] = re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", plain)
    return "`".join(parts)


def _cell(text: str) -> str:
    return _prose(" ".join(text.split())).replace("|", r"\|")


def _code(text: str) -> str:
    return text.replace("|", r"\|")
