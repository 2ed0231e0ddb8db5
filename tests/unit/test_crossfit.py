"""Numbers of guesses chosen on cross-fitted fit runs: what they may depend on, and what that buys."""

import numpy as np
import pytest

from attacks.registry import Observations, get_attack
from audit.games.membership.crossfit import FEWEST_FIT_RUNS, NUM_FOLDS, CrossFitted, cross_fit
from audit.games.membership.headline import SOURCE, bound_again, bound_coins
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.evidence import RunEvidence
from audit.statistics.estimators.thresholds import FromOtherRuns
from condensers.errors import BadConfig, BadInput


def coins_of(seed: int, num_runs: int, num_records: int = 300, effect: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    members = generator.random((num_runs, num_records)) < 0.5
    return members, generator.normal(size=members.shape) + effect * members


def fitted_of(seed: int, **changes) -> CrossFitted:
    members, scores = coins_of(seed, 24, **changes)
    return CrossFitted(members=members, scores=scores.astype(np.float32))


def test_every_fit_run_is_scored_once_by_the_other_folds_against_bookkeeping():
    members, _ = coins_of(100, 18, 5)
    seen: list[tuple[set[int], set[int]]] = []

    def score_fold(others: np.ndarray, held: np.ndarray) -> np.ndarray:
        seen.append((set(others.tolist()), set(held.tolist())))
        return np.repeat(held[:, None], 5, axis=1).astype(np.float32)

    fitted = cross_fit(members, score_fold)
    assert fitted is not None
    assert len(seen) == NUM_FOLDS
    for others, held in seen:
        assert not others & held
        assert others | held == set(range(18))
    np.testing.assert_array_equal(fitted.scores[:, 0], np.arange(18))
    assert fitted.members is members


def test_too_few_fit_runs_against_none():
    members, scores = coins_of(101, FEWEST_FIT_RUNS - 1, 5)
    assert cross_fit(members, lambda _, held: scores[held].astype(np.float32)) is None


def test_records_that_a_fold_cannot_score_are_left_out_against_count():
    fitted = fitted_of(102)
    scores = fitted.scores.copy()
    scores[:4, :7] = np.nan
    members, values = CrossFitted(members=fitted.members, scores=scores).coins
    assert members.shape == values.shape == (fitted.members.size - 28,)


def test_numbers_of_guesses_do_not_depend_on_the_tested_coins_against_other_coins():
    """All test runs are tested, and what is guessed is the same whatever their coins and scores are."""
    fitted = fitted_of(103)
    members, scores = coins_of(104, 6)
    bound = bound_coins(members, scores, delta=1e-5, confidence=0.95, fitted=fitted)
    assert bound.num_trials == members.size
    assert SOURCE in bound.threshold_choice
    other = bound_coins(*coins_of(105, 6, effect=0.0), delta=1e-5, confidence=0.95, fitted=fitted)
    assert other.guess_fractions == bound.guess_fractions
    assert other.counts["positive_guesses"] == bound.counts["positive_guesses"]
    assert bound.lower > 1.0
    assert other.lower == 0.0


def test_cross_fitted_choice_certifies_more_than_a_split_against_mean_of_twenty():
    gains = []
    for seed in range(100, 120):
        members, scores = coins_of(seed, 6, effect=0.8)
        split = bound_coins(members, scores, delta=1e-5, confidence=0.95).lower
        whole = bound_coins(
            members, scores, delta=1e-5, confidence=0.95, fitted=fitted_of(1000 + seed, effect=0.8)
        ).lower
        gains.append(whole - split)
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains)) > 0


def test_few_tested_coins_are_guessed_by_larger_fractions_against_many():
    """The best numbers depend on how many coins are tested: of few coins no share of 0.0001 can be guessed."""
    fitted = fitted_of(106, num_records=4000, effect=1.0)
    few, many = (
        bound_coins(*coins_of(107, runs, num_records), delta=1e-5, confidence=0.95, fitted=fitted)
        for runs, num_records in ((1, 60), (20, 4000))
    )
    assert sum(few.guess_fractions) > 2 * sum(many.guess_fractions)
    assert few.counts["guesses"] >= 4


def test_bound_again_against_the_bound():
    """As the gate computes it for other runs: the same estimator and numbers, from the record alone."""
    members, scores = coins_of(108, 6)
    for fitted in (fitted_of(109), None):
        bound = bound_coins(members, scores, delta=1e-5, confidence=0.9, fitted=fitted, num_tries=2)
        again = bound_again(bound, members, scores, confidence=0.9)
        assert (again.lower, again.counts, again.estimator) == (bound.lower, bound.counts, bound.estimator)


@pytest.mark.parametrize(("delta", "estimator"), [(1e-5, "one-run-dp"), (0.0, "one-run")])
def test_headline_estimator_against_rule(delta, estimator):
    bound = bound_coins(*coins_of(110, 4), delta=delta, confidence=0.95)
    assert bound.estimator == estimator


def test_one_run_without_fit_runs_takes_the_declared_grid():
    assert "grid declared beforehand" in bound_coins(*coins_of(111, 1), delta=1e-5, confidence=0.95).threshold_choice


def test_bad_fractions_and_runs_are_refused():
    with pytest.raises(BadConfig, match="fractions of guesses"):
        FromOtherRuns(positive_fraction=0.7, negative_fraction=0.4, source="x")
    members, scores = coins_of(112, 2)
    runs = RunEvidence(member_scores=scores[members], non_member_scores=scores[~members])
    with pytest.raises(BadInput, match="membership coins"):
        bound_epsilon_clopper_pearson(
            runs,
            delta=0.0,
            confidence=0.95,
            choice=FromOtherRuns(positive_fraction=0.1, negative_fraction=0.1, source="x"),
        )


def test_observations_of_a_fold_hold_no_signal_of_the_held_runs_against_planted_members():
    """An attack that copies the membership of the fit runs it is given scores the held ones no better than chance."""
    members, _ = coins_of(113, 32, 400)
    signals = np.random.default_rng(114).normal(size=(*members.shape, 1)).astype(np.float32)
    lira = get_attack("lira")

    def score_fold(others: np.ndarray, held: np.ndarray) -> np.ndarray:
        observations = Observations(
            fit_signals=signals[others], fit_members=members[others], test_signals=signals[held]
        )
        return lira.score(observations, lira.config())

    fitted = cross_fit(members, score_fold)
    assert fitted is not None
    gap = fitted.scores[members].mean() - fitted.scores[~members].mean()
    assert abs(gap) < 4 * fitted.scores.std() * 2 / np.sqrt(members.size)
