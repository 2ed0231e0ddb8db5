"""The typed record of `audit visual`: what its report.json holds and its pages are drawn from.

Names that it shares with reports/schema.py mean the same.
"""

from dataclasses import dataclass
from typing import Any

from reports.records.schema import VERDICTS, Claim, EpsilonBound, Game, Roc
from reports.records.scope import Scope

VISUAL_SCHEMA = "condensation-audit-visual/1"
NEAREST_SCHEMA = "condensation-audit-nearest/1"
FINDINGS = ("MEMBERS FOUND", "NOTHING FOUND")


@dataclass(frozen=True, kw_only=True)
class DistanceFinding:
    """What one distance found over all runs.

    Every synthetic image guesses one record of its class to be a member, the records of one run being distinct. If the
    sets were made without looking at who is in, `num_members` of `num_guesses` is binomial with probability ½:
    `p_value` is its upper tail, `p_value_adjusted` that of Holm over all distances of the audit. `num_displaced` images
    guessed a record that was not their nearest, an earlier image having taken that. `most_certifiable` is the bound had
    every guess been right. `roc` is that of minus the distance of every record to its nearest image.
    """

    name: str
    description: str
    num_guesses: int
    num_members: int
    num_displaced: int
    p_value: float
    p_value_adjusted: float
    most_certifiable: float
    bound: EpsilonBound
    roc: Roc


@dataclass(frozen=True, kw_only=True)
class NotComputed:
    """A distance that was left out, and why."""

    name: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Match:
    """A record near a synthetic image; `member` is None where nobody said who was in."""

    record: int
    member: bool | None
    distance: float


@dataclass(frozen=True, kw_only=True)
class Column:
    """One synthetic image of the first run with its nearest records by each distance, nearest first."""

    image: int
    label: int
    matches: dict[str, tuple[Match, ...]]


@dataclass(frozen=True, kw_only=True)
class VisualReport:
    """One such audit, whole. `epsilon` and `roc` are those of the distance with the largest bound.

    `proved` is what the ledger of a private method proves, whatever is claimed.
    """

    command: str
    method: str
    dataset: str
    verdict: str
    verdict_reason: str
    finding: str
    epsilon: EpsilonBound
    bounds: tuple[EpsilonBound, ...]
    claimed: Claim | None
    roc: Roc
    paper_style_epsilon: float | None
    distances: tuple[DistanceFinding, ...]
    not_computed: tuple[NotComputed, ...]
    panel: tuple[Column, ...]
    game: Game
    threat_model: tuple[str, ...]
    weights: dict[str, str]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    scope: Scope | None = None
    utility: None = None
    tradeoff: None = None
    attack: str = "visual"
    level: str = "set"
    proved: Claim | None = None
    schema: str = VISUAL_SCHEMA

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is not one of {', '.join(VERDICTS)}")
        if self.finding not in FINDINGS:
            raise ValueError(f"finding {self.finding!r} is not one of {', '.join(FINDINGS)}")


@dataclass(frozen=True, kw_only=True)
class Nearness:
    """How far, by one distance, the images of released sets are from the nearest record of their class.

    `num_copies` images equal a record but for rounding; only L2 can tell.
    """

    name: str
    description: str
    num_images: int
    num_copies: int | None
    smallest: float
    median: float
    largest: float


@dataclass(frozen=True, kw_only=True)
class NearestReport:
    """Released sets beside their nearest records, where nobody said who was in: nothing is tested."""

    command: str
    method: str
    dataset: str
    distances: tuple[Nearness, ...]
    not_computed: tuple[NotComputed, ...]
    panel: tuple[Column, ...]
    num_sets: int
    weights: dict[str, str]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    tested: bool = False
    level: str = "set"
    schema: str = NEAREST_SCHEMA
