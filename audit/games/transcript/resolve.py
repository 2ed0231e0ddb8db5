"""From the specification of an audit of the worst case to what is run."""

import math
from pathlib import Path
from typing import Any

from audit.accounting.claims import parse_claim
from audit.accounting.ledger import calibrate_method, claim_from_ledger, relation_of_ledger
from audit.data.load import load_pool
from audit.games.membership.resolve import check_extractor, check_sizes
from audit.games.settings import check_changes, own_settings, parse_changes
from audit.games.transcript.experiment import Experiment, check_designs
from audit.games.transcript.verdict import granted_family
from audit.specs.worst_case import WorstCase
from condensers.errors import BadConfig
from condensers.generation import check_generator
from condensers.ledger import EVERYBODY
from condensers.registry import Method, explained, get_method

TRIALS, TRIALS_WITHOUT_TIGHTNESS, TRIALS_WITHOUT_CLAIM = 100_000, 8000, 1000
USUAL_BATCH = 10  # of a config that names none
DIGITS, DIGITS_SHAPE, MOST_DIGITS = "digits", (1, 8, 8), 10


def resolve_experiment(spec: WorstCase, data_root: Path | None = None) -> Experiment:
    """Settings, noise, class sizes and records; refuses a level that the method does not have."""
    method = get_method(spec.method)
    level = spec.level or ("transcript" if method.private else "set" if method.makes_set else "model")
    _check_level(spec, method, level)
    check_designs(spec.design)
    if spec.claim is not None:
        parse_claim(spec.claim)
    changes = own_settings(spec.settings, flags={})
    check_changes(changes, {"": method.config})
    preset = method.presets.get("worst-case", {} if method.private else method.presets.get("quick", {}))
    config = method.config(**preset | parse_changes(changes, method.config, prefix=""))
    check_sizes("", vars(config))
    shape, num_classes, dataset = _records(spec, data_root)
    check_extractor(vars(config), shape, num_classes)
    check_generator(config, shape, num_classes)
    class_sizes = (1.0,) * num_classes
    trials = TRIALS_WITHOUT_CLAIM if spec.claim is None else TRIALS_WITHOUT_TIGHTNESS
    if method.private:
        class_sizes = _class_sizes(method, config, spec.rate, num_classes)
        config = _with_noise(spec, method, config, class_sizes, changes)
        family = granted_family(method.plan(config, class_sizes)) if method.plan else ""
        tight = level == "transcript" and not isinstance(family, str)
        trials = TRIALS if tight else TRIALS_WITHOUT_TIGHTNESS
    elif spec.epsilon is not None:
        raise BadConfig(
            f"--epsilon {spec.epsilon:g}: {method.name} adds no noise that could be calibrated; state the ε as "
            "--claim instead"
        )
    return Experiment(
        method=method,
        config=config,
        class_sizes=class_sizes,
        input_shape=shape,
        trials=trials if spec.trials is None else spec.trials,
        seed=spec.seed,
        delta=spec.delta,
        confidence=spec.confidence,
        level=level,
        claim="" if spec.claim is None else str(spec.claim),
        dataset=dataset,
        records=spec.records,
        only=spec.design,
        data_root=data_root,
    )


def _check_level(spec: WorstCase, method: Method, level: str) -> None:
    if level == "transcript" and not method.private:
        raise BadConfig(
            f"--level transcript: {method.name} releases no noisy sums, so it has no transcript; --level set (or "
            "model) audits what it releases, against --claim if it is given"
        )
    if level == "set" and not method.makes_set:
        raise BadConfig(f"--level set: {method.name} releases a {method.releases}; choose --level model")
    if spec.epsilon is not None and spec.claim is not None and not method.private:
        raise BadConfig(
            f"--epsilon and --claim: {method.name} adds no noise that could be calibrated; give --claim alone"
        )


def _records(spec: WorstCase, data_root: Path | None) -> tuple[tuple[int, ...], int, str]:
    """Shape and number of classes, and where natural records are from."""
    if spec.dataset is not None:
        pool = load_pool(spec.dataset, data_root=data_root)
        return tuple(pool.images.shape[1:]), pool.num_classes, spec.dataset
    try:
        shape = tuple(int(part) for part in spec.shape.replace("×", "x").split("x"))
    except ValueError:
        shape = ()
    if len(shape) not in (1, 3) or min(shape, default=0) < 1 or math.prod(shape) > 1 << 20:
        raise BadConfig(
            f"--shape {spec.shape}: write channels x height x width such as 3x32x32, or a number of features"
        )
    natural = DIGITS if shape == DIGITS_SHAPE and spec.classes <= MOST_DIGITS else ""
    return shape, spec.classes, natural


def _with_noise(
    spec: WorstCase, method: Method, config: Any, class_sizes: tuple[float, ...], changes: dict[str, str]
) -> Any:
    assert method.plan is not None
    if spec.epsilon is not None:
        if "noise_multiplier" in changes:
            raise BadConfig("--epsilon and --set noise_multiplier both determine the noise: give only one of them")
        return calibrate_method(method, config, class_sizes, epsilon=spec.epsilon, delta=spec.delta)
    with explained(method):
        planned = method.plan(config, class_sizes)
    relation_of_ledger(planned)  # refuses samplings of two kinds, which no claim covers
    if spec.claim is None:
        claim_from_ledger(planned, spec.delta)  # refuses so little noise that nothing is claimed
    return config


def _class_sizes(method: Method, config: Any, rate: float, num_classes: int = 2) -> tuple[float, ...]:
    """Public class sizes with which a batch is sampled at this rate, from a class or from everybody."""
    assert method.plan is not None
    per_class = (getattr(config, "batch", USUAL_BATCH) / rate,) * num_classes
    with explained(method):
        planned = method.plan(config, per_class)
    if planned and all(event.group is EVERYBODY for event, _ in planned):
        return tuple(size / num_classes for size in per_class)
    return per_class
