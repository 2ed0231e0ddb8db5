"""The run directory: atomic writes, checksummed shards, nothing that executes on loading.

A shard is one safetensors file whose metadata hold the run's digest and the SHA-256 of its tensors. A file is
written under a temporary name, flushed to disk and renamed: whoever finds a file finds it whole.
"""

import contextlib
import errno
import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from condensers.errors import BadInput, Incomplete


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
    def timing(self) -> Path:
        return self.path / "timing.json"

    def create(self) -> None:
        """Make the folders and prove that they can be written to."""
        try:
            self.shards.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise BadInput(f"--out: cannot write to {self.path}: {error.strerror}; choose another folder") from None


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, flush it to disk, then put it in place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise Incomplete(
                f"no room to write {path}: {error.strerror}; finished runs are kept, "
                "free some space and run the same command again"
            ) from None
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise BadInput(f"cannot write {path}: {error.strerror}") from None
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: _write_bytes(temporary, text.encode()))


def write_tensors(path: Path, tensors: dict[str, Tensor], *, digest: str) -> None:
    """Write a shard or a checkpoint."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(tensors, metadata={"digest": digest, "sha256": _checksum(tensors)})
    write_atomically(path, lambda temporary: _write_bytes(temporary, content))


def read_tensors(path: Path, *, digest: str) -> dict[str, Tensor]:
    """Read a shard back; DamagedShard if it is not whole, not ours or altered."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedShard(f"{path} cannot be read ({error})") from None
    if metadata.get("digest") != digest:
        raise DamagedShard(f"{path} belongs to another run ({metadata.get('digest')}, not {digest})")
    if metadata.get("sha256") != _checksum(tensors):
        raise DamagedShard(f"{path} does not match its checksum")
    return tensors


def _checksum(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _write_bytes(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
