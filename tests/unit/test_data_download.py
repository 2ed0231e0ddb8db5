"""Downloads, from a server that the test runs itself."""

import functools
import hashlib
import io
import re
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from audit.data import download
from audit.data.catalog import BY_NAME
from audit.data.download import RemoteFile, list_files
from condensers.errors import BadConfig, BadInput


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address under which it is served."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(folder))) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_address[1]}/"
        running.shutdown()
        thread.join()


def offer(monkeypatch: pytest.MonkeyPatch, *files: RemoteFile) -> None:
    monkeypatch.setattr(download, "list_files", lambda _: files)


def silent(_: str) -> None:
    pass


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def test_download_against_served(tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    served, address = server
    (served / "adult.data").write_bytes(b"right")
    addresses = (address + "missing", address + "adult.data")
    offer(monkeypatch, RemoteFile(name="adult.data", addresses=addresses, checksum=sha256(b"right")))
    told: list[str] = []
    folder = download.download("adult", tmp_path / "root", told.append)
    assert folder == tmp_path / "root" / "adult"
    assert (folder / "adult.data").read_bytes() == b"right"
    assert told == [f"fetching {one}" for one in addresses]

    told.clear()
    download.download("adult", tmp_path / "root", told.append)
    assert told == []
    (folder / "adult.data").write_bytes(b"damaged")
    download.download("adult", tmp_path / "root", told.append)
    assert (folder / "adult.data").read_bytes() == b"right"


def test_wrong_content_is_refused_and_removed(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, address = server
    (served / "adult.data").write_bytes(b"wrong")
    offer(monkeypatch, RemoteFile(name="adult.data", addresses=(address + "adult.data",), checksum=sha256(b"right")))
    with pytest.raises(BadInput, match="its sha256 is not the published one"):
        download.download("adult", tmp_path / "root", silent)
    assert list((tmp_path / "root" / "adult").iterdir()) == []


def test_archive_keeps_only_the_members_asked_for(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, address = server
    with tarfile.open(served / "archive.tar.gz", "w:gz") as archive:
        for name in ("batches/one.bin", "../outside", "batches/other"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            archive.addfile(entry, io.BytesIO(b"abc"))
    file = RemoteFile(
        name="archive.tar.gz",
        addresses=(address + "archive.tar.gz",),
        checksum=sha256((served / "archive.tar.gz").read_bytes()),
        members=("batches/one.bin",),
    )
    offer(monkeypatch, file)
    folder = download.download("cifar10", tmp_path / "root", silent)
    kept = [path.relative_to(tmp_path) for path in (tmp_path / "root").rglob("*") if path.is_file()]
    assert kept == [Path("root/cifar10/batches/one.bin")]
    assert (folder / "batches" / "one.bin").read_bytes() == b"abc"
    told: list[str] = []
    download.download("cifar10", tmp_path / "root", told.append)
    assert told == []


def test_offline_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RemoteFile(name="adult.data", addresses=("http://127.0.0.1:9/adult.data",), checksum=sha256(b""))
    offer(monkeypatch, file)
    with pytest.raises(
        BadInput, match=r"without a network connection, copy adult\.data, adult\.test into a folder"
    ) as caught:
        download.download("adult", tmp_path, silent)
    assert "\n" not in str(caught.value)


def test_unwritable_root_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot write to"):
        download.download("adult", tmp_path / "file", silent)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "svhn", "cifar10", "adult"])
def test_listed_files_against_layout(tmp_path: Path, name: str) -> None:
    """What would be fetched is what the reader finds: empty files of these names in the set's own folder."""
    for file in list_files(name):
        assert re.fullmatch(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", file.checksum)
        assert all(address.endswith(file.name) for address in file.addresses)
        for path in file.members or (file.name,):
            target = tmp_path / BY_NAME[name].places[0] / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
    assert BY_NAME[name].places[0] == name
    assert BY_NAME[name].find(tmp_path / name) is not None


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [("celeba", BadInput, "cannot be downloaded"), ("imagenet", BadConfig, "no such data set; there are digits")],
)
def test_what_cannot_be_fetched_is_said(name: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        list_files(name)
