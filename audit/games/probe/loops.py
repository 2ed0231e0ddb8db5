"""Loops of a method cut short: a few steps are timed, the rest is computed from them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from torch import Tensor

FEWEST_STEPS = 3
LOOP_SECONDS = 2.0  # of processor time, after which a loop has told enough


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """Time of the clock, and of the processors."""

    clock: float
    processor: float

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(clock=self.clock + other.clock, processor=self.processor + other.processor)

    def __sub__(self, other: "Seconds") -> "Seconds":
        return Seconds(clock=self.clock - other.clock, processor=self.processor - other.processor)

    def times(self, factor: float) -> "Seconds":
        return Seconds(clock=factor * self.clock, processor=factor * self.processor)


NOTHING = Seconds(clock=0.0, processor=0.0)


def now() -> Seconds:
    return Seconds(clock=time.perf_counter(), processor=time.process_time())


@dataclass
class CutLoops:
    """`track` for a method (condensers/registry.Track): yields the first steps only, and keeps how long they took.

    The first step is kept apart: it warms caches up and may compile kernels.
    """

    seconds: float = LOOP_SECONDS
    spent: Seconds = NOTHING
    left: Seconds = NOTHING
    steps: dict[str, tuple[int, int]] = field(default_factory=dict)

    def track(self, name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:
        """Steps of the loop `name`, as far as they are needed."""
        taken: list[Seconds] = []
        for step in range(total):
            before = now()
            yield step
            taken.append(now() - before)
            spent = sum(taken, NOTHING)
            if len(taken) >= FEWEST_STEPS and spent.processor > self.seconds:
                break
        self.spent += sum(taken, NOTHING)
        self.steps[name] = len(taken), total
        later = taken[1:] or taken
        if len(taken) < total:
            self.left += sum(later, NOTHING).times((total - len(taken)) / len(later))
