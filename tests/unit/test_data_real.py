"""The real sets, where they are at hand."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from audit.data import adult
from audit.data.catalog import BY_NAME, DEBIAN_FASHION_MNIST
from audit.data.idx import find_file, read_bytes
from audit.data.load import count_duplicates, load_pool, load_test, pool_checksum
from condensers.errors import BadData

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def needs_shared(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (SHARED / name).exists(), reason=f"{name} is not beside the checkout")


needs_fashion_mnist = pytest.mark.skipif(
    not Path(DEBIAN_FASHION_MNIST).is_dir(), reason="Debian package dataset-fashion-mnist is not installed"
)

# md5 of the unpacked files, as other public loaders of the two sets pin them
PUBLISHED_MD5 = {
    "mnist": {
        ("train", "images"): "6bbc9ace898e44ae57da46a324031adb",
        ("train", "labels"): "a25bea736e30d166cdddb491f175f624",
        ("test", "images"): "2646ac647ad5339dbf082846283269ea",
        ("test", "labels"): "27ae3e4e09519cfbb04c329615203637",
    },
    "fashion-mnist": {
        ("train", "images"): "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        ("train", "labels"): "9018921c3c673c538a1fc5bad174d6f9",
        ("test", "images"): "8181f5470baa50b63fa0f6fddb340f0a",
        ("test", "labels"): "15d484375f8d13e6eb1aabb0c3f46965",
    },
}


def assert_published(name: str, folder: Path) -> None:
    for (split, kind), expected in PUBLISHED_MD5[name].items():
        path = find_file(folder, split, kind)
        assert path is not None
        assert hashlib.md5(read_bytes(path)).hexdigest() == expected


@pytest.mark.shared
@needs_shared("mnist")
def test_mnist_against_published() -> None:
    assert_published("mnist", SHARED / "mnist")
    pool = load_pool("mnist", data_root=SHARED)
    assert tuple(pool.images.shape) == (60000, 1, 28, 28)
    assert pool.labels.bincount().min() == 5421  # FACTS: N_c of MNIST
    assert pool_checksum(pool) == BY_NAME["mnist"].checksum
    unit = pool.images.double() * 0.5 + 0.5
    assert unit.mean().item() == pytest.approx(0.1307, abs=5e-5)  # the mean everybody normalises MNIST by
    assert unit.std().item() == pytest.approx(0.3081, abs=5e-5)
    test = load_test("mnist", data_root=SHARED)
    assert test is not None
    assert test.num_records == 10000


@needs_fashion_mnist
def test_fashion_mnist_of_debian_against_published(tmp_path: Path) -> None:
    assert_published("fashion-mnist", Path(DEBIAN_FASHION_MNIST))
    pool = load_pool("fashion-mnist", data_root=tmp_path)
    assert pool.labels.bincount().tolist() == [6000] * 10
    assert pool_checksum(pool) == BY_NAME["fashion-mnist"].checksum
    assert (pool.images.double() * 0.5 + 0.5).mean().item() == pytest.approx(0.2860, abs=5e-5)


@pytest.mark.shared
@needs_shared("mnist")
@needs_fashion_mnist
def test_one_set_is_never_taken_for_the_other(tmp_path: Path) -> None:
    for dataset, folder in (("fashion-mnist", SHARED / "mnist"), ("mnist", Path(DEBIAN_FASHION_MNIST))):
        link = tmp_path / dataset
        link.symlink_to(folder)
    with pytest.raises(BadData, match="are those of fashion-mnist"):
        load_pool("mnist", data_root=tmp_path)
    assert pool_checksum(load_pool("fashion-mnist", data_root=tmp_path)) == BY_NAME["fashion-mnist"].checksum


@pytest.mark.shared
@needs_shared("cifar10_12k.npz")
def test_cifar10_archive_against_numpy() -> None:
    pool = load_pool("cifar10", data_root=SHARED, records=200)
    own = load_pool(str(SHARED / "cifar10_12k.npz"), records=200)
    assert pool_checksum(pool) == pool_checksum(own)
    with np.load(SHARED / "cifar10_12k.npz", allow_pickle=False) as archive:
        images, labels = archive["x_train"], archive["y_train"]
    rows = [row for label in range(10) for row in np.flatnonzero(labels == label)[:20]]
    np.testing.assert_allclose(pool.images.numpy(), images[rows].transpose(0, 3, 1, 2) / 127.5 - 1, atol=1e-6)
    test = load_test("cifar10", data_root=SHARED)
    assert test is not None
    assert test.num_records == 2000


@pytest.mark.shared
@needs_shared("adult")
def test_adult_against_published() -> None:
    pool = load_pool("adult", data_root=SHARED)
    test = load_test("adult", data_root=SHARED)
    assert test is not None
    assert (pool.num_records, test.num_records) == (32561, 16281)
    assert pool.labels.bincount().tolist() == [24720, 7841]
    assert pool.images.abs().max() == 1
    assert pool_checksum(pool) == BY_NAME["adult"].checksum


@pytest.mark.shared
@needs_shared("adult")
def test_adult_encoding_keeps_records_apart_against_lines() -> None:
    """As many records equal an earlier one as lines of the file do: the encoding merges none."""
    lines = [line for line in (SHARED / "adult" / "adult.data").read_text().splitlines() if line.strip()]
    assert count_duplicates(load_pool("adult", data_root=SHARED)) == len(lines) - len(set(lines))


@pytest.mark.shared
@needs_shared("adult")
def test_adult_columns_against_names_file() -> None:
    listed: dict[str, str] = {}
    for line in (SHARED / "adult" / "adult.names").read_text().splitlines():
        if ": " in line and not line.startswith("|"):
            column, _, values = line.rstrip(".").partition(": ")
            listed[column] = values
    assert list(listed) == list(adult.COLUMNS)
    for column, allowed in adult.COLUMNS.items():
        expected = "continuous" if isinstance(allowed, range) else ", ".join(allowed)
        assert listed[column] == expected
