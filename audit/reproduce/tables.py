"""What the papers print, read from `published.toml`. Importing this imports no torch."""

import math
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from condensers.errors import BadConfig
from condensers.spelling import did_you_mean

FILE = "published.toml"
RELATIONS = ("value", "below", "drawn")
NOT_LABELS = ("values", "spread", "only", "decimals")
Label = str | int | float


@dataclass(frozen=True, kw_only=True)
class PublishedCell:
    """One figure of a table: where it stands, its value and what is printed after ±; None where nothing is printed.

    `unit` is one of the last digit printed, as all that the row prints shows it; None: as the value does.
    """

    labels: dict[str, Label]
    value: float | None
    spread: float | None
    unit: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Value ± spread; where no spread is printed, or a smaller one, a unit of its last digit."""
        if self.value is None:
            return None
        reach = self._unit(self.value) if self.spread is None else max(self.spread, self._unit(self.value))
        return self.value - reach, self.value + reach

    @property
    def text(self) -> str:
        """As the paper prints it; empty where it prints nothing."""
        if self.value is None:
            return ""
        decimals = max(0, round(-math.log10(self._unit(self.value))))
        spread = "" if self.spread is None else f" ± {self.spread:.{decimals}f}"
        return f"{self.value:.{decimals}f}{spread}".replace("-", "−")

    def _unit(self, value: float) -> float:
        return rounding(value) if self.unit is None else self.unit


@dataclass(frozen=True, kw_only=True)
class PublishedItem:
    """A table or a figure; the fields are those that `published.toml` explains."""

    name: str
    paper: str
    where: str
    title: str
    unit: str
    cells: tuple[PublishedCell, ...]
    quoted: tuple[tuple[str, str], ...] = ()
    relation: str = "value"
    chance: float | None = None
    chance_of: dict[str, float] = field(default_factory=dict)
    baseline: dict[str, Label] | None = None
    axis: str = ""
    interval_of: str = ""
    pictures: bool = False
    map: bool = False

    def chance_in(self, cell: PublishedCell) -> float | None:
        """What a method reaches that knows nothing, on the data set of the cell."""
        return self.chance_of.get(str(cell.labels.get("dataset")), self.chance)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Data sets that it needs, in order."""
        return tuple(dict.fromkeys(str(cell.labels.get("dataset", "fashion-mnist")) for cell in self.cells))


def label_text(value: Label) -> str:
    """As it is written in reports and in settings: 10 for 10.0."""
    return value if isinstance(value, str) else f"{value:g}"


def rounding(value: float) -> float:
    """A unit of the last printed digit: a value may be rounded or, as budgets are, rounded up."""
    decimals = next((places for places in range(4) if math.isclose(round(value, places), value, abs_tol=1e-9)), 4)
    return 10.0**-decimals


@cache
def published_items() -> dict[str, PublishedItem]:
    """Every item by name, in the order of the file."""
    raw = tomllib.loads(resources.files("audit.reproduce").joinpath(FILE).read_text(encoding="utf-8"))
    return {name: _item(name, entry, raw["papers"]) for name, entry in raw["items"].items()}


def published_item(name: str) -> PublishedItem:
    """The item, or one line that says which one was meant, or which a paper has."""
    items = published_items()
    if name in items:
        return items[name]
    of_paper = ", ".join(item for item in items if item.startswith(f"{name.rstrip('/')}/"))
    hint = f"; there are {of_paper}" if of_paper else did_you_mean(name, items)
    raise BadConfig(f"ITEM {name!r}: no such table or figure (`audit reproduce` lists them){hint}")


def _item(name: str, entry: dict[str, Any], papers: dict[str, str]) -> PublishedItem:
    own = {key: entry[key] for key in ("where", "title", "unit")}
    optional = {
        key: entry[key]
        for key in ("relation", "chance", "chance_of", "baseline", "axis", "interval_of", "pictures", "map")
        if key in entry
    }
    return PublishedItem(
        name=name,
        paper=papers[name.split("/")[0]],
        cells=tuple(cell for row in entry["rows"] for cell in _cells(row, entry["over"], entry["columns"])),
        quoted=tuple((one["what"], one["why"]) for one in entry.get("quoted", ())),
        **own,
        **optional,
    )


def _cells(row: dict[str, Any], over: str, columns: list[Label]) -> list[PublishedCell]:
    labels = {key: value for key, value in row.items() if key not in NOT_LABELS}
    spreads = row.get("spread", [math.nan] * len(columns))
    printed = [value for value in (*row["values"], *spreads) if not math.isnan(value)]
    unit = 10.0 ** -row["decimals"] if "decimals" in row else min(map(rounding, printed), default=None)
    return [
        PublishedCell(labels={**labels, over: column}, value=_known(value), spread=_known(spread), unit=unit)
        for column, value, spread in zip(columns, row["values"], spreads, strict=True)
        if column in row.get("only", columns)
    ]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
