"""The kinds of record, told apart in one place, and read back from their `report.json`."""

from dataclasses import dataclass

from reports.records.attacks import COMPARE_SCHEMA, CompareReport
from reports.records.attribute import ATTRIBUTE_SCHEMA, AttributeReport
from reports.records.grid import GRID_SCHEMA, GridReport
from reports.records.reading import parse_object, read_record
from reports.records.reproduction import REPRODUCTION_SCHEMA, ReproductionReport
from reports.records.schema import Claim, Report, Roc, Tradeoff, load
from reports.records.visual import NEAREST_SCHEMA, VISUAL_SCHEMA, NearestReport, VisualReport
from reports.records.worst_case import ATTACK, WorstCaseReport, load_worst_case


@dataclass(frozen=True, kw_only=True)
class Curve:
    """An operating characteristic by itself, and what it is held against."""

    roc: Roc
    claimed: Claim | None
    tradeoff: Tradeoff | None


# Records that certify a bound and have a verdict, so that they can stand side by side.
AuditRecord = Report | VisualReport | WorstCaseReport | AttributeReport
AnyRecord = AuditRecord | NearestReport | GridReport | CompareReport | ReproductionReport
HasCurve = Report | VisualReport | AttributeReport | Curve


def load_record(text: str) -> AnyRecord:
    """Read any `report.json`; raises ValueError with one line when it is none that this version writes."""
    raw = parse_object(text)
    if raw.get("schema") == VISUAL_SCHEMA:
        return read_record(VisualReport, raw)
    if raw.get("schema") == ATTRIBUTE_SCHEMA:
        return read_record(AttributeReport, raw)
    if raw.get("schema") == GRID_SCHEMA:
        return read_record(GridReport, raw)
    if raw.get("schema") == COMPARE_SCHEMA:
        return read_record(CompareReport, raw)
    if raw.get("schema") == REPRODUCTION_SCHEMA:
        return read_record(ReproductionReport, raw)
    if raw.get("schema") == NEAREST_SCHEMA:
        return read_record(NearestReport, raw)
    return load_worst_case(text) if raw.get("attack") == ATTACK else load(text)
