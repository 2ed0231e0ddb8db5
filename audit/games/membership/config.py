"""Everything that determines the result of an audit by membership coins: `config.json` and its digests."""

import hashlib
import json
import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from condensers.errors import BadConfig
from condensers.plugins import directory_part

# What determines the runs of a shard, whatever attack looks at them; the number of runs is not among it.
CONDENSATION_FIELDS = ("method", "method_config", "seed", "independent_randomness", "public_draws", "device",
                       "shard_runs", "threads", "data_checksum", "canaries", "audited_records", "versions")  # fmt: skip
VICTIM_FIELDS = ("victim_config", "queries", "bits")
# Of the versions, those that determine the record alone.
RECORD_VERSIONS = ("code", "attack plugin")


@dataclass(frozen=True, kw_only=True)
class AuditConfig:
    """One audit. Two audits with equal configs give equal bytes.

    `foreign` names sets of another maker (foreign.py): then the runs are all shadows, and the sets are tested.
    `tries` is the number of tries at one claim (seeds, attacks) of which this audit is one; they share the error.
    `audited` is what --audited asked for, `audited_records` the numbers of the records with coins; None: all have.
    `enumerated` are the numbers of audited records of each class where fit runs take all their combinations in turn
    (game.py); None: fit runs have coins like test runs.
    `bits` are those of a released pixel; None: all that were computed.
    `groups` says by what records are reported in groups (groups.py); None: they are not.
    """

    attack: str
    method: str
    dataset: str
    records: int | None
    level: str
    preset: str
    shadows: int
    test_runs: int
    queries: int
    seed: int
    delta: float
    confidence: float
    claim: float | None
    epsilon: float | None
    independent_randomness: bool
    shuffle_membership: bool
    device: str
    shard_runs: int
    threads: int
    changes: dict[str, str]
    method_config: dict[str, Any]
    attack_config: dict[str, Any]
    victim_config: dict[str, Any]
    data_checksum: str
    versions: dict[str, str]
    canaries: str = ""
    fit_runs: int | None = None
    public_draws: int = 1
    foreign: dict[str, Any] | None = None
    tries: int = 1
    audited: str | None = None
    bits: int | None = None
    audited_records: list[int] | None = None
    enumerated: list[int] | None = None
    groups: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise BadConfig(f"--delta {self.delta}: must lie in [0, 1)")
        if not 0 < self.confidence < 1:
            raise BadConfig(f"--confidence {self.confidence}: must lie strictly between 0 and 1")
        if self.claim is not None and not (self.claim >= 0 and math.isfinite(self.claim)):
            raise BadConfig(f"--claim {self.claim}: must be a finite number, 0 or more")
        if self.tries < 1:
            raise BadConfig(f"--tries {self.tries}: must be at least 1; this audit counts as one")
        if self.shard_runs < 1:
            raise BadConfig(f"--shard-runs {self.shard_runs}: must be at least 1")

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    @property
    def subject(self) -> str:
        """What the audit is about: the method, or the sets that somebody released."""
        return self.method if self.foreign is None else " and ".join(dict.fromkeys(self.foreign["names"]))

    @property
    def condensation_digest(self) -> str:
        return condensation_digest(asdict(self))

    @property
    def work_digest(self) -> str:
        """What determines a shard. At level set nobody trains a victim, so it is the condensation alone."""
        if self.level != "model":
            return self.condensation_digest
        return _digest(asdict(self), (*CONDENSATION_FIELDS, *VICTIM_FIELDS))

    @property
    def directory_name(self) -> str:
        dataset = re.sub(r"[^a-z0-9]+", "-", Path(self.dataset).stem.lower()).strip("-") or "data"
        return f"{directory_part(self.attack)}-{directory_part(self.method)}-{dataset}-{self.level}-{self.digest}"

    def facts(self) -> dict[str, Any]:
        """Everything that was decided; without groups, as it was before there were any."""
        decided = asdict(self)
        if self.groups is None:
            del decided["groups"]
        return decided

    def to_json(self) -> str:
        return json.dumps(self.facts(), sort_keys=True, indent=2, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> "AuditConfig":
        return AuditConfig(**json.loads(text))


def condensation_digest(config: dict[str, Any]) -> str:
    """Equal for configurations whose runs hold the same synthetic sets."""
    return _digest(config, CONDENSATION_FIELDS)


def _digest(config: dict[str, Any], fields: tuple[str, ...]) -> str:
    values = {name: config.get(name) for name in fields}
    versions = values["versions"] or {}
    if config.get("enumerated") is not None:  # then fit runs have other members than test runs
        values |= {"enumerated": config["enumerated"], "fit runs": config["shadows"] - config["test_runs"]}
    values["versions"] = {name: found for name, found in versions.items() if name not in RECORD_VERSIONS}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]
