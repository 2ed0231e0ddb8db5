"""`audit report`: draw the pages of finished runs again, from what their directories hold."""

import errno
import json
from pathlib import Path
from typing import Any

import click
import pandas as pd
from pyarrow import ArrowException

from attacks.canaries import parse_canaries, plant_canaries
from audit.data.load import load_pool, pool_checksum
from audit.pipeline import draw
from audit.store import DamagedShard, RunDirectory
from condensers.errors import BadData, BadInput, Incomplete
from condensers.pool import Pool
from reports import schema
from reports.gallery import Gallery
from reports.pdf import write_pdf

_NO_SHARDS = "The run directory holds no shards, so no synthetic set can be drawn."


@click.command()
@click.argument("run_directories", metavar="RUN_DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--show-records", is_flag=True, help="Show real images of the most exposed records; they are private.")
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder of the data sets, for --show-records.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def report(run_directories: tuple[Path, ...], show_records: bool, data_root: Path | None, as_json: bool) -> None:
    """Redraw the PDF of finished runs.

    Reads report.json, scores.parquet and the first shard of each RUN_DIR and writes report.pdf and figures/*.png
    there. It measures nothing anew, so it exits 0 whatever the verdict was.
    """
    records = [(RunDirectory(path), _read_report(RunDirectory(path))) for path in run_directories]
    drawn = [_redraw(directory, record, show_records, data_root) for directory, record in records]
    if as_json:
        click.echo(json.dumps({"reports": drawn}, sort_keys=True))
        return
    for entry in drawn:
        click.echo(entry["pdf"])


def _redraw(
    directory: RunDirectory, record: schema.Report, show_records: bool, data_root: Path | None
) -> dict[str, Any]:
    scores = _read_scores(directory)
    pool = _reload_pool(directory, record, data_root) if show_records else None
    try:
        with directory.held():
            if directory.shard(0).exists():
                draw(directory, record, scores, pool)
            else:
                write_pdf(record, scores=scores, gallery=Gallery(note=_NO_SHARDS), path=directory.pdf)
    except DamagedShard as damage:
        raise BadData(f"{damage}; run the audit's command again to redo it") from None
    except ValueError as error:
        raise BadData(f"{directory.path}: {error}") from None
    except OSError as error:
        kind = Incomplete if error.errno in (errno.ENOSPC, errno.EDQUOT) else BadInput
        raise kind(f"cannot write {directory.pdf}: {error.strerror}") from None
    return {"run_directory": str(directory.path), "pdf": str(directory.pdf), "verdict": record.verdict}


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
