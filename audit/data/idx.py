"""MNIST's idx files and FashionMNIST's, plain or gzipped.

Archives that were gzipped anew fail an md5 check although their content is right, so the content is checked: magic
number, shape, length. Both sets use the same four names; their label files tell them apart.
"""

import gzip
import hashlib
import math
import struct
import zlib
from pathlib import Path

import numpy as np

from audit.data.sniff import describe_bytes, describe_file
from audit.data.source import Source, check_lengths, source_of_bytes
from condensers.errors import BadData

STEMS = {"train": "train", "test": "t10k"}
UNSIGNED_BYTE = 8
NUM_CLASSES = 10
RECORD_SHAPE = (28, 28)
MOST_BYTES = 256 << 20  # the largest file of either set has 45 MiB

# sha256 of the unpacked label file, train and test
LABELS_OF = {
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5": "mnist",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2": "mnist",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9": "fashion-mnist",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34": "fashion-mnist",
}


def find(folder: Path, name: str) -> Path | None:
    """The folder, if the training pair is there and is not known to belong to the other set."""
    if find_file(folder, "train", "images") is None:
        return None
    labels = find_file(folder, "train", "labels")
    if labels is None:
        raise BadData(f"{folder} holds train-images-idx3-ubyte but not train-labels-idx1-ubyte")
    try:
        owner = LABELS_OF.get(hashlib.sha256(read_bytes(labels)).hexdigest(), name)
    except BadData:
        return folder
    if owner != name:
        raise BadData(f"the files in {folder} are those of {owner}")
    return folder


def read(folder: Path, split: str) -> Source | None:
    images_file, labels_file = find_file(folder, split, "images"), find_file(folder, split, "labels")
    if images_file is None or labels_file is None:
        return None
    images = read_idx(images_file, 3)
    labels = read_idx(labels_file, 1)
    if images.shape[1:] != RECORD_SHAPE:
        raise BadData(f"{images_file}: images of {images.shape[1]}×{images.shape[2]} pixels; expected 28×28")
    check_lengths(folder, len(images), len(labels))
    return source_of_bytes(images[:, None], labels, NUM_CLASSES)


def find_file(folder: Path, split: str, kind: str) -> Path | None:
    num_dimensions = 3 if kind == "images" else 1
    for separator in "-.":
        for suffix in ("", ".gz"):
            path = folder / f"{STEMS[split]}-{kind}{separator}idx{num_dimensions}-ubyte{suffix}"
            if path.is_file():
                return path
    return None


def read_bytes(path: Path) -> bytes:
    """The content, unpacked where the name ends in .gz."""
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        with gzip.open(path) as archive:
            content = archive.read(MOST_BYTES + 1)
    except EOFError as error:
        raise BadData(f"{path}: the gzip archive is truncated; download it again") from error
    except (OSError, zlib.error, struct.error) as error:
        kind = describe_file(path)
        what = "a damaged gzip archive" if kind == "a gzip archive" else f"{kind}, not a gzip archive"
        raise BadData(f"{path}: is {what}; download it again") from error
    if len(content) > MOST_BYTES:
        raise BadData(
            f"{path}: unpacks to more than {MOST_BYTES >> 20} MiB, which is more than any idx file of this set"
        )
    return content


def read_idx(path: Path, num_dimensions: int) -> np.ndarray:
    """The array of bytes that an idx file holds."""
    content = read_bytes(path)
    if content[:4] != bytes([0, 0, UNSIGNED_BYTE, num_dimensions]):
        magic = content[:4].hex() or "nothing"
        raise BadData(
            f"{path}: is {describe_bytes(content)}, not an idx{num_dimensions} file of bytes "
            f"(starts with {magic}, expected 000008{num_dimensions:02x})"
        )
    start = 4 + 4 * num_dimensions
    if len(content) < start:
        raise BadData(f"{path}: ends within its header; download it again")
    shape = struct.unpack(f">{num_dimensions}I", content[4:start])
    if len(content) - start != math.prod(shape):
        raise BadData(
            f"{path}: announces {'×'.join(map(str, shape))} bytes but holds {len(content) - start}; download it again"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
