"""From a data set's name or path to a pool.

Pixels come to [−1, 1] by the fixed (x − .5)/.5, never by statistics of the data: those would tell about records before
any mechanism has added its noise.
"""

import hashlib
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from audit.data import arrays, folders
from audit.data.catalog import BY_NAME, describe_absence, resolve_root, search
from audit.data.source import MIN_PER_CLASS, Source, check_labels
from condensers.errors import BadConfig, BadData, MissingData
from condensers.pool import Pool
from condensers.spelling import did_you_mean

ROWS_AT_ONCE = 2048


def load_pool(dataset: str, *, data_root: Path | None = None, records: int | None = None) -> Pool:
    """The training split, sorted by class; with `records`, the first so many of each class in the file's order.

    `dataset` is a name of the catalogue, or the path of an .npz or of a folder of class folders.
    """
    with _unreadable_is_bad_data(dataset):
        name, source = _open(dataset, data_root, "train")
        if source is None:
            raise BadData(f"--dataset {dataset}: has no training split")
        check_labels(f"--dataset {dataset}", source.labels, source.num_classes, every_class=True)
        return _build_pool(name, source, choose_rows(source.labels, source.num_classes, records))


def pool_rows(dataset: str, *, data_root: Path | None = None, records: int | None = None) -> np.ndarray:
    """Where each record of `load_pool` stands in the data set's own order."""
    with _unreadable_is_bad_data(dataset):
        _, source = _open(dataset, data_root, "train")
        if source is None:
            raise BadData(f"--dataset {dataset}: has no training split")
        return choose_rows(source.labels, source.num_classes, records)


def load_test(dataset: str, *, data_root: Path | None = None) -> Pool | None:
    """The official test split, sorted by class; None where the set, or the copy that was found, has none."""
    with _unreadable_is_bad_data(dataset):
        name, source = _open(dataset, data_root, "test")
        if source is None:
            return None
        check_labels(f"--dataset {dataset} (test split)", source.labels, source.num_classes, every_class=False)
        return _build_pool(name, source, choose_rows(source.labels, source.num_classes, None))


def pool_checksum(pool: Pool) -> str:
    """sha256 over shape and bytes of images and labels."""
    digest = hashlib.sha256()
    for tensor in (pool.images, pool.labels):
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(np.ascontiguousarray(tensor.cpu().numpy()).data)
    return digest.hexdigest()


def choose_rows(labels: np.ndarray, num_classes: int, records: int | None) -> np.ndarray:
    """Rows in the order of their class; with `records`, as many of each class, the first classes one more."""
    by_class = [np.flatnonzero(labels == label) for label in range(num_classes)]
    if records is None:
        return np.concatenate(by_class)
    if records < MIN_PER_CLASS * num_classes:
        raise BadConfig(
            f"--records {records}: must be at least {MIN_PER_CLASS * num_classes}, "
            f"{MIN_PER_CLASS} for each of {num_classes} classes"
        )
    each, left_over = divmod(records, num_classes)
    wanted = [each + (label < left_over) for label in range(num_classes)]
    for label, rows in enumerate(by_class):
        if len(rows) < wanted[label]:
            largest = min(len(rows) for rows in by_class) * num_classes
            raise BadConfig(
                f"--records {records}: needs {wanted[label]} records of class {label}, which has {len(rows)}; "
                f"{largest} is possible, or leave --records out to take all {len(labels)}"
            )
    return np.concatenate([rows[:count] for rows, count in zip(by_class, wanted, strict=True)])


def _open(dataset: str, data_root: Path | None, split: str) -> tuple[str, Source | None]:
    """The name to report and the split's source."""
    if dataset in BY_NAME:
        entry = BY_NAME[dataset]
        found = search(entry, resolve_root(data_root) if entry.places else Path())
        if found.path is None:
            raise MissingData(describe_absence(entry, found))
        return dataset, entry.read(found.path, split)
    if not dataset.strip():
        raise BadData("--dataset: is empty; give a name, an .npz file or a folder of class folders")
    path = Path(dataset).expanduser()
    if path.is_dir():
        return f"{_file_safe(path.resolve().name)}-folder", folders.read(path, split)
    if path.is_file():
        if path.suffix.lower() != ".npz":
            raise BadData(f"--dataset {dataset}: a file must be an .npz archive, or give a folder of class folders")
        return _file_safe(path.name), arrays.read(path, split)
    raise BadData(
        f"--dataset {dataset}: no such file or folder, and not one of {', '.join(BY_NAME)}"
        f"{did_you_mean(dataset, BY_NAME)}"
    )


def _build_pool(name: str, source: Source, rows: np.ndarray) -> Pool:
    size = 4 * len(rows) * math.prod(source.shape)
    if size > physical_memory():
        raise BadData(
            f"{name}: {len(rows)} records need {size / 2**30:.1f} GiB, more than this machine has: use --records"
        )
    images = np.empty((len(rows), *source.shape), dtype=np.float32)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = images[start : start + ROWS_AT_ONCE]
        part[...] = source.read(rows[start : start + ROWS_AT_ONCE])
        part -= np.float32(0.5)
        part /= np.float32(0.5)
    return Pool(
        name=name,
        images=torch.from_numpy(images),
        labels=torch.from_numpy(source.labels[rows]),
        num_classes=source.num_classes,
    )


def count_duplicates(pool: Pool) -> int:
    """Records that equal an earlier one to the bit, label included: of such, one can be in while its twin is out."""
    seen = {
        hashlib.sha256(record.tobytes()).digest() + bytes([label % 256, label // 256 % 256])
        for record, label in zip(pool.images.numpy(), pool.labels.tolist(), strict=True)
    }
    return pool.num_records - len(seen)


def physical_memory() -> float:
    """Bytes of memory; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


@contextmanager
def _unreadable_is_bad_data(dataset: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadData(f"--dataset {dataset}: {error.filename or 'a file'} cannot be read: {error.strerror}") from error


def _file_safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)
