"""What the figures need from the score table, in a few passes over whole arrays.

A score table has the columns run, record, member and score, a row for every record in every test run; higher scores
say "member".
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
_COLUMNS = ("run", "record", "member", "score")
_TAIL = 1e-4
_AUC_TOLERANCE = 1e-3


@dataclass(frozen=True, kw_only=True)
class ScoreHistogram:
    """Shares of members' and of non-members' scores per bin; `folded` scores lie beyond the outer bins, in them."""

    edges: Floats
    members: Floats
    nonmembers: Floats
    num_members: int
    num_nonmembers: int
    folded: int


@dataclass(frozen=True, kw_only=True)
class RecordExposure:
    """AUC of every record over the test runs, and what chance alone would give.

    `chance_deviation` is the standard deviation under no leak (Mann and Whitney 1947, no ties), `chance_maximum` the
    AUC that chance passes for any record of the pool with probability below 5% (normal approximation, Bonferroni).
    """

    auc: Floats
    chance_deviation: float
    chance_maximum: float


def check_scores(scores: "pd.DataFrame", *, auc: float) -> None:
    """Raise ValueError, in one line, unless this is a score table and the one the reported AUC was computed from."""
    missing = [name for name in _COLUMNS if name not in scores.columns]
    if missing:
        raise ValueError(f"the score table lacks {', '.join(missing)}; its columns should be {', '.join(_COLUMNS)}")
    member = scores["member"].to_numpy(dtype=bool)
    if not 0 < member.sum() < member.size:
        raise ValueError(f"the score table holds {member.sum()} members among {member.size} rows; it needs both kinds")
    if bool(np.isnan(scores["score"].to_numpy()).any()):
        raise ValueError("the score table holds scores that are not numbers")
    found = pooled_auc(scores["score"].to_numpy(), member)
    if not abs(found - auc) <= _AUC_TOLERANCE:
        raise ValueError(
            f"the score table gives AUC {found:.4f} where the report says {auc:.4f}: they are not of the same audit"
        )


def pooled_auc(score: NDArray[np.floating], member: NDArray[np.bool_]) -> float:
    """Probability that a member outranks a non-member, ties counted half (Mann and Whitney 1947)."""
    ranks = rankdata(score)
    num_members = int(member.sum())
    pairs = num_members * (member.size - num_members)
    return float((ranks[member].sum() - num_members * (num_members + 1) / 2) / pairs)


def score_histogram(scores: "pd.DataFrame") -> ScoreHistogram:
    """20 to 80 bins of equal width over all but the outermost 10⁻⁴ of the scores at each end."""
    score = scores["score"].to_numpy(dtype=np.float64)
    member = scores["member"].to_numpy(dtype=bool)
    finite = score[np.isfinite(score)]
    tail = int(_TAIL * finite.size)
    ordered = np.partition(finite, (tail, finite.size - 1 - tail)) if finite.size else np.zeros(1)
    low, high = float(ordered[tail]), float(ordered[ordered.size - 1 - tail])
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, int(np.clip(score.size**0.4, 20, 80)) + 1)
    folded = int(((score < low) | (score > high)).sum())
    clipped = np.clip(score, low, high)
    inside = np.histogram(clipped[member], edges)[0]
    outside = np.histogram(clipped[~member], edges)[0]
    return ScoreHistogram(
        edges=edges,
        members=inside / inside.sum(),
        nonmembers=outside / outside.sum(),
        num_members=int(inside.sum()),
        num_nonmembers=int(outside.sum()),
        folded=folded,
    )


def record_exposure(scores: "pd.DataFrame", *, fewest: int = 8) -> RecordExposure | None:
    """Every record's own AUC over the test runs; None where too few runs hold or lack the records to say.

    A record counts when at least `fewest` test runs held it and as many did not.
    """
    table = scores.sort_values(["record", "run"], kind="stable")
    num_runs = table["run"].nunique()
    if len(table) % num_runs or len(table) // num_runs != table["record"].nunique():
        return None
    score = table["score"].to_numpy(dtype=np.float64).reshape(-1, num_runs)
    member = table["member"].to_numpy(dtype=bool).reshape(-1, num_runs)
    enough = np.minimum(member.sum(1), (~member).sum(1)) >= fewest
    if enough.sum() < 20:
        return None
    score, member = score[enough], member[enough]
    ranks = rankdata(score, axis=1)
    inside, outside = member.sum(1), (~member).sum(1)
    auc = (np.where(member, ranks, 0).sum(1) - inside * (inside + 1) / 2) / (inside * outside)
    deviation = np.sqrt((num_runs + 1) / (12 * inside * outside))
    return RecordExposure(
        auc=auc,
        chance_deviation=float(math.sqrt((deviation**2).mean())),
        chance_maximum=float(min(1.0, 0.5 + norm.isf(0.05 / auc.size) * deviation.max())),
    )
