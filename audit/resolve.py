"""From flags to a complete configuration."""

import shutil
from typing import Any

from attacks.registry import get_attack
from attacks.victims import PRESETS, VictimConfig, check_queries, victim_network
from audit import settings
from audit.data.load import load_pool, pool_checksum
from audit.settings import AuditConfig
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.registry import get_method

# Image-steps from which compiling (about half a minute per worker) pays on a CPU; see docs/performance.md.
COMPILE_FROM = 3e6


def resolve_config(attack_name: str, flags: dict[str, Any]) -> tuple[AuditConfig, Pool]:
    """Check every flag, load the pool, and fix everything that determines the result."""
    attack, method = get_attack(attack_name), get_method(flags["method"])
    changes = _split_changes(flags["changes"])
    settings.check_changes(changes, {"": method.config, "victim.": VictimConfig, "attack.": attack.config})
    pool = load_pool(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    check_queries(flags["queries"], tabular=pool.images.ndim == 2)
    device = settings.resolve_device(flags["device"])
    ipc = settings.resolve_ipc(pool, flags["ipc"], flags["ratio"])
    method_config = settings.resolve_method(method, flags["preset"], pool, ipc=ipc, init=flags["init"], changes=changes)
    victim = settings.resolve_victim(PRESETS, flags["preset"], pool, changes)
    network = victim_network(pool, victim)
    shadows = flags["shadows"]
    values = vars(method_config)
    if "compiled" in values and "compiled" not in changes:
        values = {**values, "compiled": _should_compile(flags["compiled"], values, pool, shadows)}
    num_images = ipc * pool.num_classes
    config = AuditConfig(
        attack=attack_name,
        method=method.name,
        dataset=flags["dataset"],
        records=flags["records"],
        level=flags["level"],
        preset=flags["preset"],
        shadows=shadows,
        test_runs=_test_runs(flags["test_runs"], shadows, needs_fit_runs=attack.needs_fit_runs),
        queries=flags["queries"],
        seed=flags["seed"],
        delta=flags["delta"],
        confidence=flags["confidence"],
        claim=flags["claim"],
        independent_randomness=flags["independent_randomness"],
        shuffle_membership=flags["shuffle_membership"],
        device=device,
        shard_runs=flags["shard_runs"] or settings.fit_shard(network, num_images, device, shadows),
        threads=1,
        changes=changes,
        method_config=dict(values),
        attack_config=vars(attack.config(**settings.parse_changes(changes, attack.config, prefix="attack."))),
        victim_config=vars(victim),
        data_checksum=pool_checksum(pool),
        versions=settings.versions(),
    )
    return config, pool


def _split_changes(pairs: tuple[str, ...]) -> dict[str, str]:
    changes = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadConfig(f"--set {pair}: write it as KEY=VALUE")
        changes[name] = value
    return changes


def _test_runs(asked: int | None, shadows: int, *, needs_fit_runs: bool) -> int:
    if not needs_fit_runs:
        if asked is not None and asked != shadows:
            raise BadConfig(f"--test-runs {asked}: this attack learns from no run, so all {shadows} are test runs")
        return shadows
    if shadows < 4:
        raise BadConfig(f"--shadows {shadows}: LiRA needs at least 4 runs, some to fit on and some to test on")
    test_runs = max(1, shadows // 4) if asked is None else asked
    if not 1 <= test_runs <= shadows - 3:
        raise BadConfig(f"--test-runs {test_runs}: must lie in 1…{shadows - 3}, leaving 3 of {shadows} runs to fit on")
    return test_runs


def _should_compile(asked: str, method_config: dict[str, Any], pool: Pool, shadows: int) -> bool:
    compiler = any(shutil.which(name) for name in ("c++", "g++", "clang++"))
    if asked == "on" and not compiler:
        raise BadConfig("--compile on: no C++ compiler is installed here; use --compile auto")
    if asked != "auto":
        return asked == "on"
    images = pool.num_records + shadows * method_config["ipc"] * pool.num_classes
    pixels = pool.images[0].numel() * method_config["width"] / (64 * 32)
    return compiler and images * pixels * method_config["iterations"] > COMPILE_FROM * 64
