"""Units of work as Ray tasks, on a cluster or on this machine: `pip install condensation-audit[ray]`.

What all units need (the pool of records) is loaded once by the driver and put once into the object store, with its
SHA-256, which every worker checks. A task writes its file into a folder of its own and returns the bytes; the driver
alone writes the run directory, so no shared file system is needed (ray_driver.py, ray_tasks.py).
"""

import atexit
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.engine.executor import OnProgress, Work
from audit.engine.ray_driver import ClusterLost, Driver, accepts
from condensers.errors import BadConfig, Incomplete

ANSWER_SECONDS = 5.0  # in which a head must accept a connection
LEAVE_SECONDS = 10.0  # for disconnecting from a cluster whose head is gone


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
        # Ray prints to stdout which nodes it has lost; stdout is for results.
        with _explained(ray), contextlib.redirect_stdout(sys.stderr):
            options: dict[str, Any] = {"num_cpus": 1, "max_retries": self.max_retries, "max_calls": 0}
            if self.gpus_per_task or work.device != "cpu":
                options["num_gpus"] = self.gpus_per_task or 1.0
            if self.memory_per_task is not None:
                options["memory"] = self.memory_per_task
            driver = Driver(
                ray,
                options,
                head=_head_of(ray),
                num_places=lambda: self._num_places(ray, work.device),
                work=work,
                folder=folder,
                on_progress=on_progress,
            )
            driver.compute(list(units))

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
        # A thread of the driver that is left behind when the head is lost must not connect again.
        os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
        # What Ray's own threads have to say about lost connections is said in one line below.
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        try:
            import ray
        except ImportError:
            raise BadConfig("--executor ray: Ray is not installed; pip install 'condensation-audit[ray]'") from None
        if ray.is_initialized():
            _require_head(ray)
            return ray
        address = self.address or os.environ.get("RAY_ADDRESS")
        if address:
            # Ray would end this process after a minute without the head; the driver notices before, but may be slow.
            os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "600")
        _require_answer(address)
        try:
            with _silenced(), _own_sigterm():
                ray.init(
                    # Without an address Ray would join whatever cluster was started on this machine last.
                    address=address or "local",
                    include_dashboard=None if address else False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
        except (ConnectionError, RuntimeError, ValueError) as error:
            if "authentication" in f"{error} {error.__cause__}".lower():
                raise BadConfig(
                    f"--ray-address {address}: the cluster asks for a token; set RAY_AUTH_MODE=token and "
                    "RAY_AUTH_TOKEN to those with which its head was started (docs/cluster.md)"
                ) from None
            raise _unreachable(address, str(error).strip().splitlines()[0]) from None
        return ray


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Without what Ray's own libraries write to stderr when they start; errors come as exceptions."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep what this process does at SIGTERM: Ray would end it on the spot."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if callable(before) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


def _head_of(ray: Any) -> tuple[str, int] | None:
    """Where the head listens; None through a `ray://` address, whose client notices a loss by itself."""
    if ray.util.client.ray.is_connected():
        return None
    host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
    return host.strip("[]"), int(port)


def _require_head(ray: Any) -> None:
    """Incomplete if the head of the cluster is gone, in which case every call to Ray would block."""
    head = _head_of(ray)
    if head is not None and not accepts(head, ANSWER_SECONDS):
        _leave(ray)
        raise _lost("its head does not answer")


def _lost(reason: str) -> Incomplete:
    return Incomplete(
        f"the Ray cluster failed ({reason}); finished work is kept: run the same command again, with Ray or without"
    )


def _leave(ray: Any) -> None:
    """Disconnect from a cluster whose head is gone; Ray would end this process a minute after the head was lost.

    Ray disconnects once more when the interpreter ends. If it cannot disconnect now, it could not then either.
    """
    thread = threading.Thread(target=ray.shutdown, daemon=True)
    thread.start()
    thread.join(LEAVE_SECONDS)
    if thread.is_alive():
        atexit.unregister(ray.shutdown)


def _require_answer(address: str | None) -> None:
    """Refuse an address at which nothing listens, which Ray would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, str(error)) from None


def _unreachable(address: str | None, reason: str) -> BadConfig:
    return BadConfig(f"--ray-address {address}: no Ray cluster can be reached there ({reason})")


@contextlib.contextmanager
def _explained(ray: Any) -> Iterator[None]:
    """What goes wrong with a cluster, in one line."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    except ClusterLost as error:
        _leave(ray)
        raise _lost(str(error)) from None
    except (ray.exceptions.RayError, ConnectionError) as error:
        raise _lost(str(error).strip().splitlines()[0]) from None
