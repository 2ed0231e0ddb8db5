"""`audit bench`: the suite's own benchmark, to be run on the machine or GPU in question."""

import json
from typing import TYPE_CHECKING

import click

from condensers.errors import BadConfig

if TYPE_CHECKING:
    from audit.games.bench import Bench, Row

MOST_SHADOWS, MOST_STEPS = 4096, 100_000


@click.command(short_help="Benchmark this machine.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:N or mps.")
@click.option("--shadows", type=int, default=64, show_default=True, help="Runs computed together.")
@click.option(
    "--steps",
    type=int,
    default=3,
    show_default=True,
    help="Number of timed steps; more steps give more stable figures.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def bench(device: str, shadows: int, steps: int, as_json: bool) -> None:
    """Time condensers, victims and scoring on this machine and print a table in Markdown.

    \b
    audit bench
    audit bench --device cuda > bench.md
    """
    for name, value, most in (("shadows", shadows, MOST_SHADOWS), ("steps", steps, MOST_STEPS)):
        if not 1 <= value <= most:
            raise BadConfig(f"--{name} {value}: must lie in 1…{most}")
    from audit.commands.attack import say
    from audit.games.bench import run_bench
    from audit.games.settings import resolve_device

    measured = run_bench(resolve_device(device), shadows=shadows, steps=steps, say=say)
    click.echo(json.dumps(measured.to_dict(), indent=2, sort_keys=True) if as_json else describe(measured))


def describe(measured: "Bench") -> str:
    """Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in measured.versions.items())
    lines = [
        f"{measured.machine}; {versions}",
        f"device {measured.device}, {measured.threads} thread, load {measured.load:.1f} at the start; "
        f"a product of two 2048² matrices: {measured.gigaflops:.0f} GFLOP/s",
        "",
        "| what | together | one at a time | ratio |",
        "|---|---|---|---|",
    ]
    return "\n".join([*lines, *(_line(row) for row in measured.rows)])


def _line(row: "Row") -> str:
    alone = "" if row.alone is None else _time(row.alone)
    ratio = "" if row.ratio is None else f"{row.ratio:.1f}×"
    return f"| {row.what} | {_time(row.seconds)} | {alone} | {ratio} |"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"
