"""One audit from its configuration to its report: missing shards, scores, record, pages."""

import json
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, read_tensors, write_atomically, write_text
from audit.engine.where import Where
from audit.games.membership.audited import audited_pool
from audit.games.membership.blocks import Blank, Stored, score_blocks, scores_by_blocks
from audit.games.membership.config import AuditConfig, condensation_digest
from audit.games.membership.crossfit import cross_fit_audit
from audit.games.membership.displacement import measure_displacement
from audit.games.membership.draws import signals_by_draw
from audit.games.membership.foreign import (
    Foreign,
    describe_foreign,
    keep_sets,
    rehearse_foreign,
    score_foreign,
    show_foreign,
)
from audit.games.membership.generators import find_metric, generator_signals
from audit.games.membership.runs import complete_runs, load_ledger, load_shards, num_finished
from audit.games.membership.shard import GENERATORS, members_of_pool, num_shards, shard_runs
from audit.games.membership.summary import score_runs, score_table, summarise
from audit.games.scope import in_scope
from condensers.errors import Incomplete
from condensers.pool import Pool
from condensers.registry import get_method
from reports.documents.membership import build_membership, gather_membership
from reports.records import schema
from reports.records.gallery import Gallery, pixels, show_synthetic

# What is read of shards at each level.
SEEN = {"model": ("signals", "accuracy"), "set": ("images", "labels"), "generator": (GENERATORS,)}


def run_audit(
    config: AuditConfig, pool: Pool, where: Where, say: Callable[[str], None], foreign: Foreign | None = None
) -> schema.Report:
    """Run or resume an audit, of our own runs or of sets of another maker; its record, with paths as seen from here."""
    _tell_of_empty_classes(config, pool, say)
    (_rehearse if foreign is None else rehearse_foreign)(config, audited_pool(config, pool))
    if config.level == "generator":
        find_metric(config, pool)  # refuses before anything is computed
    directory = RunDirectory(where.out / config.directory_name)
    directory.create()
    try:
        with directory.held():
            report = _run(config, pool, directory, where, say, foreign)
    except KeyboardInterrupt:
        raise Incomplete(
            f"interrupted: {num_finished(config, directory)} of {config.shadows} runs are finished, and what was "
            f"saved of the others is kept in {directory.path}; run the same command again to resume"
        ) from None
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def _run(
    config: AuditConfig,
    pool: Pool,
    directory: RunDirectory,
    where: Where,
    say: Callable[[str], None],
    foreign: Foreign | None,
) -> schema.Report:
    write_text(directory.config, config.to_json())
    started = time.monotonic()
    computed = complete_runs(config, directory, where, say)
    if computed:
        jobs = where.executor.num_workers(config.device)
        timing = {"seconds": round(time.monotonic() - started, 3), "runs": computed, "jobs": jobs}
        write_text(directory.timing, json.dumps(timing) + "\n")
    say("scoring")
    audited = audited_pool(config, pool)
    in_blocks = scores_by_blocks(config, audited.num_records)
    shards = load_shards(directory, config, ("accuracy",) if in_blocks else SEEN[config.level])
    if config.level == "generator":
        shards["signals"] = generator_signals(config, audited, shards)
    if foreign is None:
        if in_blocks:
            stored = Stored(directory=directory, config=config)
            members, scores, fitted = score_blocks(config, audited.num_records, stored)
        else:
            members, scores = score_runs(config, signals_by_draw(config.level, config, audited, shards))
            fitted = cross_fit_audit(config, audited, shards)
        ledger = load_ledger(directory, config)
        report = summarise(config, pool, members, scores, shards, ledger=ledger, fitted=fitted)
        if (shards["initial_records"] >= 0).any():
            report = replace(report, displacement=measure_displacement(directory, config, pool))
    else:
        members, scores = score_foreign(config, audited, shards, foreign)
        fitted = cross_fit_audit(config, audited, shards)
        report = describe_foreign(config, foreign, summarise(config, pool, members, scores, shards, fitted=fitted))
        keep_sets(directory, config.digest, foreign)
    report = in_scope(report)
    table = score_table(config, members, scores)
    write_atomically(directory.scores, lambda path: table.to_parquet(path, index=False))
    write_text(directory.report, schema.dump(report))
    say("drawing the report")
    with explain_failure(directory.pdf):
        draw(directory, report, table, pool if where.show_records else None)
    return report


def draw(directory: RunDirectory, report: schema.Report, table: pd.DataFrame, pool: Pool | None) -> None:
    """Write the PDF, its figures and the page; real images only where the pool is given."""
    gallery = pictures_of(directory, report, pool)
    write_pages(build_membership(gather_membership(report, scores=table, gallery=gallery)), directory)


def pictures_of(directory: RunDirectory, report: schema.Report, pool: Pool | None) -> Gallery:
    """The synthetic set of the first run, and the exposed records where the pool is given."""
    if report.config.get("foreign") is not None:
        gallery = show_foreign(directory, report.digest, show_records=pool is not None)
    else:
        gallery = _first_run(directory, report, show_records=pool is not None)
    if pool is not None and report.exposed and pool.images.ndim == 4:
        chosen = pool.images[[entry.record for entry in report.exposed]]
        gallery = replace(gallery, exposed=pixels(chosen.numpy()))
    return gallery


def _first_run(directory: RunDirectory, report: schema.Report, *, show_records: bool) -> Gallery:
    first = read_tensors(directory.shard(0), digest=report.digest, condensation=condensation_digest(report.config))
    return show_synthetic(
        first["images"][0].numpy(),
        first["labels"][0].numpy(),
        from_records=bool((first["initial_records"][0] >= 0).any()),
        show_records=show_records,
    )


def _tell_of_empty_classes(config: AuditConfig, pool: Pool, say: Callable[[str], None]) -> None:
    """Say how many runs lack records that the method matches or starts from; they count like all others."""
    if get_method(config.method).private:
        return
    wanted = config.method_config.get("ipc", 1) if config.method_config.get("init") == "real" else 1
    num_short = 0
    for index in range(num_shards(config)):
        members = members_of_pool(config, pool, shard_runs(config, index)).numpy()
        counts = np.stack([members[:, records].sum(1) for records in pool.class_slices])
        num_short += int((counts < wanted).any(0).sum())
    if num_short:
        lacking = "no member" if wanted == 1 else f"fewer than {wanted} members"
        say(
            f"{num_short} of {config.shadows} runs have {lacking} of some class: images without a member to start from "
            "or to match stay public noise (docs/architecture.md)"
        )


def _rehearse(config: AuditConfig, pool: Pool) -> None:
    """Score blank signals: an attack that these runs cannot feed refuses before they are computed."""
    if scores_by_blocks(config, pool.num_records):
        score_blocks(config, pool.num_records, Blank(num_runs=config.shadows), cross_fits=False)
    else:
        score_runs(config, np.zeros((config.shadows, pool.num_records, 1), dtype=np.float32))
