"""Evidence: what is refused, in one line, and what is legal evidence of nothing."""

import numpy as np
import pandas as pd
import pytest

from audit.games.membership.headline import bound_coins
from audit.statistics.estimators.bayesian import bound_epsilon_bayesian
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.curve import refute_curve
from audit.statistics.estimators.evidence import RecordEvidence, RunCounts, RunEvidence, check_runs_differ
from audit.statistics.estimators.family import bound_epsilon_family
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian
from audit.statistics.estimators.one_run import (
    bound_epsilon_one_run,
    bound_epsilon_one_run_records,
)
from audit.statistics.estimators.one_run_dp import bound_epsilon_one_run_dp
from audit.statistics.estimators.one_run_fdp import bound_epsilon_one_run_fdp
from audit.statistics.estimators.paper_style import estimate_epsilon_paper_style
from audit.statistics.estimators.table import Columns, read_evidence
from audit.statistics.estimators.thresholds import Fixed, Grid, MedianOfSplits, Split
from condensers.errors import BadInput

GENERATOR = np.random.default_rng(3)
RUNS = RunEvidence(member_scores=GENERATOR.normal(1, 1, 40), non_member_scores=GENERATOR.normal(0, 1, 40))
COINS = GENERATOR.random((2, 50)) < 0.5
RECORDS = RecordEvidence(members=COINS, scores=GENERATOR.normal(size=(2, 50)) + COINS)
RUN_ESTIMATORS = (
    bound_epsilon_clopper_pearson,
    bound_epsilon_gaussian,
    bound_epsilon_bayesian,
    estimate_epsilon_paper_style,
)
RECORD_ESTIMATORS = (bound_epsilon_one_run_records, bound_epsilon_one_run_dp, bound_epsilon_one_run_fdp)
CHOICES = (Fixed(threshold=0.0), Split(), Split(seed=None), MedianOfSplits(num=3), Grid())


def refused(call, *words: str) -> None:
    with pytest.raises(BadInput) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 320
    for word in words:
        assert word in message


@pytest.mark.parametrize("estimator", RUN_ESTIMATORS)
def test_records_are_refused_by_run_estimators_against_rule(estimator):
    refused(lambda: estimator(RECORDS, delta=1e-5, confidence=0.95), "50 records in 2 runs", "not binomial", "one-run")


@pytest.mark.parametrize("estimator", RECORD_ESTIMATORS)
def test_runs_are_refused_by_record_estimators_against_rule(estimator):
    refused(lambda: estimator(RUNS, delta=1e-5, confidence=0.95), "80 independent runs", "coin", "clopper-pearson")


def test_records_are_refused_by_curve_and_family_against_rule():
    class Anything:
        def false_negative_rate(self, rates):
            return 1 - rates

    refused(lambda: refute_curve(RECORDS, Anything(), confidence=0.95), "share its randomness")
    refused(
        lambda: bound_epsilon_family(RECORDS, sampling_rate=0.1, steps=5, delta=1e-5, confidence=0.95),
        "share its randomness",
    )


@pytest.mark.parametrize("estimator", [*RUN_ESTIMATORS, *RECORD_ESTIMATORS])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"delta": 1.0, "confidence": 0.95}, ("delta is 1.0", "below 1")),
        ({"delta": -1e-9, "confidence": 0.95}, ("delta",)),
        ({"delta": float("nan"), "confidence": 0.95}, ("delta is nan",)),
        ({"delta": 1e-5, "confidence": 1.0}, ("confidence is 1.0", "strictly between 0 and 1")),
        ({"delta": 1e-5, "confidence": 0.0}, ("confidence",)),
        ({"delta": 1e-5, "confidence": 0.95, "num_tries": 0}, ("tries", "must lie in 1…")),
    ],
)
def test_settings_outside_their_range_are_refused_against_rule(estimator, settings, words):
    evidence = RUNS if estimator in RUN_ESTIMATORS else RECORDS
    refused(lambda: estimator(evidence, **settings), *words)


@pytest.mark.parametrize("turned", [False, True])
def test_runs_that_share_their_coins_are_refused_against_rule(tmp_path, turned):
    """Eight models of one split: a fixed order of the records certified ε > 0 in half of 300 audits without a leak."""
    coins = np.random.default_rng(0).random((8, 60)) < 0.5

    def read(coins):
        run, record = np.indices(coins.shape).reshape(2, -1)
        table = pd.DataFrame({"run": run, "record": record, "member": coins.ravel(), "score": 0.0})
        table.to_csv(tmp_path / "scores.csv", index=False)
        return read_evidence(tmp_path / "scores.csv", Columns(), unit=None)

    assert (read(coins).members == coins).all()
    coins[5] = ~coins[2] if turned else coins[2]
    with pytest.raises(BadInput, match=f"test run 5 has the {'opposite' if turned else 'same'} members as run 2"):
        read(coins)
    check_runs_differ(coins, tested=[0, 1, 6, 7])  # runs that an attack is fitted on may follow any design
    with pytest.raises(BadInput, match="test run 2 has the"):
        check_runs_differ(coins, tested=[2])
    assert read(coins[:, :10]).num_coins == 80  # ten records may have the same coins by chance


def test_scores_that_cannot_be_used_are_refused_against_rule():
    some = np.zeros(3)
    refused(lambda: RunEvidence(member_scores=np.array([0.0, np.nan]), non_member_scores=some), "1 of 2 are NaN")
    refused(lambda: RunEvidence(member_scores=some, non_member_scores=np.array([])), "non_member_scores", "one class")
    refused(lambda: RunEvidence(member_scores=[], non_member_scores=[]), "0 trials")
    refused(lambda: RunEvidence(member_scores=["a"], non_member_scores=some), "not numbers")
    refused(
        lambda: RunEvidence(member_scores=np.zeros((2, 2)), non_member_scores=some), "one score per independent run"
    )
    refused(lambda: RecordEvidence(members=np.array([[1, 2]]), scores=np.zeros((1, 2))), "true or false")
    refused(lambda: RecordEvidence(members=np.ones((1, 3), bool), scores=np.zeros((1, 3))), "one class only: 3 members")
    refused(lambda: RecordEvidence(members=np.ones((1, 3), bool), scores=np.zeros((1, 4))), "do not fit")
    refused(lambda: RecordEvidence(members=np.ones(4, bool), scores=np.zeros(4)), "do not fit")
    refused(lambda: RecordEvidence(members=np.zeros((1, 0), bool), scores=np.zeros((1, 0))), "0 trials")
    refused(lambda: RecordEvidence(members=np.array([[1, 0]]), scores=np.array([[np.nan, 0]])), "1 of 2 are NaN")
    unfair = np.arange(1000)[None] < 300
    refused(lambda: RecordEvidence(members=unfair, scores=np.zeros((1, 1000))), "fair coins")


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((5, 5, -1, 5, None), ("false_positives is -1", "at least 0")),
        ((0, 0, 0, 0, None), ("0 trials",)),
        ((5, 5, 0, 0, None), ("one class only", "0 non-member")),
        ((5, 5, 5, 5, 21), ("do not add up", "20 trials", "21")),
        ((2.5, 5, 5, 5, None), ("whole number",)),
        ((float("nan"), 5, 5, 5, None), ("whole number",)),
    ],
)
def test_counts_that_cannot_be_are_refused_against_rule(counts, words):
    names = ("true_positives", "false_negatives", "false_positives", "true_negatives", "num_trials")
    refused(lambda: RunCounts(**dict(zip(names, counts, strict=True))), *words)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0, 0, 0), ("num_coins is 0",)),
        ((10, 11, 5), ("do not add up", "correct <= guesses <= coins")),
        ((10, 5, 6), ("do not add up",)),
        ((10, 5, -1), ("num_correct is -1",)),
    ],
)
def test_guesses_that_cannot_be_are_refused_against_rule(counts, words):
    names = ("num_coins", "num_guesses", "num_correct")
    refused(lambda: bound_epsilon_one_run(**dict(zip(names, counts, strict=True)), delta=0.0, confidence=0.95), *words)


def test_choices_outside_their_range_are_refused_against_rule():
    refused(lambda: Split(fraction=1.0), "split fraction is 1.0")
    refused(lambda: MedianOfSplits(num=0), "number of splits is 0")
    refused(lambda: Grid(fractions=()), "grid fractions")
    refused(lambda: Grid(fractions=(1.0,)), "grid fractions")
    refused(lambda: Fixed(threshold=float("nan")), "NaN")


def test_too_few_trials_for_a_split_are_refused_against_rule():
    few = RunEvidence(member_scores=np.array([1.0]), non_member_scores=np.array([0.0, 0.5]))
    refused(lambda: bound_epsilon_clopper_pearson(few, delta=0.0, confidence=0.95), "1 member trial", "at least 2")


@pytest.mark.parametrize("estimator", [bound_epsilon_gaussian, bound_epsilon_one_run_fdp])
def test_gaussian_estimators_refuse_delta_zero_against_rule(estimator):
    evidence = RUNS if estimator is bound_epsilon_gaussian else RECORDS
    refused(lambda: estimator(evidence, delta=0.0, confidence=0.95), "delta > 0")


@pytest.mark.parametrize("choice", CHOICES)
def test_ties_everywhere_against_no_evidence(choice):
    """A score that says nothing is legal evidence of nothing: the bound is 0."""
    runs = RunEvidence(member_scores=np.zeros(30), non_member_scores=np.zeros(30))
    for estimator in (bound_epsilon_clopper_pearson, bound_epsilon_gaussian):
        assert estimator(runs, delta=1e-5, confidence=0.95, choice=choice).lower == 0.0
    records = RecordEvidence(members=COINS, scores=np.zeros(COINS.shape))
    for estimator in RECORD_ESTIMATORS:
        assert estimator(records, delta=1e-5, confidence=0.95, choice=choice).lower == 0.0


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("estimator", [*RUN_ESTIMATORS, *RECORD_ESTIMATORS])
def test_bounds_say_what_they_are_against_schema(estimator, choice):
    evidence = RUNS if estimator in RUN_ESTIMATORS else RECORDS
    bound = estimator(evidence, delta=1e-5, confidence=0.9, choice=choice, num_tries=3)
    assert (bound.delta, bound.confidence, bound.num_tries) == (1e-5, 0.9, 3)
    assert bound.unit == ("run" if estimator in RUN_ESTIMATORS else "record")
    assert bound.threshold_choice
    assert bound.assumptions
    assert bound.num_trials > 0
    assert bound.lower <= bound.ceiling
    if bound.unit == "run":
        assert sum(bound.counts.values()) == bound.num_trials
    else:
        assert bound.counts["coins"] == bound.num_trials
    expected = {bound_epsilon_bayesian: "credible", estimate_epsilon_paper_style: "no bound"}
    assert bound.kind == expected.get(estimator, "bound")


def test_infinite_scores_against_finite_ranks():
    """Ranks are all that counts: an infinite score is a legal extreme."""
    infinite, finite = (
        bound_coins(COINS, np.where(COINS, high, -high), delta=0.0, confidence=0.95) for high in (np.inf, 1.0)
    )
    assert infinite.lower == finite.lower > 1.0
