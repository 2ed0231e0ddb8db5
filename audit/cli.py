"""The command line: a thin layer whose exit status is the outcome.

0 done and nothing refuted; 1 a fault of this program; 2 bad usage or input; 3 incomplete; 4 refuted, regressed
or above --fail-above. Commands are imported only when called: `audit --help` never imports torch.
"""

import errno
import importlib
import io
import os
import signal
import sys
import traceback
from typing import Any, NoReturn

import click

from audit.engine.heartbeat import heartbeat
from audit.version import __version__
from condensers.errors import AuditError, BadConfig, BrokenContract, Incomplete
from condensers.spelling import did_you_mean

LONGEST_WORD, LONGEST_MESSAGE = 4096, 2000

# name: (module:attribute, one line for --help)
COMMANDS: dict[str, tuple[str, str]] = {
    "lira": ("audit.commands.attack:lira", "Likelihood-ratio attack (LiRA) with shadow condensations; writes a PDF."),
    "rmia": ("audit.commands.attack:rmia", "Robust membership inference (RMIA), which needs few shadow condensations."),
    "loss": ("audit.commands.attack:loss", "Loss-threshold attack under the two protocols of Dong et al."),
    "gan-leak": ("audit.commands.attack:gan_leak", "GAN-leak: how well a released generator reconstructs the records."),
    "visual": ("audit.commands.visual:visual", "Nearest real image of every synthetic image, with a membership test."),
    "attribute": ("audit.commands.attribute:attribute", "Guess a masked part of a record from the released set."),
    "worst-case": (
        "audit.commands.worst_case:worst_case",
        "Worst-case audit on neighbouring pools: does a method keep its guarantee?",
    ),
    "coins": (
        "audit.commands.coins:coins",
        "Draw the members of a set that somebody else will condense, for an audit.",
    ),
    "condense": (
        "audit.commands.condense:condense",
        "Make a synthetic set for release, with a label that states its ε.",
    ),
    "utility": ("audit.commands.utility:utility", "Accuracy of networks trained on synthetic sets."),
    "continual": ("audit.commands.continual:continual", "Class-incremental learning from condensed sets."),
    "check": ("audit.commands.check:check", "CI gate: test the guarantees and recorded figures of a privacy.toml."),
    "init": ("audit.commands.init:init", "Write an example privacy.toml and a CI workflow that runs it."),
    "claims": (
        "audit.commands.claims:claims",
        "Published claims about the privacy of condensation, and tests of them.",
    ),
    "reproduce": ("audit.commands.reproduce:reproduce", "Reproduce tables and figures of five papers."),
    "account": ("audit.commands.account:account", "Analytic epsilon of a method or a mechanism (RDP and PLD)."),
    "epsilon": ("audit.commands.epsilon:epsilon", "Lower bounds on epsilon from the scores of any attack."),
    "plan": ("audit.commands.plan:plan", "How many runs a bound needs and how long an audit will take."),
    "bench": ("audit.commands.bench:bench", "Benchmark this machine."),
    "compare": ("audit.commands.compare:compare", "Compare attacks and levels on the same condensations, on one ROC."),
    "ladder": ("audit.commands.ladder:ladder", "Audit one method against increasingly strong adversaries."),
    "adversaries": (
        "audit.commands.grids:adversaries",
        "Grid of adversaries: known randomness, records in doubt, level.",
    ),
    "sweep": (
        "audit.commands.grids:sweep",
        "LiRA while one size is varied: pool, records in doubt, steps, ipc or runs.",
    ),
    "report": ("audit.commands.report:report", "Redraw finished runs as PDF and HTML, or compare several runs."),
    "theory": ("audit.commands.theory:theory", "Test the propositions of Dong et al. by running the condenser."),
    "methods": ("audit.commands.methods:methods", "List the condensers and attacks with their settings."),
    "weights": ("audit.commands.weights:weights", "List or download the networks that LPIPS needs."),
    "data": ("audit.commands.data:data", "List, check or download data sets."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and help lines without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        return getattr(importlib.import_module(module), attribute)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f"no such command {args[0]!r}{did_you_mean(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Incomplete("interrupted; run the same command again to resume") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="audit")
def group() -> None:
    """Audit what a condensed data set leaks about the records it was made from.

    Add --debug anywhere to see the traceback of an error.
    """


def main() -> None:
    """Run a command; turn every error a person can mend into one line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that knows no ε gets \u03b5, not a traceback after hours of work; stderr does so by itself.
        sys.stdout.reconfigure(errors="backslashreplace")
    words = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(words) < len(sys.argv) - 1
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _stop)
    try:
        _check_words(words)
        with heartbeat():
            status = group.main(words, prog_name="audit", standalone_mode=False)
    except click.ClickException as error:
        hint = f" ({error.ctx.command_path} --help)" if isinstance(error, click.UsageError) and error.ctx else ""
        _fail(f"{error.format_message()}{hint}", 2)
    except AuditError as error:
        if debug:
            traceback.print_exc()
        _fail(f"CONTRACT BROKEN: {error}" if isinstance(error, BrokenContract) else str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 3)
    except BrokenPipeError:  # `audit claims | head`: the reader has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        sys.exit(0)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (else what is buffered fails again on leaving)
        _fail(f"no room for the output: {error.strerror}; free some space and run the same command again", 3)
    sys.exit(status or 0)


def _stop(*_: object) -> NoReturn:
    """What a scheduler sends at a time limit or before it takes a machine away: the same as Ctrl-C."""
    raise KeyboardInterrupt


def _check_words(words: list[str]) -> None:
    """Refuse what no argument may be: empty (it would name the current folder), very long, or steering a terminal."""
    for place, word in enumerate(words, 1):
        if not word:
            raise BadConfig(f"argument {place} is empty; leave it out or give a value")
        if len(word) > LONGEST_WORD:
            raise BadConfig(f"argument {place} has {len(word)} characters; at most {LONGEST_WORD} are allowed")
        if not word.isprintable():
            raise BadConfig(f"argument {place} contains characters that cannot be printed: {word!r}")


def one_line(message: str) -> str:
    """A message as it may be printed: one line of bounded length in which no character steers the terminal."""
    line = " ".join(message.split())
    if len(line) > LONGEST_MESSAGE:
        line = f"{line[: LONGEST_MESSAGE // 2]} … {line[-LONGEST_MESSAGE // 2 :]}"
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)


def _fail(message: str, status: int) -> NoReturn:
    click.echo(f"audit: {one_line(message)}", err=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
