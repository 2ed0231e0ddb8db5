"""Which features of a record are masked: a part of an image, or those that a file names."""

import re
from pathlib import Path

import numpy as np

from condensers.errors import BadConfig, BadData

PARTS = ("right-half", "left-half", "top-half", "bottom-half", "centre")
MOST_BYTES = 64 << 20


def choose_mask(asked: str, shape: tuple[int, ...]) -> np.ndarray:
    """True where a feature is masked, bool `[features]` in the order of a flattened record of this shape.

    >>> choose_mask("right-half", (1, 2, 4)).astype(int).tolist()
    [0, 0, 1, 1, 0, 0, 1, 1]
    >>> choose_mask("centre", (1, 4, 4)).sum()
    np.int64(4)
    """
    if asked not in PARTS:
        return _read(asked, int(np.prod(shape)))
    if len(shape) != 3:
        raise BadConfig(f"--masked {asked}: the records are rows of a table, not images; name the columns in a file")
    _, height, width = shape
    mask = np.zeros(shape, dtype=bool)
    match asked:
        case "right-half":
            mask[:, :, width // 2 :] = True
        case "left-half":
            mask[:, :, : width // 2] = True
        case "top-half":
            mask[:, : height // 2] = True
        case "bottom-half":
            mask[:, height // 2 :] = True
        case "centre":
            mask[:, height // 4 : height - height // 4, width // 4 : width - width // 4] = True
    return _checked(asked, mask.ravel())


def _read(asked: str, num_features: int) -> np.ndarray:
    path = Path(asked)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadData(f"--masked {asked}: is larger than {MOST_BYTES >> 20} MiB")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise BadData(f"--masked {asked}: neither {', '.join(PARTS)} nor a readable file: {reason}") from None
    words = re.split(r"[\s,;]+", "\n".join(line.partition("#")[0] for line in text.splitlines()).strip())
    strange = next((word for word in words if not re.fullmatch(r"[0-9]{1,9}", word)), None)
    if strange is not None:
        raise BadData(f"--masked {asked}: holds {strange[:40]!r} where the number of a feature is expected")
    numbers = np.array([int(word) for word in words])
    if numbers.max() >= num_features:
        raise BadData(f"--masked {asked}: there is no feature {numbers.max()}; a record has 0…{num_features - 1}")
    mask = np.zeros(num_features, dtype=bool)
    mask[numbers] = True
    return _checked(asked, mask)


def _checked(asked: str, mask: np.ndarray) -> np.ndarray:
    if not 0 < mask.sum() < len(mask):
        raise BadConfig(
            f"--masked {asked}: masks {int(mask.sum())} of {len(mask)} features; mask at least one, and not all"
        )
    return mask
