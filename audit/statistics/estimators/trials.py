"""Errors of a threshold rule over independent runs, and the bound of any estimator that reads them.

A rule is given by a class and a fraction, both fixed before the tested scores are seen: "the (k+1)-th largest
non-member score is the threshold, members lie above it", k = floor(fraction * non-members); or the mirror image, set
by the members from below. Let k+1 be that rank among n scores: the share of the class beyond the threshold is
Beta(k+1, n-k) distributed, or smaller where scores tie, which is precisely the Clopper-Pearson limit for k errors of n.
Given the threshold, the errors of the other class are binomial, being independent of it. So such a rule has the
confidence rectangle of k errors here and the counted errors there, needs no trials to be set, depends on ranks
only, and swaps with the classes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from audit.statistics.estimators.evidence import (
    Floats,
    RunCounts,
    RunEvidence,
    check_settings,
    require_runs,
)
from audit.statistics.estimators.looks import Looks, bound_looks, join_looks
from audit.statistics.estimators.thresholds import (
    SELECTION_SIGNIFICANCE,
    SPLIT_FRACTIONS,
    Fixed,
    FromOtherRuns,
    Grid,
    MedianOfSplits,
    Split,
    ThresholdChoice,
    describe_choice,
)
from condensers.errors import BadInput
from reports.records.schema import EpsilonBound

Ints = NDArray[np.int64]

SHARED_ASSUMPTIONS = (
    "runs are independent, one canary each",
    "the attack was not fitted on the tested runs",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ErrorCounts(Looks):
    """Errors `[..., looks]` of every rule looked at, among so many tested trials of each class."""

    false_negatives: Ints
    false_positives: Ints
    num_members: int
    num_non_members: int


# (errors, significance of each look) -> epsilon of each look
LookBounds = Callable[[ErrorCounts, float], Floats]


def upper_limits(counts: Ints, num_trials: int, significance: float) -> Floats:
    """Clopper-Pearson upper limits of a binomial proportion, one-sided at `significance`; 1 where all trials count."""
    numbers = np.arange(num_trials + 1) if counts.size > num_trials else counts
    inside = numbers < num_trials
    limits = np.where(
        inside, special.betainccinv(numbers + 1.0, np.where(inside, num_trials - numbers, 1.0), significance), 1.0
    )
    return limits[counts] if counts.size > num_trials else limits


def confidence_rectangle(errors: ErrorCounts, significance: float) -> tuple[Floats, Floats]:
    """Upper limits of (FNR, FPR), each at half of the significance: both hold with the confidence 1 - significance."""
    return (
        upper_limits(errors.false_negatives, errors.num_members, significance / 2.0),
        upper_limits(errors.false_positives, errors.num_non_members, significance / 2.0),
    )


def count_errors(
    evidence: RunEvidence | RunCounts, choice: ThresholdChoice, objective: Callable[[ErrorCounts], Floats]
) -> ErrorCounts:
    """Errors of the rules that `choice` looks at; `objective` says on the first part of a split which rule is best."""
    match evidence:
        case RunCounts():
            return ErrorCounts(
                false_negatives=np.array([evidence.false_negatives]),
                false_positives=np.array([evidence.false_positives]),
                thresholds=np.array([np.nan]),
                num_members=evidence.num_members,
                num_non_members=evidence.num_non_members,
            )
        case RunEvidence():
            return count_errors_of_scores(evidence.member_scores, evidence.non_member_scores, choice, objective)


def count_errors_of_scores(
    members: Floats, non_members: Floats, choice: ThresholdChoice, objective: Callable[[ErrorCounts], Floats]
) -> ErrorCounts:
    """As `count_errors`, for many experiments at once: `[..., trials]`."""
    match choice:
        case Fixed(threshold=threshold):
            return ErrorCounts(
                false_negatives=np.sum(members < threshold, axis=-1, keepdims=True),
                false_positives=np.sum(non_members >= threshold, axis=-1, keepdims=True),
                thresholds=np.full((*members.shape[:-1], 1), threshold),
                num_members=members.shape[-1],
                num_non_members=non_members.shape[-1],
            )
        case Split():
            return _count_split(members, non_members, choice, objective)
        case MedianOfSplits():
            parts = [_count_split(members, non_members, split, objective) for split in choice.splits]
            return join_looks(parts, choice.num_agreeing)
        case FromOtherRuns():
            raise BadInput("a choice of the number of guesses is for membership coins; runs need a threshold")
        case Grid():
            return join_looks(_count_sides(np.sort(members), np.sort(non_members), choice.fractions, distinct=True))


def _count_sides(
    members: Floats, non_members: Floats, fractions: tuple[float, ...], *, distinct: bool = False
) -> tuple[ErrorCounts, ErrorCounts]:
    """Rules set by the non-members from above, and by the members from below, for sorted scores `[..., trials]`."""
    allowed, thresholds, missed = _count_beyond(members, non_members, fractions, distinct)
    above = ErrorCounts(
        false_negatives=missed,
        false_positives=allowed,
        thresholds=thresholds,
        num_members=members.shape[-1],
        num_non_members=non_members.shape[-1],
    )
    allowed, thresholds, missed = _count_beyond(-non_members[..., ::-1], -members[..., ::-1], fractions, distinct)
    below = ErrorCounts(
        false_negatives=allowed,
        false_positives=missed,
        thresholds=-thresholds,
        num_members=members.shape[-1],
        num_non_members=non_members.shape[-1],
    )
    return above, below


def _count_beyond(
    upper: Floats, lower: Floats, fractions: tuple[float, ...], distinct: bool
) -> tuple[Ints, Floats, Ints]:
    """For each fraction: how many of `lower` are allowed above the threshold, the threshold, how many of `upper` lie
    at or below it. Both sorted upwards."""
    num_lower = lower.shape[-1]
    numbers = [min(int(fraction * num_lower), num_lower - 1) for fraction in fractions]
    allowed = np.array(sorted(set(numbers)) if distinct else numbers)
    thresholds = lower[..., num_lower - 1 - allowed]
    flat_upper = upper.reshape(-1, upper.shape[-1])
    flat_thresholds = thresholds.reshape(-1, thresholds.shape[-1])
    missed = np.stack(
        [np.searchsorted(row, cuts, side="right") for row, cuts in zip(flat_upper, flat_thresholds, strict=True)]
    ).reshape(thresholds.shape)
    return np.broadcast_to(allowed, thresholds.shape), thresholds, missed


def _count_split(
    members: Floats, non_members: Floats, split: Split, objective: Callable[[ErrorCounts], Floats]
) -> ErrorCounts:
    """Class and fraction chosen on the first part, errors counted on the second."""
    first_members, second_members = _divide(members, split, "member")
    first_non_members, second_non_members = _divide(non_members, split, "non-member")
    above, below = (
        objective(side) for side in _count_sides(np.sort(first_members), np.sort(first_non_members), SPLIT_FRACTIONS)
    )
    tested = _count_sides(np.sort(second_members), np.sort(second_non_members), SPLIT_FRACTIONS)
    preference = _preferred_side(above, below)[..., None]
    from_above = _take(tested[0], np.argmax(above, axis=-1)[..., None])
    from_below = _take(tested[1], np.argmax(below, axis=-1)[..., None])

    def pick(first: Ints, second: Ints) -> Ints:
        # Where nothing prefers either side, the worse count of both: at least the count of a rule fixed beforehand.
        return np.where(preference > 0, first, np.where(preference < 0, second, np.maximum(first, second)))

    return ErrorCounts(
        false_negatives=pick(from_above.false_negatives, from_below.false_negatives),
        false_positives=pick(from_above.false_positives, from_below.false_positives),
        thresholds=np.where(preference < 0, from_below.thresholds, from_above.thresholds),
        num_members=second_members.shape[-1],
        num_non_members=second_non_members.shape[-1],
    )


def _preferred_side(above: Floats, below: Floats) -> Floats:
    """1 where rules from above do better, -1 where rules from below do, 0 where they are mirror images."""
    best = above.max(axis=-1) - below.max(axis=-1)
    gaps = above - below
    first_gap = np.take_along_axis(gaps, np.argmax(gaps != 0.0, axis=-1)[..., None], axis=-1)[..., 0]
    return np.sign(np.where(best != 0.0, best, first_gap))


def _take(errors: ErrorCounts, index: NDArray[np.intp]) -> ErrorCounts:
    return ErrorCounts(
        false_negatives=np.take_along_axis(errors.false_negatives, index, axis=-1),
        false_positives=np.take_along_axis(errors.false_positives, index, axis=-1),
        thresholds=np.take_along_axis(errors.thresholds, index, axis=-1),
        num_members=errors.num_members,
        num_non_members=errors.num_non_members,
    )


def _divide(scores: Floats, split: Split, name: str) -> tuple[Floats, Floats]:
    """Both classes are permuted by the same key, so that swapping them swaps their parts."""
    num_trials = scores.shape[-1]
    if num_trials < 2:
        raise BadInput(f"{num_trials} {name} trial cannot be split in two; give at least 2 of each class")
    middle = min(max(int(split.fraction * num_trials), 1), num_trials - 1)
    if split.seed is None:
        return scores[..., :middle], scores[..., middle:]
    order = np.random.Generator(np.random.Philox(key=split.seed)).permutation(num_trials)
    return scores[..., order[:middle]], scores[..., order[middle:]]


def bound_from_runs(
    evidence: RunEvidence | RunCounts,
    look_bounds: LookBounds,
    *,
    estimator: str,
    assumptions: tuple[str, ...],
    delta: float,
    confidence: float,
    choice: ThresholdChoice,
    num_tries: int,
    objective: LookBounds | None = None,
    kind: str = "bound",
) -> EpsilonBound:
    """What every estimator over runs does: check, count the errors of each look, share the significance, report.

    `objective` chooses on the first part of a split; by default the bound itself. It is asked at a significance of its
    own, so that the rule does not depend on confidence and tries.
    """
    require_runs(evidence, estimator=estimator)
    check_settings(delta=delta, confidence=confidence, num_tries=num_tries)
    significance = (1.0 - confidence) / num_tries
    errors = count_errors(evidence, choice, lambda looks: (objective or look_bounds)(looks, SELECTION_SIGNIFICANCE))
    each, bounds, look = bound_looks(errors, look_bounds, significance)
    none = np.zeros(1, dtype=np.int64)
    perfect = replace(
        errors, false_negatives=none, false_positives=none, thresholds=none.astype(np.float64), num_agreeing=1
    )
    false_negatives, false_positives = int(errors.false_negatives[look]), int(errors.false_positives[look])
    return EpsilonBound(
        lower=float(bounds[look]),
        delta=delta,
        confidence=confidence,
        estimator=estimator,
        unit="run",
        num_trials=errors.num_members + errors.num_non_members,
        ceiling=float(look_bounds(perfect, each)[0]),
        assumptions=(*SHARED_ASSUMPTIONS, *assumptions),
        kind=kind,
        threshold=None if isinstance(evidence, RunCounts) else float(errors.thresholds[look]),
        threshold_choice="fixed beforehand" if isinstance(evidence, RunCounts) else describe_choice(choice),
        counts={
            "true_positives": errors.num_members - false_negatives,
            "false_negatives": false_negatives,
            "false_positives": false_positives,
            "true_negatives": errors.num_non_members - false_positives,
        },
        num_tries=num_tries,
    )
