"""What does not determine a result: where it goes, where data lie and who computes."""

import os
from dataclasses import dataclass
from pathlib import Path

from condensers.errors import BadConfig


@dataclass(frozen=True, kw_only=True)
class Where:
    """Folders and workers of a run. `jobs` None means every core."""

    out: Path
    jobs: int | None = None
    data_root: Path | None = None
    show_records: bool = False

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise BadConfig(f"--jobs {self.jobs}: must be at least 1")

    def num_jobs(self, device: str) -> int:
        """Worker processes: one per core, one for an accelerator."""
        if self.jobs is not None:
            return self.jobs
        return num_cores() if device == "cpu" else 1


def num_cores() -> int:
    """Cores that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
