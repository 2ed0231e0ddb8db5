"""Who computes units of work: `Executor` is the protocol, `Local` runs worker processes on this machine.

A unit of work is idempotent: it leaves one file, whole or not at all, whose bytes do not depend on workers, on their
order or on restarts. An executor knows nothing of audits. It is given the work, the units that are missing, the folder
in which their files belong, and a function to be told how far each of them is.

A work may have a method `needs(unit)`: the units whose files this one reads. They are earlier in the order in which
units are given, and an executor has their files in `folder` before it computes the unit.
"""

import contextlib
import math
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, Protocol

from audit.engine.allocator import keep_freed_memory
from condensers.errors import BadConfig, Incomplete

OnProgress = Callable[[int, float], None]
REPORT_EVERY = 0.3  # seconds, per worker
MOST_JOBS = 4096
WORTH_STARTING = 10.0  # seconds of work, of which starting workers that import torch takes a good part

_work: Any = None
_loaded: Any = None
_channel: Any = None
_last_report = 0.0


class Work(Protocol):
    """Units of one kind. An object of this kind travels to the workers, so it holds settings and no records.

    Workers on other machines need three things more of some works: `sources`, files of own methods that travel with it;
    `inputs(unit)`, names of files in the folder that the unit reads; and `loads_in_workers`, true where `load` gives
    code rather than records.
    """

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
    """Computes units of work on any machine, and returns when the files of all of them are in `folder`.

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
    """Worker processes on this machine. By default there is one per core, or one for each of `gpus` or for "cuda".

    Workers are spawned (a forked torch is not safe) and write their files themselves; only progress is sent back. They
    ignore Ctrl-C, which the parent handles, and end with their parent.

    >>> Local(jobs=2).num_workers("cpu")
    2
    """

    jobs: int | None = None
    gpus: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.jobs is not None and not 1 <= self.jobs <= MOST_JOBS:
            raise BadConfig(f"--jobs {self.jobs}: must be at least 1 and at most {MOST_JOBS}")
        if self.jobs is not None and self.gpus:
            raise BadConfig(
                f"--jobs {self.jobs}: there is one worker per GPU ({', '.join(map(str, self.gpus))}); leave it out"
            )

    def num_workers(self, device: str) -> int:
        """One per core, one for an accelerator."""
        if self.jobs is not None:
            return self.jobs
        return num_cores() if device == "cpu" else max(1, len(self.gpus))

    def run(self, work: Work, units: Sequence[int], folder: Path, on_progress: OnProgress) -> None:
        """Compute the units; raises Incomplete if a worker dies."""
        context = multiprocessing.get_context("spawn")
        channel: Queue[tuple[int, float]] = context.Queue()
        gpus: Queue[int] = context.Queue()
        for gpu in self.gpus if work.device != "cpu" else ():
            gpus.put(gpu)
        pool = ProcessPoolExecutor(
            max_workers=min(self.num_workers(work.device), len(units)),
            mp_context=context,
            initializer=_start_worker,
            initargs=(work, channel, os.getpid(), gpus if self.gpus and work.device != "cpu" else None),
        )
        try:
            waiting, running = list(units), dict[Future[None], int]()
            while waiting or running:
                with _interrupts_later():
                    for unit in computable(work, waiting, running.values()):
                        running[pool.submit(_compute, unit, str(folder))] = unit
                        waiting.remove(unit)
                done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                _drain(channel, on_progress)
                for future in done:
                    future.result()
                    del running[future]
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
            gpus.close()


@dataclass(frozen=True)
class InProcess:
    """Computes in the calling process, for work that takes less time than starting workers.

    `loaded` is what the work would load, if the process has already loaded it.

    >>> InProcess().num_workers("cpu")
    1
    """

    loaded: Any = None

    def num_workers(self, device: str) -> int:
        """This process."""
        return 1

    def run(self, work: Work, units: Sequence[int], folder: Path, on_progress: OnProgress) -> None:
        """Compute the units one after the other, in which order nothing that a unit needs is behind it."""
        keep_freed_memory()
        loaded = work.load() if self.loaded is None else self.loaded
        for unit in units:
            work.compute(loaded, unit, folder, partial(on_progress, unit))


def needs_of(work: Work, unit: int) -> Sequence[int]:
    """Units whose files this one reads."""
    return getattr(work, "needs", lambda _: ())(unit)


def computable(work: Work, waiting: Sequence[int], running: Iterable[int]) -> list[int]:
    """Those that wait for nothing that is itself waiting or running."""
    unfinished = {*waiting, *running}
    return [unit for unit in waiting if unfinished.isdisjoint(needs_of(work, unit))]


def suited(executor: Executor, units: Sequence[int], loaded: Any = None, seconds: float = math.inf) -> Executor:
    """The executor; but this process where local workers would not pay: for one unit, or for `seconds` in all."""
    alone = len(units) == 1 or seconds < WORTH_STARTING
    return InProcess(loaded) if alone and isinstance(executor, Local) else executor


def gpus_of(device: str) -> tuple[int, ...]:
    """The GPUs of `cuda:0,1,…`, each of which has a worker; none where one device or none is named.

    >>> gpus_of("cuda:0,2"), gpus_of("cuda:1"), gpus_of("cpu")
    ((0, 2), (), ())
    """
    kind, _, numbers = device.partition(":")
    parts = numbers.split(",")
    if kind != "cuda" or len(parts) < 2:
        return ()
    if not all(part.isdecimal() for part in parts) or len(set(parts)) < len(parts):
        raise BadConfig(f"--device {device}: write distinct GPU numbers separated by commas, such as cuda:0,1")
    return tuple(map(int, parts))


def num_cores() -> int:
    """Cores that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back: workers started meanwhile are born deaf to them, the parent hears them later."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
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


def _start_worker(
    work: Work, channel: "Queue[tuple[int, float]]", parent: int, gpus: "Queue[int] | None" = None
) -> None:
    """`gpus` holds one number for each worker, whose "cuda" is that GPU and no other."""
    global _work, _channel
    if gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(gpus.get(timeout=60))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # by which the parent ends it
    keep_freed_memory()
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
