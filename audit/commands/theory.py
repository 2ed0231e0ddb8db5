"""`audit theory`: the propositions of Dong et al. (arXiv:2206.00240), tested by running the condenser."""

from pathlib import Path
from typing import Any

import click

from audit.commands.attack import say, where_of
from audit.commands.workers import with_workers
from audit.specs.options import build, with_fields
from audit.specs.theory import Theory


@click.command("theory")
@with_fields(Theory)
@with_workers
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("runs/theory"), show_default=True,
              help="Folder for report.pdf, report.html, report.json and finished condensations.")  # fmt: skip
@click.option("--show-records", is_flag=True, help="Also draw images that started from real records.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def theory(**flags: Any) -> None:
    """Test the propositions of Dong et al. by running the condenser.

    Runs distribution matching without augmentation, with linear, ReLU and convolutional extractors: do the barycentres
    of S and T coincide, does the closed form hold, how far does one record move the result? Draws the curves of
    Figure 7, the pictures of Figure 6 and the leave-one-out bound (35) beside what was measured. To resume after an
    interruption, run the same command again.
    """
    spec, where = build(Theory, flags), where_of(flags)
    from audit.games.run import run
    from reports.records import schema
    from reports.words import theory as words
    from reports.words.utility import lines_of

    report = run(spec, where, say)
    if flags["as_json"]:
        click.echo(schema.dump(report), nl=False)
        return
    lines = [words.explain_assumption(report), "", *lines_of(words.distances_table(report)), words.DISTANCES_NOTE]
    lines += ["", *lines_of(words.shifts_table(report)), words.SHIFTS_NOTE, "", *words.conclusions(report)]
    click.echo("\n".join([*lines, "", report.pdf]))
