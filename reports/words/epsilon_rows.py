"""ε on one scale, row by row: what was certified, what could have been, what is proved or claimed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reports.records.kinds import AuditRecord
from reports.records.schema import EpsilonBound, Ladder, claimed_epsilon
from reports.words.bounds import name_estimator
from reports.words.rounding import HIGHEST_CEILING, decimals_apart, down, ordinary, say_ceiling, small, up


@dataclass(frozen=True, kw_only=True)
class EpsilonRow:
    """One bar: filled to `lower`, pale to `ceiling`, a mark at `claimed`; not `certified`, and without a ceiling, where
    it is no bound; nothing where nothing was `tested`."""

    label: str
    lower: float
    ceiling: float
    claimed: float | None
    certified: bool = True
    tested: bool = True

    @property
    def figure(self) -> str:
        if not self.tested:
            return "–"
        if not self.certified:
            return f"≈ {ordinary(self.lower)}"
        return f"≥ {down(max(self.lower, 0), decimals_apart(self.lower, self.claimed))}"

    @property
    def claim(self) -> str:
        return "" if self.claimed is None else f"≤ {up(self.claimed, decimals_apart(self.lower, self.claimed))}"

    @property
    def most(self) -> str:
        """The ceiling, in words."""
        return say_ceiling(self.ceiling) if self.certified and self.tested else "–"


def rows_of_bounds(report: AuditRecord) -> list[EpsilonRow]:
    """A row per bound of one audit, that of the verdict first."""
    claimed = claimed_epsilon(report.claimed)
    bounds = [report.epsilon, *(bound for bound in report.bounds if bound != report.epsilon)]
    return [
        EpsilonRow(
            label=_name(bound),
            lower=bound.lower,
            ceiling=bound.ceiling,
            claimed=claimed if report.claimed is not None and bound.delta == report.claimed.delta else None,
            certified=bound.kind != "no bound",
        )
        for bound in bounds
    ]


def _name(bound: EpsilonBound) -> str:
    if bound.kind == "no bound":
        return f"{name_estimator(bound)}, NO BOUND"
    return f"{name_estimator(bound)}, {bound.evidence or f'δ = {small(bound.delta)}'}"


def explain_bars(rows: Sequence[EpsilonRow]) -> str:
    """How to read the bars."""
    text = (
        "The filled part of a bar is the certified lower bound on ε. The pale part reaches up to the ceiling, the ε "
        "that the same estimator would have certified for an attack without a single error."
    )
    if any(row.certified and row.ceiling > right_end(rows) for row in rows):
        text += " Ceilings beyond the right edge are cut there."
    if any(row.claimed is not None for row in rows):
        text += (
            " The mark is the ε that is proved or claimed. A filled bar that extends beyond it contradicts the claim "
            "with the confidence of that bar alone; the verdict allows for all looks at the claim, and decides."
        )
    if any(not row.certified for row in rows):
        text += " Hatched bars are point estimates and not bounds."
    return text


def rows_of_ladder(ladder: Ladder) -> list[EpsilonRow]:
    return [
        EpsilonRow(
            label=f"{row.level}: {row.attack}",
            lower=row.lower,
            ceiling=row.ceiling,
            claimed=row.analytic_epsilon,
            tested=row.measured,
        )
        for row in ladder.rows
    ]


def rows_of_reports(reports: Sequence[AuditRecord]) -> list[EpsilonRow]:
    return [
        EpsilonRow(
            label=f"{number}  {_subject(report)}, {report.attack}, {report.level}",
            lower=report.epsilon.lower,
            ceiling=report.epsilon.ceiling,
            claimed=claimed_epsilon(report.claimed),
            certified=report.epsilon.kind != "no bound",
            tested=report.epsilon.num_trials > 0,
        )
        for number, report in enumerate(reports, start=1)
    ]


def _subject(report: AuditRecord) -> str:
    return report.method if report.attack == "worst-case" else f"{report.method} on {report.dataset}"


def right_end(rows: Sequence[EpsilonRow]) -> float:
    """Where the scale ends: beyond every finite mark, but for ceilings so high that they would hide all else."""
    marks = [value for row in rows for value in (row.lower, row.claimed) if value is not None and math.isfinite(value)]
    highest = max(HIGHEST_CEILING, 3 * max(marks, default=0.0))
    ceilings = [row.ceiling for row in rows if row.certified and row.ceiling <= highest]
    return 1.1 * max([*marks, *ceilings, 0.5])
