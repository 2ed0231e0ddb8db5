"""Finished run directories, read back for drawing: nothing is measured anew."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pyarrow import ArrowException

from attacks.canaries import parse_canaries, plant_canaries
from audit.data.load import load_pool, pool_checksum
from audit.foreign import SETS
from audit.pipeline import pictures_of
from audit.store import DamagedShard, RunDirectory, read_tensors
from audit.visual_foreign import released_pictures
from audit.visual_run import panel_pictures
from condensers.errors import BadData, BadInput
from condensers.pool import CondensedBatch, Pool
from reports.html import write_page
from reports.kinds import KnownMaterial, KnownReport, VisualMaterial, WorstCaseMaterial, load_any
from reports.material import gather
from reports.pdf import write_pdf
from reports.records.gallery import Gallery
from reports.records.schema import Report
from reports.records.visual import VisualReport
from reports.records.worst_case import WorstCaseReport
from reports.visual_pages import Pictures, write_visual_pdf
from reports.worst_case_pages import write_worst_case_pdf

_NO_SHARDS = "The run directory holds no shards, so no synthetic set can be drawn."
_NO_SETS = "The run directory holds no synthetic sets, so none can be drawn."


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Whether real images are asked for, and where the data sets are."""

    show_records: bool
    data_root: Path | None


def read_run(path: Path) -> tuple[RunDirectory, KnownReport]:
    """The record of a run directory of any kind, or one line that says what is wrong with it."""
    directory = RunDirectory(path)
    if not directory.path.is_dir():
        raise BadInput(f"RUN_DIR {directory.path}: no such directory; give one that an audit wrote, as runs/lira-…")
    try:
        text = directory.report.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput(f"RUN_DIR {directory.path}: no report.json; {_why_none(directory)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadData(f"{directory.report}: cannot be read ({error})") from None
    try:
        return directory, load_any(text)
    except ValueError as error:
        raise BadData(f"{directory.report}: {error}") from None


def _why_none(directory: RunDirectory) -> str:
    if (directory.path / "utility.json").exists():
        return "it holds `audit utility`, whose table and figure are its pages"
    return "its audit is not finished, run its command again" if directory.config.exists() else "not a run directory"


def write_pages(directory: RunDirectory, report: KnownReport, formats: tuple[str, ...], wish: Wish) -> None:
    """Write the pages of one run where they belong; raises ValueError where its files do not fit together."""
    match report:
        case Report():
            scores, gallery = _read_scores(directory), _gallery(directory, report, wish)
            if "pdf" in formats:
                write_pdf(report, scores=scores, gallery=gallery, path=directory.pdf)
            material: KnownMaterial = gather(report, scores=scores, gallery=gallery)
        case VisualReport():
            material = _visual(directory, report, wish)
            if "pdf" in formats:
                write_visual_pdf(report, material.pictures, directory.pdf)
        case WorstCaseReport():
            material = _worst_case(directory, report, wish)
            if "pdf" in formats:
                write_worst_case_pdf(report, directory.pdf)
    if "html" in formats:
        write_page(material, directory.html)


def material_of(directory: RunDirectory, report: KnownReport, wish: Wish) -> KnownMaterial:
    """What the section of one run in a comparison is drawn from."""
    match report:
        case VisualReport():
            return _visual(directory, report, wish)
        case WorstCaseReport():
            return _worst_case(directory, report, wish)
        case _:
            gallery = _gallery(directory, report, wish)
            try:
                return gather(report, scores=_read_scores(directory), gallery=gallery)
            except ValueError as error:
                raise BadData(f"{directory.path}: {error}") from None


def _worst_case(directory: RunDirectory, report: WorstCaseReport, wish: Wish) -> WorstCaseMaterial:
    if wish.show_records:
        raise BadInput(f"--show-records: {directory.path} audited made-up records; there are no real ones to show")
    return WorstCaseMaterial(report=report)


def _visual(directory: RunDirectory, report: VisualReport, wish: Wish) -> VisualMaterial:
    pool = _reload_pool(directory, report, wish) if wish.show_records else None
    released = report.config.get("foreign") is not None
    if not (directory.path / SETS if released else directory.synthetic).exists():
        return VisualMaterial(report=report, pictures=Pictures(note=_NO_SETS))
    try:
        if released:
            return VisualMaterial(report=report, pictures=released_pictures(directory, report, pool))
        stored = read_tensors(directory.synthetic, digest=report.digest)
        if set(stored) != {"images", "labels", "initial_records"}:
            raise DamagedShard(f"{directory.synthetic} does not hold synthetic sets")
        sets = CondensedBatch(
            images=stored["images"], labels=stored["labels"], initial_records=stored["initial_records"]
        )
        pictures = panel_pictures(report, sets, pool)
    except DamagedShard as damage:
        raise BadData(f"{damage}; run the audit's command again to redo it") from None
    return VisualMaterial(report=report, pictures=pictures)


def _gallery(directory: RunDirectory, report: Report, wish: Wish) -> Gallery:
    pool = _reload_pool(directory, report, wish) if wish.show_records else None
    if pool is not None:
        pool = plant_canaries(pool, parse_canaries(report.config.get("canaries", "")), report.game.seed)
    if not directory.shard(0).exists():
        return Gallery(note=_NO_SHARDS)
    try:
        return pictures_of(directory, report, pool)
    except DamagedShard as damage:
        raise BadData(f"{damage}; run the audit's command again to redo it") from None


def _read_scores(directory: RunDirectory) -> pd.DataFrame:
    try:
        return pd.read_parquet(directory.scores)
    except FileNotFoundError:
        raise BadInput(f"RUN_DIR {directory.path}: no scores.parquet; run the audit's command again") from None
    except (ArrowException, OSError, ValueError) as error:
        line = str(error).splitlines()[0]
        raise BadData(f"{directory.scores}: not a score table ({line}); run the audit's command again") from None


def _reload_pool(directory: RunDirectory, report: Report | VisualReport, wish: Wish) -> Pool:
    """The very data that were audited, or a refusal."""
    config = report.config
    missing = [name for name in ("dataset", "records", "data_checksum") if name not in config]
    if missing:
        raise BadData(f"{directory.report}: its configuration lacks {', '.join(missing)}; --show-records needs them")
    pool = load_pool(config["dataset"], data_root=wish.data_root, records=config["records"])
    if pool_checksum(pool) != config["data_checksum"]:
        raise BadData(
            f"--show-records: {config['dataset']} is not what was audited in {directory.path}; it has changed"
        )
    return pool
