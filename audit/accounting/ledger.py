"""From the ledger of what ran, or the plan of what will run, to its cost; and the noise that a cost allows."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dp_accounting.dp_event import DpEvent

from audit.accounting import events
from audit.accounting.calibrate import calibrate_noise
from audit.accounting.epsilon import epsilon_pld, epsilon_rdp
from condensers.errors import BadConfig
from condensers.ledger import EVERYBODY, Entries, Event, FixedSize, Poisson
from condensers.registry import Method
from reports.records.schema import Claim


def ledger_event(entries: Entries) -> DpEvent:
    """What a record meets: the releases of its class and those of everybody; classes are disjoint, hence parallel.

    It is what is *claimed*: noise that depends on the records is taken at its word, and events that the published
    accounting leaves out are left out here too. The audit at the door finds out.
    """
    relation_of_ledger(entries)
    entries = tuple(entry for entry in entries if entry[0].accounted)
    everybody = _composed(entry for entry in entries if entry[0].group is EVERYBODY)
    labels = sorted({event.group for event, _ in entries if event.group is not None})
    by_class = {str(label): _composed(entry for entry in entries if entry[0].group == label) for label in labels}
    parts = [*everybody, *([events.parallel({k: events.composed(v) for k, v in by_class.items()})] if by_class else [])]
    if not parts:
        raise BadConfig("the ledger accounts for no release, so there is no guarantee to compute")
    return parts[0] if len(parts) == 1 else events.composed(parts)


def relation_of_ledger(entries: Entries) -> str:
    """The neighbouring relation of the guarantee, which events do not tell where every sample is everybody.

    Noise that hides one record more or less has half the multiplier where a record is replaced, and a replaced record
    is two that are added or removed: so the two kinds of sampling are not composed.
    """
    kinds = {type(event.sampling) for event, _ in entries if event.accounted}
    if len(kinds) > 1:
        raise BadConfig(
            "the ledger has Poisson samples, under which a record is added or removed, and samples of fixed size, "
            "under which one is replaced: they cannot be composed; choose one kind of sampling for all releases"
        )
    return events.REPLACE_ONE if kinds == {FixedSize} else events.ADD_OR_REMOVE_ONE


def claims_anything(entries: Entries) -> bool:
    """Whether any release is accounted for; nothing is claimed for an arm without noise."""
    return any(event.accounted for event, _ in entries)


def claim_from_ledger(entries: Entries, delta: float, source: str = "ledger of what ran") -> Claim:
    """ε that the accountants prove for what is in the ledger."""
    event = ledger_event(entries)
    return Claim(
        epsilon_rdp=epsilon_rdp(event, delta), epsilon_pld=epsilon_pld(event, delta), delta=delta, source=source
    )


def calibrate_method(
    method: Method,
    config: Any,
    class_sizes: tuple[float, ...],
    *,
    epsilon: float,
    delta: float,
    accountant: str = "pld",
) -> Any:
    """The config with as little noise as keeps the method's planned releases within (ε, δ), by this accountant."""
    if method.plan is None:
        raise BadConfig(f"--epsilon {epsilon:g}: {method.name} adds no noise that could be calibrated; leave it out")
    plan = method.plan

    def planned(noise_multiplier: float) -> DpEvent:
        return ledger_event(plan(replace(config, noise_multiplier=noise_multiplier), class_sizes))

    return replace(config, noise_multiplier=calibrate_noise(epsilon, delta, planned, accountant))


def _composed(entries: Iterable[tuple[Event, int]]) -> list[DpEvent]:
    return [_event(event, count) for event, count in entries]


def _event(event: Event, count: int) -> DpEvent:
    match event.sampling:
        case Poisson(rate=rate):
            return events.subsampled_gaussian(sampling_rate=rate, noise_multiplier=event.noise_multiplier, steps=count)
        case FixedSize(population=population, batch=batch):
            return events.fixed_size_gaussian(
                population=population, batch=batch, noise_multiplier=event.noise_multiplier, steps=count
            )
