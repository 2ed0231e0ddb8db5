"""What a mechanism's proof guarantees, by RDP and by PLD: a published method, a Gaussian mechanism, or a ledger.

Importing this imports no accountant.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.accounting.class_sizes import CLASS_SIZES
from audit.accounting.published import METHODS, Setting, actual_event, claimed_event
from audit.data.limits import read_text
from audit.specs.account import Account
from condensers.errors import BadConfig, BadData
from condensers.spelling import did_you_mean

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

FALSE_POSITIVE_RATES = (1e-4, 1e-3, 1e-2, 1e-1)


def account(spec: Account) -> dict[str, Any]:
    """What `audit account` prints, figures by name."""
    if spec.method is not None and spec.method not in METHODS and ":" not in spec.method:
        raise BadConfig(
            f"--method {spec.method!r}: is not one of {', '.join(METHODS)}; write a method of your own as "
            f"file.py:name{did_you_mean(spec.method, METHODS)}"
        )
    if spec.curve and spec.method in METHODS and spec.dataset in METHODS[spec.method].private_share:
        raise BadConfig("--curve: only an (ε, δ) point is known for the auxiliary generator, not a curve; leave it out")
    if spec.method is not None and spec.method not in METHODS:
        result = _plugin(spec, spec.method)
    elif spec.method is not None:
        result = _method(spec, spec.method)
    elif spec.ledger is not None:
        result = _ledger(spec, Path(spec.ledger))
    else:
        result = _gaussian(spec)
    event, share = result.pop("event"), result.pop("share", 1.0)
    if spec.cross_check:
        result["cross_checks"] = _cross_checks(event, spec.delta * share, result.get("auxiliary_epsilon", 0.0))
    if spec.curve:
        result["largest_true_positive_rate"] = _largest_true_positive_rates(event)
    return result


def _plugin(spec: Account, name: str) -> dict[str, Any]:
    """What the plan of a method of one's own costs, with its own settings but for those that are given."""
    from dataclasses import fields

    from audit.accounting.ledger import calibrate_method, ledger_event, relation_of_ledger
    from condensers.registry import explained, get_method

    if spec.steps is not None:
        raise BadConfig("--steps: the plan of a method of your own states the number of steps; leave it out")
    method = get_method(name)
    if method.plan is None:
        raise BadConfig(
            f"--method {name}: has no plan from which its ε could be computed; give @condenser one "
            "(docs/adding-a-method.md)"
        )
    known = {field.name for field in fields(method.config)}
    asked = {"ipc": spec.ipc, "batch": spec.batch, "noise_multiplier": spec.noise_multiplier}
    given = {key: value for key, value in asked.items() if value is not None}
    for key in given:
        if key not in known:
            raise BadConfig(f"--{key.replace('_', '-')}: the config of {name} has no field {key}; leave it out")
    sizes = tuple(map(float, spec.class_sizes if spec.dataset is None else CLASS_SIZES[spec.dataset]))
    config = method.config(**given)
    if spec.epsilon is not None:
        config = calibrate_method(method, config, sizes, epsilon=spec.epsilon, delta=spec.delta)
    with explained(method):
        planned = method.plan(config, sizes)
    event = ledger_event(planned)
    found = _epsilons(event, spec.delta, 1.0, 0.0, spec.conversion)
    return {
        "method": name,
        "dataset": spec.dataset,
        **found,
        "noise_multiplier": config.noise_multiplier,
        "calibrated_by": "pld" if spec.epsilon is not None else None,
        "steps": found["releases"],
        "adjacency": relation_of_ledger(planned),
        "conversion": spec.conversion,
        "event": event,
    }


def _method(spec: Account, name: str) -> dict[str, Any]:
    from audit.accounting.events import neighbouring_relation

    method, delta = METHODS[name], spec.delta
    images = method.images_per_class if spec.ipc is None else spec.ipc
    target = method.target_epsilon if spec.epsilon is None else spec.epsilon
    share = method.private_share.get(spec.dataset or "", 1.0)
    steps = method.steps(images, target) if spec.steps is None else spec.steps
    batch = method.batch if spec.batch is None else spec.batch
    sizes = spec.class_sizes if spec.dataset is None else CLASS_SIZES[spec.dataset]

    def setting(noise: float) -> Setting:
        return Setting(class_sizes=sizes, batch=batch, noise_multiplier=noise, steps=steps)

    calibrated = spec.noise_multiplier is None and (spec.epsilon is not None or method.noise_multiplier is None)
    noise = _noise_multiplier(
        spec,
        lambda value: claimed_event(method, setting(value)),
        spec.noise_multiplier if spec.noise_multiplier is not None else method.noise_multiplier,
        (target * share if calibrated else None, delta * share),
    )
    event = claimed_event(method, setting(noise))
    auxiliary = target * (1 - share)
    unchanged = all(value is None for value in (spec.ipc, spec.batch, spec.noise_multiplier, spec.steps, spec.epsilon))
    printed = method.printed.get(spec.dataset or "") if unchanged and delta == 1e-5 else None
    result = {
        "method": name,
        "dataset": spec.dataset,
        **_epsilons(event, delta, share, auxiliary, spec.conversion),
        "noise_multiplier": noise,
        "accounted_noise": noise * method.accounted_noise_factor,
        "calibrated_by": _calibrated_by(spec) if calibrated else None,
        "steps": steps,
        "batch": batch,
        "images_per_class": images,
        "adjacency": method.adjacency or neighbouring_relation(event),
        "conversion": spec.conversion,
        "auxiliary_epsilon": auxiliary,
        "status": method.status,
        "theorem": method.theorem,
        "source": method.source,
        "note": method.note,
        "printed_epsilon": printed,
        "printed_by": None if printed is None else method.printed_by,
        "printed_conversion": method.conversion,
        "actual": None,
        "event": event,
        "share": share,
    }
    actual = actual_event(method, setting(noise), images)
    if actual is not None and method.actual is not None:
        costs = _epsilons(actual, delta, share, auxiliary, spec.conversion)
        result["actual"] = {"reason": method.actual.reason, "attained_by": method.actual.attained_by, **costs}
    return result


def _gaussian(spec: Account) -> dict[str, Any]:
    from audit.accounting.events import ADD_OR_REMOVE_ONE, REPLACE_ONE, fixed_size_gaussian, subsampled_gaussian

    rate = 1.0 if spec.rate is None else spec.rate
    steps = 1 if spec.steps is None else spec.steps

    def build(noise: float) -> DpEvent:
        if spec.sampling == "poisson":
            return subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
        exact = Fraction(rate).limit_denominator(10**12)
        return fixed_size_gaussian(
            population=exact.denominator, batch=exact.numerator, noise_multiplier=noise, steps=steps
        )

    noise = _noise_multiplier(spec, build, spec.noise_multiplier, (spec.epsilon, spec.delta))
    event = build(noise)
    return {
        "method": "gaussian",
        "dataset": None,
        **_epsilons(event, spec.delta, 1.0, 0.0, spec.conversion),
        "noise_multiplier": noise,
        "calibrated_by": None if spec.epsilon is None else _calibrated_by(spec),
        "steps": steps,
        "sampling": spec.sampling,
        "adjacency": ADD_OR_REMOVE_ONE if spec.sampling == "poisson" else REPLACE_ONE,
        "conversion": spec.conversion,
        "event": event,
    }


def _ledger(spec: Account, path: Path) -> dict[str, Any]:
    from audit.accounting.events import event_from_json, neighbouring_relation

    try:
        record = json.loads(read_text(path))
    except RecursionError:
        raise BadData(f"--ledger {path}: its JSON is too deeply nested") from None
    except (OSError, ValueError) as error:
        raise BadData(f"--ledger {path}: cannot be read as JSON: {error}") from None
    event = event_from_json(record)
    return {
        "method": "ledger",
        "dataset": None,
        **_epsilons(event, spec.delta, 1.0, 0.0, spec.conversion),
        "adjacency": neighbouring_relation(event),
        "conversion": spec.conversion,
        "event": event,
    }


def _calibrated_by(spec: Account) -> str:
    by_rdp = "rdp" if spec.conversion == "balle" else f"rdp-{spec.conversion}"
    return by_rdp if spec.accountant == "rdp" else "pld"


def _noise_multiplier(
    spec: Account, build: Callable[[float], DpEvent], given: float | None, target: tuple[float | None, float]
) -> float:
    from audit.accounting.calibrate import calibrate_noise

    if target[0] is not None:
        return calibrate_noise(target[0], target[1], build, _calibrated_by(spec))
    if given is None:
        raise BadConfig("give --noise-multiplier, or --epsilon to have it computed")
    return given


def _epsilons(event: DpEvent, delta: float, share: float, auxiliary: float, conversion: str) -> dict[str, Any]:
    from audit.accounting.epsilon import epsilon_pld, epsilon_rdp
    from audit.accounting.events import num_releases, worst_sampling_rate

    return {
        "epsilon_rdp": auxiliary + epsilon_rdp(event, delta * share, conversion=conversion),
        "epsilon_pld": auxiliary + epsilon_pld(event, delta * share),
        "delta": delta,
        "sampling_rate": worst_sampling_rate(event),
        "releases": num_releases(event),
    }


def _cross_checks(event: DpEvent, delta: float, auxiliary: float) -> dict[str, float]:
    from audit.accounting.epsilon import epsilon_prv_opacus, epsilon_rdp_opacus

    return {
        "rdp_opacus": auxiliary + epsilon_rdp_opacus(event, delta),
        "prv_opacus": auxiliary + epsilon_prv_opacus(event, delta),
    }


def _largest_true_positive_rates(event: DpEvent) -> dict[str, float]:
    import numpy as np

    from audit.accounting.curve import tradeoff_curve

    missed = tradeoff_curve(event).false_negative_rate(np.array(FALSE_POSITIVE_RATES))
    return {f"{rate:g}": float(1 - least) for rate, least in zip(FALSE_POSITIVE_RATES, missed, strict=True)}
