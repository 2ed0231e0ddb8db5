"""Everything that determines the result of a visual audit: `config.json` and its digest."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from audit.games.membership.config import AuditConfig
from condensers.plugins import directory_part

DISTANCES = {
    "l2": "Euclidean distance of the pixels, which lie in [−1, 1]",
    "lpips": "LPIPS on VGG16 (Zhang et al.), as in Dong et al.",
    "lpips-alexnet": "LPIPS on AlexNet (Zhang et al.)",
}
NETWORKS = {"lpips": "vgg16", "lpips-alexnet": "alexnet"}


@dataclass(frozen=True, kw_only=True)
class VisualConfig:
    """One visual audit. Two with equal configs give equal bytes.

    `asked` are the distances asked for by name, none by default; `distances` those computed, `left_out` why others were
    not. `weights` are the checksums of the backbones. `foreign` names sets of another maker (`membership.foreign`);
    `shard_runs` are those that are condensed together, None where nothing is condensed.
    """

    method: str
    method_config: dict[str, Any]
    dataset: str
    records: int | None
    preset: str
    changes: dict[str, str]
    runs: int
    asked: tuple[str, ...]
    distances: tuple[str, ...]
    left_out: dict[str, str]
    weights: dict[str, str]
    seed: int
    delta: float
    confidence: float
    claim: float | None
    epsilon: float | None
    shuffle_membership: bool
    device: str
    data_checksum: str
    versions: dict[str, str]
    foreign: dict[str, Any] | None = None
    shard_runs: int | None = None

    @property
    def audited(self) -> str:
        """The method, or the sets that somebody released."""
        return self.method if self.foreign is None else " and ".join(dict.fromkeys(self.foreign["names"]))

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, indent=2, allow_nan=False) + "\n"

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    @property
    def directory_name(self) -> str:
        """Of the run."""
        slug = re.sub(r"[^a-z0-9]+", "-", Path(self.dataset).stem.lower()).strip("-") or "data"
        return f"visual-{directory_part(self.method)}-{slug}-{self.digest}"

    @property
    def condensation(self) -> AuditConfig:
        """The runs as those of an audit by membership coins at level set, all of them tested."""
        return AuditConfig(
            attack="visual",
            method=self.method,
            dataset=self.dataset,
            records=self.records,
            level="set",
            preset=self.preset,
            shadows=self.runs,
            test_runs=self.runs,
            queries=1,
            seed=self.seed,
            delta=self.delta,
            confidence=self.confidence,
            claim=self.claim,
            epsilon=self.epsilon,
            independent_randomness=False,
            shuffle_membership=self.shuffle_membership,
            device=self.device,
            shard_runs=self.shard_runs or self.runs,
            threads=1,
            changes=self.changes,
            method_config=self.method_config,
            attack_config={},
            victim_config={},
            data_checksum=self.data_checksum,
            versions=self.versions,
        )
