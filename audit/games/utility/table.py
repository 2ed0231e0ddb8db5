"""The table of `audit utility` as CSV, which also holds the seconds that its record must not hold."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from reports.records.utility import UtilityRow

COLUMNS = (
    "set", "ipc", "epsilon", "images", "architecture", "accuracy", "deviation", "n", "low", "high", "random_subset",
    "random_subset_deviation", "gain", "gain_low", "gain_high", "matching_subset", "full", "training_seconds",
    "training_flops", "full_seconds", "full_flops", "condensing_seconds", "condensing_flops",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """What a row took: training one network on the set and on all records, condensing; None: was not done."""

    training: float
    full: float | None
    condensing: float | None


def write_csv(rows: Sequence[tuple[UtilityRow, Seconds]]) -> str:
    """One line for every row; empty where something was not measured."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row, seconds in rows:
        ours, subset, gain, full = row.accuracy, row.random_subset, row.gain, row.full
        values = (
            *(getattr(row, name) for name in COLUMNS[:5]),
            *(ours.mean, ours.deviation, ours.n, *(ours.interval or (None, None))),
            *((None, None) if subset is None else (subset.mean, subset.deviation)),
            *((None, None, None) if gain is None else (gain.mean, *(gain.interval or (None, None)))),
            *(row.matching_subset.images, None if full is None else full.mean, seconds.training, ours.flops),
            *(seconds.full, None if full is None else full.flops, seconds.condensing, row.condensing_flops),
        )
        writer.writerow(["" if value is None else value for value in values])
    return file.getvalue()
