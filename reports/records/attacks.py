"""Several attacks and levels on the same condensations: the record of `audit compare`."""

from dataclasses import dataclass
from typing import Any

from reports.records.schema import Claim, EpsilonBound, Roc

COMPARE_SCHEMA = "condensation-audit/compare/2"


@dataclass(frozen=True, kw_only=True)
class ComparedAttack:
    """What one attack showed at one level.

    `num_fit_runs` are those of one public draw, which is what the attack learns from; `num_records` are those with a
    fit run on either side, in every draw.
    """

    label: str
    attack: str
    level: str
    num_fit_runs: int
    num_records: int
    roc: Roc
    epsilon: EpsilonBound


@dataclass(frozen=True, kw_only=True)
class CompareReport:
    """All attacks; their bounds are corrected for the number of them. `proved` is what the ledger of a private method
    proves, which every bound is held against."""

    command: str
    method: str
    dataset: str
    scope: str
    entries: tuple[ComparedAttack, ...]
    config: dict[str, Any]
    versions: dict[str, str]
    digest: str
    run_directory: str
    pdf: str
    schema: str = COMPARE_SCHEMA
    proved: Claim | None = None
