"""Records as the Python interface returns them: what `report.json` holds, with methods that draw it."""

import html
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from audit.engine.store import RunDirectory
from audit.games.redraw import DrawOptions, material_of
from reports.documents.blocks import Document
from reports.documents.kinds import build_document
from reports.records import schema
from reports.records.attacks import CompareReport
from reports.records.attribute import AttributeReport
from reports.records.grid import GridReport
from reports.records.kinds import Measurement
from reports.records.reproduction import WITHIN, ReproductionReport
from reports.records.theory import TheoryReport
from reports.records.utility import ContinualReport, UtilityReport
from reports.records.visual import NearestReport, VisualReport
from reports.records.worst_case import WorstCaseReport
from reports.render.html import write_html
from reports.render.pdf import write_pdf
from reports.words import theory, utility
from reports.words.rounding import down, percent, say_delta


class Drawable:
    """What every record can do: `to_pdf`, `to_html`, and a short form for notebooks."""

    run_directory: str

    def to_pdf(self, path: str | Path) -> Path:
        """Draw the report as a PDF; its path."""
        write_pdf(self._document(), Path(path))
        return Path(path)

    def to_html(self, path: str | Path) -> Path:
        """Draw the report as one HTML page that needs nothing beside it; its path."""
        write_html(self._document(), Path(path))
        return Path(path)

    def _document(self) -> Document:
        directory = RunDirectory(Path(self.run_directory))
        kept = _plain(self)
        return build_document(material_of(directory, kept, DrawOptions(show_records=False, data_root=None)))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in _key_figures(self)
        )
        return f"<table>{rows}</table>"


@dataclass(frozen=True, kw_only=True)
class MembershipRecord(Drawable, schema.Report):
    """Of `Lira`, `Rmia`, `Loss` and `GanLeak`."""


@dataclass(frozen=True, kw_only=True)
class WorstCaseRecord(Drawable, WorstCaseReport):
    """Of `WorstCase`."""


@dataclass(frozen=True, kw_only=True)
class VisualRecord(Drawable, VisualReport):
    """Of `Visual`."""


@dataclass(frozen=True, kw_only=True)
class NearestRecord(Drawable, NearestReport):
    """Of `Visual` on sets whose members are not known: nothing was tested."""


@dataclass(frozen=True, kw_only=True)
class AttributeRecord(Drawable, AttributeReport):
    """Of `Attribute`."""


@dataclass(frozen=True, kw_only=True)
class CompareRecord(Drawable, CompareReport):
    """Of `Compare`."""


@dataclass(frozen=True, kw_only=True)
class GridRecord(Drawable, GridReport):
    """Of `Adversaries` and `Sweep`."""


@dataclass(frozen=True, kw_only=True)
class ReproductionRecord(Drawable, ReproductionReport):
    """Of `Reproduce`."""


@dataclass(frozen=True, kw_only=True)
class UtilityRecord(Drawable, UtilityReport):
    """Of `Utility`."""


@dataclass(frozen=True, kw_only=True)
class ContinualRecord(Drawable, ContinualReport):
    """Of `Continual`."""


@dataclass(frozen=True, kw_only=True)
class TheoryRecord(Drawable, TheoryReport):
    """Of `Theory`."""


Record = (
    MembershipRecord
    | WorstCaseRecord
    | VisualRecord
    | AttributeRecord
    | NearestRecord
    | CompareRecord
    | GridRecord
    | ReproductionRecord
    | UtilityRecord
    | ContinualRecord
    | TheoryRecord
)
_KINDS: dict[type, type] = {
    schema.Report: MembershipRecord,
    WorstCaseReport: WorstCaseRecord,
    VisualReport: VisualRecord,
    NearestReport: NearestRecord,
    AttributeReport: AttributeRecord,
    CompareReport: CompareRecord,
    GridReport: GridRecord,
    ReproductionReport: ReproductionRecord,
    UtilityReport: UtilityRecord,
    ContinualReport: ContinualRecord,
    TheoryReport: TheoryRecord,
}


def as_record(report: Any) -> Any:
    """The same record with the methods; what is of no kind that is drawn stays as it is."""
    kind = _KINDS.get(type(report))
    return report if kind is None else kind(**_values(report))


def _plain(record: Any) -> Any:
    kind = next(plain for plain, rich in _KINDS.items() if type(record) is rich)
    return kind(**_values(record))


def _values(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _key_figures(record: Any) -> list[tuple[str, str]]:
    """What a person wants to see first. An ε is rounded down, since it is a lower bound."""
    if isinstance(record, ReproductionReport):
        agreeing = sum(row.agreement == WITHIN for row in record.rows)
        values = f"{agreeing} of {len(record.rows)} within both intervals"
        return [("item", record.item), ("scale", record.scale), ("values", values), ("report", record.pdf)]
    if isinstance(record, Measurement):
        return [("data", record.dataset), ("found", _found(record)), ("report", record.pdf)]
    found = [("method", str(record.method)), ("data", str(record.dataset))]
    if isinstance(record, CompareReport | GridReport):
        parts = record.entries if isinstance(record, CompareReport) else record.cells
        best = max((part.epsilon for part in parts), key=lambda bound: bound.lower)
        return [*found, ("audits", str(len(parts))), ("largest", f"ε ≥ {down(best.lower)}"), ("report", record.pdf)]
    if isinstance(record, NearestReport):
        return [*found, ("verdict", "nothing was tested")]
    bound = record.epsilon
    found += [
        ("verdict", record.verdict),
        ("certified", f"ε ≥ {down(bound.lower)} at {say_delta(bound.delta)}, {percent(bound.confidence)} confidence"),
    ]
    roc = getattr(record, "roc", None)
    if roc is not None:
        low, high = roc.auc_interval
        found.append(("AUC", f"{roc.auc:.4f} [{low:.4f}, {high:.4f}]"))
    return [*found, ("report", record.pdf)]


def _found(record: Measurement) -> str:
    match record:
        case UtilityReport():
            return utility.summary(record)
        case ContinualReport():
            return utility.continual_summary(record)
        case TheoryReport():
            return theory.explain_assumption(record)
