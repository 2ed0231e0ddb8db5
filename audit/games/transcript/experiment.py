"""What determines an audit of the worst case: method, settings, neighbours, number of runs."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from audit.games.settings import versions
from audit.games.transcript.adversary import designs_for
from condensers.errors import BadConfig
from condensers.registry import Method

LEAST_TRIALS = 100


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What determines the result."""

    method: Method
    config: Any
    class_sizes: tuple[float, ...]
    input_shape: tuple[int, ...]
    trials: int
    seed: int
    delta: float
    confidence: float

    def __post_init__(self) -> None:
        if self.trials < LEAST_TRIALS:
            raise BadConfig(f"--trials {self.trials}: at least {LEAST_TRIALS} runs are needed")
        if not 0 < self.delta < 1:
            raise BadConfig(f"--delta {self.delta}: must lie in (0, 1)")
        if not 0 < self.confidence < 1:
            raise BadConfig(f"--confidence {self.confidence}: must lie strictly between 0 and 1")

    @property
    def designs(self) -> tuple[str, ...]:
        assert self.method.plan is not None
        return designs_for(self.method.plan(self.config, self.class_sizes))

    def to_json(self) -> str:
        """Canonical and complete, the versions of libraries and code with it."""
        record = {
            **vars(self),
            "method": self.method.name,
            "config": asdict(self.config),
            "versions": versions(self.method),
        }
        return json.dumps(record, sort_keys=True, indent=2) + "\n"

    @property
    def digest(self) -> str:
        """Names the run directory and marks every file of results in it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]
