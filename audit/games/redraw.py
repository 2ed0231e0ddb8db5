"""Finished run directories, read back for drawing: nothing is measured anew."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pyarrow import ArrowException
from torch import Tensor

from attacks.canaries import parse_canaries, plant_canaries
from audit.data.limits import check_parquet, read_text
from audit.data.load import load_pool, pool_checksum
from audit.engine.cells import FOLDER as CELLS
from audit.engine.store import DamagedShard, RunDirectory, read_tensors
from audit.games.membership.foreign import SETS
from audit.games.membership.pipeline import pictures_of
from audit.games.theory.examine import theory_pictures
from audit.games.visual.released import released_pictures
from audit.games.visual.run import panel_pictures
from condensers.errors import BadData, BadInput
from condensers.pool import CondensedBatch, Pool
from reports.documents.attribute import AttributeMaterial
from reports.documents.kinds import AnyMaterial
from reports.documents.membership import MembershipMaterial, gather_membership
from reports.documents.reproduction import ReproductionMaterial
from reports.documents.theory import TheoryMaterial
from reports.documents.visual import NearestMaterial, VisualMaterial
from reports.documents.worst_case import WorstCaseMaterial
from reports.records.attacks import CompareReport
from reports.records.attribute import AttributeReport
from reports.records.gallery import Gallery, Pictures, pixels
from reports.records.grid import GridReport
from reports.records.kinds import AnyRecord, load_record
from reports.records.reproduction import ReproductionReport
from reports.records.schema import Report
from reports.records.theory import TheoryReport
from reports.records.utility import ContinualReport, UtilityReport
from reports.records.visual import NearestReport, VisualReport
from reports.records.worst_case import WorstCaseReport

_NO_SHARDS = "The run directory holds no shards, so no synthetic set can be drawn."
_NO_SETS = "The run directory holds no synthetic sets, so none can be drawn."


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """Whether real images are asked for, and where the data sets are."""

    show_records: bool
    data_root: Path | None


def read_run(path: Path) -> tuple[RunDirectory, AnyRecord]:
    """The record of a run directory of any kind, or one line that says what is wrong with it."""
    directory = RunDirectory(path)
    if not directory.path.is_dir():
        raise BadInput(
            f"RUN_DIR {directory.path}: no such directory; give one that an audit wrote, such as runs/lira-…"
        )
    try:
        text = read_text(directory.report)
    except FileNotFoundError:
        raise BadInput(f"RUN_DIR {directory.path}: no report.json; {_why_none(directory)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadData(f"{directory.report}: cannot be read ({error})") from None
    try:
        return directory, load_record(text)
    except ValueError as error:
        raise BadData(f"{directory.report}: {error}") from None


def _why_none(directory: RunDirectory) -> str:
    if (directory.path / CELLS).is_dir():
        return "its measurement is not finished; run its command again"
    return (
        "its audit is not finished; run its command again" if directory.config.exists() else "it is not a run directory"
    )


def material_of(directory: RunDirectory, report: AnyRecord, options: DrawOptions) -> AnyMaterial:
    """What the pages of one run are drawn from."""
    match report:
        case Report():
            return _membership(directory, report, options)
        case VisualReport():
            return VisualMaterial(report=report, pictures=_pictures(directory, report, options))
        case NearestReport():
            return NearestMaterial(report=report, pictures=_pictures(directory, report, options))
        case WorstCaseReport():
            return _worst_case(directory, report, options)
        case AttributeReport():
            return _attribute(directory, report, options)
        case GridReport() | CompareReport() | UtilityReport() | ContinualReport():
            return report
        case ReproductionReport():
            kept = _kept_images(directory, report)
            return ReproductionMaterial(
                report=report, pictures={name: pixels(kept[name].numpy()) for name in sorted(kept)}
            )
        case TheoryReport():
            shown = theory_pictures(_kept_images(directory, report), show_records=options.show_records)
            return TheoryMaterial(report=report, pictures=shown)


def _membership(directory: RunDirectory, report: Report, options: DrawOptions) -> MembershipMaterial:
    gallery = _gallery(directory, report, options)
    try:
        return gather_membership(report, scores=_read_scores(directory), gallery=gallery)
    except ValueError as error:
        raise BadData(f"{directory.path}: {error}") from None


def _attribute(directory: RunDirectory, report: AttributeReport, options: DrawOptions) -> AttributeMaterial:
    if options.show_records:
        raise BadInput(f"--show-records: the report of {directory.path} shows no images; leave it out")
    return AttributeMaterial(report=report)


def _worst_case(directory: RunDirectory, report: WorstCaseReport, options: DrawOptions) -> WorstCaseMaterial:
    if options.show_records:
        raise BadInput(f"--show-records: {directory.path} audited made-up records; there are no real ones to show")
    return WorstCaseMaterial(report=report)


def _kept_images(directory: RunDirectory, report: ReproductionReport | TheoryReport) -> dict[str, Tensor]:
    """Synthetic images by name; none where none were kept."""
    if not directory.synthetic.exists():
        return {}
    try:
        return read_tensors(directory.synthetic, digest=report.digest)
    except DamagedShard as damage:
        raise BadData(f"{damage}; run the command again to redo it") from None


def _pictures(directory: RunDirectory, report: VisualReport | NearestReport, options: DrawOptions) -> Pictures:
    pool = _reload_pool(directory, report, options) if options.show_records else None
    released = report.config.get("foreign") is not None
    if not (directory.path / SETS if released else directory.synthetic).exists():
        return Pictures(note=_NO_SETS)
    try:
        if released or isinstance(report, NearestReport):
            return released_pictures(directory, report, pool)
        stored = read_tensors(directory.synthetic, digest=report.digest)
        if set(stored) != {"images", "labels", "initial_records"}:
            raise DamagedShard(f"{directory.synthetic} does not hold synthetic sets")
        sets = CondensedBatch(
            images=stored["images"], labels=stored["labels"], initial_records=stored["initial_records"]
        )
        return panel_pictures(report, sets, pool)
    except DamagedShard as damage:
        raise BadData(f"{damage}; run the audit's command again to redo it") from None


def _gallery(directory: RunDirectory, report: Report, options: DrawOptions) -> Gallery:
    pool = _reload_pool(directory, report, options) if options.show_records else None
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
        check_parquet(directory.scores)
        return pd.read_parquet(directory.scores)
    except FileNotFoundError:
        raise BadInput(f"RUN_DIR {directory.path}: no scores.parquet; run the audit's command again") from None
    except (ArrowException, OSError, ValueError) as error:
        line = str(error).splitlines()[0]
        raise BadData(f"{directory.scores}: not a score table ({line}); run the audit's command again") from None


def _reload_pool(directory: RunDirectory, report: Report | VisualReport | NearestReport, options: DrawOptions) -> Pool:
    """The very data that were audited, or a refusal."""
    config = report.config
    missing = [name for name in ("dataset", "records", "data_checksum") if name not in config]
    if missing:
        raise BadData(f"{directory.report}: its configuration lacks {', '.join(missing)}; --show-records needs them")
    pool = load_pool(config["dataset"], data_root=options.data_root, records=config["records"])
    if pool_checksum(pool) != config["data_checksum"]:
        raise BadData(
            f"--show-records: {config['dataset']} is not what was audited in {directory.path}; it has changed"
        )
    return pool
