"""The typed record of `audit attribute`: what its report.json holds and its pages are drawn from.

Names that it shares with reports/records/schema.py mean the same.
"""

from dataclasses import dataclass
from typing import Any

from reports.records.schema import VERDICTS, Claim, EpsilonBound, Game, Roc
from reports.records.scope import Scope

ATTRIBUTE_SCHEMA = "condensation-audit-attribute/1"
EASIER, NO_DIFFERENCE = "MEMBERS EASIER TO GUESS", "NO DIFFERENCE FOUND"
FINDINGS = (EASIER, NO_DIFFERENCE)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with its interval."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Guessing:
    """How well masked parts are guessed.

    Errors are squared errors in shares of the masked part's variance over the pool: 1 is what guessing the mean costs.
    `gain` is how much smaller the error is with the set than without it, over members and non-members: what the set
    says about the population. `member_gain` is how much more members gain than non-members, record by record: what it
    says about those who were in. A record is `reconstructed` if its error is at most `reconstructed_at`. `start_gain`
    is the gain of records from which images of the set were started, None where there were none.
    """

    error_without: float
    error_nonmembers: Estimate
    error_members: Estimate
    gain: Estimate
    member_gain: Estimate
    reconstructed_at: float
    reconstructed_without: float
    reconstructed_nonmembers: Estimate
    reconstructed_members: Estimate
    member_reconstructions: Estimate
    start_gain: Estimate | None


@dataclass(frozen=True, kw_only=True)
class AttributeReport:
    """One such audit, whole. `epsilon` and `roc` are those of the gain of each record, taken as a score of membership.

    `interval_unit` (records/intervals.py) says what all intervals are over.
    """

    command: str
    method: str
    dataset: str
    verdict: str
    verdict_reason: str
    finding: str
    masked: str
    num_masked: int
    num_visible: int
    guessing: Guessing
    epsilon: EpsilonBound
    bounds: tuple[EpsilonBound, ...]
    claimed: Claim | None
    proved: Claim | None
    roc: Roc
    interval_unit: str
    game: Game
    threat_model: tuple[str, ...]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    scope: Scope | None = None
    utility: None = None
    tradeoff: None = None
    paper_style_epsilon: None = None
    attack: str = "attribute"
    level: str = "set"
    schema: str = ATTRIBUTE_SCHEMA

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is not one of {', '.join(VERDICTS)}")
        if self.finding not in FINDINGS:
            raise ValueError(f"finding {self.finding!r} is not one of {', '.join(FINDINGS)}")
