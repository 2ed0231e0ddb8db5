"""Picture files, read one by one."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from audit.data.sniff import describe_file
from condensers.errors import BadData

GREY_MODES = ("L", "1")
COLOUR_MODES = ("RGB", "P")
MOST_PIXELS = 1 << 24


def open_picture(path: Path) -> Image.Image:
    """The decoded picture: mode L or RGB."""
    try:
        with _no_warnings(), Image.open(path) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise BadData(f"{path}: has {picture.width}×{picture.height} pixels; at most {MOST_PIXELS} are allowed")
            if picture.mode not in GREY_MODES + COLOUR_MODES:
                raise BadData(
                    f"{path}: pictures of mode {picture.mode} are not supported; save it as 8-bit grey or RGB"
                )
            return picture.convert("L" if picture.mode in GREY_MODES else "RGB")
    except FileNotFoundError as error:
        raise BadData(f"{path}: no such picture") from error
    except PermissionError as error:
        raise BadData(f"{path}: no permission to read it") from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadData(f"{path}: not a picture that can be read, but {describe_file(path)}, or it is damaged") from error


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Pillow warns of large pictures, which are refused anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield


def centre_square(picture: Image.Image, size: int) -> Image.Image:
    """The central square, as large as the picture allows, resized."""
    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    square = picture.crop((left, top, left + side, top + side))
    return square.resize((size, size), Image.Resampling.BILINEAR)


def as_channels_first(picture: Image.Image) -> np.ndarray:
    """float32 `[channels, height, width]` in [0, 1]."""
    pixels = np.asarray(picture, dtype=np.float32) / np.float32(255)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
