"""From the specification of an audit of the transcript to what is run."""

from typing import Any

from audit.accounting.ledger import calibrate_method, claim_from_ledger
from audit.games.membership.resolve import own_settings
from audit.games.settings import check_changes, parse_changes
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.verdict import granted_family
from audit.specs.worst_case import WorstCase
from condensers.errors import BadConfig
from condensers.ledger import EVERYBODY
from condensers.registry import all_methods, get_method

NUM_CLASSES = 2
INPUT_SHAPE = (1, 8, 8)
TRIALS, TRIALS_WITHOUT_TIGHTNESS = 100_000, 8000


def resolve_experiment(spec: WorstCase) -> Experiment:
    """Settings, noise and class sizes; refuses a method that has nothing to listen to."""
    method = get_method(spec.method)
    if method.plan is None:
        private = ", ".join(name for name, other in all_methods().items() if other.private)
        raise BadConfig(f"--method {method.name}: claims nothing and has no door to listen at; private are {private}")
    changes = own_settings(spec.settings, flags={})
    check_changes(changes, {"": method.config})
    preset = method.presets.get("worst-case", {})
    config = method.config(**preset | parse_changes(changes, method.config, prefix=""))
    class_sizes = _class_sizes(method, config, spec.rate)
    if spec.epsilon is not None:
        if "noise_multiplier" in changes:
            raise BadConfig("--epsilon and --set noise_multiplier both decide the noise: give one of them")
        config = calibrate_method(method, config, class_sizes, epsilon=spec.epsilon, delta=spec.delta)
    planned = method.plan(config, class_sizes)
    trials = TRIALS_WITHOUT_TIGHTNESS if isinstance(granted_family(planned), str) else TRIALS
    if spec.epsilon is None:
        claim_from_ledger(planned, spec.delta)  # refuses so little noise that nothing is claimed
    return Experiment(
        method=method,
        config=config,
        class_sizes=class_sizes,
        input_shape=INPUT_SHAPE,
        trials=trials if spec.trials is None else spec.trials,
        seed=spec.seed,
        delta=spec.delta,
        confidence=spec.confidence,
    )


def _class_sizes(method: Any, config: Any, rate: float) -> tuple[float, ...]:
    """Public class sizes with which a batch is sampled at this rate, from a class or from everybody."""
    per_class = (config.batch / rate,) * NUM_CLASSES
    if all(event.group is EVERYBODY for event, _ in method.plan(config, per_class)):
        return tuple(size / NUM_CLASSES for size in per_class)
    return per_class
