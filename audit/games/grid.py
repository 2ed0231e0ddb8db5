"""Several audits of one method as cells of one record: each is an ordinary audit with a run directory of its own.

So cells are shared with other audits in the same folder, an interruption loses none that is finished, and every cell
has its own report. Bounds are corrected for the number of cells.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from audit.engine.pages import keep_record
from audit.engine.store import RunDirectory
from audit.engine.where import Where
from audit.games.membership.resolve import resolve_config
from audit.games.run import run
from audit.specs.membership import Lira, Membership
from condensers.plugins import directory_part
from condensers.registry import get_method
from reports.documents.grid import build_grid
from reports.records import schema
from reports.records.grid import GridCell, GridReport, Law
from reports.records.scope import describe_scope


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A cell before it is run: where it stands, and its audit."""

    axes: dict[str, str]
    spec: Lira


def run_cells(
    asked: Sequence[PlannedCell], where: Where, say: Callable[[str], None]
) -> list[tuple[GridCell, schema.Report]]:
    """Run or resume the audits in turn, equal ones once; their cells and records in the same order.

    All specifications are checked before the first audit starts, so that a size that is not possible costs no work.
    """
    say(f"checking {len(asked)} cells")
    for spec in {cell.spec.to_json(): cell.spec for cell in asked}.values():
        resolve_config(spec, where.data_root)
    found: dict[str, schema.Report] = {}
    for number, cell in enumerate(asked, start=1):
        key = cell.spec.to_json()
        if key not in found:
            say(f"cell {number} of {len(asked)}: {cell.spec.command()}")
            found[key] = run(cell.spec, where, say)
    return [(cell_of(cell.axes, found[cell.spec.to_json()]), found[cell.spec.to_json()]) for cell in asked]


def cell_of(axes: Mapping[str, str], report: schema.Report) -> GridCell:
    game, settings = report.game, report.config["method_config"]
    return GridCell(
        axes=dict(axes),
        level=report.level,
        randomness="unknown" if report.config["independent_randomness"] else "known",
        num_records=game.num_records,
        num_classes=game.num_classes,
        num_audited=game.num_records if game.num_audited is None else game.num_audited,
        num_fit_runs=game.num_fit_runs,
        num_test_runs=game.num_test_runs,
        steps=settings.get("iterations"),
        ipc=settings.get("ipc"),
        epsilon=report.epsilon,
        auc=report.roc.auc,
        auc_interval=report.roc.auc_interval,
        tpr_at_fpr=report.roc.tpr_at_fpr,
        tpr_at_fpr_interval=report.roc.tpr_at_fpr_interval,
        interval_unit=report.roc.interval_unit,
        verdict=report.verdict,
        digest=report.digest,
        run_directory=Path(report.run_directory).name,
    )


def keep_grid(
    spec: Membership,
    found: Sequence[tuple[GridCell, schema.Report]],
    where: Where,
    say: Callable[[str], None],
    law: Law | None = None,
) -> GridReport:
    """Write record and pages of all cells into a directory of their own; the record, with paths as seen from here."""
    cells, first = tuple(cell for cell, _ in found), found[0][1]
    facts = [spec.to_json(), *(cell.digest for cell in cells)]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
    data = first.run_directory.rsplit("/", 1)[-1].removeprefix(f"lira-{directory_part(spec.method)}-").rsplit("-", 1)[0]
    name = f"{spec.COMMAND}-{directory_part(spec.method)}-{data}-{digest}"
    directory = RunDirectory(where.out / name)
    directory.create()
    report = GridReport(
        kind=spec.COMMAND,
        command=spec.command(),
        method=first.method,
        dataset=first.dataset,
        private=get_method(spec.method).private,
        scope="" if first.scope is None else describe_scope(first.scope),
        cells=cells,
        config=msgspec.to_builtins(spec),
        versions=first.versions,
        digest=digest,
        run_directory=name,
        pdf="report.pdf",
        law=law,
    )
    with directory.held():
        keep_record(report, build_grid(report), directory, say)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))
