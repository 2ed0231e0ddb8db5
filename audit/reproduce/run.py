"""Runs a reproduction: every figure's specification in turn, equal ones once, and the record of all of them.

Each specification resumes by itself in `--out`: membership audits in run directories of their own, networks and sets in
cells that other items share. A figure whose data are not here is listed as not run.
"""

import csv
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import torch

from audit.accounting.account import account
from audit.data.catalog import BY_NAME
from audit.engine.pages import keep_record
from audit.engine.store import RunDirectory, explain_failure, write_tensors, write_text
from audit.engine.where import Where
from audit.games.run import run
from audit.games.settings import versions
from audit.games.utility.run import condensed_sets
from audit.reproduce.agreement import Measured, judge
from audit.reproduce.cells import PlannedCell
from audit.reproduce.maps import map_by_data_set
from audit.reproduce.plan import plan_item
from audit.reproduce.tables import PublishedItem, label_text, published_item
from audit.specs.account import Account
from audit.specs.continual import Continual
from audit.specs.reproduce import Reproduce
from audit.specs.spec import Spec
from audit.specs.theory import Theory
from audit.specs.utility import Utility
from condensers.errors import BadInput, MissingData
from condensers.published import open_questions
from reports.documents.reproduction import ReproductionMaterial, build_reproduction
from reports.records.gallery import pixels
from reports.records.reproduction import NOT_COMPARED, NOT_RUN, EmbeddingMap, ReproducedRow, ReproductionReport
from reports.records.scope import grouped
from reports.words.reproduction import COLUMNS, csv_row, markdown, name_labels

Say = Callable[[str], None]
Finished = dict[str, Any]  # records by specification
MOST_PICTURES = 20  # of one set


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    cell: PlannedCell
    measured: Measured | None
    differs: tuple[str, ...]


def run_reproduction(spec: Reproduce, where: Where, say: Say, finished: Finished | None = None) -> ReproductionReport:
    """Run or resume one item; `finished` holds records that other items have had, and is added to."""
    item = published_item(spec.item)
    planned = plan_item(spec, item)
    known = {} if finished is None else finished
    outcomes = [_measure(cell, where, say, known, (place, len(planned))) for place, cell in enumerate(planned, 1)]
    measured = [(one.cell.published, one.measured) for one in outcomes if one.measured is not None]
    rows = tuple(_row(item, one, measured, stands_in=spec.scale == "smoke") for one in outcomes)
    sets, datasets = _sets(item, outcomes, where, say)
    maps = map_by_data_set(sets, datasets, spec.seed) if item.map else ()
    return _keep(spec, item, rows, maps, sets if item.pictures else {}, where, say)


def _measure(cell: PlannedCell, where: Where, say: Say, known: Finished, place: tuple[int, int]) -> _Outcome:
    key = f"{type(cell.spec).__name__} {cell.spec.to_json()}"
    try:
        if key not in known:
            say(f"value {place[0]} of {place[1]}: {cell.spec.command()}")
            known[key] = run_cell(cell.spec, where, say)
        differs = (*cell.differs, *incomplete_data(cell.spec, known[key]), *untrained_networks(known[key]))
        return _Outcome(cell=cell, measured=cell.read(known[key]), differs=differs or open_choices(cell.spec))
    except MissingData as error:
        # The message may name folders of this machine, which belong into no record.
        say(f"not run: {error}")
        dataset = cell.published.labels.get("dataset", "the data set")
        return _Outcome(cell=cell, measured=None, differs=(f"{dataset} was not found here",))
    except BadInput as error:
        if "--shadows" not in str(error):
            raise
        raise type(error)(f"{error} (here: --seeds)") from None


def incomplete_data(spec: Any, record: Any) -> tuple[str, ...]:
    """In words, that the copy of a data set that was found has fewer records than the data set."""
    known = BY_NAME.get(getattr(spec, "dataset", ""))
    if known is None or getattr(spec, "records", None) is not None:
        return ()
    found = []
    if hasattr(record, "train_records"):
        found = [(record.train_records, known.num_records, "training"), (record.test_records, known.num_test, "test")]
    elif hasattr(record, "game"):
        found = [(record.game.num_records, known.num_records, "training")]
    return tuple(f"{grouped(here)} of {grouped(whole)} {kind} records" for here, whole, kind in found if here < whole)


def untrained_networks(record: Any) -> tuple[str, ...]:
    """In words, that the networks of an attack are no better than chance: an attack that fails on them says nothing."""
    utility = getattr(record, "utility", None)
    if utility is None or utility.accuracy_interval[0] > 1 / record.game.num_classes:
        return ()
    return (f"the attacked networks may be no better than chance (accuracy {100 * utility.accuracy:.1f}%)",)


def open_choices(spec: Any) -> tuple[str, ...]:
    """In words, that nothing else differs than what the paper leaves open, where it does; a budget has no such part."""
    methods = ("dm",) if isinstance(spec, Theory) else getattr(spec, "methods", None) or (getattr(spec, "method", ""),)
    if isinstance(spec, Account) or not any(open_questions(method) for method in methods):
        return ()
    return (f"only what `audit methods --method {methods[0]}` lists as open",)


def run_cell(spec: Any, where: Where, say: Say) -> Any:
    """The record of one figure's specification; what has cells keeps them in a folder that all items share."""
    match spec:
        case Account():
            return account(spec)
        case Utility() | Continual() | Theory():
            return run(spec, replace(where, out=folder_of(spec, where)), say)
    return run(spec, where, say)


def folder_of(spec: Spec, where: Where) -> Any:
    """Where a specification that has no run directory keeps its cells."""
    return where.out / f"reproduce-{spec.COMMAND}"


def _row(item: PublishedItem, one: _Outcome, measured: list[Any], *, stands_in: bool) -> ReproducedRow:
    cell, ours = one.cell.published, one.measured
    return ReproducedRow(
        labels=tuple((name, label_text(value)) for name, value in cell.labels.items()),
        relation=item.relation if item.relation == "below" else "value",
        published=cell.value,
        published_interval=None if item.relation == "below" else cell.interval,
        printed=cell.text,
        ours=None if ours is None else ours.value,
        interval=None if ours is None else ours.interval,
        num_seeds=0 if ours is None else ours.num_seeds,
        agreement=_agreement(item, one, measured, stands_in=stands_in),
        differs=one.differs,
        command=one.cell.spec.command(),
    )


def _agreement(item: PublishedItem, one: _Outcome, measured: list[Any], *, stands_in: bool) -> str:
    """Figures of data that stand in for the paper's are not compared with it; the accountant needs no data."""
    if one.measured is None:
        return NOT_RUN
    if one.cell.published.value is not None and stands_in and not isinstance(one.cell.spec, Account):
        return NOT_COMPARED
    if isinstance(one.cell.spec, Account):
        item = replace(item, chance=None, chance_of={}, baseline=None)  # those of the accuracies beside it
    return judge(item, one.cell.published, one.measured, measured)


def _sets(
    item: PublishedItem, outcomes: list[_Outcome], where: Where, say: Say
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Synthetic images of an item that shows them and their data sets, both by what the images are called."""
    found: dict[str, torch.Tensor] = {}
    datasets: dict[str, str] = {}
    if not (item.pictures or item.map):
        return found, datasets
    for one in outcomes:
        if one.measured is None or not isinstance(one.cell.spec, Utility):
            continue
        name = name_labels((label, label_text(value)) for label, value in one.cell.published.labels.items())
        for made in condensed_sets(one.cell.spec, replace(where, out=folder_of(one.cell.spec, where)), say):
            if made.images.ndim == 4:
                found[name], datasets[name] = made.images.detach().cpu(), one.cell.spec.dataset
    return dict(sorted(found.items())), datasets


def _keep(
    spec: Reproduce,
    item: PublishedItem,
    rows: tuple[ReproducedRow, ...],
    maps: tuple[EmbeddingMap, ...],
    sets: dict[str, torch.Tensor],
    where: Where,
    say: Say,
) -> ReproductionReport:
    """Write record, pages, CSV and Markdown into a directory of their own."""
    facts = json.dumps([spec.to_json(), [row.command for row in rows], versions(None)], sort_keys=True)
    digest = hashlib.sha256(facts.encode()).hexdigest()[:12]
    name = f"reproduce-{item.name.replace('/', '-')}-{spec.scale}-{digest}"
    directory = RunDirectory(where.out / name)
    with explain_failure(directory.path):
        directory.path.mkdir(parents=True, exist_ok=True)
    report = ReproductionReport(
        item=item.name,
        paper=item.paper,
        where=item.where,
        title=item.title,
        unit=item.unit,
        scale=spec.scale,
        axis=item.axis,
        command=spec.command(),
        rows=rows,
        quoted=item.quoted,
        maps=maps,
        config=msgspec.to_builtins(spec),
        versions=versions(None),
        digest=digest,
        run_directory=name,
        pdf="report.pdf",
        interval_of=item.interval_of,
    )
    shown = {place: images[:: max(1, len(images) // MOST_PICTURES)][:MOST_PICTURES] for place, images in sets.items()}
    with directory.held():
        write_text(directory.path / "table.csv", _csv(report))
        write_text(directory.path / "table.md", markdown(report))
        if shown:
            write_tensors(directory.synthetic, {key: value.contiguous() for key, value in shown.items()}, digest=digest)
        pictures = {key: pixels(value.numpy()) for key, value in shown.items()}
        keep_record(report, build_reproduction(ReproductionMaterial(report=report, pictures=pictures)), directory, say)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def _csv(report: ReproductionReport) -> str:
    names = list(dict.fromkeys(name for row in report.rows for name, _ in row.labels))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*names, *COLUMNS])
    writer.writerows([*(row.label(name) or "" for name in names), *csv_row(row)] for row in report.rows)
    return file.getvalue()
