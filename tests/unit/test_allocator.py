"""Freed memory stays with the process: pages that were cleared once are not cleared again."""

import subprocess
import sys

import pytest
from conftest import ROOT

STEPS = """
import resource
{before}
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def step(): [b"x" * (4 << 20) for _ in range(8)]
step(); start = faults()
for _ in range(20): step()
print(faults() - start)
"""


def count_faults(before: str) -> int:
    command = [sys.executable, "-c", STEPS.format(before=before)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's allocator")
def test_tensors_of_a_step_are_taken_from_kept_memory() -> None:
    given_back = count_faults("")
    kept = count_faults("from audit.engine.allocator import keep_freed_memory; keep_freed_memory()")
    assert given_back > 20 * 1024  # at least one of eight buffers is cleared again in every step
    assert kept < given_back / 20
