"""Fetching a set where there is a network: from the addresses that torchvision knows, every file checksummed."""

import hashlib
import http.client
import os
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from audit.data.catalog import BY_NAME
from condensers.errors import BadConfig, BadInput
from condensers.spelling import did_you_mean

TIMEOUT_SECONDS = 20
PIECE = 1 << 20
UCI_ADULT = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
CIFAR10_BINARY = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """`checksum` is `algorithm:hexadecimal`; of a tar archive the `members` are kept, not the archive itself."""

    name: str
    addresses: tuple[str, ...]
    checksum: str
    members: tuple[str, ...] = ()


def list_files(dataset: str) -> tuple[RemoteFile, ...]:
    """What has to be fetched for a set."""
    if dataset not in BY_NAME:
        raise BadConfig(
            f"--get {dataset}: no such data set; there are {', '.join(BY_NAME)}{did_you_mean(dataset, BY_NAME)}"
        )
    match dataset:
        case "mnist" | "fashion-mnist":
            from torchvision.datasets import MNIST, FashionMNIST

            source = MNIST if dataset == "mnist" else FashionMNIST
            return tuple(
                RemoteFile(
                    name=name,
                    addresses=tuple(mirror + name for mirror in source.mirrors),
                    checksum=f"md5:{md5}",
                )
                for name, md5 in source.resources
            )
        case "svhn":
            from torchvision.datasets import SVHN

            splits = (SVHN.split_list[split] for split in ("train", "test"))
            return tuple(
                RemoteFile(name=str(name), addresses=(str(address),), checksum=f"md5:{md5}")
                for address, name, md5 in splits
            )
        case "cifar10":
            batches = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
            return (
                RemoteFile(
                    name="cifar-10-binary.tar.gz",
                    addresses=(CIFAR10_BINARY,),
                    checksum="md5:c32a1d4ab5d03f1284b67883e8d87530",
                    members=tuple(f"cifar-10-batches-bin/{batch}" for batch in batches),
                ),
            )
        case "adult":
            checksums = {
                "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            }
            return tuple(
                RemoteFile(name=name, addresses=(UCI_ADULT + name,), checksum=f"sha256:{checksum}")
                for name, checksum in checksums.items()
            )
        case _:
            raise BadInput(f"--get {dataset}: cannot be downloaded by this program; {BY_NAME[dataset].get}")


def download(dataset: str, root: Path, tell: Callable[[str], None]) -> Path:
    """Put the set into its own folder below `root`; files that are there and right are kept."""
    files = list_files(dataset)
    folder = root / dataset
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            wanted = [folder / member for member in file.members] or [folder / file.name]
            if not all(path.is_file() for path in wanted) or (not file.members and not _is_right(wanted[0], file)):
                _fetch(dataset, file, folder, tell)
    except OSError as error:
        raise BadInput(f"--get {dataset}: cannot write to {folder}: {error.strerror or error}") from error
    return folder


def _fetch(dataset: str, file: RemoteFile, folder: Path, tell: Callable[[str], None]) -> None:
    partial = folder / (file.name + ".part")
    failures: list[str] = []
    for address in file.addresses:
        tell(f"fetching {address}")
        try:
            _save(address, partial)
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            failures.append(f"{address}: {getattr(error, 'reason', None) or error}")
            continue
        if _is_right(partial, file):
            _put_in_place(partial, file, folder)
            return
        failures.append(f"{address}: its {file.checksum.partition(':')[0]} is not the published one")
    partial.unlink(missing_ok=True)
    raise BadInput(
        f"--get {dataset}: {file.name} could not be downloaded ({'; '.join(failures)}); without a network "
        f"connection, copy {BY_NAME[dataset].layout} into a folder and pass --data-root FOLDER"
    )


def _save(address: str, path: Path) -> None:
    with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer, path.open("wb") as file:
        while piece := answer.read(PIECE):
            file.write(piece)


def _is_right(path: Path, file: RemoteFile) -> bool:
    algorithm, _, expected = file.checksum.partition(":")
    with path.open("rb") as content:
        return hashlib.file_digest(content, algorithm).hexdigest() == expected


def _put_in_place(partial: Path, file: RemoteFile, folder: Path) -> None:
    if not file.members:
        os.replace(partial, folder / file.name)
        return
    with tarfile.open(partial) as archive:
        for member in file.members:
            content = archive.extractfile(member)
            if content is None:
                raise BadInput(f"{file.name}: {member} is not a file")
            target = folder / member
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_suffix(".part")
            unfinished.write_bytes(content.read())
            os.replace(unfinished, target)
    partial.unlink()
