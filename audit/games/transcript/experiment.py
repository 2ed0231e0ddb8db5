"""What determines an audit of the worst case: method, settings, level, claim, neighbours, number of runs."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from audit.data.load import load_pool
from audit.games.neighbours import DESIGNS, IN_THE_DOMAIN, designs_for, neighbouring_pools
from audit.games.settings import versions
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.registry import Method
from condensers.spelling import did_you_mean

LEAST_TRIALS = 100


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What determines the result. `claim` is what a person stated, empty where the ledger claims.

    `dataset` and `records` are those of the design "natural"; `data_root`, where they lie, determines nothing.
    """

    method: Method
    config: Any
    class_sizes: tuple[float, ...]
    input_shape: tuple[int, ...]
    trials: int
    seed: int
    delta: float
    confidence: float
    level: str = "transcript"
    claim: str = ""
    dataset: str = ""
    records: int = 60
    only: tuple[str, ...] = ()
    data_root: Path | None = None

    def __post_init__(self) -> None:
        if self.trials < LEAST_TRIALS:
            raise BadConfig(f"--trials {self.trials}: at least {LEAST_TRIALS} runs are needed")
        if not 0 < self.delta < 1:
            raise BadConfig(f"--delta {self.delta}: must lie in (0, 1)")
        if not 0 < self.confidence < 1:
            raise BadConfig(f"--confidence {self.confidence}: must lie strictly between 0 and 1")

    @property
    def designs(self) -> tuple[str, ...]:
        """Those that are neighbours under the claim and were not left out."""
        plan = self.method.plan
        fit = designs_for(plan(self.config, self.class_sizes)) if plan else designs_for(())
        return tuple(
            design for design in fit if (not self.only or design in self.only) and (self.dataset or design != "natural")
        )

    @property
    def observations(self) -> tuple[str, ...]:
        """What the adversary sees at this level; whoever sees the transcript sees the set."""
        method = self.method
        seen = {
            "transcript": self.level == "transcript" and method.private,
            "set": self.level in ("transcript", "set") and method.makes_set,
            "model": self.level == "model" or not method.makes_set,
        }
        return tuple(name for name, is_seen in seen.items() if is_seen)

    def pool(self, design: str, length: float) -> Pool:
        """The records of a design."""
        natural = _natural(self.dataset, self.records, len(self.class_sizes), self.data_root)
        length = length if self.method.private else IN_THE_DOMAIN
        return neighbouring_pools(
            self.input_shape,
            len(self.class_sizes),
            self.seed,
            length,
            design,
            natural if design == "natural" else None,
        )

    def to_json(self) -> str:
        """Canonical and complete, the versions of libraries and code with it."""
        record = {
            **{name: value for name, value in vars(self).items() if name != "data_root"},
            "method": self.method.name,
            "config": asdict(self.config),
            "versions": versions(self.method),
        }
        natural = _natural(self.dataset, self.records, len(self.class_sizes), self.data_root)
        if natural is not None:
            record["data"] = hashlib.sha256(natural.numpy().tobytes()).hexdigest()
        return json.dumps(record, sort_keys=True, indent=2) + "\n"

    @property
    def digest(self) -> str:
        """Names the run directory and marks every file of results in it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]


@cache
def _natural(dataset: str, records: int, num_classes: int, data_root: Path | None) -> Tensor | None:
    """Records `[classes, number, …]` of the first classes of a data set, as many of each."""
    if not dataset:
        return None
    pool = load_pool(dataset, data_root=data_root)
    slices = pool.class_slices[:num_classes]
    number = min(max(1, records // num_classes), *(part.stop - part.start for part in slices))
    return torch.stack([pool.images[part][:number] for part in slices])


def check_designs(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in DESIGNS:
            raise BadConfig(f"--design {name}: is not one of {', '.join(DESIGNS)}{did_you_mean(name, DESIGNS)}")
