"""Units of work for tests of the Ray executor, and a driver whose memory is watched:

python tests/ray_units.py ADDRESS FOLDER NUM_UNITS BYTES SECONDS   prints the driver's own memory after each fifth,
and when each unit was done.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ray_cluster import private_bytes

from audit.engine.ray import Ray
from condensers.randomness import stream


@dataclass(frozen=True, kw_only=True)
class FillWork:
    """Files of so many bytes, each made in so many seconds."""

    num_bytes: int
    seconds: float = 0.0
    device: str = "cpu"

    def load(self) -> int:
        return self.num_bytes

    def compute(self, loaded: int, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        time.sleep(self.seconds)
        (folder / self.file(unit)).write_bytes(content_of(unit, loaded))
        report(1.0)

    def file(self, unit: int) -> str:
        return f"{unit:05d}.bytes"


def content_of(unit: int, num_bytes: int) -> bytes:
    """What a unit leaves."""
    return stream(0, "unit of a test", unit).bytes(num_bytes)


def main(address: str, folder: str, num_units: int, num_bytes: int, seconds: float) -> None:
    memory: dict[int, int] = {}
    times: list[float] = []
    finished: set[int] = set()

    def on_progress(unit: int, share: float) -> None:
        if share == 1.0:
            finished.add(unit)
            memory[len(finished)] = private_bytes(os.getpid())
            times.append(time.monotonic())

    work = FillWork(num_bytes=num_bytes, seconds=seconds)
    Ray(address=address).run(work, range(num_units), Path(folder), on_progress)
    marks = [max(1, num_units * fifth // 5) for fifth in range(1, 6)]
    print(json.dumps({"memory": [memory[mark] for mark in marks], "times": times}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
