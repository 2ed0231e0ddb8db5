"""Runs the missing shards in local worker processes.

Workers are spawned (a forked torch is not safe) and write their shards themselves; only progress comes back. They
ignore Ctrl-C, which the parent handles, and die with their parent.
"""

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

from condensers.errors import Incomplete

_progress: Any = None
_last_report = 0.0


def run_shards(
    directory: Path, indices: list[int], *, jobs: int, data_root: Path | None, on_progress: Callable[[int, float], None]
) -> None:
    """Compute the given shards of the run in `directory`; raises Incomplete if a worker dies."""
    context = multiprocessing.get_context("spawn")
    channel: Queue[tuple[int, float]] = context.Queue()
    pool = ProcessPoolExecutor(
        max_workers=min(jobs, len(indices)),
        mp_context=context,
        initializer=_start_worker,
        initargs=(channel, os.getpid()),
    )
    try:
        with _interrupts_later():
            waiting = {pool.submit(_work, str(directory), index, data_root) for index in indices}
        while waiting:
            done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
            _drain(channel, on_progress)
            for future in done:
                future.result()
    except BrokenProcessPool:
        raise Incomplete(
            "a worker process was killed (out of memory?); finished runs are kept: run the same command again, "
            "with a smaller --jobs if it happens again"
        ) from None
    except BaseException:
        _stop_workers(pool)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        channel.close()


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back: workers started meanwhile are born deaf to it, the parent hears it afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _drain(channel: "Queue[tuple[int, float]]", on_progress: Callable[[int, float], None]) -> None:
    while True:
        try:
            on_progress(*channel.get_nowait())
        except queue.Empty:
            return


def _stop_workers(pool: ProcessPoolExecutor) -> None:
    """End the workers at once; what they had finished is on disk."""
    for process in list(getattr(pool, "_processes", {}).values()):
        process.terminate()


def _start_worker(channel: "Queue[tuple[int, float]]", parent: int) -> None:
    global _progress
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _progress = channel
    channel.cancel_join_thread()
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()


def _die_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(3)


def _work(directory: str, index: int, data_root: Path | None) -> None:
    import torch

    from audit.settings import AuditConfig
    from audit.shard import compute_shard, load_checked_pool
    from audit.store import RunDirectory

    run = RunDirectory(Path(directory))
    config = AuditConfig.from_json(run.config.read_text())
    torch.set_num_threads(config.threads)
    try:
        pool = load_checked_pool(config, data_root).to(torch.device(config.device))
        compute_shard(config, pool, run, index, _report)
    except (MemoryError, RuntimeError) as error:
        # torch has a class of its own for a full GPU only.
        if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in str(error):
            raise Incomplete(
                f"not enough memory for {config.shard_runs} runs at once; finished runs are kept: choose a smaller "
                "--jobs, --shard-runs or network"
            ) from None
        raise


def _report(index: int, fraction: float) -> None:
    global _last_report
    now = time.monotonic()
    if fraction >= 1 or now - _last_report > 0.3:
        _last_report = now
        _progress.put((index, fraction))
