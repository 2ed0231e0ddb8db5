"""Units that read the files of other units are computed after them, whoever computes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from audit.engine.executor import Executor, InProcess, Local, computable


@dataclass(frozen=True)
class Sums:
    """The first five units write their numbers; every later one the sum of what the last five before it wrote."""

    device: str = "cpu"

    def load(self) -> str:
        return "loaded"

    def needs(self, unit: int) -> tuple[int, ...]:
        return tuple(range(unit - 5, unit)) if unit >= 5 else ()

    def compute(self, loaded: str, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        assert loaded == "loaded"
        read = [int((folder / self.file(other)).read_text()) for other in self.needs(unit)]
        (folder / self.file(unit)).write_text(str(sum(read) if read else unit))
        report(1.0)

    def file(self, unit: int) -> str:
        return f"{unit}.txt"


@pytest.mark.parametrize("executor", [InProcess(), Local(jobs=1), Local(jobs=3)], ids=repr)
def test_units_wait_for_what_they_read_against_naive(executor: Executor, tmp_path: Path) -> None:
    expected = list(range(5))
    for _ in range(7):
        expected.append(sum(expected[-5:]))
    (tmp_path / "0.txt").write_text("0")  # finished before
    told: list[int] = []
    executor.run(Sums(), range(1, 12), tmp_path, lambda unit, _: told.append(unit))
    assert [int((tmp_path / f"{unit}.txt").read_text()) for unit in range(12)] == expected


def test_what_is_computable_against_cases() -> None:
    assert computable(Sums(), [0, 1, 2, 3, 4, 5], ()) == [0, 1, 2, 3, 4]
    assert computable(Sums(), [5, 6, 9], (4,)) == []
    assert computable(Sums(), [5, 6, 10], (7,)) == [5]
