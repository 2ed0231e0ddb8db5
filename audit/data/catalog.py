"""The named data sets: what each is, where it is looked for, how to get it. Importing this does not import torch."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from audit.data import adult, celeba, cifar, digits, idx, svhn
from audit.data.source import Source
from condensers.errors import BadData

ROOT_VARIABLE = "AUDIT_DATA_ROOT"
DEFAULT_ROOT = Path("~/.cache/condensation-audit")
DEBIAN_FASHION_MNIST = "/usr/share/datasets/fashion-mnist"


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """`places` are folders below the data root, or absolute ones. `find(folder)` says what to hand to `read`.

    `checksum` is `pool_checksum` of the whole training split, where the published content was at hand to measure it.
    """

    name: str
    shape: tuple[int, ...]
    num_classes: int
    num_records: int
    num_test: int
    places: tuple[str, ...]
    layout: str
    get: str
    find: Callable[[Path], Path | None]
    read: Callable[[Path, str], Source | None]
    checksum: str | None = None


@dataclass(frozen=True, kw_only=True)
class Search:
    """Where a set was looked for, what was found, and what spoke against a place."""

    path: Path | None
    looked_in: tuple[Path, ...]
    objections: tuple[str, ...]


CELEBA_LAYOUT = "img_align_celeba/ (unzipped), list_attr_celeba.txt, list_eval_partition.txt"
CELEBA_GET = "from the authors' page (their licence: research only), by hand"
IDX_LAYOUT = "{train,t10k}-{images-idx3,labels-idx1}-ubyte, each with or without .gz"

DATASETS = (
    DataSet(
        name="digits",
        shape=(1, 8, 8),
        num_classes=10,
        num_records=1797,
        num_test=0,
        places=(),
        layout="inside scikit-learn",
        get="nothing to do",
        find=digits.find,
        read=digits.read,
        checksum="0ae18c618bcdb4949beba7745d0e8b8b637981f3095fdd366f1806b4e540432a",
    ),
    DataSet(
        name="fashion-mnist",
        shape=(1, 28, 28),
        num_classes=10,
        num_records=60000,
        num_test=10000,
        places=("fashion-mnist", "FashionMNIST/raw", "", DEBIAN_FASHION_MNIST),
        layout=IDX_LAYOUT,
        get="apt-get install dataset-fashion-mnist, or audit data --get fashion-mnist",
        find=partial(idx.find, name="fashion-mnist"),
        read=idx.read,
        checksum="4510728eac90e96a9246f7973513991a24ae86918ab6b8ac858b06b7219fab8b",
    ),
    DataSet(
        name="mnist",
        shape=(1, 28, 28),
        num_classes=10,
        num_records=60000,
        num_test=10000,
        places=("mnist", "MNIST/raw", ""),
        layout=IDX_LAYOUT,
        get="audit data --get mnist",
        find=partial(idx.find, name="mnist"),
        read=idx.read,
        checksum="d69f7cda80629e9c737c08979efde3f07a9a9aabdefd02b86e06f5e60494b79d",
    ),
    DataSet(
        name="cifar10",
        shape=(3, 32, 32),
        num_classes=10,
        num_records=50000,
        num_test=10000,
        places=("cifar10", ""),
        layout="cifar-10-batches-bin/, cifar-10-batches-py/, or cifar10.npz or cifar10_*.npz",
        get="audit data --get cifar10",
        find=cifar.find,
        read=cifar.read,
    ),
    DataSet(
        name="svhn",
        shape=(3, 32, 32),
        num_classes=10,
        num_records=73257,
        num_test=26032,
        places=("svhn", ""),
        layout="train_32x32.mat, test_32x32.mat",
        get="audit data --get svhn",
        find=svhn.find,
        read=svhn.read,
    ),
    DataSet(
        name="celeba",
        shape=(3, 32, 32),
        num_classes=2,
        num_records=162770,
        num_test=19962,
        places=("celeba", ""),
        layout=CELEBA_LAYOUT,
        get=CELEBA_GET,
        find=celeba.find,
        read=partial(celeba.read, size=32),
    ),
    DataSet(
        name="celeba-64",
        shape=(3, 64, 64),
        num_classes=2,
        num_records=162770,
        num_test=19962,
        places=("celeba", ""),
        layout=CELEBA_LAYOUT,
        get=CELEBA_GET,
        find=celeba.find,
        read=partial(celeba.read, size=64),
    ),
    DataSet(
        name="adult",
        shape=(14,),
        num_classes=2,
        num_records=32561,
        num_test=16281,
        places=("adult", ""),
        layout="adult.data, adult.test",
        get="audit data --get adult",
        find=adult.find,
        read=adult.read,
        checksum="833ae9772c63248dad3f555149225bad1795a25fdcaa83aa3abef365cd347733",
    ),
)
BY_NAME = {dataset.name: dataset for dataset in DATASETS}


def resolve_root(data_root: Path | None) -> Path:
    """What was asked for, else the environment's, else the cache; only the first must exist."""
    if data_root is None:
        return Path(os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT).expanduser()
    data_root = data_root.expanduser()
    if not data_root.is_dir():
        hint = f"; a file of your own goes to --dataset {data_root}" if data_root.is_file() else ""
        raise BadData(f"--data-root {data_root}: no such folder{hint}")
    return data_root


def search(dataset: DataSet, root: Path) -> Search:
    looked_in = tuple(root / place for place in dataset.places)
    objections: list[str] = []
    for folder in looked_in or (root,):
        try:
            path = dataset.find(folder)
        except BadData as error:
            objections.append(str(error))
            continue
        except PermissionError:
            objections.append(f"{folder} may not be read")
            continue
        if path is not None:
            return Search(path=path, looked_in=looked_in, objections=())
    return Search(path=None, looked_in=looked_in, objections=tuple(objections))


def describe_absence(dataset: DataSet, found: Search) -> str:
    """One line: where it was looked for, what to put there, how to get it."""
    objections = f" ({'; '.join(found.objections)})" if found.objections else ""
    return (
        f"--dataset {dataset.name}: not in {', '.join(map(str, found.looked_in))}{objections}; "
        f"get it: {dataset.get}; or keep {dataset.layout} in a folder and pass --data-root FOLDER"
    )
