"""`audit coins`: who is to be in a set that somebody else will condense."""

import json
from pathlib import Path
from typing import Any

import click

from condensers.errors import BadConfig


@click.command()
@click.option(
    "--dataset",
    default="digits",
    show_default=True,
    help="Data set: a name (`audit data` lists them), an .npz file or a folder.",
)
@click.option("--records", type=int, help="Use a class-balanced pool of this many records. Default: all.")
@click.option("--sets", type=int, default=1, show_default=True, help="Number of sets, each with its own coins.")
@click.option(
    "--audited",
    metavar="N|FILE",
    help="Audit this many records, drawn class by class, or those listed in a file; all others are in every set.",
)
@click.option(
    "--seed", type=int, help="Draw the coins from this seed, to repeat an example. Default: operating-system entropy."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File for the coins; must not exist yet.")
@click.option(
    "--export",
    type=click.Path(path_type=Path),
    help="Also write the members of each set (x and y) as .npz into this folder.",
)
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def coins(**flags: Any) -> int:
    """Draw a fair coin for every record and set, to choose which records somebody else condenses.

    Give the members to the person who makes the set, keep the file, and audit the result with `audit lira --level set
    --synthetic SET --members FILE` or `audit visual --synthetic SET --members FILE`.
    """
    import secrets

    import numpy as np

    from audit.data.load import load_pool, pool_checksum, pool_rows
    from audit.engine.store import explain_failure
    from audit.games.membership.audited import choose_audited
    from audit.games.membership.coins import Coins, draw_coins, write_coins

    out = flags["out"]
    if flags["seed"] is not None and not 0 <= flags["seed"] < 1 << 63:
        raise BadConfig(f"--seed {flags['seed']}: must lie in 0…2^63 − 1")
    pool = load_pool(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    rows = pool_rows(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    source = secrets.randbits(62) if flags["seed"] is None else flags["seed"]
    chosen = choose_audited(flags["audited"], pool, {}, source)
    audited = None if chosen is None else np.isin(np.arange(pool.num_records), chosen)
    drawn = Coins(
        dataset=flags["dataset"],
        checksum=pool_checksum(pool),
        members=draw_coins(flags["sets"], pool.num_records, flags["seed"], audited),
        audited=audited,
    )
    if flags["export"] is not None:  # before the coins, which are drawn once
        with explain_failure(flags["export"]):
            flags["export"].mkdir(parents=True, exist_ok=True)
    write_coins(out, drawn, rows, pool.labels.numpy())
    exported = [] if flags["export"] is None else _export(flags["export"], pool, drawn)
    counts = drawn.members.sum(1).tolist()
    result = {
        "file": str(out),
        "dataset": flags["dataset"],
        "num_records": pool.num_records,
        **({} if chosen is None else {"num_audited": len(chosen)}),
        "num_sets": drawn.num_sets,
        "num_members": counts,
        "drawn_from": "the operating system" if flags["seed"] is None else f"seed {flags['seed']}",
        "exported": exported,
    }
    whose = f"{pool.num_records} records"
    if chosen is not None:
        whose = f"{len(chosen)} audited of {pool.num_records} records, the others in every set,"
    if flags["as_json"]:
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        lines = [
            f"coins of {whose} of {flags['dataset']}, drawn from {result['drawn_from']}",
            *(f"set_{column}: {number} members" for column, number in enumerate(counts)),
        ]
        click.echo("\n".join([*lines, "", str(out), *exported]))
    return 0


def _export(folder: Path, pool: Any, drawn: Any) -> list[str]:
    """The members of each set as .npz: x float32 with pixels in [0, 1], y whole numbers, record their numbers."""
    import io

    import numpy as np

    from audit.games.release import write_bytes

    paths = []
    for column, members in enumerate(drawn.members):
        file = io.BytesIO()
        images = (pool.images.numpy()[members] + 1) / 2
        np.savez_compressed(file, x=images, y=pool.labels.numpy()[members], record=np.flatnonzero(members))
        path = folder / f"set_{column}.npz"
        write_bytes(path, file.getvalue())
        paths.append(str(path))
    return paths
