"""Evidence of an attack, typed by its unit, and the checks every estimator shares. Higher score = member.

Two units, never mixed. *Runs*: independent condensations, one canary each, so errors are binomial. *Records*: fair
membership coins; records scored against one condensation share its randomness, so their errors are not binomial, and
only the one-run estimators, which count on nothing but the coins, may read them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from condensers.errors import BadInput

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_UNFAIR = 1e-9  # fair coins are turned away less often than once in a billion tables


LEAST_DELTA, MOST_TRIES = 1e-30, 1_000_000


def check_delta(delta: float) -> None:
    if not (delta == 0.0 or LEAST_DELTA <= delta < 1.0):
        raise BadInput(f"delta is {delta}; it must be 0, or at least {LEAST_DELTA:g} and below 1")


def check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise BadInput(f"confidence is {confidence}; it must lie strictly between 0 and 1, for example 0.95")


def check_num_tries(num_tries: int) -> None:
    if not 1 <= num_tries <= MOST_TRIES:
        raise BadInput(f"the number of tries is {num_tries}; it must lie in 1…{MOST_TRIES}")


def check_settings(*, delta: float, confidence: float, num_tries: int) -> None:
    """What every bound is asked with."""
    check_delta(delta)
    check_confidence(confidence)
    check_num_tries(num_tries)


def check_counts(counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        if isinstance(count, bool) or not math.isfinite(count) or count != int(count) or count < 0:
            raise BadInput(f"{name} is {count}; it must be a whole number, at least 0")


def _check_scores(name: str, scores: ArrayLike) -> Floats:
    try:
        checked = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"{name} are not numbers; scores must be real, higher for members") from None
    num_missing = int(np.isnan(checked).sum())
    if num_missing:
        raise BadInput(f"{name}: {num_missing} of {checked.size} are NaN; drop those trials or correct the attack")
    return checked


@dataclass(frozen=True, kw_only=True, eq=False)
class RunEvidence:
    """Scores of independent runs: one canary per run, in it (`member_scores`) or left out of it.

    The order of the scores must not depend on their values (the order of the runs is fine): splits are by position.
    """

    member_scores: Floats
    non_member_scores: Floats

    def __post_init__(self) -> None:
        for name in ("member_scores", "non_member_scores"):
            scores = _check_scores(name, getattr(self, name))
            if scores.ndim != 1:
                raise BadInput(f"{name} have shape {scores.shape}; expected one score per independent run")
            object.__setattr__(self, name, scores)
        if not self.member_scores.size and not self.non_member_scores.size:
            raise BadInput("0 trials: there is nothing to bound epsilon with; give scores of both classes")
        for name in ("member_scores", "non_member_scores"):
            if not getattr(self, name).size:
                raise BadInput(f"{name} are empty: one class only; both error rates are needed, add such runs")


@dataclass(frozen=True, kw_only=True)
class RunCounts:
    """Outcomes of independent runs under a rule that was fixed before these runs were seen.

    Where the number of trials is known from elsewhere, `num_trials` checks that no outcome is missing.
    """

    true_positives: int
    false_negatives: int
    false_positives: int
    true_negatives: int
    num_trials: int | None = None

    def __post_init__(self) -> None:
        check_counts({name: count for name, count in vars(self).items() if count is not None})
        total = self.num_members + self.num_non_members
        if not total:
            raise BadInput("0 trials: all four counts are 0; there is nothing to bound epsilon with")
        if self.num_trials is not None and self.num_trials != total:
            raise BadInput(
                f"counts do not add up: {self.true_positives} true and {self.false_positives} false positives, "
                f"{self.true_negatives} true and {self.false_negatives} false negatives are {total} trials, "
                f"but {self.num_trials} are stated"
            )
        if not self.num_members or not self.num_non_members:
            raise BadInput(
                f"one class only: {self.num_members} member trials and {self.num_non_members} non-member trials; "
                "both error rates are needed"
            )

    @property
    def num_members(self) -> int:
        return self.true_positives + self.false_negatives

    @property
    def num_non_members(self) -> int:
        return self.false_positives + self.true_negatives


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordEvidence:
    """Membership coins and scores, both `[test_runs, records]`; each coin fair and independent of all others."""

    members: Bools
    scores: Floats

    def __post_init__(self) -> None:
        members, scores = check_record_arrays(self.members, self.scores)
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "scores", scores)

    @property
    def num_coins(self) -> int:
        return self.members.size


def check_record_arrays(members: ArrayLike, scores: ArrayLike) -> tuple[Bools, Floats]:
    """Both arrays as they should be, `[test_runs, records]`, or one line about what is wrong with them."""
    checked = _check_scores("scores", scores)
    coins = np.asarray(members)
    if coins.dtype != np.bool_:
        if coins.dtype.kind not in "iuf" or not np.isin(coins, (0, 1)).all():
            raise BadInput("members must be true or false (or 1 or 0) for every trial")
        coins = coins.astype(np.bool_)
    if coins.shape != checked.shape or coins.ndim != 2:
        raise BadInput(f"members {coins.shape} and scores {checked.shape} do not fit; expected [test_runs, records]")
    if not coins.size:
        raise BadInput("0 trials: there is nothing to bound epsilon with")
    num_members = int(coins.sum())
    if num_members in (0, coins.size):
        raise BadInput(
            f"one class only: {num_members} members among {coins.size} coins; members and non-members are needed"
        )
    rarer = min(num_members, coins.size - num_members)
    if 2.0 * special.bdtr(rarer, coins.size, 0.5) < _UNFAIR:
        raise BadInput(
            f"{num_members} members among {coins.size} coins cannot come from fair coins, which one-run bounds need; "
            "score only records that were included with probability 1/2"
        )
    return coins, checked


def check_runs_differ(members: Bools, tested: Sequence[int] | None = None) -> None:
    """Refuse test runs on the split of another run, or on its halves turned round: such coins were tossed once.

    Of `members` `[runs, records]` all are tested, or those in `tested`; the others may follow any design of their own.
    For coins that somebody else tossed: runs that were resampled are alike for a reason.
    """
    num_runs, num_records = members.shape
    if num_runs * (num_runs - 1) * 2.0**-num_records >= _UNFAIR:
        return  # of so few records two runs may well have the same by chance
    keys = [row.tobytes() for row in np.packbits(members ^ members[:, :1], axis=1)]
    test_runs = list(range(num_runs) if tested is None else tested)
    seen = {keys[run]: run for run in sorted(set(range(num_runs)) - set(test_runs))}
    for run in test_runs:
        other = seen.setdefault(keys[run], run)
        if other != run:
            alike = "the same" if members[run, 0] == members[other, 0] else "the opposite"
            raise BadInput(
                f"test run {run} has {alike} members as run {other}, which coins of its own would not give it; one-run "
                "bounds need a split of its own for every test run: leave one of these runs out"
            )


def require_runs(evidence: object, *, estimator: str) -> None:
    """Refuse what is not independent runs, and say why."""
    if isinstance(evidence, RunEvidence | RunCounts):
        return
    raise BadInput(
        f"{estimator} needs independent runs with one canary each, but the evidence is {_describe(evidence)}: records "
        "scored against one condensation share its randomness, so their errors are not binomial; use one-run"
    )


def require_records(evidence: object, *, estimator: str) -> None:
    """Refuse what is not fair membership coins, and say why."""
    if isinstance(evidence, RecordEvidence):
        return
    raise BadInput(
        f"{estimator} needs records with fair independent membership coins, but the evidence is "
        f"{_describe(evidence)}: the number of runs with the canary was fixed in advance, not decided by coins; "
        "use clopper-pearson"
    )


def _describe(evidence: object) -> str:
    match evidence:
        case RecordEvidence():
            num_runs, num_records = evidence.members.shape
            return f"{num_records} records in {num_runs} run{'s' if num_runs != 1 else ''}"
        case RunEvidence():
            return f"{evidence.member_scores.size + evidence.non_member_scores.size} independent runs"
        case RunCounts():
            return f"counts of {evidence.num_members + evidence.num_non_members} independent runs"
        case _:
            return f"a {type(evidence).__name__}"
