"""`audit report`: draw finished runs again, or several side by side, from what their directories hold."""

import json
from pathlib import Path
from typing import Any

import click

from condensers.errors import BadInput

FORMATS = ("pdf", "html")


@click.command()
@click.argument("run_directories", metavar="RUN_DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "formats", default=",".join(FORMATS), show_default=True, help="pdf, html, or both.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the comparison of several runs. Default: the folder that holds the first of them.",
)
@click.option(
    "--show-records", is_flag=True, help="Show real images of exposed records and matches, which are private."
)
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder of the data sets, for --show-records.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def report(
    run_directories: tuple[Path, ...],
    formats: str,
    out: Path | None,
    show_records: bool,
    data_root: Path | None,
    as_json: bool,
) -> None:
    """Redraw a finished run as PDF and HTML, or compare several runs.

    Takes run directories of any kind, also mixed, and reads report.json, scores.parquet and synthetic sets. For one run
    it writes report.pdf, report.html and figures/*.png into its directory; for several, comparison.pdf and
    comparison.html. Nothing is measured again, so it exits 0 whatever the verdicts were.
    """
    chosen = _parse_formats(formats)
    _refuse_twice(run_directories)
    from audit.commands.report_pages import compare, from_here, redraw
    from audit.games.redraw import DrawOptions, read_run

    options = DrawOptions(show_records=show_records, data_root=data_root)
    runs = [read_run(path) for path in run_directories]
    if len(runs) == 1:
        if out is not None:
            raise BadInput("--out is for the comparison of several runs; the pages of one run go to its directory")
        answer: dict[str, Any] = {"reports": [redraw(*runs[0], chosen, options)]}
        paths = [answer["reports"][0][name] for name in chosen]
    else:
        folder = run_directories[0].absolute().parent if out is None else out
        compared = compare(runs, chosen, from_here(folder), options)
        verdicts = [
            {"run_directory": str(where.path), "verdict": getattr(record, "verdict", None)} for where, record in runs
        ]
        answer = {"comparison": compared, "reports": verdicts}
        paths = list(compared.values())
    click.echo(json.dumps(answer, sort_keys=True) if as_json else "\n".join(paths))


def _parse_formats(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in FORMATS]
    if unknown or not names:
        raise BadInput(f"--format {text!r}: choose from {', '.join(FORMATS)}, separated by commas")
    return tuple(name for name in FORMATS if name in names)


def _refuse_twice(run_directories: tuple[Path, ...]) -> None:
    seen: set[Path] = set()
    for path in run_directories:
        if path.resolve() in seen:
            raise BadInput(f"RUN_DIR {path}: is given twice; a run cannot be compared with itself")
        seen.add(path.resolve())
