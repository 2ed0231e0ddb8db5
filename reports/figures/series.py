"""Which curves of many audits are drawn in one figure."""

from collections.abc import Sequence

from reports.figures.style import SERIES
from reports.records.protocols import AnyReport
from reports.records.schema import Roc

MOST_CURVES = len(SERIES)


def drawn_curves(reports: Sequence[AnyReport]) -> list[int]:
    """Numbers, from 1, of all audits, or of those with the largest AUC where there are more than a figure can tell."""
    areas = {index: report.roc.auc for index, report in enumerate(reports) if report.roc is not None}
    order = sorted(areas, key=lambda index: (-areas[index], index))[:MOST_CURVES]
    return [index + 1 for index in sorted(order)]


def curves_of(reports: Sequence[AnyReport]) -> list[tuple[int, AnyReport, Roc]]:
    """Those of them that are drawn in one figure, with their numbers."""
    numbered = [(number, reports[number - 1], reports[number - 1].roc) for number in drawn_curves(reports)]
    return [(number, report, roc) for number, report, roc in numbered if roc is not None]
