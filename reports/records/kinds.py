"""The kinds of record, told apart in one place, and read back from their `report.json`."""

from dataclasses import dataclass

from reports.records.attacks import COMPARE_SCHEMA, CompareReport
from reports.records.attribute import ATTRIBUTE_SCHEMA, AttributeReport
from reports.records.grid import GRID_SCHEMA, GridReport
from reports.records.reading import parse_object, read_record
from reports.records.reproduction import REPRODUCTION_SCHEMA, ReproductionReport
from reports.records.schema import Claim, Report, Roc, Tradeoff, load
from reports.records.theory import THEORY_SCHEMA, TheoryReport
from reports.records.utility import CONTINUAL_SCHEMA, UTILITY_SCHEMA, ContinualReport, UtilityReport
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
# Measurements without an adversary.
Measurement = UtilityReport | ContinualReport | TheoryReport
AnyRecord = AuditRecord | NearestReport | GridReport | CompareReport | ReproductionReport | Measurement
HasCurve = Report | VisualReport | AttributeReport | Curve

_BY_SCHEMA: dict[str, type[AnyRecord]] = {
    VISUAL_SCHEMA: VisualReport,
    ATTRIBUTE_SCHEMA: AttributeReport,
    GRID_SCHEMA: GridReport,
    COMPARE_SCHEMA: CompareReport,
    REPRODUCTION_SCHEMA: ReproductionReport,
    NEAREST_SCHEMA: NearestReport,
    UTILITY_SCHEMA: UtilityReport,
    CONTINUAL_SCHEMA: ContinualReport,
    THEORY_SCHEMA: TheoryReport,
}


def load_record(text: str) -> AnyRecord:
    """Read any `report.json`; raises ValueError with one line when it is none that this version writes."""
    raw = parse_object(text)
    kind = _BY_SCHEMA.get(str(raw.get("schema")))
    if kind is not None:
        return read_record(kind, raw)
    return load_worst_case(text) if raw.get("attack") == ATTACK else load(text)
