"""`audit report`: draw finished runs again, or several side by side, from what their directories hold."""

import errno
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pandas as pd
from pyarrow import ArrowException

from attacks.canaries import parse_canaries, plant_canaries
from audit.data.load import load_pool, pool_checksum
from audit.pipeline import pictures_of
from audit.store import DamagedShard, RunDirectory
from condensers.errors import BadData, BadInput, Incomplete
from condensers.pool import Pool
from reports import schema
from reports.comparison import write_comparison_pdf
from reports.gallery import Gallery
from reports.html import write_comparison_html, write_html
from reports.material import Material, gather
from reports.pdf import write_pdf

FORMATS = ("pdf", "html")
_NO_SHARDS = "The run directory holds no shards, so no synthetic set can be drawn."
Run = tuple[RunDirectory, schema.Report]


@click.command()
@click.argument("run_directories", metavar="RUN_DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "formats", default=",".join(FORMATS), show_default=True, help="pdf, html, or both.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the comparison of several runs; default: the folder that holds the first of them.",
)
@click.option("--show-records", is_flag=True, help="Show real images of the most exposed records; they are private.")
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

    Reads report.json, scores.parquet and, if it is there, the first shard of each RUN_DIR. One run: writes report.pdf,
    report.html and figures/*.png there. Several: writes comparison.pdf and comparison.html. It measures nothing anew,
    so it exits 0 whatever the verdicts were.
    """
    chosen = _parse_formats(formats)
    runs = [(RunDirectory(path), _read_report(RunDirectory(path))) for path in run_directories]
    if len(runs) == 1:
        if out is not None:
            raise BadInput("--out is for the comparison of several runs; the pages of one run go to its directory")
        answer: dict[str, Any] = {"reports": [_redraw(*runs[0], chosen, show_records, data_root)]}
        paths = [answer["reports"][0][name] for name in chosen]
    else:
        folder = run_directories[0].absolute().parent if out is None else out
        compared = _compare(runs, chosen, _from_here(folder), show_records, data_root)
        verdicts = [{"run_directory": str(where.path), "verdict": record.verdict} for where, record in runs]
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


def _redraw(
    directory: RunDirectory,
    record: schema.Report,
    formats: Sequence[str],
    show_records: bool,
    data_root: Path | None,
) -> dict[str, Any]:
    scores = _read_scores(directory)
    gallery = _pictures(directory, record, show_records, data_root)
    written = {"run_directory": str(directory.path), "verdict": record.verdict}
    with _explained(directory.path, directory.pdf if "pdf" in formats else directory.html), directory.held():
        if "pdf" in formats:
            write_pdf(record, scores=scores, gallery=gallery, path=directory.pdf)
            written["pdf"] = str(directory.pdf)
        if "html" in formats:
            write_html(record, scores=scores, gallery=gallery, path=directory.html)
            written["html"] = str(directory.html)
    return written


def _compare(
    runs: Sequence[Run], formats: Sequence[str], folder: Path, show_records: bool, data_root: Path | None
) -> dict[str, str]:
    """One run's scores and pictures are in memory at a time."""

    def materials() -> Iterator[Material]:
        for directory, record in runs:
            gallery = _pictures(directory, record, show_records, data_root)
            try:
                yield gather(record, scores=_read_scores(directory), gallery=gallery)
            except ValueError as error:
                raise BadData(f"{directory.path}: {error}") from None

    records = [record for _, record in runs]
    written = {}
    for name, write in (("pdf", write_comparison_pdf), ("html", write_comparison_html)):
        if name in formats:
            path = folder / f"comparison.{name}"
            with _explained(folder, path):
                write(records, materials(), path)
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


def _pictures(directory: RunDirectory, record: schema.Report, show_records: bool, data_root: Path | None) -> Gallery:
    pool = _reload_pool(directory, record, data_root) if show_records else None
    if not directory.shard(0).exists():
        return Gallery(note=_NO_SHARDS)
    try:
        return pictures_of(directory, record, pool)
    except DamagedShard as damage:
        raise BadData(f"{damage}; run the audit's command again to redo it") from None


def _read_report(directory: RunDirectory) -> schema.Report:
    if not directory.path.is_dir():
        raise BadInput(f"RUN_DIR {directory.path}: no such directory; give one that an audit wrote, as runs/lira-…")
    try:
        text = directory.report.read_text(encoding="utf-8")
    except FileNotFoundError:
        hint = (
            "its audit is not finished, run its command again" if directory.config.exists() else "not a run directory"
        )
        raise BadInput(f"RUN_DIR {directory.path}: no report.json; {hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadData(f"{directory.report}: cannot be read ({error})") from None
    try:
        return schema.load(text)
    except ValueError as error:
        raise BadData(f"{directory.report}: {error}") from None


def _read_scores(directory: RunDirectory) -> pd.DataFrame:
    try:
        return pd.read_parquet(directory.scores)
    except FileNotFoundError:
        raise BadInput(f"RUN_DIR {directory.path}: no scores.parquet; run the audit's command again") from None
    except (ArrowException, OSError, ValueError) as error:
        line = str(error).splitlines()[0]
        raise BadData(f"{directory.scores}: not a score table ({line}); run the audit's command again") from None


def _reload_pool(directory: RunDirectory, record: schema.Report, data_root: Path | None) -> Pool:
    """The very data that were audited, or a refusal."""
    config = record.config
    missing = [name for name in ("dataset", "records", "data_checksum") if name not in config]
    if missing:
        raise BadData(f"{directory.report}: its configuration lacks {', '.join(missing)}; --show-records needs them")
    pool = load_pool(config["dataset"], data_root=data_root, records=config["records"])
    if pool_checksum(pool) != config["data_checksum"]:
        raise BadData(
            f"--show-records: {config['dataset']} is not what was audited in {directory.path}; it has changed"
        )
    return plant_canaries(pool, parse_canaries(config.get("canaries", "")), record.game.seed)
