"""Units of work as Ray tasks, on a cluster or on this machine: `pip install condensation-audit[ray]`.

What all units need (the pool of records) is loaded once by the driver and put once into the object store, with its
SHA-256, which every worker checks. A task writes its file into a folder of its own and returns the bytes; the driver
alone writes the run directory, so no shared file system is needed. Tasks are submitted as places become free, so the
driver holds a few results at a time, however many units there are. When nothing is left to submit, units that are still
running are started a second time on free places and the first result wins: units are idempotent, their bytes equal.
"""

import contextlib
import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.engine.executor import OnProgress, Work
from audit.engine.store import write_bytes
from condensers.errors import BadConfig, Incomplete

POLL_SECONDS = 0.5
REPORT_SECONDS = 1.0
IN_ADVANCE = 2  # tasks submitted per place that the cluster has, so that no place waits for the driver
MOST_COPIES = 2  # of one unit, at the end

_loaded: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Ray:
    """Runs units on a Ray cluster; `address` None means RAY_ADDRESS or, without it, a cluster of this machine alone.

    `gpus_per_task` may be a fraction, `memory_per_task` is in bytes. A unit whose worker is lost is tried
    `max_retries` times more.

    >>> Ray(gpus_per_task=0.5).max_retries
    3
    """

    address: str | None = None
    gpus_per_task: float = 0.0
    memory_per_task: int | None = None
    max_retries: int = 3

    def __post_init__(self) -> None:
        if not 0 <= self.gpus_per_task <= 64:
            raise BadConfig(f"--gpus-per-task {self.gpus_per_task:g}: must lie in [0, 64]")
        if self.memory_per_task is not None and self.memory_per_task < 1 << 20:
            raise BadConfig(f"--memory-per-task {self.memory_per_task}: must be at least 1048576, in bytes")
        if not 0 <= self.max_retries <= 1000:
            raise BadConfig(f"--max-retries {self.max_retries}: must lie in 0…1000")

    def num_workers(self, device: str) -> int:
        """Places that the cluster has now."""
        return self._num_places(self._connect(), device)

    def run(self, work: Work, units: Sequence[int], folder: Path, on_progress: OnProgress) -> None:
        """Compute the units; Incomplete if the cluster is lost, finished units being kept."""
        ray = self._connect()
        with _explained(ray):
            _Driver(ray, self, work, folder, on_progress).compute(list(units))

    def _num_places(self, ray: Any, device: str) -> int:
        here = ray.cluster_resources()
        by_cpu = int(here.get("CPU", 1))
        if device == "cpu" and not self.gpus_per_task:
            return max(1, by_cpu)
        share = self.gpus_per_task or 1.0
        return max(1, min(by_cpu, int(here.get("GPU", 0) / share)))

    def _connect(self) -> Any:
        """Connect once per process; Ray itself disconnects when the process ends."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError:
            raise BadConfig("--executor ray: Ray is not installed; pip install 'condensation-audit[ray]'") from None
        if ray.is_initialized():
            return ray
        try:
            ray.init(
                address=self.address,
                include_dashboard=None if self.address or os.environ.get("RAY_ADDRESS") else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            line = str(error).strip().splitlines()[0]
            raise BadConfig(f"--ray-address {self.address}: no Ray cluster can be reached there ({line})") from None
        return ray


class _Driver:
    """The units of one call: submits, collects, writes down."""

    def __init__(self, ray: Any, settings: Ray, work: Work, folder: Path, on_progress: OnProgress) -> None:
        self._ray, self._settings, self._work = ray, settings, work
        self._folder, self._on_progress = folder, on_progress
        content = _dump(work.load())
        self._digest = hashlib.sha256(content).hexdigest()
        self._needed = ray.put(content)
        self._sources = ray.put(_read_sources(getattr(work, "sources", ())))
        self._reporter = ray.remote(num_cpus=0)(_Reporter).remote()
        options: dict[str, Any] = {"num_cpus": 1, "max_retries": settings.max_retries, "max_calls": 0}
        if settings.gpus_per_task or work.device != "cpu":
            options["num_gpus"] = settings.gpus_per_task or 1.0
        if settings.memory_per_task is not None:
            options["memory"] = settings.memory_per_task
        self._task = ray.remote(**options)(_compute)
        self._running: dict[Any, int] = {}

    def compute(self, waiting: list[int]) -> None:
        finished: set[int] = set()
        total = len(waiting)
        try:
            while len(finished) < total:
                self._submit(waiting, finished)
                ready, _ = self._ray.wait(list(self._running), timeout=POLL_SECONDS)
                for reference in ready:
                    unit = self._running.pop(reference)
                    if unit not in finished:
                        write_bytes(self._folder / self._work.file(unit), self._ray.get(reference))
                        finished.add(unit)
                        self._on_progress(unit, 1.0)
                        self._drop_copies(unit)
                self._tell(finished)
        except BaseException:
            self._cancel()
            raise

    def _submit(self, waiting: list[int], finished: set[int]) -> None:
        places = self._settings._num_places(self._ray, self._work.device)
        while waiting and len(self._running) < IN_ADVANCE * places:
            self._start(waiting.pop(0))
        if waiting:
            return
        running = [unit for unit in self._running.values() if unit not in finished]
        for unit in running:
            if len(self._running) >= places:
                return
            if running.count(unit) < MOST_COPIES and list(self._running.values()).count(unit) < MOST_COPIES:
                self._start(unit)

    def _start(self, unit: int) -> None:
        reference = self._task.remote(self._work, self._needed, self._digest, self._sources, unit, self._reporter)
        self._running[reference] = unit

    def _drop_copies(self, unit: int) -> None:
        for reference in [reference for reference, other in self._running.items() if other == unit]:
            del self._running[reference]
            self._ray.cancel(reference, force=True)

    def _tell(self, finished: set[int]) -> None:
        with contextlib.suppress(self._ray.exceptions.GetTimeoutError, self._ray.exceptions.RayActorError):
            for unit, share in self._ray.get(self._reporter.take.remote(), timeout=2.0).items():
                if unit not in finished:
                    self._on_progress(unit, min(share, 0.999))

    def _cancel(self) -> None:
        with contextlib.suppress(Exception):
            for reference in self._running:
                self._ray.cancel(reference, force=True)


class _Reporter:
    """An actor that keeps how far each unit is, until the driver asks."""

    def __init__(self) -> None:
        self._shares: dict[int, float] = {}

    def report(self, unit: int, share: float) -> None:
        self._shares[unit] = max(share, self._shares.get(unit, 0.0))

    def take(self) -> dict[int, float]:
        shares, self._shares = self._shares, {}
        return shares


def _compute(work: Work, content: bytes, digest: str, sources: dict[str, bytes], unit: int, reporter: Any) -> bytes:
    """In a worker: the bytes of the unit's file."""
    _write_sources(sources)
    if digest not in _loaded:
        if hashlib.sha256(content).hexdigest() != digest:
            raise Incomplete("what the units need arrived damaged from the object store; run the same command again")
        for old in [key for key in _loaded if key != "sources"]:
            del _loaded[old]
        _loaded[digest] = _load(content)
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
        work.compute(_loaded[digest], unit, Path(folder), report)
        return path.read_bytes()


def _dump(needed: Any) -> bytes:
    """As bytes, so that workers can check their SHA-256. Between processes of one run only: no file is unpickled."""
    from ray import cloudpickle

    return cloudpickle.dumps(needed)


def _load(content: bytes) -> Any:
    from ray import cloudpickle

    return cloudpickle.loads(content)


def _read_sources(paths: Sequence[Path]) -> dict[str, bytes]:
    """The files of own methods and the modules beside them, by the relative paths at which workers look them up."""
    found: dict[str, bytes] = {}
    for path in paths:
        if path.is_absolute() or ".." in path.parts:
            raise BadConfig(f"{path}: an own method travels to the workers by a relative path below the current folder")
        found |= {sibling.as_posix(): sibling.read_bytes() for sibling in path.parent.glob("*.py")}
    return found


def _write_sources(sources: dict[str, bytes]) -> None:
    """Once per worker, which then works in the folder that holds them."""
    if not sources or "sources" in _loaded:
        return
    folder = Path(tempfile.mkdtemp(prefix="own-methods-"))
    for name, content in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    os.chdir(folder)
    _loaded["sources"] = folder


@contextlib.contextmanager
def _explained(ray: Any) -> Iterator[None]:
    """What goes wrong with a cluster, in one line."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    except (ray.exceptions.RayError, ConnectionError) as error:
        line = str(error).strip().splitlines()[0]
        raise Incomplete(
            f"the Ray cluster failed ({line}); finished work is kept: run the same command again, with Ray or without"
        ) from None
