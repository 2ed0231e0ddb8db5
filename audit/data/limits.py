"""How large a file may become when it is unpacked: read from its headers before anything is unpacked.

A few megabytes can announce or unpack to many gigabytes. Data of that kind are refused in one line: what is larger than
the free memory, and what is more than a gigabyte and packed so tightly that it can hold next to nothing.
"""

import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from condensers.errors import BadData

SUSPICIOUS_BYTES, SUSPICIOUS_RATIO = 1 << 30, 100
MOST_TEXT = 64 << 20


@dataclass(frozen=True, kw_only=True)
class ArrayHeader:
    """What an array in an archive says of itself."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def num_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def available_memory() -> float:
    """Bytes that can be had without pushing others out; infinite where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return float(next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")))
    except (OSError, ValueError, StopIteration):
        return math.inf


def check_unpacked(path: Path, unpacked: float, needed: float | None = None) -> None:
    """Refuse a file that unpacks to `unpacked` bytes, for which `needed` bytes of memory are needed, if it is too much.

    `needed` is `unpacked` unless given.
    """
    packed = max(1, path.stat().st_size)
    if unpacked > SUSPICIOUS_BYTES and unpacked > SUSPICIOUS_RATIO * packed:
        raise BadData(
            f"{path}: unpacks from {_size(packed)} to {_size(unpacked)}, {unpacked / packed:.0f} times as much, "
            "which is implausible for data; it was not read"
        )
    room, needed = available_memory(), unpacked if needed is None else needed
    if needed > room:
        raise BadData(f"{path}: needs {_size(needed)} of memory, but only {_size(room)} is free; it was not read")


def read_npz_headers(path: Path) -> dict[str, ArrayHeader]:
    """The arrays of an archive by name. Raises ValueError or BadZipFile where one of them is not what it says it is."""
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
        headers = {}
        for entry in entries:
            with archive.open(entry) as stream:
                header = _read_header(stream)
                start = stream.tell()
            if not header.dtype.hasobject and entry.file_size - start != header.num_bytes:
                raise ValueError(f"{entry.filename} announces {header.num_bytes} bytes")
            headers[entry.filename.removesuffix(".npy")] = header
    return headers


def _read_header(stream: IO[bytes]) -> ArrayHeader:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"an array of format {version}")
    return ArrayHeader(shape=shape, dtype=dtype)


def check_parquet(path: Path) -> None:
    """Refuse a table that is too large to be read; raises what pyarrow raises where it is no table."""
    from pyarrow import parquet

    said = parquet.read_metadata(path)
    groups = sum(said.row_group(index).total_byte_size for index in range(said.num_row_groups))
    check_unpacked(path, max(groups, 8 * said.num_rows * said.num_columns))


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """The text of a file that a person wrote or may have written, without the byte order mark that spreadsheets put
    before it; raises OSError and UnicodeDecodeError.
    """
    if path.is_file() and path.stat().st_size > most:
        raise BadData(f"{path}: has {_size(path.stat().st_size)}; at most {_size(most)} may be read")
    return path.read_text(encoding="utf-8-sig")


def _size(num_bytes: float) -> str:
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if num_bytes >= limit:
            return f"{num_bytes / limit:.1f} {unit}"
    return f"{num_bytes:.0f} bytes"
