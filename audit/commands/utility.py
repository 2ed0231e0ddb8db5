"""`audit utility`: what a synthetic set is worth to train on."""

import sys
from pathlib import Path
from typing import Any

import click

from audit.commands.condense import with_pool_options
from condensers.errors import BadConfig


@click.command()
@click.option("--method", "methods", multiple=True, help="Condenser; repeat it for one table of several. [default: dm]")
@click.option(
    "--synthetic",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Instead: a set that somebody released (.safetensors, .npz, .pt). May be repeated.",
)
@click.option("--index", type=int, default=0, show_default=True, help="Which set of a file that holds several.")
@click.option(
    "--normalisation",
    type=click.Choice(["auto", "official", "unit", "symmetric"]),
    default="auto",
    show_default=True,
    help="Of --synthetic: the official code's mean and std, [0, 1] or [−1, 1].",
)
@click.option("--ipc", "sizes", default="1", show_default=True, help="Images per class; several by commas.")
@click.option("--epsilon", "epsilons", help="Calibrate private methods to this ε; several by commas.")
@click.option(
    "--architectures",
    default="convnet",
    show_default=True,
    help="Of convnet, mlp, lenet, alexnet, vgg11, resnet18: which, by commas, or all.",
)
@click.option("--seeds", type=int, default=5, show_default=True, help="Condensations and networks of each kind.")
@click.option("--one-set", is_flag=True, help="Condense once and train every network on it: quicker; see the docs.")
@click.option("--epochs", type=int, help="Passes over a set; default by --preset.")
@click.option(
    "--match",
    type=click.Choice(["small", "all", "none"]),
    default="small",
    show_default=True,
    help="Search the random subset of equal accuracy: on convnet, mlp, lenet; on all; not at all.",
)
@click.option("--full/--no-full", default=True, help="Train on all records too.", show_default=True)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any setting of the methods; victim.KEY for training. May be repeated.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/utility"), show_default=True,
              help="Folder for utility.csv, utility.json, utility.png and finished parts.")  # fmt: skip
@with_pool_options
def utility(**flags: Any) -> int:
    """Train networks on a synthetic set and test them on real records.

    Beside it: the random subset of the same size, the size of the random subset that reaches the same accuracy, and all
    records; the cost in seconds and FLOPs. Finished parts are kept in --out: the same command resumes after an
    interruption, and one that asks for more takes what is there.
    """
    from audit.engine.store import explain_failure, write_atomically
    from audit.games.release import write_bytes
    from audit.games.utility.networks import NAMES
    from audit.games.utility.run import run_utility
    from audit.games.utility.table import dump, format_table, write_csv
    from reports.figures.utility import write_utility_figure

    options = {
        **flags,
        "sizes": _numbers("--ipc", flags["sizes"], int),
        "epsilons": _numbers("--epsilon", flags["epsilons"], float) if flags["epsilons"] else (),
    }
    result = run_utility(options, lambda line: print(f"audit: {line}", file=sys.stderr, flush=True))
    out = flags["out"]
    with explain_failure(out):
        out.mkdir(parents=True, exist_ok=True)
    write_bytes(out / "utility.json", dump(result).encode())
    write_bytes(out / "utility.csv", write_csv(result["rows"]).encode())
    write_atomically(out / "utility.png", lambda path: write_utility_figure(result["rows"], NAMES, path))
    if flags["as_json"]:
        click.echo(dump(result), nl=False)
    else:
        notes = "\n".join(result["notes"])
        click.echo(f"{format_table(result['rows'])}\n\n{notes}\n\n{out / 'utility.png'}")
    return 0


def _numbers(flag: str, text: str, kind: Any) -> tuple[Any, ...]:
    try:
        return tuple(dict.fromkeys(kind(part) for part in text.split(",")))
    except ValueError:
        raise BadConfig(f"{flag} {text}: expected numbers with commas between them") from None
