"""Errors over independent runs under each threshold choice, and the estimators that read them."""

import time

import numpy as np
import pytest
from scipy import stats

from audit.statistics.estimators.bayesian import bound_epsilon_bayesian
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson, clopper_pearson_epsilons
from audit.statistics.estimators.evidence import RunCounts, RunEvidence
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian, gaussian_epsilon
from audit.statistics.estimators.paper_style import estimate_epsilon_paper_style
from audit.statistics.estimators.thresholds import SPLIT_FRACTIONS, Fixed, Grid, MedianOfSplits, Split
from audit.statistics.estimators.trials import ErrorCounts, count_errors, upper_limits


def objective(errors: ErrorCounts) -> np.ndarray:
    return clopper_pearson_epsilons(errors, delta=0.0, significance=0.05)


def gaussian_runs(per_side: int, mu: float, seed: int) -> RunEvidence:
    generator = np.random.default_rng(seed)
    return RunEvidence(
        member_scores=generator.normal(mu, 1, per_side), non_member_scores=generator.normal(0, 1, per_side)
    )


def test_upper_limits_against_binomial_tail():
    """At the limit, seeing so few errors has just the probability that was asked for."""
    for num_trials in (1, 7, 200):
        counts = np.arange(num_trials + 1)
        limits = upper_limits(counts, num_trials, 0.03)
        np.testing.assert_allclose(stats.binom.cdf(counts[:-1], num_trials, limits[:-1]), 0.03, rtol=1e-9)
        assert limits[-1] == 1.0
        few = upper_limits(counts[:1], num_trials, 0.03)
        assert few[0] == pytest.approx(limits[0], rel=1e-14)


def test_clopper_pearson_one_direction_against_formula():
    bound = bound_epsilon_clopper_pearson(
        RunCounts(true_positives=300, false_negatives=100, false_positives=20, true_negatives=380),
        delta=1e-3,
        confidence=0.9,
    )
    missed = stats.beta.ppf(0.95, 101, 300)
    wrong = stats.beta.ppf(0.95, 21, 380)
    assert bound.lower == pytest.approx(np.log((1 - missed - 1e-3) / wrong))


def test_clopper_pearson_other_direction_against_swapped_counts():
    one = RunCounts(true_positives=390, false_negatives=10, false_positives=300, true_negatives=100)
    other = RunCounts(true_positives=100, false_negatives=300, false_positives=10, true_negatives=390)
    bounds = [bound_epsilon_clopper_pearson(evidence, delta=0.0, confidence=0.95).lower for evidence in (one, other)]
    assert bounds[0] == bounds[1] > 1.0


def test_tries_against_bonferroni():
    evidence = gaussian_runs(500, 1.5, 1)
    choice = Fixed(threshold=1.0)
    tried = bound_epsilon_clopper_pearson(evidence, delta=0.0, confidence=0.95, choice=choice, num_tries=5)
    stricter = bound_epsilon_clopper_pearson(evidence, delta=0.0, confidence=0.99, choice=choice)
    assert tried.lower == pytest.approx(stricter.lower)
    assert tried.ceiling == pytest.approx(stricter.ceiling)
    assert tried.num_tries == 5


def test_grid_rules_against_naive_counts():
    evidence = gaussian_runs(200, 1.0, 2)
    errors = count_errors(evidence, Grid(fractions=(0.0, 0.05)), objective)
    members, others = np.sort(evidence.member_scores), np.sort(evidence.non_member_scores)
    expected = []
    for allowed in (0, 10):
        cut = others[-1 - allowed]
        expected.append((int(np.sum(members <= cut)), allowed, cut))
    for allowed in (0, 10):
        cut = members[allowed]
        expected.append((allowed, int(np.sum(others >= cut)), cut))
    found = zip(
        errors.false_negatives.tolist(), errors.false_positives.tolist(), errors.thresholds.tolist(), strict=True
    )
    assert list(found) == expected


def test_split_rule_against_exhaustive_search_on_the_first_part():
    """The rule is the best on the first part, whatever the second part holds."""
    evidence = gaussian_runs(400, 2.0, 3)
    order = np.random.Generator(np.random.Philox(key=0)).permutation(400)
    parts = [np.sort(scores[order[:200]]) for scores in (evidence.member_scores, evidence.non_member_scores)]
    candidates = []
    for fraction in SPLIT_FRACTIONS:
        allowed = int(fraction * 200)
        missed = int(np.sum(parts[0] <= parts[1][-1 - allowed]))
        candidates.append(("above", fraction, missed, allowed))
        wrong = int(np.sum(parts[1] >= parts[0][allowed]))
        candidates.append(("below", fraction, allowed, wrong))
    values = [
        bound_epsilon_clopper_pearson(
            RunCounts(
                true_positives=200 - missed, false_negatives=missed, false_positives=wrong, true_negatives=200 - wrong
            ),
            delta=0.0,
            confidence=0.95,
        ).lower
        for _, _, missed, wrong in candidates
    ]
    side, fraction, _, _ = candidates[int(np.argmax(values))]
    tested = count_errors(evidence, Split(), objective)
    assert (tested.num_members, tested.num_non_members) == (200, 200)
    chosen = tested.false_positives if side == "above" else tested.false_negatives
    assert int(chosen[0]) == int(fraction * 200)


def test_split_choice_against_changed_test_part():
    evidence = gaussian_runs(400, 2.0, 4)
    order = np.random.Generator(np.random.Philox(key=0)).permutation(400)
    spoiled = evidence.member_scores.copy()
    spoiled[order[200:]] = -100.0
    bad = RunEvidence(member_scores=spoiled, non_member_scores=evidence.non_member_scores)
    assert bound_epsilon_clopper_pearson(evidence, delta=0.0, confidence=0.95).lower > 0.5
    assert bound_epsilon_clopper_pearson(bad, delta=0.0, confidence=0.95).lower == 0.0


def test_median_of_splits_against_single_splits():
    evidence = gaussian_runs(400, 2.0, 5)
    choice = MedianOfSplits(num=5, seed=2)
    median = bound_epsilon_clopper_pearson(evidence, delta=0.0, confidence=0.95, choice=choice).lower
    singles = []
    for split in choice.splits:
        errors = count_errors(evidence, split, objective)
        singles.append(float(clopper_pearson_epsilons(errors, delta=0.0, significance=0.05 * 3 / 5)[0]))
    assert median == pytest.approx(sorted(singles)[-3])


def test_order_of_arrival_split_against_first_part():
    evidence = gaussian_runs(100, 1.0, 6)
    errors = count_errors(evidence, Split(seed=None, fraction=0.3), objective)
    assert (errors.num_members, errors.num_non_members) == (70, 70)


def test_perfect_attack_against_ceiling():
    """Nothing is lost to the choice of the side when either does: the bound reaches the ceiling of what is tested."""
    scores = np.linspace(0, 1, 300)
    evidence = RunEvidence(member_scores=scores + 2, non_member_scores=scores)
    for choice in (Fixed(threshold=1.5), Split(), MedianOfSplits(num=3), Grid()):
        bound = bound_epsilon_clopper_pearson(evidence, delta=1e-5, confidence=0.95, choice=choice)
        assert bound.lower == pytest.approx(bound.ceiling)


def test_gaussian_bound_against_formula():
    bound = bound_epsilon_gaussian(
        RunCounts(true_positives=300, false_negatives=100, false_positives=20, true_negatives=380),
        delta=1e-5,
        confidence=0.95,
    )
    missed, wrong = stats.beta.ppf(0.975, 101, 300), stats.beta.ppf(0.975, 21, 380)
    mu = stats.norm.ppf(1 - wrong) - stats.norm.ppf(missed)
    assert bound.lower == pytest.approx(float(gaussian_epsilon(mu, 1e-5)))
    assert any("GDP" in assumption for assumption in bound.assumptions)


def test_gaussian_bound_against_many_trials():
    """With 4 million trials it comes within one in a hundred of the truth."""
    mu, per_side = 1.0, 2_000_000
    missed = round(per_side * stats.norm.cdf(-0.5))
    evidence = RunCounts(
        true_positives=per_side - missed,
        false_negatives=missed,
        false_positives=missed,
        true_negatives=per_side - missed,
    )
    truth = float(gaussian_epsilon(mu, 1e-5))
    assert 0.99 * truth < bound_epsilon_gaussian(evidence, delta=1e-5, confidence=0.95).lower < truth


def test_bayesian_limits_against_draws_from_the_posterior():
    generator = np.random.default_rng(7)
    num_draws, delta = 1_000_000, 1e-5
    for missed, hits, wrong, rejected in ((0, 487, 512, 1), (30, 170, 12, 188)):
        fnr = generator.beta(0.5 + missed, 0.5 + hits, num_draws)
        tnr = generator.beta(0.5 + rejected, 0.5 + wrong, num_draws)
        fpr, tpr = 1 - tnr, 1 - fnr
        bound = bound_epsilon_bayesian(
            RunCounts(true_positives=hits, false_negatives=missed, false_positives=wrong, true_negatives=rejected),
            delta=delta,
            confidence=0.95,
        )
        for epsilon, level in ((bound.lower, 0.05), (bound.upper, 0.95)):
            growth = np.exp(epsilon)
            private = (tpr - delta <= growth * fpr) & (fpr - delta <= growth * tpr)
            private &= (tnr - delta <= growth * fnr) & (fnr - delta <= growth * tnr)
            assert np.mean(private) == pytest.approx(level, abs=4 * np.sqrt(0.05 * 0.95 / num_draws))


def test_paper_style_against_ratio():
    evidence = RunCounts(true_positives=30, false_negatives=70, false_positives=5, true_negatives=95)
    estimate = estimate_epsilon_paper_style(evidence, delta=0.0, confidence=0.95)
    assert estimate.lower == pytest.approx(np.log(6))
    assert estimate.kind == "no bound"
    none = RunCounts(true_positives=30, false_negatives=70, false_positives=0, true_negatives=100)
    assert np.isinf(estimate_epsilon_paper_style(none, delta=0.0, confidence=0.95).lower)
    blind = RunCounts(true_positives=0, false_negatives=100, false_positives=0, true_negatives=100)
    assert estimate_epsilon_paper_style(blind, delta=0.0, confidence=0.95).lower == 0.0


@pytest.mark.parametrize("estimator", [bound_epsilon_clopper_pearson, bound_epsilon_gaussian])
def test_million_scores_against_two_seconds_of_work(estimator):
    evidence = gaussian_runs(500_000, 0.5, 8)
    started = time.process_time()
    bound = estimator(evidence, delta=1e-5, confidence=0.95)
    assert time.process_time() - started < 2.0
    assert bound.lower > 1.0
