"""What does not determine a result: where it goes, where data lie and who computes."""

from dataclasses import dataclass, field
from pathlib import Path

from audit.engine.executor import Executor, Local


@dataclass(frozen=True, kw_only=True)
class Where:
    """Folders and workers of a run; `weights` are files with backbones of LPIPS, which `download` lets it fetch."""

    out: Path
    executor: Executor = field(default_factory=Local)
    data_root: Path | None = None
    show_records: bool = False
    weights: tuple[Path, ...] = ()
    download: bool = False
