"""A sign of life on stderr where nothing else was said for some seconds, such as while torch is being imported."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

SILENCE = 4.8  # seconds; a bar without a terminal says how far it is after 4
ROUND = 0.1


class Watched:
    """A text stream that remembers when it was last written to, and the last whole line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.spoken = time.monotonic()
        self.line = "loading"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Pass it on."""
        self.spoken = time.monotonic()
        lines = [line for line in text.splitlines() if line.strip()]
        if lines:
            self.line = lines[-1].strip().removeprefix("audit: ")
        return self._stream.write(text)


@contextlib.contextmanager
def heartbeat(silence: float = SILENCE) -> Iterator[None]:
    """While the block runs, say every `silence` seconds that it does, unless something else was said."""
    before, watched, done, started = sys.stderr, Watched(sys.stderr), threading.Event(), time.monotonic()

    def beat() -> None:
        while not done.wait(min(ROUND, silence / 4)):
            now = time.monotonic()
            if now - watched.spoken >= silence:
                watched.spoken = now
                with contextlib.suppress(OSError, ValueError):  # a closed stderr stops nothing
                    before.write(f"audit: still working after {now - started:.0f} s ({watched.line[:100]})\n")
                    before.flush()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    sys.stderr = watched
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        sys.stderr = before
