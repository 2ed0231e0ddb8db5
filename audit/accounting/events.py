"""What touched the records, as events of dp-accounting; what it costs is decided elsewhere.

A noise multiplier is the standard deviation of the noise divided by the L2 sensitivity of what is released, *under
the neighbouring relation that goes with the event*: the clipping norm where a record is added or removed, twice the
clipping norm where one is replaced. dp-accounting itself is of two minds here: asked for REPLACE_ONE its PLD doubles
the sensitivity and its RDP does not. So Gaussian events are accounted with the multiplier as it stands.

Parallel composition is what Theorems III.1 and III.2 of Zheng & Li (Differentially Private Dataset Condensation) use:
every class is condensed from its own records alone. Adding or removing one record (x, c) changes the release of class c
and of no other, so the guarantee is that of the worst class, for any divergence and not for Rényi's alone. It does
*not* follow for replacing a record, which may move from one class to another and then touches both. The theorems hold
the sampling rates L/N_c fixed between neighbours, so the class sizes N_c count as public.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dp_accounting import dp_event
from dp_accounting.dp_event import DpEvent

from condensers.errors import BadData, BadInput

ADD_OR_REMOVE_ONE = "add-or-remove-one"
REPLACE_ONE = "replace-one"
MAX_STEPS = 10**7
LEAST_NOISE, MOST_NOISE = 1e-3, 1e8


@dataclass(frozen=True)
class ParallelDpEvent(DpEvent):
    """Disjoint classes, each with its own event: `events` holds (class, event) pairs."""

    events: tuple[tuple[str, DpEvent], ...]


@dataclass(frozen=True)
class Leaf:
    """The same mechanism `count` times in a row."""

    event: DpEvent
    count: int


def gaussian(noise_multiplier: float, steps: int = 1) -> DpEvent:
    """`steps` releases of everybody's sum with Gaussian noise."""
    return _repeated(_gaussian(noise_multiplier), steps)


def subsampled_gaussian(*, sampling_rate: float, noise_multiplier: float, steps: int) -> DpEvent:
    """`steps` releases, each of a fresh Poisson sample; a record is added or removed."""
    if not 0 < sampling_rate <= 1:
        raise BadInput(f"sampling rate {sampling_rate:g}: must lie in (0, 1]")
    if sampling_rate == 1:
        return gaussian(noise_multiplier, steps)
    return _repeated(dp_event.PoissonSampledDpEvent(sampling_rate, _gaussian(noise_multiplier)), steps)


def fixed_size_gaussian(*, population: int, batch: int, noise_multiplier: float, steps: int) -> DpEvent:
    """`steps` releases, each of a fresh `batch` out of `population` without replacement; a record is replaced."""
    if not 1 <= batch <= population:
        raise BadInput(f"batch {batch} of {population} records: must lie between 1 and the number of records")
    if batch == population:
        return gaussian(noise_multiplier, steps)
    inner = _gaussian(noise_multiplier)
    return _repeated(dp_event.SampledWithoutReplacementDpEvent(population, batch, inner), steps)


def composed(events: Sequence[DpEvent]) -> DpEvent:
    """One after the other, each free to depend on what the earlier ones released."""
    return dp_event.ComposedDpEvent(list(events))


def parallel(events_by_class: Mapping[str, DpEvent]) -> DpEvent:
    """Each event over the records of one class only; holds for add-or-remove-one (see the module's docstring)."""
    if not events_by_class:
        raise BadInput("parallel composition: the list of classes is empty; give at least one")
    return ParallelDpEvent(tuple(sorted((str(name), event) for name, event in events_by_class.items())))


def neighbouring_relation(event: DpEvent) -> str:
    """The relation the event's guarantee speaks of: fixed-size samples know replacement only."""
    kinds = {type(node) for node in _walk(event)}
    if dp_event.SampledWithoutReplacementDpEvent not in kinds:
        return ADD_OR_REMOVE_ONE
    if dp_event.PoissonSampledDpEvent in kinds or ParallelDpEvent in kinds:
        raise BadInput(
            "fixed-size sampling is accounted under replace-one adjacency, Poisson sampling and parallel classes "
            "under add-or-remove-one adjacency: they cannot be composed"
        )
    return REPLACE_ONE


def branches(event: DpEvent) -> list[tuple[Leaf, ...]]:
    """What a single record may meet: one list of mechanisms per class, those left out that another one dominates.

    The guarantee of the event is the worst of the branches. Equal mechanisms are merged into one leaf.
    """
    labels = sorted({name for node in _walk(event) if isinstance(node, ParallelDpEvent) for name, _ in node.events})
    candidates = dict.fromkeys(_leaves(_restricted(event, label)) for label in labels or [""])
    kept: list[tuple[Leaf, ...]] = []
    for branch in candidates:
        if any(_dominates(other, branch) for other in kept):
            continue
        kept = [other for other in kept if not _dominates(branch, other)] + [branch]
    return kept


def worst_sampling_rate(event: DpEvent) -> float:
    """The highest rate at which any release samples a record; 1 where everybody takes part."""
    return max((sampling_rate(leaf.event) for branch in branches(event) for leaf in branch), default=1.0)


def num_releases(event: DpEvent) -> int:
    """How many releases a record may meet at most."""
    return max(sum(leaf.count for leaf in branch) for branch in branches(event))


def event_to_json(event: DpEvent) -> dict[str, Any]:
    """A plain dictionary, the same for equal events."""
    match event:
        case dp_event.NoOpDpEvent():
            return {"event": "nothing"}
        case dp_event.GaussianDpEvent():
            return {"event": "gaussian", "noise_multiplier": event.noise_multiplier}
        case dp_event.PoissonSampledDpEvent():
            rate = event.sampling_probability
            return {"event": "poisson-sampled", "sampling_rate": rate, "of": event_to_json(event.event)}
        case dp_event.SampledWithoutReplacementDpEvent():
            sizes = {"population": event.source_dataset_size, "batch": event.sample_size}
            return {"event": "fixed-size-sampled", **sizes, "of": event_to_json(event.event)}
        case dp_event.SelfComposedDpEvent():
            return {"event": "repeated", "count": event.count, "of": event_to_json(event.event)}
        case dp_event.ComposedDpEvent():
            return {"event": "composed", "of": [event_to_json(part) for part in event.events]}
        case ParallelDpEvent():
            return {"event": "parallel", "of": {name: event_to_json(part) for name, part in event.events}}
    raise BadInput(f"an event of type {type(event).__name__} cannot be written to a ledger")


def event_from_json(record: Any) -> DpEvent:
    """Read what `event_to_json` wrote; anything else is refused."""
    try:
        return _event_from(record)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise BadData(f"not an event of a ledger ({_reason(error)}): {str(record)[:80]}") from None


def _reason(error: Exception) -> str:
    match error:
        case KeyError():
            return f"{error.args[0]} is missing"
        case RecursionError():
            return "too deeply nested"
        case ValueError() | OverflowError():
            return str(error)
        case _:
            return "a value is of the wrong type"


def _event_from(record: dict[str, Any]) -> DpEvent:
    match record["event"]:
        case "nothing":
            return dp_event.NoOpDpEvent()
        case "gaussian":
            return _gaussian(float(record["noise_multiplier"]))
        case "poisson-sampled":
            rate = float(record["sampling_rate"])
            if not 0 < rate <= 1:
                raise BadData(f"sampling_rate {rate:g} in a ledger: must lie in (0, 1]")
            return dp_event.PoissonSampledDpEvent(rate, _event_from(record["of"]))
        case "fixed-size-sampled":
            population, batch = _whole(record["population"], "population"), _whole(record["batch"], "batch")
            if batch > population:
                raise BadData(f"batch {batch} of {population} records in a ledger: must not exceed them")
            return dp_event.SampledWithoutReplacementDpEvent(population, batch, _event_from(record["of"]))
        case "repeated":
            return _repeated(_event_from(record["of"]), _whole(record["count"], "count"))
        case "composed":
            return composed([_event_from(part) for part in record["of"]])
        case "parallel":
            return parallel({name: _event_from(part) for name, part in record["of"].items()})
    raise BadData(f"unknown event {record['event']!r} in a ledger")


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadData(f"{name} {value!r} in a ledger: must be a whole number of at least 1")
    return value


def _gaussian(noise_multiplier: float) -> DpEvent:
    if not LEAST_NOISE <= noise_multiplier <= MOST_NOISE:
        raise BadInput(f"noise multiplier {noise_multiplier:g}: must lie between {LEAST_NOISE:g} and {MOST_NOISE:g}")
    return dp_event.GaussianDpEvent(float(noise_multiplier))


def _repeated(event: DpEvent, steps: int) -> DpEvent:
    if isinstance(steps, bool) or steps != int(steps) or steps < 1:
        raise BadInput(f"steps {steps}: must be a whole number of at least 1")
    return event if steps == 1 else dp_event.SelfComposedDpEvent(event, int(steps))


def _children(event: DpEvent) -> list[DpEvent]:
    match event:
        case ParallelDpEvent():
            return [part for _, part in event.events]
        case dp_event.ComposedDpEvent():
            return list(event.events)
        case (
            dp_event.SelfComposedDpEvent()
            | dp_event.PoissonSampledDpEvent()
            | dp_event.SampledWithoutReplacementDpEvent()
        ):
            return [event.event]
    return []


def _walk(event: DpEvent) -> list[DpEvent]:
    return [event, *(node for child in _children(event) for node in _walk(child))]


def _restricted(event: DpEvent, label: str) -> DpEvent:
    """What reaches a record of this class."""
    match event:
        case ParallelDpEvent():
            return _restricted(dict(event.events).get(label, dp_event.NoOpDpEvent()), label)
        case dp_event.ComposedDpEvent():
            return dp_event.ComposedDpEvent([_restricted(part, label) for part in event.events])
        case dp_event.SelfComposedDpEvent():
            return dp_event.SelfComposedDpEvent(_restricted(event.event, label), event.count)
        case dp_event.PoissonSampledDpEvent():
            return dp_event.PoissonSampledDpEvent(event.sampling_probability, _restricted(event.event, label))
    return event


def _leaves(event: DpEvent) -> tuple[Leaf, ...]:
    counts: Counter[DpEvent] = Counter()
    _collect(event, 1, counts)
    if counts.total() > MAX_STEPS:
        raise BadInput(f"{counts.total():.3g} releases: at most {MAX_STEPS:.0e} are supported")
    return tuple(Leaf(part, count) for part, count in sorted(counts.items(), key=lambda item: repr(item[0])))


def _collect(event: DpEvent, count: int, counts: Counter[DpEvent]) -> None:
    match event:
        case dp_event.NoOpDpEvent():
            return
        case dp_event.ComposedDpEvent():
            for part in event.events:
                _collect(part, count, counts)
        case dp_event.SelfComposedDpEvent():
            _collect(event.event, count * event.count, counts)
        case dp_event.PoissonSampledDpEvent():
            inner = _joint_gaussian(event.event)
            if inner is not None:
                counts[dp_event.PoissonSampledDpEvent(event.sampling_probability, inner)] += count
        case dp_event.SampledWithoutReplacementDpEvent():
            inner = _joint_gaussian(event.event)
            if inner is not None:
                sizes = (event.source_dataset_size, event.sample_size)
                counts[dp_event.SampledWithoutReplacementDpEvent(*sizes, inner)] += count
        case dp_event.GaussianDpEvent():
            counts[event] += count
        case _:
            raise BadInput(f"an event of type {type(event).__name__} is not supported, and is not approximated")


def _joint_gaussian(event: DpEvent) -> DpEvent | None:
    """Several Gaussian releases of one and the same sample are one, of Σ 1/σ² (their sensitivities add up squared)."""
    leaves = _leaves(event)
    if any(not isinstance(leaf.event, dp_event.GaussianDpEvent) for leaf in leaves):
        raise BadInput("sampling is supported for Gaussian releases only, and other events are not approximated")
    precision = sum(leaf.count / leaf.event.noise_multiplier**2 for leaf in leaves)
    return dp_event.GaussianDpEvent(precision**-0.5) if leaves else None


def _dominates(worse: tuple[Leaf, ...], better: tuple[Leaf, ...]) -> bool:
    """Whether pairing the leaves shows `worse` to be at least as bad at every divergence.

    A Poisson sample at a lower rate is a mixture of the higher rate's output with the record-free one: by joint
    convexity no divergence grows (Corollary III.5 of Zheng & Li says so for Rényi's). Less noise, more steps: worse.
    """
    if len(worse) != len(better):
        return False
    return all(_leaf_dominates(one, other) for one, other in zip(worse, better, strict=True))


def _leaf_dominates(worse: Leaf, better: Leaf) -> bool:
    if worse.count < better.count:
        return False
    if worse.event == better.event:
        return True
    one, other = _rate_and_noise(worse.event), _rate_and_noise(better.event)
    return one is not None and other is not None and one[0] >= other[0] and one[1] <= other[1]


def _rate_and_noise(event: DpEvent) -> tuple[float, float] | None:
    match event:
        case dp_event.GaussianDpEvent():
            return 1.0, event.noise_multiplier
        case dp_event.PoissonSampledDpEvent():
            return event.sampling_probability, event.event.noise_multiplier
    return None


def sampling_rate(event: DpEvent) -> float:
    """Of one mechanism: how likely a record is part of it."""
    match event:
        case dp_event.PoissonSampledDpEvent():
            return event.sampling_probability
        case dp_event.SampledWithoutReplacementDpEvent():
            return event.sample_size / event.source_dataset_size
    return 1.0
