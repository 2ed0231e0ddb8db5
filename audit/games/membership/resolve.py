"""From a specification to a complete configuration."""

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attacks.canaries import parse_canaries, plant_canaries, spell_canaries
from attacks.registry import get_attack
from attacks.victims import PRESETS, VictimConfig, check_queries, victim_network
from audit.data.auxiliary import attach_auxiliary
from audit.data.load import load_pool, pool_checksum
from audit.games import settings
from audit.games.membership.audited import choose_audited
from audit.games.membership.config import AuditConfig
from audit.games.membership.draws import check_public_draws
from audit.games.membership.game import MOST_ENUMERATED, nominal_class_sizes
from audit.games.membership.groups import describe_groups
from audit.specs.membership import Membership, OneAttack
from audit.specs.pictures import Visual
from condensers.errors import BadConfig
from condensers.initial import check_real_start
from condensers.networks import Network, check_precision, fitting_network
from condensers.pool import Pool
from condensers.registry import Method, get_method, require_set

# Compiling costs about half a minute per worker. It pays for wide networks and, in activations of their first block
# over all steps of a shard, from here on (about ten minutes of one core); see docs/performance.md.
COMPILE_FROM_WIDTH, COMPILE_FROM = 64, 2e10
NAMES = {"lira": "LiRA", "rmia": "RMIA"}
LARGEST = (1 << 31) - 1
DEEPEST = 32
FEWEST_FIT_RUNS = 3


def resolve_config(
    spec: Membership, data_root: Path | None, *, attack_name: str | None = None
) -> tuple[AuditConfig, Pool]:
    """Check the specification, load the pool, and fix everything that determines the result."""
    attack, method = get_attack(attack_name or spec.COMMAND), get_method(spec.method)
    changes = settings.own_settings(spec.settings)
    victims = {"victim.": VictimConfig} if method.makes_set else {}
    settings.check_changes(changes, {"": method.config, **victims, "attack.": attack.config})
    _check_released(method, spec)
    if spec.level not in attack.levels:
        raise BadConfig(
            f"--level {spec.level}: {attack.name} works at level {' and '.join(attack.levels)} only; lira and "
            "rmia work at model and set, gan-leak at generator"
        )
    canaries = parse_canaries(spec.canaries or "")
    pool = load_pool(spec.dataset, data_root=data_root, records=spec.records)
    checksum = pool_checksum(pool)
    pool = plant_canaries(pool, canaries, spec.seed)
    check_queries(spec.queries, tabular=pool.images.ndim == 2)
    device = settings.resolve_device(spec.device)
    device = "cpu" if device.startswith("cpu") else device
    audited = choose_audited(None if spec.audited is None else str(spec.audited), pool, canaries, spec.seed)
    ipc = settings.resolve_ipc(
        pool,
        spec.ipc,
        spec.ratio,
        sum(nominal_class_sizes(pool, audited)),
        method=method if method.makes_set else None,
        preset=spec.preset,
    )
    pool, method_config = resolve_method(method, pool, ipc, spec, data_root, audited)
    victim = settings.resolve_victim(PRESETS, spec.preset, pool, changes, method) if victims else None
    values = vars(method_config)
    check_sizes("", values)
    check_sizes("victim.", {} if victim is None else vars(victim))
    check_extractor(values, tuple(pool.images.shape[1:]), pool.num_classes)
    for settled in (values, {} if victim is None else vars(victim)):
        check_precision(settled.get("precision", "float32"), torch.device(device))
    network = None if victim is None else victim_network(pool, victim)
    shadows, shard_runs = spec.shadows, spec.shard_runs
    test_runs = _test_runs(spec.test_runs, shadows, attack.name if attack.needs_fit_runs else None)
    draws = check_public_draws(spec, method, test_runs=test_runs, learns=attack.needs_fit_runs)
    if shard_runs is None:
        shard_runs = min(settings.RUNS_THAT_SHARE_NOTHING, shadows)
        if network is not None:
            shard_runs = settings.fit_shard(network, ipc * pool.num_classes, device, shadows // draws)
    if "compiled" in values:
        values = {**values, "compiled": should_compile(spec.compile, values, pool, shard_runs)}
    fit_runs = check_fit_runs(spec.fit_runs, shadows - test_runs)
    config = AuditConfig(
        attack=attack.name,
        method=method.name,
        dataset=spec.dataset,
        records=spec.records,
        level=spec.level,
        preset=spec.preset,
        shadows=shadows,
        test_runs=test_runs,
        queries=spec.queries,
        seed=spec.seed,
        delta=spec.delta,
        confidence=spec.confidence,
        claim=spec.claim,
        epsilon=spec.epsilon,
        independent_randomness=spec.independent_randomness,
        shuffle_membership=spec.shuffle_membership,
        device=device,
        shard_runs=shard_runs,
        threads=1,
        changes=changes,
        method_config=dict(values),
        attack_config=vars(attack.config(**settings.parse_changes(changes, attack.config, prefix="attack."))),
        victim_config={} if victim is None else vars(victim),
        data_checksum=checksum,
        versions=settings.versions(method, attack),
        canaries=spell_canaries(canaries),
        fit_runs=fit_runs,
        public_draws=draws,
        tries=spec.tries,
        audited=None if spec.audited is None else str(spec.audited),
        audited_records=audited,
        bits=_check_bits(spec, method, pool),
        enumerated=enumerate_fit_runs(spec, pool, audited, (fit_runs or shadows - test_runs) // draws),
        groups=describe_groups(spec.groups, pool, canaries) if isinstance(spec, OneAttack) else None,
    )
    return config, pool


def resolve_method(
    method: Method,
    pool: Pool,
    ipc: int,
    spec: Membership | Visual,
    data_root: Path | None,
    audited: list[int] | None = None,
) -> tuple[Pool, Any]:
    """The method's configuration for this pool, noise settled, and the pool with what the method needs beside it."""
    changes = settings.own_settings(spec.settings)
    sizes = nominal_class_sizes(pool, audited)
    epsilon = settings.target_epsilon(method, spec.preset, pool, spec.epsilon, changes)
    config = settings.resolve_method(
        method,
        spec.preset,
        pool,
        ipc=ipc,
        init=spec.init,
        changes=changes,
        epsilon=epsilon,
        num_members=sum(sizes),
    )
    pool, config = attach_auxiliary(pool, config, spec.dataset, data_root)
    check_real_start(sizes, ipc=ipc, init=vars(config).get("init"))
    accountant = settings.accountant_of(method, spec.preset, pool)
    return pool, settle_noise(
        method, config, sizes, epsilon=epsilon, delta=spec.delta, changes=changes, accountant=accountant
    )


def _check_released(method: Method, spec: Membership) -> None:
    """Refuse fields that speak of a synthetic set where the method releases none."""
    for name in ("ipc", "ratio", "init"):
        if getattr(spec, name) is not None:
            require_set(method, f"leave --{name} out")
    if spec.level == "set":
        require_set(method, "audit it at --level model")
    if spec.level == "generator" and method.releases != "generator":
        raise BadConfig(
            f"--level generator: {method.name} releases a {method.releases} and no generator; audit it at --level model"
            + (" or set" if method.makes_set else "")
        )


def settle_noise(
    method: Method,
    config: Any,
    class_sizes: tuple[float, ...],
    *,
    epsilon: float | None,
    delta: float,
    changes: dict[str, str],
    accountant: str = "pld",
) -> Any:
    """A private method's noise for --epsilon; without it, refuse noise that leaves no guarantee to account for."""
    from audit.accounting.ledger import calibrate_method, claim_from_ledger, claims_anything

    if epsilon is None:
        if method.plan is not None and claims_anything(planned := method.plan(config, class_sizes)):
            claim_from_ledger(planned, delta)
        return config
    if "noise_multiplier" in changes:
        raise BadConfig("--epsilon and --set noise_multiplier both determine the noise: give only one of them")
    return calibrate_method(method, config, class_sizes, epsilon=epsilon, delta=delta, accountant=accountant)


def check_sizes(prefix: str, values: dict[str, Any]) -> None:
    """Refuse numbers that no machine could compute with."""
    for name, value in values.items():
        most = DEEPEST if name == "depth" else LARGEST
        if isinstance(value, int) and value > most:
            raise BadConfig(f"--set {prefix}{name}={value}: must be at most {most}")
        if isinstance(value, float) and not math.isfinite(value):
            raise BadConfig(f"--set {prefix}{name}={value}: must be a finite number")


def check_extractor(values: dict[str, Any], shape: tuple[int, ...], num_classes: int) -> None:
    """Refuse an extractor that does not fit the records, before anything is written."""
    if {"extractor", "width", "depth"} <= set(values):
        Network(
            kind=values["extractor"],
            input_shape=shape,
            num_classes=num_classes,
            width=values["width"],
            depth=values["depth"],
        )
    if {"kind", "width", "depth"} <= set(values):
        fitting_network(shape, num_classes, **{name: values[name] for name in ("kind", "width", "depth")})


def _check_bits(spec: Membership, method: Method, pool: Pool) -> int | None:
    if spec.bits is not None:
        require_set(method, "leave --bits out")
        if pool.images.ndim != 4:
            raise BadConfig(f"--bits {spec.bits}: {pool.name} is a table, not images; leave it out")
    return spec.bits


def enumerate_fit_runs(spec: Membership, pool: Pool, audited: list[int] | None, fit_runs: int) -> list[int] | None:
    """How many records of each class are in doubt, where the fit runs of a draw take all their combinations."""
    if spec.fit_design == "coins":
        return None
    if audited is None:
        raise BadConfig("--fit-design enumerated: give --audited N with few records per class")
    if spec.independent_randomness:
        raise BadConfig(
            "--fit-design enumerated: needs randomness that the adversary knows; leave out --independent-randomness"
        )
    counts: list[int] = np.bincount(pool.labels.cpu().numpy()[audited], minlength=pool.num_classes).tolist()
    if max(counts) > MOST_ENUMERATED or fit_runs < 1 << max(counts):
        raise BadConfig(
            f"--fit-design enumerated: {max(counts)} audited records of one class have 2^{max(counts)} "
            f"combinations, but there are {fit_runs} fit runs per public draw; choose a smaller --audited or more "
            "--shadows"
        )
    return counts


def _test_runs(asked: int | None, shadows: int, learner: str | None) -> int:
    """Runs to test on; `learner` names an attack that learns from the others."""
    if learner is None:
        if asked is not None and asked != shadows:
            raise BadConfig(
                f"--test-runs {asked}: this attack is not fitted on other runs, so all {shadows} are test runs; leave "
                "it out"
            )
        return shadows
    if shadows < 4:
        name = NAMES.get(learner, learner)
        raise BadConfig(f"--shadows {shadows}: {name} needs at least 4 runs, some to fit on and some to test on")
    test_runs = max(1, shadows // 4) if asked is None else asked
    if not 1 <= test_runs <= shadows - 3:
        raise BadConfig(f"--test-runs {test_runs}: must lie in 1…{shadows - 3}, leaving 3 of {shadows} runs to fit on")
    return test_runs


def check_fit_runs(asked: int | None, most: int) -> int | None:
    if asked is not None and not FEWEST_FIT_RUNS <= asked <= most:
        raise BadConfig(
            f"--fit-runs {asked}: must lie in {FEWEST_FIT_RUNS}…{most}, the number of runs that are not test runs"
            if most >= FEWEST_FIT_RUNS
            else f"--fit-runs {asked}: this attack is not fitted on other runs; leave it out"
        )
    return asked


def should_compile(asked: str, method_config: dict[str, Any], pool: Pool, shard_runs: int) -> bool:
    compiler = any(shutil.which(name) for name in ("c++", "g++", "clang++"))
    if asked == "on" and not compiler:
        raise BadConfig("--compile on: no C++ compiler is installed here; use --compile auto")
    if asked != "auto":
        return asked == "on"
    images = pool.num_records + shard_runs * method_config["ipc"] * pool.num_classes
    activations = images * pool.images[0, 0].numel() * method_config["width"] * method_config["iterations"]
    return compiler and method_config["width"] >= COMPILE_FROM_WIDTH and activations > COMPILE_FROM
