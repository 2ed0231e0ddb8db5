"""A table or figure of a paper beside what was measured here: the record of `audit reproduce`."""

from dataclasses import dataclass
from typing import Any

REPRODUCTION_SCHEMA = "condensation-audit/reproduction/1"
WITHIN, DIRECTION, NO = "within both intervals", "direction only", "no"
UNDECIDED, NOTHING_PRINTED, NOT_COMPARED, NOT_RUN = "not decided", "nothing printed", "not compared", "not run"
AGREEMENTS = (WITHIN, DIRECTION, NO, UNDECIDED, NOTHING_PRINTED, NOT_COMPARED, NOT_RUN)


@dataclass(frozen=True, kw_only=True)
class ReproducedRow:
    """One figure: where it stands, as printed and as measured, in the unit of the item.

    WITHIN means that the two intervals overlap. `printed` is the figure as the paper has it. A figure of other data, as
    at scale smoke, is not compared. `relation` is "below" where the paper says that the figure lies below `published`,
    which has no interval then. `num_seeds` seeds, runs or networks are behind `ours`; `interval` is None of a single
    one. `differs` says what was reduced or is otherwise than in the paper, or why nothing was run.
    """

    labels: tuple[tuple[str, str], ...]
    relation: str
    published: float | None
    published_interval: tuple[float, float] | None
    ours: float | None
    interval: tuple[float, float] | None
    num_seeds: int
    agreement: str
    differs: tuple[str, ...]
    command: str
    printed: str = ""

    def label(self, name: str) -> str | None:
        """The label of this name, where it has one."""
        return dict(self.labels).get(name)

    def __post_init__(self) -> None:
        if self.agreement not in AGREEMENTS:
            raise ValueError(f"agreement {self.agreement!r} is not one of {', '.join(AGREEMENTS)}")


@dataclass(frozen=True, kw_only=True)
class EmbeddingMap:
    """Points of a plane, by method: a map of synthetic images of one data set."""

    kind: str
    points: dict[str, tuple[tuple[float, float], ...]]
    dataset: str = ""


@dataclass(frozen=True, kw_only=True)
class ReproductionReport:
    """All figures of one item. `quoted` names what cannot be run here, and why. `axis` is the label of a curve.

    `interval_of` says what our intervals are where they are no 95% intervals.
    """

    item: str
    paper: str
    where: str
    title: str
    unit: str
    scale: str
    axis: str
    command: str
    rows: tuple[ReproducedRow, ...]
    quoted: tuple[tuple[str, str], ...]
    maps: tuple[EmbeddingMap, ...]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    interval_of: str = ""
    schema: str = REPRODUCTION_SCHEMA
