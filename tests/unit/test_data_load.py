"""Pools: order, balance, normalisation, checksum; and a user's own .npz."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from audit.data import load
from audit.data.catalog import BY_NAME, DATASETS
from audit.data.load import choose_rows, count_duplicates, load_pool, load_test, pool_checksum
from condensers.errors import BadConfig, BadData
from condensers.pool import Pool


def small_images(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def write_npz(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return str(path)


LABELS = np.array([1, 0, 2, 1, 0, 2, 1, 0])


def test_digits_against_scikit_learn() -> None:
    digits = load_digits()
    pool = load_pool("digits")
    order = sorted(range(1797), key=lambda row: (digits.target[row], row))
    assert pool.labels.tolist() == [digits.target[row] for row in order]
    expected = np.stack([digits.images[row] for row in order])[:, None] / 8 - 1
    np.testing.assert_array_equal(pool.images.numpy(), expected.astype(np.float32))
    assert pool.images.dtype == torch.float32
    assert pool.labels.dtype == torch.int64
    assert load_test("digits") is None


def test_digits_checksum_against_catalogue() -> None:
    assert pool_checksum(load_pool("digits")) == BY_NAME["digits"].checksum


@pytest.mark.parametrize("records", [20, 900, 903, 1740])
def test_balanced_pool_against_naive(records: int) -> None:
    labels = load_digits().target
    taken = dict.fromkeys(range(10), 0)
    expected: list[int] = []
    for label in range(10):
        allowance = records // 10 + (1 if label < records % 10 else 0)
        for row in range(len(labels)):
            if labels[row] == label and taken[label] < allowance:
                taken[label] += 1
                expected.append(row)
    assert choose_rows(labels, 10, records).tolist() == expected
    assert load_pool("digits", records=records).num_records == records


@pytest.mark.parametrize(
    ("records", "words"), [(19, "at least 20"), (-1, "at least 20"), (1790, "1740 is possible"), (10**9, "all 1797")]
)
def test_impossible_records_say_what_is_allowed(records: int, words: str) -> None:
    with pytest.raises(BadConfig, match=words):
        load_pool("digits", records=records)


def test_checksum_against_what_it_covers() -> None:
    pool = load_pool("digits", records=40)
    assert pool_checksum(pool) == pool_checksum(load_pool("digits", records=40))
    images = pool.images.clone()
    images[7, 0, 3, 3] += 1e-6
    assert pool_checksum(Pool(name="x", images=images, labels=pool.labels, num_classes=10)) != pool_checksum(pool)
    labels = pool.labels.clone()
    labels[3] = 1
    assert pool_checksum(Pool(name="x", images=pool.images, labels=labels, num_classes=10)) != pool_checksum(pool)
    flat = Pool(name="x", images=pool.images.flatten(1), labels=pool.labels, num_classes=10)
    assert pool_checksum(flat) != pool_checksum(pool)
    renamed = Pool(name="other", images=pool.images, labels=pool.labels, num_classes=10)
    assert pool_checksum(renamed) == pool_checksum(pool)


def test_duplicates_against_planted() -> None:
    pool = load_pool("digits", records=40)
    images = pool.images.clone()
    images[1] = images[0]
    images[2] = images[0]
    images[4] = images[0]  # another class: no duplicate
    assert count_duplicates(Pool(name="x", images=images, labels=pool.labels, num_classes=10)) == 2


@pytest.mark.parametrize("layout", ["hw", "hwc", "chw"])
@pytest.mark.parametrize("keys", [("x", "y"), ("images", "labels"), ("x", "labels"), ("x_train", "y_train")])
def test_own_bytes_against_naive(tmp_path: Path, layout: str, keys: tuple[str, str]) -> None:
    channels = 1 if layout == "hw" else 3
    images = small_images(8, channels, 5, 6)
    stored = {"hw": images[:, 0], "hwc": images.transpose(0, 2, 3, 1), "chw": images}[layout]
    pool = load_pool(write_npz(tmp_path / "mine.npz", **{keys[0]: stored, keys[1]: LABELS}))
    assert pool.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    expected = (images[[1, 4, 7, 0, 3, 6, 2, 5]].astype(np.float64) / 255 - 0.5) / 0.5
    np.testing.assert_allclose(pool.images.numpy(), expected, atol=1e-6)
    assert (pool.name, pool.num_classes) == ("mine.npz", 3)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f4"])
def test_own_floats_against_naive(tmp_path: Path, kind: type) -> None:
    images = np.linspace(0, 1, 8 * 5 * 6).reshape(8, 5, 6).astype(kind)
    pool = load_pool(write_npz(tmp_path / "mine.npz", x=images, y=LABELS[:, None].astype(np.uint8)))
    np.testing.assert_allclose(pool.images.numpy()[:3, 0], 2 * images[[1, 4, 7]].astype(np.float64) - 1, atol=1e-6)
    assert pool.images.is_contiguous()


def test_normalisation_is_fixed_against_statistics(tmp_path: Path) -> None:
    """A record's pixels do not depend on the other records."""
    images = small_images(8, 5, 6)
    brighter = np.maximum(images, 200)
    brighter[1] = images[1]
    first = load_pool(write_npz(tmp_path / "a.npz", x=images, y=LABELS))
    second = load_pool(write_npz(tmp_path / "b.npz", x=brighter, y=LABELS))
    assert torch.equal(first.images[0], second.images[0])
    assert not torch.equal(first.images[1], second.images[1])


def test_own_table_and_test_split(tmp_path: Path) -> None:
    table = np.linspace(0, 1, 8 * 14).reshape(8, 14)
    arrays = {"x_train": table, "y_train": LABELS, "x_test": table[:3], "y_test": np.array([2, 0, 2])}
    name = write_npz(tmp_path / "table.npz", **arrays)
    assert tuple(load_pool(name).images.shape) == (8, 14)
    test = load_test(name)
    assert test is not None
    assert test.labels.tolist() == [0, 2, 2]
    assert test.num_classes == 3
    np.testing.assert_allclose(test.images.numpy(), 2 * table[[1, 0, 2]] - 1, atol=1e-6)
    del arrays["x_test"]
    assert load_test(write_npz(tmp_path / "table.npz", **arrays)) is None


GOOD = small_images(8, 5, 6)
FLOATS = np.full((8, 5, 6), 0.5)
WITH_NAN = FLOATS.copy()
WITH_NAN[3, 2, 2] = np.nan
WITH_INFINITY = FLOATS.copy()
WITH_INFINITY[5, 0, 0] = np.inf


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": WITH_NAN, "y": LABELS}, "1 values are NaN or infinite, first in record 3"),
        ({"x": WITH_INFINITY, "y": LABELS}, "NaN or infinite, first in record 5"),
        ({"x": FLOATS * 510, "y": LABELS}, r"run from 255 to 255; rescale them to \[0, 1\]"),
        ({"x": FLOATS - 1, "y": LABELS}, r"rescale them to \[0, 1\]"),
        ({"x": GOOD.astype(np.int64), "y": LABELS}, "int64; expected uint8"),
        ({"x": small_images(8, 5, 6, 4), "y": LABELS}, r"shape \(8, 5, 6, 4\)"),
        ({"x": small_images(8, 3, 6, 3), "y": LABELS}, "channels could be first or last"),
        ({"x": small_images(8), "y": LABELS}, r"shape \(8,\)"),
        ({"x": small_images(8, 1, 1, 5, 6), "y": LABELS}, "expected"),
        ({"x": GOOD[:0], "y": LABELS[:0]}, "is empty"),
        ({"x": GOOD, "y": LABELS[:7]}, "8 records but 7 labels"),
        ({"x": GOOD, "y": LABELS + 1}, "class 0 has no records"),
        ({"x": GOOD, "y": LABELS - 1}, "run from -1 to 1"),
        ({"x": GOOD, "y": np.where(LABELS == 1, 5, LABELS)}, "class 1 has no records"),
        ({"x": GOOD, "y": LABELS * 10**12}, "class 1 has no records"),
        ({"x": GOOD, "y": LABELS * 0}, "at least two classes"),
        ({"x": GOOD, "y": np.array([0, 0, 0, 0, 1, 1, 1, 2])}, "class 2 has 1 record; at least 2"),
        ({"x": GOOD, "y": LABELS.astype(float)}, "labels are float64"),
        ({"x": GOOD, "y": np.eye(8)}, r"labels have shape \(8, 8\)"),
        ({"x": GOOD, "y": LABELS.astype(np.uint64) + np.uint64(2**63)}, "too large"),
        ({"x": GOOD}, "holds x but not y or labels"),
        ({"pictures": GOOD, "y": LABELS}, "holds pictures, y; expected arrays x and y"),
        ({"x": GOOD, "y": np.array([{}] * 8, dtype=object)}, "Python objects, which are never loaded"),
    ],
)
def test_bad_arrays_say_what_is_wrong(tmp_path: Path, arrays: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(BadData, match=words) as caught:
        load_pool(write_npz(tmp_path / "bad.npz", **arrays))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("test_arrays", "words"),
    [
        ({"x_test": GOOD[:2], "y_test": np.array([0, 3])}, "run from 0 to 3"),
        ({"x_test": GOOD[:2, :4], "y_test": np.array([0, 1])}, "test records of shape"),
        ({"x_test": GOOD[:2]}, "holds x_test but not y_test"),
    ],
)
def test_bad_test_split_says_what_is_wrong(tmp_path: Path, test_arrays: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(BadData, match=words):
        load_test(write_npz(tmp_path / "bad.npz", x_train=GOOD, y_train=LABELS, **test_arrays))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is an empty file"),
        (b"x,y\n1,2\n", "is text, not an .npz"),
        (b"<!DOCTYPE html><html>", "is a web page"),
        (b"\x80\x04\x95cposix\nsystem\n", "is a pickle, which is never loaded"),
        (b"\x93NUMPY\x01\x00", "single .npy array"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
    ],
)
def test_not_an_archive_says_what_it_is(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(BadData, match=words):
        load_pool(str(tmp_path / "bad.npz"))


def test_damaged_archive_is_bad_data(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez_compressed(path, x=GOOD, y=LABELS)
    content = bytearray(path.read_bytes())
    for position in range(60, 200):
        content[position] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BadData, match="is damaged"):
        load_pool(str(path))
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(BadData, match="archive is cut off or damaged"):
        load_pool(str(path))


@pytest.mark.parametrize(
    ("dataset", "words"),
    [("FashionMNIST", "did you mean fashion-mnist"), ("nowhere.npz", "no such file or folder"), ("", "is empty")],
)
def test_unknown_name_says_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadData, match=words):
        load_pool(dataset)


def test_other_file_says_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("1,2\n")
    with pytest.raises(BadData, match=r"must be an \.npz"):
        load_pool(str(tmp_path / "table.csv"))


def test_unreadable_file_is_bad_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "secret.npz")

    monkeypatch.setattr(load.arrays, "read", refuse)
    with pytest.raises(BadData, match=r"secret\.npz cannot be read: Permission denied"):
        load_pool(write_npz(tmp_path / "secret.npz", x=GOOD, y=LABELS))


def test_too_large_for_the_machine_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = write_npz(tmp_path / "big.npz", x=GOOD, y=LABELS)
    monkeypatch.setattr(load, "physical_memory", lambda: 4 * 8 * 5 * 6 - 1)
    with pytest.raises(BadData, match="use --records"):
        load_pool(name)
    assert load_pool(name, records=6).num_records == 6


@pytest.mark.parametrize("name", [dataset.name for dataset in DATASETS if dataset.places])
def test_missing_set_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    below_root = tuple(place for place in BY_NAME[name].places if not Path(place).is_absolute())
    monkeypatch.setitem(BY_NAME, name, replace(BY_NAME[name], places=below_root))
    with pytest.raises(BadData, match="--data-root FOLDER") as caught:
        load_pool(name, data_root=tmp_path)
    assert str(tmp_path / name.removesuffix("-64")) in str(caught.value)
    assert BY_NAME[name].get in str(caught.value)


def test_data_root_against_its_three_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from audit.data.catalog import DEFAULT_ROOT, resolve_root

    monkeypatch.delenv("AUDIT_DATA_ROOT", raising=False)
    assert resolve_root(None) == DEFAULT_ROOT.expanduser()
    monkeypatch.setenv("AUDIT_DATA_ROOT", str(tmp_path / "from-environment"))
    assert resolve_root(None) == tmp_path / "from-environment"
    assert resolve_root(tmp_path) == tmp_path
    with pytest.raises(BadData, match="no such folder"):
        resolve_root(tmp_path / "nowhere")
    (tmp_path / "mine.npz").touch()
    with pytest.raises(BadData, match=r"goes to --dataset .*mine\.npz"):
        resolve_root(tmp_path / "mine.npz")


def test_catalogue_against_import_of_torch() -> None:
    code = "import sys, audit.data.catalog, audit.commands.data; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_readers_against_loading_pickles() -> None:
    for path in Path(load.__file__).parent.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert "import pickle\n" not in source
        assert "allow_pickle=True" not in source
