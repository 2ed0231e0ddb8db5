"""`audit continual`: classes that arrive in stages, of which condensed sets are passed on."""

from pathlib import Path
from typing import Any

import click

from audit.commands.attack import say, where_of
from audit.commands.workers import with_workers
from audit.specs.continual import Continual
from audit.specs.options import build, with_fields


@click.command()
@with_fields(Continual)
@with_workers
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/continual"), show_default=True,
              help="Folder for report.pdf, report.html, report.json and finished parts.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def continual(**flags: Any) -> int:
    """Train class-incrementally, where every stage passes on a condensed set instead of its records.

    After each stage a network is trained on the sets so far and tested on all classes seen so far. Finished parts are
    kept in --out: run the same command again to resume.
    """
    spec, where = build(Continual, flags), where_of({**flags, "show_records": False})
    from audit.games.run import run
    from reports.records import schema
    from reports.words.utility import lines_of, stages_table

    report = run(spec, where, say)
    if flags["as_json"]:
        click.echo(schema.dump(report), nl=False)
    else:
        click.echo("\n".join([*lines_of(stages_table(report)), "", report.pdf]))
    return 0
