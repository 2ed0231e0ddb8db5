"""The range of settings that a claim was published for, and where a test lies outside of it."""

from dataclasses import dataclass

from reports.records.scope import Scope, grouped

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class PublishedRange:
    """What a claim covers. None means that the claim makes no restriction, so that any setting lies within it."""

    datasets: tuple[str, ...] | None = None
    members_per_class: Interval | None = None
    ratio: Interval | None = None
    steps: Interval | None = None
    network: str | None = None
    randomness: str | None = None
    everybody_in_doubt: bool = False  # a coin for every record, so that the adversary is sure of nobody


ANYTHING = PublishedRange()


def describe_range(published: PublishedRange) -> str:
    """One line for people."""
    parts = [
        None if published.datasets is None else " or ".join(published.datasets),
        _between(published.members_per_class, "", " members per class"),
        _between(published.ratio, "r = ", ""),
        _between(published.steps, "", " steps"),
        published.network,
        None if published.randomness is None else f"public randomness {published.randomness} to the adversary",
        "every record in doubt" if published.everybody_in_doubt else None,
    ]
    return ", ".join(part for part in parts if part is not None) or "any data set and any settings"


def find_mismatches(published: PublishedRange, tested: Scope) -> tuple[str, ...]:
    """The settings of a test that lie outside of what was published, each with both values."""
    found = []
    if published.datasets is not None and tested.dataset not in published.datasets:
        found.append(f"data set {tested.dataset}, not {' or '.join(published.datasets)}")
    for name, words in (("members_per_class", "members per class"), ("ratio", "r"), ("steps", "steps")):
        value, limits = getattr(tested, name), getattr(published, name)
        if value is not None and limits is not None and not limits[0] <= value <= limits[1]:
            found.append(f"{words} {grouped(value, '.4g')}, not {_between(limits, '', '')}")
    for name in ("network", "randomness"):
        value, expected = getattr(tested, name), getattr(published, name)
        if value is not None and expected is not None and value != expected:
            found.append(f"{name} {value}, not {expected}")
    if published.everybody_in_doubt and tested.num_audited is not None:
        counts = f"{grouped(tested.num_audited)} of {grouped(tested.num_records or 0)}"
        found.append(f"{counts} records in doubt, not every record")
    return tuple(found)


def _between(limits: Interval | None, before: str, after: str) -> str | None:
    if limits is None:
        return None
    low, high = (grouped(limit, ".6g") for limit in limits)
    return f"{before}{low if low == high else f'{low} to {high}'}{after}"
