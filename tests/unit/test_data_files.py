"""The files of the named sets, each written small by the tests: right ones are read, wrong ones are named."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat

from audit.data.load import load_pool, load_test
from condensers.errors import BadData

TEN = np.repeat(np.arange(10), 2)


def random_bytes(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def assert_pool(dataset: str, root: Path, images: np.ndarray, labels: np.ndarray) -> None:
    """The pool holds these bytes, sorted by class."""
    pool = load_pool(dataset, data_root=root)
    order = np.argsort(labels, kind="stable")
    assert pool.labels.tolist() == labels[order].tolist()
    np.testing.assert_allclose(pool.images.numpy(), images[order] / 127.5 - 1, atol=1e-6)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write_idx(folder: Path, *, packed: bool, separator: str = "-") -> tuple[np.ndarray, np.ndarray]:
    images, labels = random_bytes(20, 28, 28), np.random.default_rng(1).permutation(TEN)
    folder.mkdir(parents=True, exist_ok=True)
    for stem, count in (("train", 20), ("t10k", 6)):
        for kind, array in (("images", images[:count]), ("labels", labels[:count])):
            path = folder / f"{stem}-{kind}{separator}idx{array.ndim}-ubyte"
            content = idx(array)
            path.with_name(path.name + ".gz" if packed else path.name).write_bytes(
                gzip.compress(content) if packed else content
            )
    return images, labels


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("dataset", "place"),
    [("mnist", ""), ("mnist", "mnist"), ("mnist", "MNIST/raw"), ("fashion-mnist", "FashionMNIST/raw")],
)
def test_idx_layouts_against_written(tmp_path: Path, dataset: str, place: str, packed: bool) -> None:
    images, labels = write_idx(tmp_path / place, packed=packed)
    assert_pool(dataset, tmp_path, images[:, None], labels)
    test = load_test(dataset, data_root=tmp_path)
    assert test is not None
    assert test.num_records == 6


def test_idx_against_torchvision(tmp_path: Path) -> None:
    from torchvision.datasets import MNIST

    write_idx(tmp_path / "MNIST" / "raw", packed=False)
    theirs = MNIST(str(tmp_path), train=True)
    order = torch.sort(theirs.targets, stable=True).indices
    ours = load_pool("mnist", data_root=tmp_path)
    assert torch.equal(ours.labels, theirs.targets[order])
    assert torch.equal((ours.images[:, 0] * 127.5 + 127.5).round().to(torch.uint8), theirs.data[order])


def test_idx_with_dotted_names_against_written(tmp_path: Path) -> None:
    images, labels = write_idx(tmp_path, packed=False, separator=".")
    assert_pool("mnist", tmp_path, images[:, None], labels)


def test_idx_without_test_files_has_no_test_split(tmp_path: Path) -> None:
    write_idx(tmp_path, packed=True)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    assert load_test("mnist", data_root=tmp_path) is None


GOOD_IMAGES = gzip.compress(idx(random_bytes(20, 28, 28)), mtime=0)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is an empty file"),
        (b"<html><body>404</body></html>", "is a web page, not a gzip archive"),
        (GOOD_IMAGES[:5000], "truncated"),
        (GOOD_IMAGES[:300] + b"\xff" * 300 + GOOD_IMAGES[600:], "damaged gzip archive"),
        (gzip.compress(idx(random_bytes(20, 28, 27)), mtime=0), "images of 28×27 pixels"),
        (gzip.compress(idx(random_bytes(20, 28, 28))[:-5], mtime=0), "announces 20×28×28 bytes but holds 15675"),
        (gzip.compress(idx(random_bytes(20, 28, 28)) + b"x", mtime=0), "announces 20×28×28 bytes but holds 15681"),
        (gzip.compress(idx(TEN), mtime=0), "not an idx3 file of bytes .starts with 00000801, expected 00000803"),
        (gzip.compress(b"\0\0\x08\x03\0\0", mtime=0), "ends within its header"),
        (gzip.compress(b"some words", mtime=0), "is text, not an idx3 file"),
        (gzip.compress(idx(random_bytes(19, 28, 28)), mtime=0), "19 records but 20 labels"),
    ],
)
def test_bad_idx_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    write_idx(tmp_path, packed=True)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(BadData, match=words) as caught:
        load_pool("mnist", data_root=tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.where(TEN == 7, 6, TEN), "class 7 has no records"),
        (np.where(TEN == 7, 10, TEN), "labels run from 0 to 10; labels must be 0…9"),
        (np.array([*TEN[:-1], 0]), "class 9 has 1 record"),
    ],
)
def test_bad_idx_labels_are_named(tmp_path: Path, labels: np.ndarray, words: str) -> None:
    write_idx(tmp_path, packed=False)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(labels))
    with pytest.raises(BadData, match=words):
        load_pool("mnist", data_root=tmp_path)


def test_idx_pair_without_labels_is_named(tmp_path: Path) -> None:
    write_idx(tmp_path, packed=True)
    (tmp_path / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(BadData, match="but not train-labels"):
        load_pool("mnist", data_root=tmp_path)


def python2_batch(images: np.ndarray, labels: np.ndarray) -> bytes:
    """A batch as Python 2 wrote them: the opcodes of a dictionary of strings, a list of numbers and a NumPy array."""

    def string(text: bytes) -> bytes:
        return b"U" + bytes([len(text)]) + text

    numbers = b"".join(b"K" + bytes([label]) for label in labels)
    array = b"cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87Rq\x07(K\x01"
    shape = b"M" + struct.pack("<H", len(images)) + b"M" + struct.pack("<H", 3072) + b"\x86"
    kind = (
        b"cnumpy\ndtype\nq\x08U\x02u1K\x00K\x01\x87Rq\x09(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
    )
    content = images.tobytes()
    pixels = array + shape + kind + b"T" + struct.pack("<i", len(content)) + content + b"tb"
    entries = string(b"labels") + b"]q\x03(" + numbers + b"e" + string(b"data") + pixels
    names = b"]q\x0a(" + b"".join(string(b"picture_%d.png" % number) for number in range(len(labels))) + b"e"
    return b"\x80\x02}q\x01(" + entries + string(b"filenames") + names + b"u."


def write_cifar(folder: Path, layout: str) -> tuple[np.ndarray, np.ndarray]:
    images, labels = random_bytes(50, 3, 32, 32), np.random.default_rng(1).permutation(np.repeat(np.arange(10), 5))
    batches = {f"data_batch_{number + 1}": slice(10 * number, 10 * number + 10) for number in range(5)}
    batches["test_batch"] = slice(0, 10)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in batches.items():
        if layout == "bin":
            rows = np.concatenate([labels[part, None].astype(np.uint8), images[part].reshape(10, -1)], axis=1)
            (folder / f"{name}.bin").write_bytes(rows.tobytes())
        else:
            (folder / name).write_bytes(python2_batch(images[part], labels[part]))
    return images, labels


@pytest.mark.parametrize("layout", ["bin", "py"])
@pytest.mark.parametrize("place", ["cifar-10-batches-{}", "cifar10/cifar-10-batches-{}", ""])
def test_cifar10_batches_against_written(tmp_path: Path, layout: str, place: str) -> None:
    images, labels = write_cifar(tmp_path / place.format(layout), layout)
    assert_pool("cifar10", tmp_path, images, labels)
    test = load_test("cifar10", data_root=tmp_path)
    assert test is not None
    assert test.labels.tolist() == sorted(labels[:10].tolist())


def test_cifar10_python_batch_is_never_executed(tmp_path: Path) -> None:
    write_cifar(tmp_path, "py")
    trap = tmp_path / "executed"
    batch = tmp_path / "data_batch_2"
    command = f"(S'touch {trap}'\ntR0".encode()
    batch.write_bytes(b"\x80\x02cposix\nsystem\n" + command + batch.read_bytes()[2:])
    load_pool("cifar10", data_root=tmp_path)
    assert not trap.exists()


def test_cifar10_archive_against_written(tmp_path: Path) -> None:
    images = random_bytes(20, 32, 32, 3)
    np.savez(tmp_path / "cifar10_small.npz", x_train=images, y_train=TEN, x_test=images[:3], y_test=TEN[:3])
    assert_pool("cifar10", tmp_path, images.transpose(0, 3, 1, 2), TEN)
    test = load_test("cifar10", data_root=tmp_path)
    assert test is not None
    assert test.num_records == 3
    np.savez(tmp_path / "cifar10_small.npz", x_train=images[:, :28, :28], y_train=TEN)
    with pytest.raises(BadData, match=r"records of shape \(3, 28, 28\)"):
        load_pool("cifar10", data_root=tmp_path)


@pytest.mark.parametrize(
    ("layout", "name", "content", "words"),
    [
        ("bin", "data_batch_3.bin", None, "data_batch_3.bin is missing"),
        ("bin", "data_batch_3.bin", b"<html>", "not whole records of 3073; it is truncated or a web page"),
        ("bin", "data_batch_1.bin", b"\x0a" * 3073, "labels run from 0 to 10"),
        ("py", "data_batch_3", None, "data_batch_3 is missing"),
        ("py", "data_batch_3", b"<html>", "is a web page, truncated or not a batch"),
        ("py", "data_batch_3", python2_batch(random_bytes(9, 3072), TEN[:9])[:20000], "truncated or not a batch"),
        ("py", "data_batch_3", python2_batch(random_bytes(9, 3072), TEN[:8]), "9 records but 8 labels"),
        ("py", "data_batch_3", python2_batch(random_bytes(9, 3072), TEN[:9] + 20), "labels run from 20 to 24"),
        ("py", "data_batch_3", python2_batch(random_bytes(9, 3071), TEN[:9]), "not a batch of CIFAR-10"),
        ("py", "data_batch_3", b"\x80\x02]q\x01.", "not a batch of CIFAR-10"),
        (
            "py",
            "data_batch_3",
            python2_batch(random_bytes(9, 3072), TEN[:9]).replace(b"tb\x89T", b"tb\x88T"),
            "not a batch",
        ),
    ],
)
def test_bad_cifar10_is_named(tmp_path: Path, layout: str, name: str, content: bytes | None, words: str) -> None:
    write_cifar(tmp_path, layout)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadData, match=words):
        load_pool("cifar10", data_root=tmp_path)


@pytest.mark.parametrize("place", ["", "svhn"])
def test_svhn_against_written(tmp_path: Path, place: str) -> None:
    images, labels = random_bytes(20, 32, 32, 3), np.random.default_rng(2).permutation(TEN)
    (tmp_path / place).mkdir(exist_ok=True)
    content = {"X": images.transpose(1, 2, 3, 0), "y": np.where(labels == 0, 10, labels)[:, None].astype(np.uint8)}
    savemat(tmp_path / place / "train_32x32.mat", content, do_compression=True)
    assert_pool("svhn", tmp_path, images.transpose(0, 3, 1, 2), labels)
    assert load_test("svhn", data_root=tmp_path) is None


def test_bad_svhn_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train_32x32.mat"

    def assert_named(words: str) -> None:
        with pytest.raises(BadData, match=words):
            load_pool("svhn", data_root=tmp_path)

    path.write_bytes(b"<!doctype html>")
    assert_named("is a web page, not a MATLAB 5.0 file")
    images, labels = random_bytes(32, 32, 3, 20), TEN[:, None]
    savemat(path, {"X": images, "y": labels}, do_compression=True)
    path.write_bytes(path.read_bytes()[:3000])
    assert_named("truncated or damaged")
    savemat(path, {"X": images})
    assert_named("holds no arrays X and y")
    savemat(path, {"X": images.astype(float), "y": labels})
    assert_named("X is float64")
    savemat(path, {"X": images[:, :, :, :19], "y": labels})
    assert_named("19 records but 20 labels")
    savemat(path, {"X": images, "y": labels + 5})
    assert_named("labels run from 0 to 14")
