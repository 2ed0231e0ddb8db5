"""Whether a printed figure and a measured one agree.

"within both intervals": the intervals overlap, that of the paper being value ± what it prints, or a unit of its last
digit. If ours contains the chance level as well, and the paper's does not, ours is too wide to tell the two apart:
"not decided". "direction only": they do not overlap, but the printed value and our whole interval lie on the same side
of what the item is compared with: its baseline row in the same column, or the chance level. A statement that something
lies below a value is decided by our interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from audit.reproduce.tables import PublishedCell, PublishedItem
from reports.records.reproduction import DIRECTION, NO, NOTHING_PRINTED, UNDECIDED, WITHIN

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A figure in the unit of its item, its interval (None of a single run), and the number of runs behind it."""

    value: float
    interval: Interval | None
    num_seeds: int


def judge(
    item: PublishedItem, cell: PublishedCell, ours: Measured, others: Sequence[tuple[PublishedCell, Measured]]
) -> str:
    """The agreement of one cell; `others` are all measured cells of the item."""
    if cell.value is None:
        return NOTHING_PRINTED
    mine = ours.interval or (ours.value, ours.value)
    if item.relation == "below":
        return WITHIN if mine[1] < cell.value else NO if mine[0] >= cell.value else UNDECIDED
    printed = cell.interval
    assert printed is not None
    if mine[0] <= printed[1] and printed[0] <= mine[1]:
        chance = item.chance_in(cell)
        return UNDECIDED if _contains(mine, chance) and not _contains(printed, chance) else WITHIN
    published, measured = _reference(item, cell, others)
    if published is None or measured is None:
        return NO
    return DIRECTION if (mine[0] > measured if cell.value > published else mine[1] < measured) else NO


def _reference(
    item: PublishedItem, cell: PublishedCell, others: Sequence[tuple[PublishedCell, Measured]]
) -> tuple[float | None, float | None]:
    """What the cell is compared with, as printed and as measured."""
    if item.baseline is not None and not _matches(cell.labels, item.baseline):
        wanted = {**cell.labels, **item.baseline}
        for other, found in others:
            if other.labels == wanted:
                return other.value, found.value
    chance = item.chance_in(cell)
    return chance, chance


def _contains(interval: Interval, value: float | None) -> bool:
    return value is not None and interval[0] <= value <= interval[1]


def _matches(labels: Mapping[str, object], part: Mapping[str, object]) -> bool:
    return all(labels.get(name) == value for name, value in part.items())
