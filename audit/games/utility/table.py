"""The table of `audit utility`: for people, and as CSV and JSON."""

import csv
import io
import json
from typing import Any

from audit.games.utility.networks import NAMES

COLUMNS = (
    "set", "ipc", "epsilon", "images", "architecture", "accuracy", "deviation", "n", "low", "high", "random_subset",
    "random_subset_deviation", "gain", "gain_low", "gain_high", "matching_subset", "full", "training_seconds",
    "training_flops", "full_seconds", "full_flops", "condensing_seconds", "condensing_flops",
)  # fmt: skip


def write_csv(rows: list[dict[str, Any]]) -> str:
    """One line for every row; empty where something was not measured."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        ours, subset, gain, full = (row[name] or {} for name in ("accuracy", "random_subset", "gain", "full"))
        low, high = ours["interval"] or (None, None)
        gain_low, gain_high = gain.get("interval") or (None, None)
        values = (
            *(row[name] for name in COLUMNS[:5]),
            *(ours["mean"], ours["deviation"], ours["n"], low, high),
            *(subset.get("mean"), subset.get("deviation"), gain.get("mean"), gain_low, gain_high),
            *(row["matching_subset"]["images"], full.get("mean"), ours["seconds"], ours["flops"]),
            *(full.get("seconds"), full.get("flops"), row["condensing"]["seconds"], row["condensing"]["flops"]),
        )
        writer.writerow(["" if value is None else value for value in values])
    return file.getvalue()


def format_table(rows: list[dict[str, Any]]) -> str:
    """For people: accuracies in per cent, mean ± deviation."""
    heads = ("set", "ε", "images", "network", "accuracy", "random subset", "gain [95%]", "random for the same",
             "all records", "training")  # fmt: skip
    lines: list[tuple[str, ...]] = [heads]
    for row in rows:
        match = row["matching_subset"]
        same = "" if not match["searched"] else "> all" if match["images"] is None else str(match["images"])
        lines.append(
            (
                row["set"],
                "" if row["epsilon"] is None else f"{row['epsilon']:g}",
                str(row["images"]),
                NAMES[row["architecture"]],
                _spread(row["accuracy"]),
                _spread(row["random_subset"]),
                _gain(row["gain"]),
                same,
                _spread(row["full"]),
                _cost(row["accuracy"]),
            )
        )
    lines = _without_empty(lines)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _without_empty(lines: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Columns of which no row holds anything, such as what was not asked for, are left out."""
    kept = [any(line[place] for line in lines[1:]) for place in range(len(lines[0]))]
    return [tuple(cell for cell, keep in zip(line, kept, strict=True) if keep) for line in lines]


def _spread(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    around = "" if found["deviation"] is None else f" ± {100 * found['deviation']:.1f}"
    return f"{100 * found['mean']:.1f}{around}"


def _gain(gain: dict[str, Any] | None) -> str:
    if gain is None:
        return ""
    if gain["interval"] is None:
        return f"{100 * gain['mean']:+.1f}"
    low, high = gain["interval"]
    return f"{100 * gain['mean']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _cost(found: dict[str, Any]) -> str:
    return f"{found['seconds']:.1f} s, {found['flops']:.1e} FLOP"


def dump(result: dict[str, Any]) -> str:
    return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
