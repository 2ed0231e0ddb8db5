"""Published settings of methods, as data with their sources (condensers/presets.toml), and which of them apply.

A preset may depend on what is condensed: on the data set, on the images per class, on their ratio to the records, and
on the privacy budget. `published_values` gives the settings of a preset for such a circumstance.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

FILE = "presets.toml"
SIZES = ("ipc", "ratio")
BUDGET, ACCOUNTANT = "epsilon", "accountant"
OF_VICTIMS = "victim."


@dataclass(frozen=True, kw_only=True)
class Circumstance:
    """What a published setting may depend on, as far as it is known."""

    dataset: str
    ipc: int | None = None
    ratio: float | None = None
    epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class Published:
    """One setting as somebody printed it, and where. Ranges exclude their upper end; None holds for all values."""

    setting: str
    value: Any
    source: str
    data: tuple[str, ...] = ()
    for_ipc: tuple[float, float] | None = None
    for_ratio: tuple[float, float] | None = None
    for_epsilon: tuple[float, float] | None = None

    def applies(self, circumstance: Circumstance) -> bool:
        """Whether it was printed for this circumstance; a range speaks of no value that is unknown."""
        if self.data and circumstance.dataset not in self.data:
            return False
        ranges = (
            (self.for_ipc, circumstance.ipc),
            (self.for_ratio, circumstance.ratio),
            (self.for_epsilon, circumstance.epsilon),
        )
        return all(limits is None or (value is not None and limits[0] <= value < limits[1]) for limits, value in ranges)

    @property
    def condition(self) -> str:
        """What it is restricted to, in words; empty if to nothing."""
        parts = [", ".join(self.data)] if self.data else []
        for name, limits in (("ipc", self.for_ipc), ("ratio", self.for_ratio), ("ε", self.for_epsilon)):
            if limits is not None:
                parts.append(f"{name} from {limits[0]:g} to below {limits[1]:g}")
        return "; ".join(parts)


@dataclass(frozen=True, kw_only=True)
class Open:
    """What a paper leaves open, what is done here, and what changes it."""

    question: str
    choice: str
    switch: str


def published_presets(method: str) -> dict[str, tuple[Published, ...]]:
    """The published presets of a method by name; none where nothing is recorded about it."""
    return {name: rows for name, rows in _read().get(method, {}).items() if name != "open"}


def open_questions(method: str) -> tuple[Open, ...]:
    """What the papers leave open about the method."""
    return _read().get(method, {}).get("open", ())


def published_values(method: str, preset: str, circumstance: Circumstance) -> dict[str, Any]:
    """What the preset sets in this circumstance, by name."""
    rows = published_presets(method).get(preset, ())
    return {row.setting: row.value for row in rows if row.applies(circumstance)}


@cache
def _read() -> dict[str, dict[str, tuple[Any, ...]]]:
    raw = tomllib.loads(resources.files("condensers").joinpath(FILE).read_text(encoding="utf-8"))
    sources = raw.pop("sources")
    return {
        method: {
            preset: tuple(Open(**entry) if preset == "open" else _published(entry, sources) for entry in entries)
            for preset, entries in presets.items()
        }
        for method, presets in raw.items()
    }


def _published(entry: dict[str, Any], sources: dict[str, str]) -> Published:
    source = entry["source"]
    for who, full in sources.items():
        source = re.sub(rf"(?<![\w-]){who}: ", f"{full}, ", source)
    ranges = {
        name: (float(entry[name][0]), float(entry[name][1]))
        for name in ("for_ipc", "for_ratio", "for_epsilon")
        if name in entry
    }
    return Published(
        setting=entry["set"],
        value=entry["value"],
        source=source,
        data=tuple(entry.get("data", ())),
        **ranges,
    )
