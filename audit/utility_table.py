"""Every candidate set on every network, beside real records: the rows of `audit utility`."""

import csv
import io
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from audit.condensation import Condensation, condense_all
from audit.evaluation_networks import LARGE, NAMES
from audit.split import Split
from audit.synthetic import SyntheticSet
from audit.utility import (
    FlopTrack,
    Measurement,
    Recipe,
    difference_interval,
    measure,
    random_subsets,
    smallest_matching,
)
from condensers.randomness import Randomness

MATCHES = ("small", "all", "none")


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Sets `[seeds or 1, m, …]` to be tried; `seconds` and `flops` are the cost of making one."""

    name: str
    ipc: float
    epsilon: float | None
    images: Tensor
    labels: Tensor
    seconds: float | None = None
    flops: float | None = None


def condense_candidate(
    condensation: Condensation, split: Split, recipe: Recipe, *, epsilon: float | None, one_set: bool
) -> Candidate:
    """Condense once for every seed, each with networks and noise of its own; or once for all."""
    batches, tracks = [], []
    started = time.monotonic()
    for run in range(1 if one_set else recipe.seeds):
        tracks.append(FlopTrack())
        randomness = Randomness(seed=recipe.seed, runs=(run,), independent=True)
        batches.append(condense_all(condensation, split.train, randomness, tracks[-1])[0])
    return Candidate(
        name=condensation.method.name,
        ipc=condensation.config.ipc,
        epsilon=epsilon,
        images=torch.cat([batch.images for batch in batches]).detach(),
        labels=torch.cat([batch.labels for batch in batches]),
        seconds=(time.monotonic() - started) / len(batches),
        flops=tracks[0].flops,
    )


def foreign_candidate(synthetic: SyntheticSet, split: Split) -> Candidate:
    device = split.train.images.device
    return Candidate(
        name=synthetic.name,
        ipc=len(synthetic.images) / split.train.num_classes,
        epsilon=None,
        images=synthetic.images.unsqueeze(0).to(device),
        labels=synthetic.labels.unsqueeze(0).to(device),
    )


class Bench:
    """Measures candidates against random subsets and all records; what was measured once is kept."""

    def __init__(self, split: Split, recipe: Recipe, *, match: str, full: bool, say: Callable[[str], None]) -> None:
        self._split, self._recipe, self._match, self._with_full, self._say = split, recipe, match, full, say
        self.subset = cache(self._subset)
        self.full = cache(self._full)

    def row(self, candidate: Candidate, architecture: str) -> dict[str, Any]:
        """One line of the table."""
        ours = measure(self._recipe, architecture, candidate.images, candidate.labels, self._split.test)
        self._tell(f"{NAMES[architecture]} on {candidate.name}", ours)
        subset = self.subset(architecture, self._class_counts(candidate))
        full = self.full(architecture) if self._with_full else None
        gain = difference_interval(ours, subset)
        return {
            "set": candidate.name,
            "ipc": candidate.ipc,
            "epsilon": candidate.epsilon,
            "images": candidate.images.shape[1],
            "architecture": architecture,
            "accuracy": _record(ours),
            "random_subset": _record(subset),
            "gain": {"mean": ours.mean - subset.mean, "interval": gain},
            "matching_subset": self._matching(architecture, candidate, ours.mean),
            "full": None if full is None else _record(full),
            "condensing": {"seconds": candidate.seconds, "flops": candidate.flops},
        }

    def _subset(self, architecture: str, per_class: tuple[int, ...]) -> Measurement:
        images, labels = random_subsets(self._split.train, per_class, seeds=self._recipe.seeds, seed=self._recipe.seed)
        found = measure(self._recipe, architecture, images, labels, self._split.test)
        self._tell(f"{NAMES[architecture]} on {images.shape[1]} random records", found)
        return found

    def _full(self, architecture: str) -> Measurement:
        pool = self._split.train
        found = measure(self._recipe, architecture, pool.images[None], pool.labels[None], self._split.test)
        self._tell(f"{NAMES[architecture]} on all {pool.num_records} records", found)
        return found

    def _matching(self, architecture: str, candidate: Candidate, target: float) -> dict[str, Any]:
        if self._match == "none" or (self._match == "small" and architecture in LARGE):
            return {"searched": False, "images": None}
        pool = self._split.train
        found = smallest_matching(
            target,
            max(1, round(candidate.ipc)),
            min(records.stop - records.start for records in pool.class_slices),
            lambda size: self.subset(architecture, (size,) * pool.num_classes).mean,
        )
        return {"searched": True, "images": None if found is None else found * pool.num_classes}

    def _class_counts(self, candidate: Candidate) -> tuple[int, ...]:
        """As many of each class as the set has; equally many where its labels are soft, never more than there are."""
        pool = self._split.train
        available = [records.stop - records.start for records in pool.class_slices]
        if candidate.labels.ndim == 3:
            each = max(1, candidate.images.shape[1] // pool.num_classes)
            return tuple(min(each, most) for most in available)
        counts = torch.bincount(candidate.labels[0], minlength=pool.num_classes).tolist()
        return tuple(min(count, most) for count, most in zip(counts, available, strict=True))

    def _tell(self, what: str, found: Measurement) -> None:
        self._say(f"{what}: {found.mean:.1%} ({found.seconds:.0f} s a network)")


def _record(found: Measurement) -> dict[str, Any]:
    return {
        "mean": found.mean,
        "deviation": found.deviation,
        "n": len(found.accuracies),
        "interval": found.interval(),
        "values": list(found.accuracies),
        "images": found.num_images,
        "seconds": found.seconds,
        "flops": found.flops,
    }


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
        ours, subset, gain, full = row["accuracy"], row["random_subset"], row["gain"], row["full"] or {}
        low, high = ours["interval"] or (None, None)
        gain_low, gain_high = gain["interval"] or (None, None)
        values = (
            *(row[name] for name in COLUMNS[:5]),
            *(ours["mean"], ours["deviation"], ours["n"], low, high),
            *(subset["mean"], subset["deviation"], gain["mean"], gain_low, gain_high),
            *(row["matching_subset"]["images"], full.get("mean"), ours["seconds"], ours["flops"]),
            *(full.get("seconds"), full.get("flops"), row["condensing"]["seconds"], row["condensing"]["flops"]),
        )
        writer.writerow(["" if value is None else value for value in values])
    return file.getvalue()


def format_table(rows: list[dict[str, Any]]) -> str:
    """For people: accuracies in per cent, mean ± deviation."""
    heads = ("set", "ε", "images", "network", "accuracy", "random subset", "gain [95%]", "same as", "all", "training")
    lines = [heads]
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
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _spread(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    around = "" if found["deviation"] is None else f" ± {100 * found['deviation']:.1f}"
    return f"{100 * found['mean']:.1f}{around}"


def _gain(gain: dict[str, Any]) -> str:
    if gain["interval"] is None:
        return f"{100 * gain['mean']:+.1f}"
    low, high = gain["interval"]
    return f"{100 * gain['mean']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _cost(found: dict[str, Any]) -> str:
    return f"{found['seconds']:.1f} s, {found['flops']:.1e} FLOP"


def dump(result: dict[str, Any]) -> str:
    return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
