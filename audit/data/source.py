"""What a reader hands over: all labels at once, records on demand, both in the order of the file."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condensers.errors import BadData

MIN_PER_CLASS = 2  # one that can be in while another is out


@dataclass(frozen=True, kw_only=True)
class Source:
    """One split of a data set before normalisation.

    `read(rows)` gives float32 `[len(rows), *shape]` in [0, 1]; `shape` is (channels, height, width) or (features,).
    """

    labels: np.ndarray
    shape: tuple[int, ...]
    num_classes: int
    read: Callable[[np.ndarray], np.ndarray]


def source_of_bytes(images: np.ndarray, labels: np.ndarray, num_classes: int) -> Source:
    """Records held as bytes `[n, …]`, of which 0 and 255 are the ends of the range."""

    def read(rows: np.ndarray) -> np.ndarray:
        return images[rows].astype(np.float32) / np.float32(255)

    return Source(labels=labels.astype(np.int64), shape=images.shape[1:], num_classes=num_classes, read=read)


def check_lengths(where: object, num_images: int, num_labels: int) -> None:
    if num_images != num_labels:
        raise BadData(f"{where}: {num_images} records but {num_labels} labels; there must be one label for each record")


def check_labels(where: object, labels: np.ndarray, num_classes: int, *, every_class: bool) -> None:
    """Labels are 0…k−1; with `every_class`, each has at least two records."""
    if labels.size == 0:
        raise BadData(f"{where}: holds no records")
    lowest, highest = int(labels.min()), int(labels.max())
    allowed = f"labels must be 0…{num_classes - 1}"
    if lowest < 0 or highest >= num_classes:
        raise BadData(f"{where}: labels run from {lowest} to {highest}; {allowed}")
    if not every_class:
        return
    if num_classes < 2:
        raise BadData(f"{where}: every label is 0; at least two classes are needed")
    counts = dict(zip(*(values.tolist() for values in np.unique(labels, return_counts=True)), strict=True))
    if len(counts) < num_classes:
        missing = next(label for label in range(num_classes) if label not in counts)
        raise BadData(f"{where}: class {missing} has no records; {allowed} without gaps (found {lowest}…{highest})")
    scarce = min(counts, key=lambda label: counts[label])
    if counts[scarce] < MIN_PER_CLASS:
        raise BadData(f"{where}: class {scarce} has {counts[scarce]} record; at least {MIN_PER_CLASS} are needed")
