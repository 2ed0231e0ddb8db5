"""CelebA, gender: `img_align_celeba/` and `list_attr_celeba.txt`, as torchvision keeps them.

Class 0 is female, class 1 male (attribute `Male`): the task of Zheng & Li §V-A and of Dong et al. §5, arXiv:2206.00240.
Each picture's central square is resized. Zheng & Li do not state a size. Dong et al. write "center cropped to dimension
64×64", which does not say whether the picture was scaled before; here it is, so that the whole face stays.
Pictures are decoded one by one, and only those that a pool takes.
"""

from pathlib import Path

import numpy as np

from audit.data.pictures import as_channels_first, centre_square, open_picture
from audit.data.source import Source
from condensers.errors import BadData

ATTRIBUTES = "list_attr_celeba.txt"
PARTITION = "list_eval_partition.txt"
PICTURES = "img_align_celeba"
PARTS = {"train": 0, "test": 2}  # 1 is validation, used by neither
LAST_OF_PART = (162770, 182637, 202599)  # picture numbers by which the set's authors divide it


def find(folder: Path) -> Path | None:
    return folder if (folder / ATTRIBUTES).is_file() and (folder / PICTURES).is_dir() else None


def read(folder: Path, split: str, *, size: int) -> Source | None:
    is_male = read_attribute(folder / ATTRIBUTES, "Male")
    parts = read_partition(folder / PARTITION) if (folder / PARTITION).is_file() else None
    names = [name for name in is_male if (_official_part(name) if parts is None else parts.get(name)) == PARTS[split]]
    if not names:
        if split == "test":
            return None
        raise BadData(f"{folder}: none of the pictures listed in {ATTRIBUTES} belongs to the training part")

    def read_rows(rows: np.ndarray) -> np.ndarray:
        images = np.empty((len(rows), 3, size, size), dtype=np.float32)
        for position, row in enumerate(rows):
            picture = open_picture(folder / PICTURES / names[row]).convert("RGB")
            images[position] = as_channels_first(centre_square(picture, size))
        return images

    labels = np.array([is_male[name] for name in names], dtype=np.int64)
    return Source(labels=labels, shape=(3, size, size), num_classes=2, read=read_rows)


def read_attribute(path: Path, attribute: str) -> dict[str, bool]:
    """Which pictures have an attribute: a count, a line of names, then `picture ±1 ±1 …`."""
    lines = _read_lines(path)
    names = lines[1].split() if len(lines) > 1 else []
    if attribute not in names:
        raise BadData(f"{path}: its second line does not name the attribute {attribute}; not CelebA's list")
    column = names.index(attribute)
    values: dict[str, bool] = {}
    for number, line in enumerate(lines[2:], start=3):
        picture, *fields = line.split() or [""]
        if picture == "":
            continue
        if len(fields) != len(names) or fields[column] not in ("1", "-1"):
            raise BadData(f"{path}: line {number} does not hold a picture and {len(names)} values of 1 or -1")
        values[picture] = fields[column] == "1"
    if lines[0].strip() != str(len(values)):
        raise BadData(f"{path}: announces {lines[0].strip()[:20]} pictures but lists {len(values)}; download it again")
    return values


def read_partition(path: Path) -> dict[str, int]:
    parts: dict[str, int] = {}
    for number, line in enumerate(_read_lines(path), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2 or fields[1] not in ("0", "1", "2"):
            raise BadData(f"{path}: line {number} does not hold a picture and 0, 1 or 2")
        parts[fields[0]] = int(fields[1])
    return parts


def _official_part(name: str) -> int | None:
    stem = Path(name).stem
    if not stem.isdecimal():
        return None
    return next((part for part, last in enumerate(LAST_OF_PART) if int(stem) <= last), None)


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        raise BadData(f"{path}: not a list in plain text; download it again") from error
