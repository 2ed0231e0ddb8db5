"""The cost of an audit on one machine or on several, from what a probe measured."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from condensers.errors import BadConfig


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What was measured, and what follows. Times in seconds of the clock, but `processor_seconds`; memory in bytes.

    `unit_seconds` are those of every unit of work, in the order in which they are started; `start_seconds` those of a
    worker before its first unit; `rest_seconds` are spent by the driver alone, before and after the units.
    """

    what: str
    unit_seconds: tuple[float, ...]
    start_seconds: float
    rest_seconds: float
    processor_seconds: float
    worker_memory: int
    driver_memory: int
    workers: int
    probe_seconds: float

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise BadConfig(f"--jobs {self.workers}: must be at least 1")

    @property
    def num_units(self) -> int:
        return len(self.unit_seconds)

    def seconds(self, nodes: int = 1) -> float:
        """From the command to the report, on so many machines like this one."""
        if nodes < 1:
            raise BadConfig(f"--nodes {nodes}: must be at least 1")
        return self.start_seconds + makespan(self.unit_seconds, nodes * self.workers) + self.rest_seconds

    def memory(self, nodes: int = 1) -> tuple[int, int]:
        """Of the machine with the driver, and of each other one."""
        busy = min(self.workers, -(-self.num_units // nodes))
        return self.driver_memory + busy * self.worker_memory, busy * self.worker_memory if nodes > 1 else 0


def makespan(seconds: Sequence[float], workers: int) -> float:
    """When the last unit ends if each is started, in order, by the first worker that is free.

    >>> makespan([3, 1, 2, 2], 2)
    5
    """
    free: list[float] = [0] * min(workers, max(1, len(seconds)))
    for taken in seconds:
        heapq.heappush(free, heapq.heappop(free) + taken)
    return max(free)
