"""Everything that determines a result, resolved before anything runs: `config.json` and its digest."""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import math
import os
import types
import typing
from collections.abc import Mapping
from typing import Any

import msgspec
import torch

from attacks.registry import Attack
from attacks.victims import VictimConfig, recipe_settings
from audit.data.load import physical_memory
from audit.engine.executor import gpus_of
from audit.engine.fingerprint import code_fingerprints, fingerprint
from audit.specs.spec import Spec
from audit.version import __version__
from condensers.errors import BadConfig
from condensers.generation import check_generator
from condensers.networks import Network
from condensers.pool import Pool
from condensers.published import ACCOUNTANT, BUDGET, OF_VICTIMS, SIZES, Circumstance, published_values
from condensers.registry import Method
from condensers.spelling import did_you_mean

VERSIONED = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow")
MIRRORED = ("fashion-mnist", "cifar10", "celeba", "celeba-64")
MOST_RUNS_PER_SHARD = 64
RUNS_THAT_SHARE_NOTHING = 16  # in a shard, where every run trains on the records with a network of its own
# Settings of methods that have flags of their own.
FLAGS = {"ipc": "--ipc", "init": "--init", "compiled": "--compile"}
SUPPORTED = "bool, int, float, str, Literal, and unions of these and None"


def resolve_method(
    method: Method,
    preset: str,
    pool: Pool,
    *,
    ipc: int,
    init: str | None,
    changes: dict[str, str],
    epsilon: float | None = None,
    num_members: float | None = None,
) -> Any:
    """The method's config: defaults, then the preset, then what papers print for it, then flags, then --set.

    `num_members` of the pool are condensed, or half of it.
    """
    values: dict[str, Any] = {**_preset(method.presets, preset)}
    fields = {field.name for field in dataclasses.fields(method.config)}
    printed = _printed(method, preset, pool, ipc=ipc, epsilon=epsilon, num_members=num_members)
    values |= {name: value for name, value in printed.items() if name in fields and name not in SIZES}
    if values.get("siamese") == "default":
        values["siamese"] = default_augmentation(pool)
    if method.makes_set:
        values["ipc"] = ipc
    if init is not None:
        values["init"] = init
    if "augmentation" in fields and (pool.images.ndim == 2 or "augmentation" not in values):
        values["augmentation"] = default_augmentation(pool)
    if "extractor" in fields and pool.images.ndim == 2:
        values["extractor"] = "linear"
        if method.private:
            values["width"] = 64  # Zheng & Li, section V-D: a linear layer of 14×64
    values |= parse_changes(changes, method.config, prefix="")
    config = method.config(**values)
    check_generator(config, tuple(pool.images.shape[1:]), pool.num_classes)
    return config


def own_settings(given: Mapping[str, str], *, flags: Mapping[str, str] = FLAGS) -> dict[str, str]:
    """The settings, unless one of them has a flag of its own, which `flags` names."""
    for name, value in given.items():
        if name in flags:
            raise BadConfig(f"--set {name}={value}: use the option {flags[name]} instead")
    return dict(given)


def target_epsilon(
    method: Method, preset: str, pool: Pool, epsilon: float | None, changes: dict[str, str]
) -> float | None:
    """The ε that noise is calibrated to: what was asked for, else what the preset's paper calibrates to, if it does."""
    if epsilon is not None or "noise_multiplier" in changes or not method.private:
        return epsilon
    return published_values(method.name, preset, Circumstance(dataset=pool.name)).get(BUDGET)


def accountant_of(method: Method, preset: str, pool: Pool) -> str:
    """By which accountant noise is calibrated: the preset's paper's, else PLD."""
    return published_values(method.name, preset, Circumstance(dataset=pool.name)).get(ACCOUNTANT, "pld")


def resolve_victim(
    presets: dict[str, dict[str, Any]], preset: str, pool: Pool, changes: dict[str, str], *methods: Method
) -> VictimConfig:
    """The victims' config: by the recipe that the methods' papers share, if they do; --set victim.key=value."""
    asked = parse_changes(changes, VictimConfig, prefix="victim.")
    values = {"augmentation": default_augmentation(pool), **_preset(presets, preset)}
    circumstance = Circumstance(dataset=pool.name)
    for name in ("recipe", "normalisation"):
        printed = {published_values(each.name, preset, circumstance).get(OF_VICTIMS + name) for each in methods}
        shared = printed.pop() if len(printed) == 1 else None
        values |= {name: shared} if shared else {}
    recipe = str(asked.get("recipe", values.get("recipe", "")))
    return VictimConfig(**values | recipe_settings(recipe, pool.name) | asked)


def _printed(
    method: Method, preset: str, pool: Pool, *, ipc: int, epsilon: float | None, num_members: float | None
) -> dict[str, Any]:
    condensed = pool.num_records / 2 if num_members is None else num_members
    return published_values(
        method.name,
        preset,
        Circumstance(dataset=pool.name, ipc=ipc, ratio=ipc * pool.num_classes / condensed, epsilon=epsilon),
    )


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
            raise BadConfig(f"--set {name}: no such setting; there are {', '.join(known)}{did_you_mean(name, known)}")


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
        raise BadConfig(
            f"--set {name}={text}: the type {_spell(kind)} cannot be set on the command line; supported are {SUPPORTED}"
        )
    # A text that spells None is not taken for a string.
    for option in sorted(options, key=lambda option: option is not types.NoneType):
        with contextlib.suppress(ValueError, KeyError):
            return _as(text, option)
    raise BadConfig(f"--set {name}={text}: expected {' or '.join(map(_in_words, options))}")


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


def _in_words(kind: Any) -> str:
    if _is_literal(kind):
        return f"one of {', '.join(map(str, typing.get_args(kind)))}"
    return {bool: "true or false", int: "a whole number", float: "a number", str: "text", types.NoneType: "none"}[kind]


def _spell(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def _preset(presets: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in presets:
        raise BadConfig(f"--preset {name!r} is not one of {', '.join(presets)}{did_you_mean(name, presets)}")
    return presets[name]


def resolve_ipc(
    pool: Pool,
    ipc: int | None,
    ratio: float | None,
    num_members: float | None = None,
    *,
    method: Method | None = None,
    preset: str = "quick",
) -> int:
    """Images per class, given directly or as r = |S|/|T| of Dong et al. with |T| `num_members`, or half of the pool.

    Where neither is given, what the method's preset has for this data set, else 1.
    """
    smallest = int(torch.bincount(pool.labels, minlength=pool.num_classes).min())
    whose = ""
    if ipc is None and ratio is None and method is not None:
        printed = published_values(method.name, preset, Circumstance(dataset=pool.name))
        ipc, ratio = printed.get("ipc"), printed.get("ratio")
        whose = f" (of --preset {preset})" if ipc is not None else ""
    if ratio is not None:
        if not 0 < ratio <= 1:
            raise BadConfig(f"--ratio {ratio}: must lie in (0, 1]")
        condensed = pool.num_records / 2 if num_members is None else num_members
        ipc = max(1, round(ratio * condensed / pool.num_classes))
    ipc = 1 if ipc is None else ipc
    if ipc > smallest:
        raise BadConfig(
            f"--ipc {ipc}{whose}: the smallest class of {pool.name} has {smallest} records; choose at most {smallest}"
        )
    return ipc


def resolve_device(name: str) -> str:
    """What `auto` means here; refuse a device that is not there."""
    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    if gpus := gpus_of(name):
        for gpu in gpus:
            resolve_device(f"cuda:{gpu}")
        return "cuda"  # which of them computes a shard does not determine it
    try:
        kind = torch.device(name)
    except RuntimeError:
        raise BadConfig(f"--device {name!r} is not one of auto, cpu, cuda, cuda:N, cuda:N,M,…, mps") from None
    here = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (kind.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not here.get(kind.type, False):
        raise BadConfig(f"--device {name}: not available on this machine; use --device auto")
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
        "condensation-audit": __version__,
        **code_fingerprints(),
        **{name: checksum for name, checksum in plugins.items() if checksum},
    }


def versions_deciding(method: Method, sources: tuple[str, ...]) -> dict[str, str]:
    """The same of something that only these sources decide."""
    found = {name: version for name, version in versions(method).items() if name not in code_fingerprints()}
    return {**found, "code": fingerprint(sources)}


def facts_of(spec: Spec) -> dict[str, Any]:
    """The fields of a specification as they are read back from JSON, so that a record equals its file."""
    return json.loads(json.dumps(msgspec.to_builtins(spec)))


def digest_of_record(*facts: Any) -> str:
    """Names a record that has no run directory of its own: of these facts, the libraries and this code."""
    text = json.dumps([*facts, versions(None)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
