"""Files that announce or unpack to more than they may: refused from their headers, before anything is unpacked."""

import gzip
import io
import resource
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from audit.data import limits
from audit.data.idx import read_bytes
from audit.data.limits import check_parquet, check_unpacked, read_npz_headers, read_text
from audit.data.load import load_pool
from audit.data.pictures import open_picture
from audit.sets.files import read_contents
from condensers.errors import BadData

ROWS = 3_000_000


def write_array(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], kind: str, num_bytes: int) -> None:
    """An array whose header says `shape`, followed by so many zeros."""
    header = io.BytesIO()
    said = {"descr": np.dtype(kind).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, said)
    with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
        stream.write(header.getvalue())
        block = bytes(1 << 22)
        for start in range(0, num_bytes, len(block)):
            stream.write(block[: num_bytes - start])


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two megabytes that unpack to two gigabytes."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        write_array(archive, "x", (ROWS, 700), "u1", ROWS * 700)
        write_array(archive, "y", (ROWS,), "i8", ROWS * 8)
    assert path.stat().st_size < 4 << 20
    return path


@pytest.mark.slow
def test_an_archive_that_unpacks_to_gigabytes_is_refused_unread(bomb: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadData, match=r"to 2\.0 GiB, \d+ times as much"):
        load_pool(str(bomb))
    with pytest.raises(BadData, match=r"to 2\.0 GiB, \d+ times as much"):
        read_contents(bomb, 0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_an_array_larger_than_its_archive_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "lie.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        write_array(archive, "x", (10**12, 64), "u1", 100)
        write_array(archive, "y", (10**12,), "i8", 100)
    for read in (lambda: load_pool(str(path)), lambda: read_contents(path, 0)):
        with pytest.raises(BadData, match="damaged"):
            read()


def test_more_than_the_free_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((100, 8, 8), dtype=np.uint8), y=np.repeat(np.arange(10), 10))
    assert load_pool(str(tmp_path / "x.npz")).num_records == 100
    monkeypatch.setattr(limits, "available_memory", lambda: 7000.0)
    with pytest.raises(BadData, match=r"needs 32\.4 KiB of memory, but only 6\.8 KiB is free"):
        load_pool(str(tmp_path / "x.npz"))


def test_headers_against_arrays(tmp_path: Path) -> None:
    arrays = {"x": np.zeros((3, 4), dtype=np.float32), "label": np.array("text"), "n": np.array(3)}
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    found = read_npz_headers(tmp_path / "a.npz")
    assert {name: (header.shape, header.dtype) for name, header in found.items()} == {
        name: (array.shape, array.dtype) for name, array in arrays.items()
    }


def test_a_table_of_a_hundred_million_equal_rows_is_refused(tmp_path: Path) -> None:
    """Written row group by row group, as a hostile file would be: a few kilobytes."""
    import pyarrow as pa
    from pyarrow import parquet

    group = pa.table({"score": np.zeros(1 << 20, dtype=np.float32), "member": np.zeros(1 << 20, dtype=bool)})
    with parquet.ParquetWriter(tmp_path / "scores.parquet", group.schema) as writer:
        for _ in range(80):
            writer.write_table(group)
    with pytest.raises(BadData, match=r"to 1\.2 GiB, \d+ times as much"):
        check_parquet(tmp_path / "scores.parquet")
    pd.DataFrame({"score": [0.5]}).to_parquet(tmp_path / "one.parquet")
    check_parquet(tmp_path / "one.parquet")


def test_a_packed_file_is_refused_by_its_ratio_only_beyond_a_gigabyte(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(1000))
    check_unpacked(tmp_path / "file", 1 << 29)
    with pytest.raises(BadData, match="which is implausible for data"):
        check_unpacked(tmp_path / "file", 1 << 31)


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.data.idx.MOST_BYTES", 1 << 20)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(bytes(3 << 20)))
    with pytest.raises(BadData, match="unpacks to more than 1 MiB"):
        read_bytes(path)


def test_a_picture_of_too_many_pixels_is_refused_from_its_header(tmp_path: Path) -> None:
    Image.new("1", (10_000, 10_000)).save(tmp_path / "large.png")
    with pytest.raises(BadData, match="has 10000×10000 pixels"):
        open_picture(tmp_path / "large.png")


def test_a_text_that_is_too_long_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("x" * 100)
    assert read_text(tmp_path / "a.toml", 100) == "x" * 100
    with pytest.raises(BadData, match="has 100 bytes; at most 99 bytes may be read"):
        read_text(tmp_path / "a.toml", 99)
