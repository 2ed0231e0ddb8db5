"""CIFAR-10: the binary version, the Python version as torchvision keeps it, or an `.npz` of uint8 [n, 32, 32, 3].

The batches of the Python version are pickles. They are never loaded: `pickletools` lists their opcodes without
executing any, and pixels and labels are taken from that list.
"""

import pickletools
from pathlib import Path

import numpy as np

from audit.data import arrays
from audit.data.sniff import describe_file
from audit.data.source import Source, check_lengths, source_of_bytes
from condensers.errors import BadData

NUM_CLASSES = 10
SHAPE = (3, 32, 32)
NUM_VALUES = 3 * 32 * 32
BATCHES = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}
FOLDERS = ("cifar-10-batches-bin", "cifar-10-batches-py", ".")
INTEGERS = ("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1")


def find(folder: Path) -> Path | None:
    """The folder of batches, or the archive, that stands in `folder`."""
    for name in FOLDERS:
        batch = folder / name / BATCHES["train"][0]
        if batch.with_suffix(".bin").is_file() or batch.is_file():
            return folder / name
    archives = [folder / "cifar10.npz", *sorted(folder.glob("cifar10_*.npz"))]
    return next((path for path in archives if path.is_file()), None)


def read(path: Path, split: str) -> Source | None:
    if path.is_file():
        return _read_archive(path, split)
    binary = (path / BATCHES["train"][0]).with_suffix(".bin").is_file()
    files = [path / (name + ".bin" if binary else name) for name in BATCHES[split]]
    missing = [file.name for file in files if not file.is_file()]
    if split == "test" and missing:
        return None
    if missing:
        raise BadData(f"{path}: {missing[0]} is missing; unpack the whole archive")
    batches = [_read_binary(file) if binary else _read_python_batch(file) for file in files]
    images = np.concatenate([pixels for pixels, _ in batches]).reshape(-1, *SHAPE)
    return source_of_bytes(images, np.concatenate([labels for _, labels in batches]), NUM_CLASSES)


def _read_archive(path: Path, split: str) -> Source | None:
    source = arrays.read(path, split)
    if source is not None and (source.shape != SHAPE or source.num_classes != NUM_CLASSES):
        raise BadData(
            f"{path}: records of shape {source.shape} in {source.num_classes} classes; "
            f"CIFAR-10 has {SHAPE} in {NUM_CLASSES} (other data: --dataset {path})"
        )
    return source


def _read_binary(path: Path) -> tuple[np.ndarray, np.ndarray]:
    content = np.fromfile(path, dtype=np.uint8)
    if content.size == 0 or content.size % (1 + NUM_VALUES):
        raise BadData(
            f"{path}: {content.size} bytes are not whole records of {1 + NUM_VALUES}; "
            f"it is truncated or {describe_file(path)}: download it again"
        )
    records = content.reshape(-1, 1 + NUM_VALUES)
    return records[:, 1:], records[:, 0]


def _read_python_batch(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pixels are a batch's longest string; labels, the whole numbers between the word `labels` and the next string."""
    pixels = b""
    labels: list[int] = []
    within_labels = fortran_order = after_true = False
    try:
        with path.open("rb") as file:
            for opcode, argument, _ in pickletools.genops(file):
                if within_labels and opcode.name in INTEGERS and isinstance(argument, int):
                    labels.append(argument)
                elif isinstance(argument, (str, bytes)) and opcode.name != "GLOBAL":
                    text = argument.encode("latin-1") if isinstance(argument, str) else argument
                    within_labels = text == b"labels"
                    if len(text) > len(pixels):
                        pixels, fortran_order = text, after_true
                after_true = opcode.name == "NEWTRUE"
    except (ValueError, UnicodeError, OverflowError) as error:
        raise BadData(
            f"{path}: is {describe_file(path)}, truncated or not a batch of CIFAR-10; download it again, "
            "or take the binary version (audit data --get cifar10)"
        ) from error
    if fortran_order or not labels or len(pixels) % NUM_VALUES:
        raise BadData(f"{path}: not a batch of CIFAR-10; take the binary version (audit data --get cifar10)")
    check_lengths(path, len(pixels) // NUM_VALUES, len(labels))
    if not all(0 <= label < NUM_CLASSES for label in labels):
        raise BadData(f"{path}: labels run from {min(labels)} to {max(labels)}; labels must be 0…{NUM_CLASSES - 1}")
    return np.frombuffer(pixels, dtype=np.uint8).reshape(-1, NUM_VALUES), np.array(labels, dtype=np.uint8)
