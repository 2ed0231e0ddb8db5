"""The driver of a Ray run: submits units, collects their bytes, writes them down, and notices when the head is lost.

Tasks are submitted as places become free, so the driver holds a few results at a time, however many units there are.
When nothing is left to submit, units that are still running are started a second time on free places and the first
result wins: units are idempotent, their bytes equal.

Ray ends the process of a driver whose head has been away for a minute, without an exception, and any call to Ray may
block until then. All calls are therefore made by threads, and the caller's own thread only looks whether the head still
accepts connections: it is never blocked, and leaves a blocked thread behind when the head is lost.
"""

import contextlib
import hashlib
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audit.engine.executor import OnProgress, Work, computable
from audit.engine.ray_tasks import Reporter, compute_unit, dump, read_inputs, read_sources
from audit.engine.store import write_bytes

POLL_SECONDS = 0.5
TELL_SECONDS = 2.0  # between questions for progress
HEAD_SECONDS = 20.0  # without an answer of the head, after which it counts as lost
STOP_SECONDS = 10.0  # for cancelling what runs after Ctrl-C
IN_ADVANCE = 2  # tasks submitted per place that the cluster has, so that no place waits for the driver
MOST_COPIES = 2  # of one unit, at the end


class ClusterLost(Exception):
    """The head of the cluster does not answer any more."""


class Driver:
    """The units of one call. `head` is where the head listens; None where a client of Ray watches it."""

    def __init__(
        self,
        ray: Any,
        options: dict[str, Any],
        *,
        head: tuple[str, int] | None,
        num_places: Callable[[], int],
        work: Work,
        folder: Path,
        on_progress: OnProgress,
    ) -> None:
        self._ray, self._work, self._folder, self._on_progress = ray, work, folder, on_progress
        self._task = ray.remote(**options)(compute_unit)
        self._running: dict[Any, int] = {}
        self._head = _Head(head, num_places)
        self._asked: Any = None
        self._told = time.monotonic()
        self._stopped = threading.Event()

    def compute(self, waiting: list[int]) -> None:
        """All units; ClusterLost if the head is."""
        loop = _Loop(lambda: self._compute(waiting))
        try:
            with self._head:
                while not loop.ended(POLL_SECONDS):
                    self._head.require()
        except ClusterLost:
            self._stopped.set()
            raise
        except BaseException:
            self._stopped.set()
            loop.ended(STOP_SECONDS)
            raise
        loop.raise_error()

    def _compute(self, waiting: list[int]) -> None:
        content = dump(self._work)
        self._digest = hashlib.sha256(content).hexdigest()
        self._needed = self._ray.put(content)
        self._sources = self._ray.put(read_sources(getattr(self._work, "sources", ())))
        self._reporter = self._ray.remote(num_cpus=0)(Reporter).remote()
        self._head.ask()
        finished: set[int] = set()
        total = len(waiting)
        try:
            while len(finished) < total and not self._stopped.is_set():
                self._submit(waiting, finished)
                ready, _ = self._ray.wait(list(self._running), timeout=POLL_SECONDS)
                for reference in ready:
                    self._collect(reference, finished)
                self._tell(finished)
        finally:
            if len(finished) < total:
                self._cancel()

    def _collect(self, reference: Any, finished: set[int]) -> None:
        """Write a result down. A result whose node was lost before it was fetched is awaited again."""
        unit = self._running[reference]
        if unit not in finished:
            try:
                content = self._ray.get(reference, timeout=10 * POLL_SECONDS)
            except self._ray.exceptions.GetTimeoutError:
                return
            path = self._folder / self._work.file(unit)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, content)
            finished.add(unit)
            self._on_progress(unit, 1.0)
        self._running.pop(reference)
        self._drop_copies(unit)

    def _submit(self, waiting: list[int], finished: set[int]) -> None:
        places = self._head.places
        for unit in computable(self._work, waiting, self._running.values()):
            if len(self._running) < IN_ADVANCE * places:
                waiting.remove(unit)
                self._start(unit)
        if waiting:
            return
        submitted = list(self._running.values())
        for unit in dict.fromkeys(submitted):
            if len(self._running) >= places:
                return
            if unit not in finished and submitted.count(unit) < MOST_COPIES:
                self._start(unit)

    def _start(self, unit: int) -> None:
        inputs = read_inputs(self._work, unit, self._folder)
        reference = self._task.remote(
            self._work, self._needed, self._digest, self._sources, inputs, unit, self._reporter
        )
        self._running[reference] = unit

    def _drop_copies(self, unit: int) -> None:
        for reference in [reference for reference, other in self._running.items() if other == unit]:
            del self._running[reference]
            self._ray.cancel(reference, force=True)

    def _tell(self, finished: set[int]) -> None:
        """Pass progress on. The reporter may be slow, or its node lost: nobody waits for its answer."""
        now = time.monotonic()
        if self._asked is None and now - self._told > TELL_SECONDS:
            self._asked, self._told = self._reporter.take.remote(), now
        if self._asked is None or not self._ray.wait([self._asked], timeout=0)[0]:
            return
        asked, self._asked = self._asked, None
        try:
            shares = self._ray.get(asked, timeout=POLL_SECONDS)
        except self._ray.exceptions.GetTimeoutError:
            return
        except self._ray.exceptions.RayActorError:
            # To make another would block if it was lost together with the head.
            if self._head.reachable():
                self._reporter = self._ray.remote(num_cpus=0)(Reporter).remote()
            return
        for unit, share in shares.items():
            if unit not in finished:
                self._on_progress(unit, min(share, 0.999))

    def _cancel(self) -> None:
        with contextlib.suppress(Exception):
            for reference in self._running:
                self._ray.cancel(reference, force=True)


class _Loop:
    """A function that runs in a thread of its own, and the error that ended it."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(function,), daemon=True)
        self._thread.start()

    def ended(self, seconds: float) -> bool:
        """Whether it has ended, after waiting so long at most."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def raise_error(self) -> None:
        """Raise what ended it, if anything did."""
        if self._error is not None:
            raise self._error

    def _run(self, function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            self._error = error


class _Head:
    """Asks the head for the places that the cluster has, in a thread, and says whether it can still be reached."""

    def __init__(self, address: tuple[str, int] | None, num_places: Callable[[], int]) -> None:
        self._address, self._num_places = address, num_places
        self._stop = threading.Event()
        self.places = 1
        self._answered = time.monotonic()

    def __enter__(self) -> "_Head":
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def require(self) -> None:
        """ClusterLost if the head has accepted no connection for a while."""
        if self.reachable():
            self._answered = time.monotonic()
        elif time.monotonic() - self._answered > HEAD_SECONDS:
            raise ClusterLost(f"its head has not answered for {HEAD_SECONDS:.0f} s")

    def _watch(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            if self.reachable():
                with contextlib.suppress(Exception):
                    self.ask()

    def ask(self) -> None:
        """Learn how many places the cluster has; blocks if the head is lost."""
        self.places = self._num_places()

    def reachable(self) -> bool:
        """Whether the head accepts a connection now."""
        return self._address is None or accepts(self._address, 1.0)


def accepts(address: tuple[str, int], seconds: float) -> bool:
    """Whether something listens at the address."""
    try:
        socket.create_connection(address, timeout=seconds).close()
    except OSError:
        return False
    return True
