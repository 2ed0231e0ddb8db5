"""`audit utility`: what a synthetic set is worth to train on."""

from pathlib import Path
from typing import Any

import click

from audit.commands.attack import say, where_of
from audit.commands.workers import with_workers
from audit.specs.options import build, with_fields
from audit.specs.utility import Utility


@click.command()
@with_fields(Utility)
@with_workers
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/utility"), show_default=True,
              help="Folder for report.pdf, report.html, report.json, utility.csv and finished parts.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def utility(**flags: Any) -> int:
    """Train networks on a synthetic set and test them on real records.

    For comparison, networks are also trained on a random subset of the same size and on all records, and the size of
    the random subset that reaches the same accuracy is searched for. The cost is given in seconds and FLOPs. Finished
    parts are kept in --out: the same command resumes after an interruption, and a larger one reuses them.
    """
    spec, where = build(Utility, flags), where_of({**flags, "show_records": False})
    from audit.games.run import run
    from reports.records import schema
    from reports.words.utility import lines_of, rows_table

    report = run(spec, where, say)
    if flags["as_json"]:
        click.echo(schema.dump(report), nl=False)
    else:
        click.echo("\n".join([*lines_of(rows_table(report)), "", *report.notes, "", report.pdf]))
    return 0
