"""The run directory: atomic writes, checksummed shards, nothing that executes on loading.

A shard is one safetensors file whose metadata hold its own name, the digest of the work that it is, the digest of the
condensation in it, and the SHA-256 of its tensors. A file is written under a temporary name, flushed to disk and
renamed: whoever finds a file finds it whole.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from condensers.errors import BadInput, Incomplete

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Endings of hidden files that a killed process leaves behind: ours, and those of the pages.
UNFINISHED = (".tmp", ".unfinished")


class DamagedShard(Exception):
    """A shard that is not what was written; the message says how. It is said to the person, and redone."""


@dataclass(frozen=True)
class RunDirectory:
    """Paths of one run directory."""

    path: Path

    @property
    def shards(self) -> Path:
        return self.path / "shards"

    def shard(self, index: int) -> Path:
        return self.shards / f"{index:05d}.safetensors"

    def checkpoint(self, index: int, stage: str) -> Path:
        return self.shards / f"{index:05d}.{stage}.partial"

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def scores(self) -> Path:
        return self.path / "scores.parquet"

    @property
    def report(self) -> Path:
        return self.path / "report.json"

    @property
    def pdf(self) -> Path:
        return self.path / "report.pdf"

    @property
    def html(self) -> Path:
        return self.path / "report.html"

    @property
    def synthetic(self) -> Path:
        return self.path / "synthetic.safetensors"

    @property
    def timing(self) -> Path:
        return self.path / "timing.json"

    def create(self) -> None:
        """Make the folders and prove that they can be written to."""
        with explain_failure(self.path):
            self.shards.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other audits out while the block runs; sweep away the temporary files of processes that were killed."""
        handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                # Some file systems know no locks (ENOSYS, ENOTSUP): there, nobody is kept out.
                if isinstance(error, BlockingIOError):
                    raise Incomplete(f"another process is at work in {self.path}; wait until it is done") from None
            self._sweep()
            try:
                yield
            finally:
                self._sweep()
        finally:
            os.close(handle)

    def _sweep(self) -> None:
        for suffix in UNFINISHED:
            for path in [*self.path.glob(f".*{suffix}"), *self.path.glob(f"*/.*{suffix}")]:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)


@contextlib.contextmanager
def explain_failure(path: Path) -> Iterator[None]:
    """Turn a failure to write to `path` into one line: no room is Incomplete, anything else the person's to mend."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in NO_ROOM:
            raise Incomplete(
                f"no room to write {path}: {reason}; finished runs are kept, "
                "free some space and run the same command again"
            ) from None
        raise BadInput(f"cannot write to {path}: {reason}; choose another --out") from None


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, flush it to disk, then put it in place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with explain_failure(path):
            write(temporary)
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: _write_bytes(temporary, text.encode()))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whose content was made elsewhere."""
    write_atomically(path, lambda temporary: _write_bytes(temporary, content))


def write_tensors(path: Path, tensors: dict[str, Tensor], *, digest: str, condensation: str = "") -> None:
    """Write a shard or a checkpoint."""
    tensors = _apart({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    # One entry: the library writes several in an order that changes from process to process.
    label = {"name": path.name, "digest": digest, "sha256": _checksum(tensors, condensation)}
    label |= {"condensation": condensation} if condensation else {}
    content = save(tensors, metadata={"audit": json.dumps(label, sort_keys=True)})
    write_atomically(path, lambda temporary: _write_bytes(temporary, content))


def _apart(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same, each in memory of its own: the format refuses what is shared, which the state of a loop may be."""
    places = [tensor.untyped_storage().data_ptr() for tensor in tensors.values()]
    return {
        name: tensor.clone() if place in places[:number] else tensor
        for number, (place, (name, tensor)) in enumerate(zip(places, tensors.items(), strict=True))
    }


def read_tensors(path: Path, *, digest: str, condensation: str | None = None) -> dict[str, Tensor]:
    """Read a shard back; DamagedShard if it is not whole, not ours or altered.

    With `condensation`, a shard of other work on that condensation will do.
    """
    try:
        with safe_open(path, framework="pt") as file:
            label = json.loads((file.metadata() or {}).get("audit", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedShard(f"{path} cannot be read ({error})") from None
    if label.get("digest") != digest and (condensation is None or label.get("condensation") != condensation):
        raise DamagedShard(f"{path} belongs to another run ({label.get('digest')}, not {digest})")
    if label.get("name") != path.name:
        raise DamagedShard(f"{path} is a copy of {label.get('name')}")
    if label.get("sha256") != _checksum(tensors, label.get("condensation", "")):
        raise DamagedShard(f"{path} does not match its checksum")
    return tensors


def _checksum(tensors: dict[str, Tensor], condensation: str) -> str:
    digest = hashlib.sha256(condensation.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _write_bytes(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
