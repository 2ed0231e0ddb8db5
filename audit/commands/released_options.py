"""The options of commands that audit a set which somebody released."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

OPTIONS: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    click.option("--synthetic", type=click.Path(path_type=Path), multiple=True, metavar="FILE",
                 help="Audit this released set (.safetensors, .npz, .pt) instead. May be repeated."),
    click.option("--members", type=click.Path(path_type=Path), metavar="FILE",
                 help="Of --synthetic: the coins of `audit coins` that chose its members."),
    click.option("--column", type=int, multiple=True,
                 help="Of --members: N for set_N, once for each --synthetic; default: in order."),
    click.option("--index", type=int, multiple=True,
                 help="Which set of a file that holds several, once for each --synthetic; default: the first."),
    click.option("--normalisation", type=click.Choice(["auto", "official", "unit", "symmetric"]), default="auto",
                 show_default=True, help="Of --synthetic: the official code's mean and std, [0, 1] or [−1, 1]."),
]  # fmt: skip

KNOWN_RANDOMNESS = click.option(
    "--known-randomness",
    is_flag=True,
    help="Of --synthetic: its networks and noise were those of --seed and the adversary knows them.",
)


def with_released_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        function = option(function)
    return function
