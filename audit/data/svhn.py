"""SVHN, cropped digits: `train_32x32.mat` and `test_32x32.mat` as torchvision keeps them."""

from pathlib import Path

import numpy as np

from audit.data.sniff import describe_file
from audit.data.source import Source, check_lengths, source_of_bytes
from condensers.errors import BadData

MAT_START = b"MATLAB 5.0 MAT-file"
NUM_CLASSES = 10


def find(folder: Path) -> Path | None:
    return folder if (folder / "train_32x32.mat").is_file() else None


def read(folder: Path, split: str) -> Source | None:
    from scipy.io import loadmat

    path = folder / f"{split}_32x32.mat"
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if file.read(len(MAT_START)) != MAT_START:
            raise BadData(f"{path}: is {describe_file(path)}, not a MATLAB 5.0 file; download it again")
    try:
        content = loadmat(path, variable_names=["X", "y"])
    except Exception as error:  # a damaged file can raise anything from within scipy
        raise BadData(f"{path}: the MATLAB file is truncated or damaged; download it again") from error
    images, labels = content.get("X"), content.get("y")
    if not isinstance(images, np.ndarray) or not isinstance(labels, np.ndarray):
        raise BadData(f"{path}: holds no arrays X and y")
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[:3] != (32, 32, 3):
        raise BadData(f"{path}: X is {images.dtype} of shape {images.shape}; expected uint8 [32, 32, 3, n]")
    labels = labels.ravel()
    check_lengths(path, images.shape[3], len(labels))
    # the files call the digit 0 class 10
    return source_of_bytes(images.transpose(3, 2, 0, 1), np.where(labels == 10, 0, labels), NUM_CLASSES)
