"""`audit report`: draw finished runs again, or several side by side, from what their directories hold."""

import errno
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from audit.engine.pages import FORMATS, write_pages
from audit.engine.store import RunDirectory
from audit.games.redraw import Wish, material_of, read_run
from condensers.errors import BadData, BadInput, Incomplete
from reports.documents.comparison import build_comparison
from reports.documents.kinds import AuditMaterial, build_document
from reports.documents.visual import NearestMaterial
from reports.records.attacks import CompareReport
from reports.records.grid import GridReport
from reports.records.kinds import AnyRecord, AuditRecord
from reports.records.visual import NearestReport
from reports.render.html import write_html
from reports.render.pdf import write_pdf

Run = tuple[RunDirectory, AnyRecord]


@click.command()
@click.argument("run_directories", metavar="RUN_DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "formats", default=",".join(FORMATS), show_default=True, help="pdf, html, or both.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the comparison of several runs; default: the folder that holds the first of them.",
)
@click.option("--show-records", is_flag=True, help="Show real images of exposed records and matches; they are private.")
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder of the data sets, for --show-records.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def report(
    run_directories: tuple[Path, ...],
    formats: str,
    out: Path | None,
    show_records: bool,
    data_root: Path | None,
    as_json: bool,
) -> None:
    """Redraw finished runs as PDF and HTML; several become one comparison.

    Takes run directories of lira, rmia, loss, visual and worst-case, also mixed, and reads what they hold: report.json,
    scores.parquet, synthetic sets. One run: writes report.pdf, report.html and figures/*.png there. Several: writes
    comparison.pdf and comparison.html. It measures nothing anew, so it exits 0 whatever the verdicts were.
    """
    chosen = _parse_formats(formats)
    wish = Wish(show_records=show_records, data_root=data_root)
    runs = [read_run(path) for path in run_directories]
    if len(runs) == 1:
        if out is not None:
            raise BadInput("--out is for the comparison of several runs; the pages of one run go to its directory")
        answer: dict[str, Any] = {"reports": [_redraw(*runs[0], chosen, wish)]}
        paths = [answer["reports"][0][name] for name in chosen]
    else:
        folder = run_directories[0].absolute().parent if out is None else out
        compared = _compare(runs, chosen, _from_here(folder), wish)
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
        raise BadInput(f"--format {text!r}: choose from {', '.join(FORMATS)}, parted by commas")
    return tuple(name for name in FORMATS if name in names)


def _from_here(folder: Path) -> Path:
    """As short as can be."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _redraw(directory: RunDirectory, record: AnyRecord, formats: tuple[str, ...], wish: Wish) -> dict[str, Any]:
    paths = {"pdf": directory.pdf, "html": directory.html}
    with _explained(directory.path, paths[formats[0]]), directory.held():
        write_pages(build_document(material_of(directory, record, wish)), directory, formats)
    written = {name: str(paths[name]) for name in formats}
    return {"run_directory": str(directory.path), "verdict": getattr(record, "verdict", None), **written}


def _compare(runs: Sequence[Run], formats: Sequence[str], folder: Path, wish: Wish) -> dict[str, str]:
    """One run's scores and pictures are in memory at a time."""

    records: list[AuditRecord] = []
    for directory, record in runs:
        if isinstance(record, NearestReport):
            raise BadInput(f"RUN_DIR {directory.path}: tested nothing, so it cannot be compared; give it by itself")
        if isinstance(record, GridReport | CompareReport):
            raise BadInput(f"RUN_DIR {directory.path}: holds several audits; give the directories of single ones")
        records.append(record)

    def materials() -> Iterator[AuditMaterial]:
        for directory, record in runs:
            material = material_of(directory, record, wish)
            if not isinstance(material, NearestMaterial | GridReport | CompareReport):
                yield material

    written = {}
    for name, write in (("pdf", write_pdf), ("html", write_html)):
        if name in formats:
            path = folder / f"comparison.{name}"
            with _explained(folder, path):
                write(build_comparison(records, materials()), path)
            written[name] = str(path)
    return written


@contextmanager
def _explained(where: Path, path: Path) -> Iterator[None]:
    """What a person can mend, in one line."""
    try:
        yield
    except ValueError as error:
        raise BadData(f"{where}: {error}") from None
    except OSError as error:
        kind = Incomplete if error.errno in (errno.ENOSPC, errno.EDQUOT) else BadInput
        raise kind(f"cannot write {path}: {error.strerror}") from None
