"""A user's own `.npz`, and CIFAR-10 kept as one: uint8, or floats in [0, 1]; nothing pickled is ever loaded."""

import math
import zipfile
import zlib
from pathlib import Path

import numpy as np

from audit.data.limits import check_unpacked, read_npz_headers
from audit.data.sniff import describe_file
from audit.data.source import Source, check_lengths, source_of_bytes
from condensers.errors import BadData

# array of records: the arrays of labels that may stand beside it
KEYS: dict[str, dict[str, tuple[str, ...]]] = {
    "train": {"x_train": ("y_train",), "x": ("y", "labels"), "images": ("labels", "y")},
    "test": {"x_test": ("y_test",)},
}
CHANNELS = (1, 3)


def read(path: Path, split: str) -> Source | None:
    """The split of an archive; None if it has no test split. The training labels say how many classes there are."""
    if not zipfile.is_zipfile(path):
        found = describe_file(path)
        what = "the archive is cut off or damaged" if found == "a zip archive" else f"is {found}, not an .npz archive"
        raise BadData(f"{path}: {what}; save one with numpy.savez")
    try:
        _check_size(path)
        with np.load(path, allow_pickle=False) as archive:
            return _read_split(path, archive, split)
    except MemoryError as error:
        raise BadData(f"{path}: its arrays do not fit into memory") from error
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        reason = "holds Python objects, which are never loaded" if "pickle" in str(error) else "is damaged"
        raise BadData(f"{path}: {reason}; save plain arrays with numpy.savez") from error


def _check_size(path: Path) -> None:
    """What is to be loaded must fit: the arrays as they are, and the records once more as single-precision numbers."""
    headers = read_npz_headers(path)
    wanted = {name for pairs in KEYS.values() for images, labels in pairs.items() for name in (images, *labels)}
    arrays = {name: header for name, header in headers.items() if name in wanted}
    check_unpacked(
        path,
        sum(header.num_bytes for header in arrays.values()),
        sum(header.num_bytes + 4 * math.prod(header.shape) for header in arrays.values()),
    )


def _read_split(path: Path, archive: np.lib.npyio.NpzFile, split: str) -> Source | None:
    train_keys = _find_keys(path, archive.files, "train")
    if train_keys is None:
        found = ", ".join(archive.files) or "nothing"
        raise BadData(f"{path}: holds {found}; expected arrays x and y, images and labels, or x_train and y_train")
    keys = _find_keys(path, archive.files, split)
    if keys is None:
        return None
    num_classes = int(_labels(f"{path}[{train_keys[1]}]", archive[train_keys[1]]).max(initial=0)) + 1
    labels = _labels(f"{path}[{keys[1]}]", archive[keys[1]])
    images = _channels_first(f"{path}[{keys[0]}]", archive[keys[0]])
    check_lengths(path, len(images), len(labels))
    if split == "test":
        train_shape = _channels_first(f"{path}[{train_keys[0]}]", archive[train_keys[0]]).shape[1:]
        if images.shape[1:] != train_shape:
            raise BadData(f"{path}: test records of shape {images.shape[1:]}, training records of {train_shape}")
    return _source(f"{path}[{keys[0]}]", images, labels, num_classes)


def _find_keys(path: Path, files: list[str], split: str) -> tuple[str, str] | None:
    for images, labels in KEYS[split].items():
        if images in files:
            found = next((key for key in labels if key in files), None)
            if found is None:
                raise BadData(f"{path}: holds {images} but not {' or '.join(labels)}")
            return images, found
    return None


def _labels(where: str, labels: np.ndarray) -> np.ndarray:
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise BadData(f"{where}: labels have shape {labels.shape}; expected [n], one class number for each record")
    if not np.issubdtype(labels.dtype, np.integer):
        raise BadData(f"{where}: labels are {labels.dtype}; expected whole numbers 0…k−1 (for example int64)")
    if labels.dtype == np.uint64 and labels.size and labels.max() > np.iinfo(np.int64).max:
        raise BadData(f"{where}: label {labels.max()} is too large; expected 0…k−1")
    return labels.astype(np.int64)


def _channels_first(where: str, images: np.ndarray) -> np.ndarray:
    """`[n, c, h, w]` from `[n, h, w]`, `[n, h, w, c]` or `[n, c, h, w]`; a table `[n, features]` stays."""
    if 0 in images.shape:
        raise BadData(f"{where}: is empty, shape {images.shape}")
    if images.ndim == 2:
        return images
    if images.ndim == 3:
        return images[:, None]
    if images.ndim == 4:
        first, last = images.shape[1] in CHANNELS, images.shape[3] in CHANNELS
        if first and last:
            raise BadData(
                f"{where}: shape {images.shape} is ambiguous: channels could be first or last; use larger images"
            )
        if last:
            return images.transpose(0, 3, 1, 2)
        if first:
            return images
    raise BadData(
        f"{where}: shape {images.shape}; expected [n, height, width], [n, height, width, 1 or 3], "
        "[n, 1 or 3, height, width] or a table [n, features]"
    )


def _source(where: str, images: np.ndarray, labels: np.ndarray, num_classes: int) -> Source:
    if images.dtype == np.uint8:
        return source_of_bytes(images, labels, num_classes)
    if not np.issubdtype(images.dtype, np.floating):
        raise BadData(f"{where}: values are {images.dtype}; expected uint8 in 0…255 or floats in [0, 1]")
    finite = np.isfinite(images)
    if not finite.all():
        record = int(np.argwhere(~finite)[0, 0])
        raise BadData(
            f"{where}: {finite.size - int(finite.sum())} values are NaN or infinite, first in record {record}"
        )
    lowest, highest = float(images.min()), float(images.max())
    if lowest < 0 or highest > 1:
        raise BadData(
            f"{where}: floats run from {lowest:.6g} to {highest:.6g}; rescale them to [0, 1] by a constant chosen "
            "in advance, not by statistics of the data"
        )

    def read(rows: np.ndarray) -> np.ndarray:
        return images[rows].astype(np.float32)

    return Source(labels=labels, shape=images.shape[1:], num_classes=num_classes, read=read)
