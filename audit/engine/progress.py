"""Progress: a bar with the time left, or plain lines where stderr is not a terminal or somebody else is listening."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PLAIN_SECONDS = 4.0
# Share of the work before which the start of the workers would spoil an estimate of the time left.
ESTIMATE_FROM = 0.05
Tell = Callable[[str], None]


def on_stderr(line: str) -> None:
    """To the person at the terminal."""
    print(f"audit: {line}", file=sys.stderr, flush=True)


def discard(line: str) -> None:
    """To nobody."""


_tell: ContextVar[Tell] = ContextVar("tell", default=on_stderr)


@contextlib.contextmanager
def listening(tell: Tell) -> Iterator[None]:
    """Progress within the block goes to `tell`, line by line; to stderr it goes as a bar, if that is a terminal."""
    before = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(before)


class ProgressBar:
    """How far a group of shards is; `sizes` are their runs.

    Where `announced` is false, as for work that is mostly done at once, the title is said with the first share only.
    """

    def __init__(self, title: str, sizes: dict[int, int], *, announced: bool = True) -> None:
        self._title, self._sizes, self._announced = title, sizes, announced
        self._done = dict.fromkeys(sizes, 0.0)
        self._started = self._spoken = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> "ProgressBar":
        if _tell.get() is on_stderr and sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeElapsedColumn(),
                TextColumn("elapsed,"),
                TimeRemainingColumn(),
                TextColumn("left"),
                console=Console(stderr=True),
                transient=not self._announced,
            )
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=sum(self._sizes.values()))
        elif self._announced:
            _tell.get()(self._title)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, index: int, fraction: float) -> None:
        """Shard `index` is done to this fraction."""
        self._done[index] = max(self._done[index], fraction)
        completed = sum(self._sizes[i] * share for i, share in self._done.items())
        if self._bar is not None:
            self._bar.update(self._task, completed=completed)
            return
        now = time.monotonic()
        if now - self._spoken > PLAIN_SECONDS:
            self._spoken = now
            share = completed / sum(self._sizes.values())
            left = (now - self._started) * (1 - share) / share if share >= ESTIMATE_FROM else None
            told = "" if left is None else f", about {left:.0f} s left"
            _tell.get()(f"{'' if self._announced else f'{self._title}: '}{share:.0%}{told}")
