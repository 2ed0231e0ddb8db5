"""Units of work computed in the process of the test: workers take seconds to start."""

from collections.abc import Sequence
from pathlib import Path

from audit.engine.executor import InProcess, Local, OnProgress, Work


def compute_inline(_: Local, work: Work, units: Sequence[int], folder: Path, on_progress: OnProgress) -> None:
    """In the place of `Local.run`."""
    InProcess().run(work, units, folder, on_progress)
