"""A user's own folder of class folders, or one that holds such folders as `train` and `test`."""

from pathlib import Path

import numpy as np

from audit.data.pictures import as_channels_first, open_picture
from audit.data.source import Source
from condensers.errors import BadData

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff", ".webp")


def read(folder: Path, split: str) -> Source | None:
    """Classes are numbered in the order of their folders' names, by value if all are numbers; records by file name."""
    is_divided = {path.name for path in _subfolders(folder)} in ({"train"}, {"train", "test"})
    train = folder / "train" if is_divided else folder
    names = [path.name for path in _subfolders(train)]
    names.sort(key=(lambda name: (int(name), name)) if all(name.isdecimal() for name in names) else None)
    if not names:
        raise BadData(f"{train}: holds no class folders; expected one folder of pictures for each class")
    train_files = [_pictures(train / name) for name in names]
    if [] in train_files:
        raise BadData(f"{train / names[train_files.index([])]}: holds no pictures ({', '.join(SUFFIXES)})")
    if split == "train":
        return _source(train_files, train_files[0][0])

    test = folder / "test"
    if not is_divided or not test.is_dir():
        return None
    strangers = {path.name for path in _subfolders(test)} - set(names)
    if strangers:
        raise BadData(f"{test / min(strangers)}: there is no such class in {train}")
    return _source([_pictures(test / name) for name in names], train_files[0][0])


def _source(files_of_class: list[list[Path]], model: Path) -> Source:
    """Every picture must have the shape of `model`."""
    files = [file for files in files_of_class for file in files]
    labels = np.repeat(np.arange(len(files_of_class)), [len(files) for files in files_of_class])
    shape = as_channels_first(open_picture(model)).shape

    def read(rows: np.ndarray) -> np.ndarray:
        images = np.empty((len(rows), *shape), dtype=np.float32)
        for position, row in enumerate(rows):
            pixels = as_channels_first(open_picture(files[row]))
            if pixels.shape != shape:
                raise BadData(
                    f"{files[row]}: {_describe(pixels.shape)}, but {model} is {_describe(shape)}; "
                    "all pictures must have one size and be all grey or all RGB"
                )
            images[position] = pixels
        return images

    return Source(labels=labels, shape=shape, num_classes=len(files_of_class), read=read)


def _subfolders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _pictures(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    )


def _describe(shape: tuple[int, ...]) -> str:
    return f"{shape[2]}×{shape[1]} {'grey' if shape[0] == 1 else 'RGB'}"
