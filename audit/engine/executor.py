"""Who computes units of work: `Executor` is the protocol, `Local` runs worker processes on this machine.

A unit of work is idempotent: it leaves one file, whole or not at all, whose bytes do not depend on workers, on their
order or on restarts. An executor knows nothing of audits. It is given the work, the units that are missing, the folder
in which their files belong, and a function to be told how far each of them is.
"""

import contextlib
import math
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, Protocol

from condensers.errors import BadConfig, Incomplete

OnProgress = Callable[[int, float], None]
REPORT_EVERY = 0.3  # seconds, per worker
WORTH_STARTING = 10.0  # seconds of work, of which starting workers that import torch takes a good part

_work: Any = None
_loaded: Any = None
_channel: Any = None
_last_report = 0.0


class Work(Protocol):
    """Units of one kind. An object of this kind travels to the workers, so it holds settings and no records."""

    @property
    def device(self) -> str:
        """Where units compute: "cpu", or an accelerator, of which one worker at a time makes use."""
        ...

    def load(self) -> Any:
        """What all units need (the pool of records, a method, weights); called once in each worker."""
        ...

    def compute(self, loaded: Any, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """Compute one unit and write `folder / self.file(unit)`; `report` is told the share that is done."""
        ...

    def file(self, unit: int) -> str:
        """Name of the file that holds the unit's result."""
        ...


class Executor(Protocol):
    """Computes units wherever it likes, and returns when the files of all of them are in `folder`.

    >>> import inspect
    >>> list(inspect.signature(Executor.run).parameters)
    ['self', 'work', 'units', 'folder', 'on_progress']
    """

    def run(self, work: Work, units: Sequence[int], folder: Path, on_progress: OnProgress) -> None:
        """Raises Incomplete if workers are lost; finished units are kept."""
        ...

    def num_workers(self, device: str) -> int:
        """Units that are computed at the same time."""
        ...


@dataclass(frozen=True)
class Local:
    """Worker processes on this machine; `jobs` None means one per core.

    Workers are spawned (a forked torch is not safe) and write their files themselves; only progress comes back. They
    ignore Ctrl-C, which the parent handles, and die with their parent.

    >>> Local(jobs=2).num_workers("cpu")
    2
    """

    jobs: int | None = None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise BadConfig(f"--jobs {self.jobs}: must be at least 1")

    def num_workers(self, device: str) -> int:
        """One per core, one for an accelerator."""
        if self.jobs is not None:
            return self.jobs
        return num_cores() if device == "cpu" else 1

    def run(self, work: Work, units: Sequence[int], folder: Path, on_progress: OnProgress) -> None:
        """Compute the units; raises Incomplete if a worker dies."""
        context = multiprocessing.get_context("spawn")
        channel: Queue[tuple[int, float]] = context.Queue()
        pool = ProcessPoolExecutor(
            max_workers=min(self.num_workers(work.device), len(units)),
            mp_context=context,
            initializer=_start_worker,
            initargs=(work, channel, os.getpid()),
        )
        try:
            with _interrupts_later():
                waiting = {pool.submit(_compute, unit, str(folder)) for unit in units}
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                _drain(channel, on_progress)
                for future in done:
                    future.result()
        except BrokenProcessPool:
            raise Incomplete(
                "a worker process was killed (out of memory?); finished work is kept: run the same command again, "
                "with a smaller --jobs if it happens again"
            ) from None
        except BaseException:
            _stop_workers(pool)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            channel.close()


@dataclass(frozen=True)
class InProcess:
    """Computes in the calling process: for small work, where starting workers would take longer than the work.

    `loaded` is what the work would load, where the process has it already.

    >>> InProcess().num_workers("cpu")
    1
    """

    loaded: Any = None

    def num_workers(self, device: str) -> int:
        """This process."""
        return 1

    def run(self, work: Work, units: Sequence[int], folder: Path, on_progress: OnProgress) -> None:
        """Compute the units one after the other."""
        loaded = work.load() if self.loaded is None else self.loaded
        for unit in units:
            work.compute(loaded, unit, folder, partial(on_progress, unit))


def suited(executor: Executor, units: Sequence[int], loaded: Any = None, seconds: float = math.inf) -> Executor:
    """The executor; but this process where local workers would not pay: for one unit, or for `seconds` in all."""
    alone = len(units) == 1 or seconds < WORTH_STARTING
    return InProcess(loaded) if alone and isinstance(executor, Local) else executor


def num_cores() -> int:
    """Cores that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back: workers started meanwhile are born deaf to it, the parent hears it afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _drain(channel: "Queue[tuple[int, float]]", on_progress: OnProgress) -> None:
    while True:
        try:
            on_progress(*channel.get_nowait())
        except queue.Empty:
            return


def _stop_workers(pool: ProcessPoolExecutor) -> None:
    """End the workers at once; what they had finished is on disk."""
    for process in list(getattr(pool, "_processes", {}).values()):
        process.terminate()


def _start_worker(work: Work, channel: "Queue[tuple[int, float]]", parent: int) -> None:
    global _work, _channel
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work, _channel = work, channel
    channel.cancel_join_thread()
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()


def _die_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(3)


def _compute(unit: int, folder: str) -> None:
    global _loaded
    if _loaded is None:
        _loaded = _work.load()
    _work.compute(_loaded, unit, Path(folder), lambda share: _report(unit, share))


def _report(unit: int, share: float) -> None:
    global _last_report
    now = time.monotonic()
    if share >= 1 or now - _last_report > REPORT_EVERY:
        _last_report = now
        _channel.put((unit, share))
