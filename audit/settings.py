"""Everything that determines a result, resolved before anything runs: `config.json` and its digest."""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import math
import os
import re
import types
import typing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import audit
from attacks.registry import Attack
from attacks.victims import VictimConfig
from audit.data.load import physical_memory
from audit.fingerprint import code_fingerprints
from condensers.errors import BadConfig
from condensers.networks import Network
from condensers.plugins import directory_part
from condensers.pool import Pool
from condensers.registry import Method

VERSIONED = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow")
MIRRORED = ("fashion-mnist", "cifar10", "celeba")
MOST_RUNS_PER_SHARD = 64
RUNS_THAT_SHARE_NOTHING = 16  # in a shard, where every run trains on the records with a network of its own
# What determines the runs of a shard, whatever attack looks at them; the number of runs is not among it.
CONDENSATION_FIELDS = ("method", "method_config", "seed", "independent_randomness", "public_draws", "device",
                       "shard_runs", "threads", "data_checksum", "canaries", "versions")  # fmt: skip
VICTIM_FIELDS = ("victim_config", "queries")
# Of the versions, those that determine the record alone.
RECORD_VERSIONS = ("code", "attack plugin")
SUPPORTED = "bool, int, float, str, Literal, and unions of these and None"


@dataclass(frozen=True, kw_only=True)
class AuditConfig:
    """One audit. Two audits with equal configs give equal bytes.

    `foreign` names sets of another maker (audit/foreign.py): then the runs are all shadows, and the sets are tested.
    `tries` is the number of tries at one claim (seeds, attacks) of which this audit is one; they share the error.
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

    def __post_init__(self) -> None:
        if not 0 <= self.delta < 1:
            raise BadConfig(f"--delta {self.delta}: must lie in [0, 1)")
        if not 0 < self.confidence < 1:
            raise BadConfig(f"--confidence {self.confidence}: must lie strictly between 0 and 1")
        if self.claim is not None and not (self.claim >= 0 and math.isfinite(self.claim)):
            raise BadConfig(f"--claim {self.claim}: must be a finite number, 0 or more")
        if self.tries < 1:
            raise BadConfig(f"--tries {self.tries}: must be at least 1, this audit itself")
        if self.shard_runs < 1:
            raise BadConfig(f"--shard-runs {self.shard_runs}: must be at least 1")

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    @property
    def audited(self) -> str:
        """What the audit is about: the method, or the sets that somebody released."""
        return self.method if self.foreign is None else " and ".join(dict.fromkeys(self.foreign["names"]))

    @property
    def condensation_digest(self) -> str:
        return condensation_digest(asdict(self))

    @property
    def work_digest(self) -> str:
        """What determines a shard. At level set nobody trains a victim, so it is the condensation alone."""
        if self.level == "set":
            return self.condensation_digest
        return _digest(asdict(self), (*CONDENSATION_FIELDS, *VICTIM_FIELDS))

    @property
    def directory_name(self) -> str:
        dataset = re.sub(r"[^a-z0-9]+", "-", Path(self.dataset).stem.lower()).strip("-") or "data"
        return f"{directory_part(self.attack)}-{directory_part(self.method)}-{dataset}-{self.digest}"

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, indent=2, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> "AuditConfig":
        return AuditConfig(**json.loads(text))


def condensation_digest(config: dict[str, Any]) -> str:
    """Equal for configurations whose runs hold the same synthetic sets."""
    return _digest(config, CONDENSATION_FIELDS)


def _digest(config: dict[str, Any], fields: tuple[str, ...]) -> str:
    values = {name: config.get(name) for name in fields}
    versions = values["versions"] or {}
    values["versions"] = {name: found for name, found in versions.items() if name not in RECORD_VERSIONS}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def resolve_method(
    method: Method, preset: str, pool: Pool, *, ipc: int, init: str | None, changes: dict[str, str]
) -> Any:
    """The method's config: defaults, then the preset, then flags, then --set."""
    values: dict[str, Any] = {**_preset(method.presets, preset)}
    fields = {field.name for field in dataclasses.fields(method.config)}
    if method.releases == "set":
        values["ipc"] = ipc
    if init is not None:
        values["init"] = init
    if "augmentation" in fields:
        values["augmentation"] = default_augmentation(pool)
    if "extractor" in fields and pool.images.ndim == 2:
        values["extractor"] = "linear"
        if method.private:
            values["width"] = 64  # Zheng & Li, section V-D: a linear layer of 14×64
    values |= parse_changes(changes, method.config, prefix="")
    return method.config(**values)


def resolve_victim(
    presets: dict[str, dict[str, Any]], preset: str, pool: Pool, changes: dict[str, str]
) -> VictimConfig:
    """The victims' config; --set victim.key=value."""
    values = {"augmentation": default_augmentation(pool), **_preset(presets, preset)}
    return VictimConfig(**values | parse_changes(changes, VictimConfig, prefix="victim."))


def default_augmentation(pool: Pool) -> str:
    """All operations of the official code, but no mirror images where they change the class; none for tables."""
    if pool.images.ndim == 2:
        return "none"
    return "color_crop_cutout_flip_scale_rotate" if pool.name in MIRRORED else "color_crop_cutout_scale_rotate"


def parse_changes(changes: dict[str, str], config: type, *, prefix: str) -> dict[str, Any]:
    """Values of --set that belong to `config`, turned into the types of its fields."""
    kinds = _types_of(config)
    return {
        name.removeprefix(prefix): _typed(name, text, kinds[name.removeprefix(prefix)])
        for name, text in changes.items()
        if name.startswith(prefix) and name.removeprefix(prefix) in kinds
    }


def check_changes(changes: dict[str, str], owners: dict[str, type]) -> None:
    """Refuse a key of --set that no config has. `owners` maps a prefix to its config."""
    known = [prefix + field.name for prefix, config in owners.items() for field in dataclasses.fields(config)]
    for name in changes:
        if name not in known:
            raise BadConfig(f"--set {name}: no such setting; there are {', '.join(known)}")


def _types_of(config: type) -> dict[str, Any]:
    """The types of a config's fields, annotations that were postponed among them."""
    try:
        hints = typing.get_type_hints(config)
    except (NameError, TypeError) as error:
        raise BadConfig(f"{config.__name__}: its annotations cannot be read ({error})") from None
    return {field.name: hints[field.name] for field in dataclasses.fields(config)}


def _typed(name: str, text: str, kind: Any) -> Any:
    """The value that `text` is of this type; of a union, that of the first of its types which it fits."""
    options = typing.get_args(kind) if typing.get_origin(kind) in (types.UnionType, typing.Union) else (kind,)
    if any(option not in (bool, int, float, str, types.NoneType) and not _is_literal(option) for option in options):
        raise BadConfig(f"--set {name}={text}: its type is {_spell(kind)}; --set knows {SUPPORTED}")
    # A text that spells None is not taken for a string.
    for option in sorted(options, key=lambda option: option is not types.NoneType):
        with contextlib.suppress(ValueError, KeyError):
            return _as(text, option)
    raise BadConfig(f"--set {name}={text}: not a valid {_spell(kind)}")


def _as(text: str, kind: Any) -> Any:
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if kind is types.NoneType:
        return {"none": None}[text.lower()]
    if _is_literal(kind):
        return {str(value): value for value in typing.get_args(kind)}[text]
    return kind(text)


def _is_literal(kind: Any) -> bool:
    return typing.get_origin(kind) is typing.Literal


def _spell(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def _preset(presets: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in presets:
        raise BadConfig(f"--preset {name!r} is not one of {', '.join(presets)}")
    return presets[name]


def resolve_ipc(pool: Pool, ipc: int | None, ratio: float | None) -> int:
    """Images per class, given directly or as r = |S|/|T| of Dong et al. with |T| half of the pool."""
    smallest = int(torch.bincount(pool.labels, minlength=pool.num_classes).min())
    if ratio is not None:
        if not 0 < ratio <= 1:
            raise BadConfig(f"--ratio {ratio}: must lie in (0, 1]")
        ipc = max(1, round(ratio * pool.num_records / 2 / pool.num_classes))
    ipc = 1 if ipc is None else ipc
    if ipc > smallest:
        raise BadConfig(f"--ipc {ipc}: the smallest class of {pool.name} has {smallest} records; choose at most that")
    return ipc


def resolve_device(name: str) -> str:
    """What `auto` means here; refuse a device that is not there."""
    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        kind = torch.device(name)
    except RuntimeError:
        raise BadConfig(f"--device {name!r} is not one of auto, cpu, cuda, cuda:N, mps") from None
    here = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (kind.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not here.get(kind.type, False):
        raise BadConfig(f"--device {name}: not available on this machine; --device auto takes what there is")
    return str(kind)


def fit_shard(network: Network, num_images: int, device: str, num_runs: int) -> int:
    """Runs per shard: as many as train together within a share of the memory, at most 64.

    Training a victim keeps about eight copies of its widest activation per image.
    """
    pixels = math.prod(network.input_shape[1:]) if network.kind == "convnet" else 1
    per_run = 8 * 4 * network.width * pixels * min(num_images, 256)
    if device.startswith("cuda"):
        room = torch.cuda.get_device_properties(device).total_memory // 4
    else:
        room = int(min(2 << 30, physical_memory() / (4 * (os.cpu_count() or 1))))
    return max(1, min(MOST_RUNS_PER_SHARD, num_runs, room // per_run))


def versions(method: Method | None, attack: Attack | None = None) -> dict[str, str]:
    """Versions that determine the bytes, this code's own sources among them, and those of plugins."""
    found = {name: importlib.metadata.version(name) for name in VERSIONED}
    plugins = {"method plugin": method.plugin if method else "", "attack plugin": attack.plugin if attack else ""}
    return {
        **found,
        "condensation-audit": audit.__version__,
        **code_fingerprints(),
        **{name: checksum for name, checksum in plugins.items() if checksum},
    }
