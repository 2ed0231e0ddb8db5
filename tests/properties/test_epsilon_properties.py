"""Properties of every estimator: monotone in confidence, delta and counts; invariant to increasing maps of the scores
and to row order; unchanged when labels are swapped and scores negated.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from audit.accounting.curve import point_curve
from audit.statistics.estimators.bayesian import bound_epsilon_bayesian, credible_epsilon
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.coin_curve import refute_curve_from_coins
from audit.statistics.estimators.curve import refute_curve
from audit.statistics.estimators.evidence import RecordEvidence, RunCounts, RunEvidence
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian
from audit.statistics.estimators.one_run import bound_epsilon_one_run_records, one_run_lower_bounds
from audit.statistics.estimators.one_run_dp import bound_epsilon_one_run_dp
from audit.statistics.estimators.one_run_fdp import bound_epsilon_one_run_fdp, largest_rejected_mu
from audit.statistics.estimators.single_run import splits_one_run
from audit.statistics.estimators.thresholds import Fixed, FromOtherRuns, Grid, MedianOfSplits, Split

RUN_ESTIMATORS = [bound_epsilon_clopper_pearson, bound_epsilon_gaussian]
RECORD_ESTIMATORS = [bound_epsilon_one_run_records, bound_epsilon_one_run_dp, bound_epsilon_one_run_fdp]
CHOICES = [Fixed(threshold=0.5), Split(), MedianOfSplits(num=3), Grid()]
CHOSEN = FromOtherRuns(positive_fraction=0.2, negative_fraction=0.1, source="other runs")
ORDER_FREE = [Fixed(threshold=0.5), Grid()]
SLACK = 1e-9

confidences = st.floats(0.5, 0.999)
deltas = st.sampled_from([1e-8, 1e-5, 1e-3, 0.05])
trials = st.integers(1, 200)


@st.composite
def counts(draw):
    num_members, num_others = draw(trials), draw(trials)
    missed, wrong = draw(st.integers(0, num_members)), draw(st.integers(0, num_others))
    return RunCounts(
        true_positives=num_members - missed,
        false_negatives=missed,
        false_positives=wrong,
        true_negatives=num_others - wrong,
    )


@st.composite
def guesses(draw):
    num_coins = draw(st.integers(1, 400))
    num_guesses = draw(st.integers(0, num_coins))
    return num_coins, num_guesses, draw(st.integers(0, num_guesses))


def scores_of(seed: int, size: int, *, tied: bool) -> np.ndarray:
    """Scores on a coarse scale (many ties) or a fine one, never at the fixed threshold."""
    generator = np.random.default_rng(seed)
    return generator.integers(-2, 4, size) + 0.25 if tied else generator.normal(0.4, 1.0, size)


def run_evidence(seed: int, num_members: int, num_others: int, tied: bool) -> RunEvidence:
    return RunEvidence(
        member_scores=scores_of(seed, num_members, tied=tied) + 1.0,
        non_member_scores=scores_of(seed + 1, num_others, tied=tied),
    )


def record_evidence(seed: int, shape: tuple[int, int], tied: bool) -> RecordEvidence:
    members = np.random.default_rng(seed).random(shape) < 0.5
    members.flat[0], members.flat[-1] = True, False
    return RecordEvidence(members=members, scores=scores_of(seed + 2, shape, tied=tied) + 1.0 * members)


evidences = st.tuples(st.integers(0, 10**6), st.integers(2, 60), st.integers(2, 60), st.booleans())
tables = st.tuples(st.integers(0, 10**6), st.tuples(st.integers(1, 4), st.integers(4, 50)), st.booleans())
few = settings(max_examples=25, deadline=None)


def lower(estimator, evidence, *, delta=1e-5, confidence=0.95, **more) -> float:
    return estimator(evidence, delta=delta, confidence=confidence, **more).lower


@pytest.mark.parametrize("estimator", RUN_ESTIMATORS)
@given(evidence=counts(), one=confidences, other=confidences, delta=deltas)
@few
def test_run_bound_falls_with_confidence_against_order(estimator, evidence, one, other, delta):
    low, high = sorted((one, other))
    stricter = lower(estimator, evidence, delta=delta, confidence=high)
    assert stricter <= lower(estimator, evidence, delta=delta, confidence=low) + SLACK
    tried = lower(estimator, evidence, delta=delta, confidence=low, num_tries=3)
    assert tried <= lower(estimator, evidence, delta=delta, confidence=low) + SLACK


@pytest.mark.parametrize("estimator", RUN_ESTIMATORS)
@given(evidence=counts(), one=deltas, other=deltas)
@few
def test_run_bound_falls_with_delta_against_order(estimator, evidence, one, other):
    small, large = sorted((one, other))
    assert lower(estimator, evidence, delta=large) <= lower(estimator, evidence, delta=small) + SLACK


@pytest.mark.parametrize("estimator", RUN_ESTIMATORS)
@given(evidence=counts())
@few
def test_run_bound_rises_when_an_error_is_mended_against_order(estimator, evidence):
    """Of any attack: one error fewer of either kind never lowers the bound; nothing exceeds the ceiling."""
    before = estimator(evidence, delta=1e-5, confidence=0.95)
    assert 0.0 <= before.lower <= before.ceiling + SLACK
    values = vars(evidence) | {"num_trials": None}
    for wrong, right in (("false_negatives", "true_positives"), ("false_positives", "true_negatives")):
        if values[wrong]:
            mended = RunCounts(**(values | {wrong: values[wrong] - 1, right: values[right] + 1}))
            assert lower(estimator, mended) >= before.lower - SLACK


@given(evidence=counts(), one=confidences, other=confidences, first=deltas, second=deltas)
@few
def test_credible_limit_against_order(evidence, one, other, first, second):
    def limit(level: float, delta: float, mirrored: bool = False) -> float:
        errors = (evidence.false_negatives, evidence.num_members, evidence.false_positives, evidence.num_non_members)
        missed, num_members, wrong, num_others = errors[2:] + errors[:2] if mirrored else errors
        return credible_epsilon(
            false_negatives=missed,
            num_members=num_members,
            false_positives=wrong,
            num_non_members=num_others,
            delta=delta,
            level=level,
            num_nodes=500,
            num_steps=25,
        )

    low, high = sorted((1 - one, 1 - other))
    small, large = sorted((first, second))
    assert limit(low, 1e-5) <= limit(high, 1e-5) + SLACK
    assert limit(0.05, large) <= limit(0.05, small) + SLACK
    assert limit(0.05, 1e-5, mirrored=True) == pytest.approx(limit(0.05, 1e-5), abs=0.01)


@given(made=guesses(), significances=st.tuples(confidences, confidences), first=deltas, second=deltas)
@few
def test_one_run_bound_against_order(made, significances, first, second):
    """Monotone in confidence, delta, right guesses and coins; never above the ceiling."""
    num_coins, num_guesses, num_correct = made
    more = min(num_correct + 1, num_guesses)

    def bounds(delta: float, significance: float) -> np.ndarray:
        return one_run_lower_bounds(
            num_coins=[num_coins, num_coins, num_coins + 50, num_coins],
            num_guesses=[num_guesses, num_guesses, num_guesses, num_coins],
            num_correct=[num_correct, more, num_correct, num_coins],
            delta=delta,
            significance=significance,
            num_steps=40,
        )

    plain, mended, more_coins, ceiling = bounds(1e-5, 0.05)
    assert more_coins - SLACK <= plain <= min(mended, ceiling) + SLACK
    low, high = sorted(1 - confidence for confidence in significances)
    assert np.all(bounds(1e-5, low) <= bounds(1e-5, high) + SLACK)
    small, large = sorted((first, second))
    assert np.all(bounds(large, 0.05) <= bounds(small, 0.05) + SLACK)


@given(made=guesses(), one=confidences, other=confidences)
@few
def test_one_run_fdp_bound_against_order(made, one, other):
    def mu(confidence: float, shift: int = 0) -> float:
        return largest_rejected_mu(
            num_coins=made[0], num_guesses=made[1], num_correct=made[2] + shift, significance=1 - confidence
        )

    low, high = sorted((one, other))
    assert mu(high) <= mu(low) + 1e-6
    if made[2] < made[1]:
        assert mu(0.95, 1) >= mu(0.95) - 1e-6


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("estimator", RUN_ESTIMATORS)
@given(drawn=evidences)
@few
def test_increasing_maps_of_run_scores_against_same_bound(estimator, choice, drawn):
    evidence = run_evidence(*drawn)
    mapped = RunEvidence(
        member_scores=np.exp(evidence.member_scores) - 7, non_member_scores=np.exp(evidence.non_member_scores) - 7
    )
    other = Fixed(threshold=float(np.exp(0.5) - 7)) if isinstance(choice, Fixed) else choice
    assert lower(estimator, evidence, choice=choice) == lower(estimator, mapped, choice=other)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("estimator", RUN_ESTIMATORS)
@given(drawn=evidences)
@few
def test_swapped_labels_and_negated_run_scores_against_same_bound(estimator, choice, drawn):
    evidence = run_evidence(*drawn)
    mirrored = RunEvidence(member_scores=-evidence.non_member_scores, non_member_scores=-evidence.member_scores)
    other = Fixed(threshold=-0.5) if isinstance(choice, Fixed) else choice
    assert lower(estimator, evidence, choice=choice) == lower(estimator, mirrored, choice=other)


@pytest.mark.parametrize("choice", ORDER_FREE)
@pytest.mark.parametrize("estimator", RUN_ESTIMATORS)
@given(drawn=evidences, seed=st.integers(0, 1000))
@few
def test_order_of_runs_against_same_bound(estimator, choice, drawn, seed):
    """Splits are by position; files are put in order of run first (test_cli_epsilon.py)."""
    evidence = run_evidence(*drawn)
    generator = np.random.default_rng(seed)
    shuffled = RunEvidence(
        member_scores=generator.permutation(evidence.member_scores),
        non_member_scores=generator.permutation(evidence.non_member_scores),
    )
    assert lower(estimator, evidence, choice=choice) == lower(estimator, shuffled, choice=choice)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("estimator", RECORD_ESTIMATORS)
@given(drawn=tables)
@settings(max_examples=12, deadline=None)
def test_increasing_maps_and_mirror_images_of_records_against_same_bound(estimator, choice, drawn):
    evidence = record_evidence(*drawn)
    mapped = RecordEvidence(members=evidence.members, scores=np.exp(evidence.scores) - 7)
    mirrored = RecordEvidence(members=~evidence.members, scores=-evidence.scores)
    of_map = Fixed(threshold=float(np.exp(0.5) - 7)) if isinstance(choice, Fixed) else choice
    of_mirror = Fixed(threshold=-0.5) if isinstance(choice, Fixed) else choice
    assume(not (estimator is bound_epsilon_one_run_fdp and splits_one_run(evidence, choice)))
    bound = lower(estimator, evidence, choice=choice)
    assert bound == lower(estimator, mapped, choice=of_map)
    assert bound == lower(estimator, mirrored, choice=of_mirror)


@pytest.mark.parametrize("choice", ORDER_FREE)
@pytest.mark.parametrize("estimator", RECORD_ESTIMATORS)
@given(drawn=tables, seed=st.integers(0, 1000))
@settings(max_examples=12, deadline=None)
def test_order_of_records_against_same_bound(estimator, choice, drawn, seed):
    evidence = record_evidence(*drawn)
    order = np.random.default_rng(seed).permutation(evidence.members.shape[1])
    shuffled = RecordEvidence(members=evidence.members[:, order], scores=evidence.scores[:, order])
    assert lower(estimator, evidence, choice=choice) == lower(estimator, shuffled, choice=choice)


@given(drawn=tables, seed=st.integers(0, 1000))
@settings(max_examples=12, deadline=None)
def test_order_of_records_within_runs_against_same_split_bound(drawn, seed):
    """Several runs are split as whole runs, so the order of records plays no part."""
    evidence = record_evidence(drawn[0], (3, drawn[1][1]), drawn[2])
    order = np.random.default_rng(seed).permutation(evidence.members.shape[1])
    shuffled = RecordEvidence(members=evidence.members[:, order], scores=evidence.scores[:, order])
    assert lower(bound_epsilon_one_run_records, evidence) == lower(bound_epsilon_one_run_records, shuffled)


fewer = settings(max_examples=12, deadline=None)
levels = st.tuples(st.floats(0.5, 0.9999), st.floats(0.5, 0.9999), st.integers(1, 6), st.integers(1, 6))


def bounds_in_order(estimator, evidence, choice, drawn) -> tuple[float, float]:
    """At the higher confidence with more tries, and at the lower one with fewer."""
    (low, high), (few_tries, many) = sorted(drawn[:2]), sorted(drawn[2:])
    return (
        lower(estimator, evidence, confidence=high, choice=choice, num_tries=many),
        lower(estimator, evidence, confidence=low, choice=choice, num_tries=few_tries),
    )


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("estimator", RUN_ESTIMATORS)
@given(drawn=evidences, level=levels)
@fewer
def test_run_bound_of_every_choice_falls_with_confidence_and_tries_against_order(estimator, choice, drawn, level):
    """The rule is chosen at a significance of its own: at another confidence the same rule is tested."""
    stricter, looser = bounds_in_order(estimator, run_evidence(*drawn), choice, level)
    assert stricter <= looser + SLACK


@given(drawn=evidences, level=levels)
@settings(max_examples=5, deadline=None)
def test_credible_limit_of_a_split_falls_with_confidence_and_tries_against_order(drawn, level):
    stricter, looser = bounds_in_order(bound_epsilon_bayesian, run_evidence(*drawn), Split(), level)
    assert stricter <= looser + SLACK


@pytest.mark.parametrize("choice", [*CHOICES, CHOSEN])
@pytest.mark.parametrize("estimator", RECORD_ESTIMATORS)
@given(drawn=tables, level=levels)
@fewer
def test_record_bound_of_every_choice_falls_with_confidence_and_tries_against_order(estimator, choice, drawn, level):
    evidence = record_evidence(*drawn)
    assume(not (estimator is bound_epsilon_one_run_fdp and splits_one_run(evidence, choice)))
    stricter, looser = bounds_in_order(estimator, evidence, choice, level)
    assert stricter <= looser + SLACK


@pytest.mark.parametrize("choice", [*CHOICES, CHOSEN])
@given(drawn=tables, level=levels, epsilon=st.floats(0.0, 3.0))
@fewer
def test_refuted_curve_stays_refuted_at_less_confidence_and_fewer_tries_against_order(choice, drawn, level, epsilon):
    evidence, curve = record_evidence(drawn[0], (2, drawn[1][1]), drawn[2]), point_curve(epsilon, 1e-5)
    (low, high), (few_tries, many) = sorted(level[:2]), sorted(level[2:])
    strict, loose = (
        refute_curve_from_coins(evidence, curve, confidence=confidence, choice=choice, num_tries=tries)
        for confidence, tries in ((high, many), (low, few_tries))
    )
    assert loose.refuted or not strict.refuted
    assert loose.p_value <= strict.p_value + SLACK
    if choice is not CHOSEN:
        runs = run_evidence(drawn[0], 2 + drawn[1][0], drawn[1][1], drawn[2])
        strict, loose = (
            refute_curve(runs, curve, confidence=confidence, choice=choice, num_tries=tries)
            for confidence, tries in ((high, many), (low, few_tries))
        )
        assert loose.refuted or not strict.refuted
