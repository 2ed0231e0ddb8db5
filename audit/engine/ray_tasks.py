"""What runs in a Ray worker: one unit of work, from the object store to the bytes of its file."""

import hashlib
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audit.engine.allocator import keep_freed_memory
from audit.engine.executor import Work, needs_of
from condensers.errors import BadConfig, Incomplete

REPORT_SECONDS = 1.0

_loaded: dict[str, Any] = {}  # what the units of the present work need, by its digest
_folders: dict[str, Path] = {}  # of own methods, by the digest of their files


class Reporter:
    """An actor that keeps how far each unit is, until the driver asks."""

    def __init__(self) -> None:
        self._shares: dict[int, float] = {}

    def report(self, unit: int, share: float) -> None:
        self._shares[unit] = max(share, self._shares.get(unit, 0.0))

    def take(self) -> dict[int, float]:
        shares, self._shares = self._shares, {}
        return shares


def compute_unit(
    work: Work,
    content: bytes,
    digest: str,
    sources: dict[str, bytes],
    inputs: dict[str, bytes],
    unit: int,
    reporter: Any,
) -> bytes:
    """The bytes of the unit's file."""
    keep_freed_memory()
    _enter_sources(sources)
    if digest not in _loaded:
        if hashlib.sha256(content).hexdigest() != digest:
            raise Incomplete(
                "the input of a unit of work arrived damaged from Ray's object store; run the same command again"
            )
        _loaded.clear()
        _loaded[digest] = _load(work, content)
    last = 0.0

    def report(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > REPORT_SECONDS:
            last = now
            reporter.report.remote(unit, share)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / work.file(unit)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_all(Path(folder), inputs)
        work.compute(_loaded[digest], unit, Path(folder), report)
        return path.read_bytes()


def dump(work: Work) -> bytes:
    """What all units need, as bytes whose SHA-256 workers check; of work that each worker loads, the settings.

    Between processes of one run only: no file is unpickled.
    """
    from ray import cloudpickle

    return cloudpickle.dumps(work if loads_in_workers(work) else work.load())


def loads_in_workers(work: Work) -> bool:
    """Whether what the units need is code that workers look up by its name, and no records."""
    return bool(getattr(work, "loads_in_workers", False))


def read_sources(paths: Sequence[Path]) -> dict[str, bytes]:
    """The files of own methods and the modules beside them, by the relative paths at which workers look them up."""
    found: dict[str, bytes] = {}
    for path in paths:
        if path.is_absolute() or ".." in path.parts:
            raise BadConfig(
                f"{path}: to be sent to the workers, a method of your own must be given by a relative path below the "
                "current folder"
            )
        found |= {sibling.as_posix(): sibling.read_bytes() for sibling in path.parent.glob("*.py")}
    return found


def read_inputs(work: Work, unit: int, folder: Path) -> dict[str, bytes]:
    """The files in the run directory that a unit reads, by name."""
    names = (*(work.inputs(unit) if hasattr(work, "inputs") else ()), *map(work.file, needs_of(work, unit)))
    return {name: (folder / name).read_bytes() for name in names}


def _write_all(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _load(work: Work, content: bytes) -> Any:
    from ray import cloudpickle

    return work.load() if loads_in_workers(work) else cloudpickle.loads(content)


def _enter_sources(sources: dict[str, bytes]) -> None:
    """Work in a folder that holds exactly these files, made once per worker and version of them."""
    if not sources:
        return
    listing = [(name, hashlib.sha256(content).hexdigest()) for name, content in sorted(sources.items())]
    digest = hashlib.sha256(repr(listing).encode()).hexdigest()
    if digest not in _folders:
        folder = Path(tempfile.mkdtemp(prefix="own-methods-"))
        _write_all(folder, sources)
        _folders[digest] = folder
    os.chdir(_folders[digest])
