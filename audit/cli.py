"""The command line: a thin layer whose exit status is the outcome.

0 done and nothing refuted; 1 a fault of this program; 2 bad usage or input; 3 incomplete; 4 refuted, regressed
or above --fail-above. Commands are imported only when called: `audit --help` never imports torch.
"""

import errno
import importlib
import io
import os
import sys
import traceback
from typing import Any, NoReturn

import click

from audit.version import __version__
from condensers.errors import AuditError, BrokenContract, Incomplete

# name: (module:attribute, one line for --help)
COMMANDS: dict[str, tuple[str, str]] = {
    "lira": ("audit.commands.attack:lira", "Likelihood-ratio attack with shadow condensations; ends with a PDF."),
    "rmia": ("audit.commands.attack:rmia", "Robust membership inference, for few shadow condensations."),
    "loss": ("audit.commands.attack:loss", "Loss-threshold attack, by the two protocols of Dong et al."),
    "gan-leak": ("audit.commands.attack:gan_leak", "How well released generators reconstruct the records."),
    "visual": ("audit.commands.visual:visual", "Nearest real images of every synthetic one, counted and tested."),
    "worst-case": ("audit.commands.worst_case:worst_case", "Worst-case audit: does a method keep what it claims?"),
    "coins": ("audit.commands.coins:coins", "Draw who is in a set that somebody else will condense, to audit it."),
    "condense": ("audit.commands.condense:condense", "Make a synthetic set for release, with its label and ε."),
    "utility": ("audit.commands.utility:utility", "What a synthetic set is worth to train on."),
    "check": ("audit.commands.check:check", "The gate of a build: guarantees and recorded figures of a privacy.toml."),
    "init": ("audit.commands.init:init", "Write a privacy.toml to start from, and a CI workflow that runs it."),
    "claims": ("audit.commands.claims:claims", "Published claims about the privacy of condensation, tested."),
    "account": ("audit.commands.account:account", "Analytic epsilon of a method or a mechanism (RDP and PLD)."),
    "epsilon": ("audit.commands.epsilon:epsilon", "Empirical epsilon of anyone's table of scores."),
    "plan": ("audit.commands.plan:plan", "How many runs a bound needs, before the compute is spent."),
    "compare": ("audit.commands.compare:compare", "All attacks and levels on the same condensations, on one ROC."),
    "ladder": ("audit.commands.ladder:ladder", "One method against ever stronger adversaries, in one table."),
    "adversaries": ("audit.commands.grids:adversaries", "Who knows what: randomness × who is in doubt × level."),
    "sweep": ("audit.commands.grids:sweep", "Certified ε and AUC over pool, records in doubt, steps, ipc and runs."),
    "report": ("audit.commands.report:report", "Redraw finished runs as PDF and HTML; compare several."),
    "theory": ("audit.commands.theory:theory", "The propositions of Dong et al., tested by running the condenser."),
    "methods": ("audit.commands.methods:methods", "The condensers and attacks there are, with their settings."),
    "weights": ("audit.commands.weights:weights", "The networks LPIPS needs, whether they are here; fetching them."),
    "data": ("audit.commands.data:data", "The data sets, whether they are here, how to get them."),
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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Incomplete("interrupted; run the same command again") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="audit")
def group() -> None:
    """Audit what a condensed data set leaks about the records it was made from.

    --debug, anywhere, shows the traceback behind an error.
    """


def main() -> None:
    """Run a command; turn every error a person can mend into one line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that knows no ε gets \u03b5, not a traceback after hours of work; stderr does so by itself.
        sys.stdout.reconfigure(errors="backslashreplace")
    words = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(words) < len(sys.argv) - 1
    try:
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


def _fail(message: str, status: int) -> NoReturn:
    click.echo(f"audit: {' '.join(message.split())}", err=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
