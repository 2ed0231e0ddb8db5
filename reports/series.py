"""Which curves of many audits are drawn in one figure."""

from collections.abc import Sequence

from reports.schema import Report
from reports.style import SERIES

MOST_CURVES = len(SERIES)


def drawn_curves(reports: Sequence[Report]) -> list[int]:
    """Numbers, from 1, of all audits, or of those with the largest AUC where there are more than a figure can tell."""
    order = sorted(range(len(reports)), key=lambda index: (-reports[index].roc.auc, index))[:MOST_CURVES]
    return [index + 1 for index in sorted(order)]
