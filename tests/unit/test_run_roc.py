"""The operating characteristic of independent runs: its curve, and how often its intervals hold what they promise."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from audit.statistics.estimators.evidence import RunEvidence
from audit.statistics.run_roc import measure_run_roc

SHIFT = 1.0


def shifted_normals(seed: int, runs: int, shift: float = SHIFT) -> RunEvidence:
    generator = np.random.default_rng(seed)
    return RunEvidence(member_scores=generator.normal(shift, 1, runs), non_member_scores=generator.normal(0, 1, runs))


def test_curve_and_area_against_theory():
    roc = measure_run_roc(shifted_normals(0, 40_000), confidence=0.95)
    rates = np.array(roc.curve["false_positive_rate"])
    truth = norm.sf(norm.isf(rates) - SHIFT)
    assert np.array(roc.curve["true_positive_rate"]) == pytest.approx(truth, abs=0.02)
    assert roc.auc == pytest.approx(norm.cdf(SHIFT / np.sqrt(2)), abs=0.01)
    assert roc.balanced_accuracy == pytest.approx(norm.cdf(SHIFT / 2), abs=0.01)
    assert roc.tpr_at_fpr["0.01"] == pytest.approx(norm.sf(norm.isf(0.01) - SHIFT), abs=0.01)
    low, high = (np.array(roc.curve[name]) for name in ("lower", "upper"))
    assert (low <= np.array(roc.curve["true_positive_rate"])).all()
    assert (high >= np.array(roc.curve["true_positive_rate"])).all()
    assert (high - low)[rates > 0.01].max() < 0.06


@pytest.mark.parametrize("sign", [1, -1])
def test_area_of_runs_that_are_all_told_apart_against_scipy(sign: int):
    """Nothing varies, yet 40 pairs of runs do not show that the area is 1: 3.7/40 is left open."""
    evidence = RunEvidence(member_scores=sign * np.arange(1.0, 51.0), non_member_scores=-sign * np.arange(40.0))
    exact = binomtest(40 if sign == 1 else 0, 40).proportion_ci(0.95, "exact")
    assert measure_run_roc(evidence, confidence=0.95).auc_interval == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize(("area", "runs"), [(0.97, 30), (0.99, 50), (0.9, 50)])
def test_areas_near_one_are_covered_as_often_as_they_say_against_theory(area: float, runs: int):
    """Within the sampling error (1 in 10⁴) of 93%; the plain interval covers 82 to 87% of the first two."""
    audits, shift = 1000, np.sqrt(2) * norm.ppf(area)
    intervals = [
        measure_run_roc(shifted_normals(seed, runs, shift), confidence=0.95).auc_interval for seed in range(audits)
    ]
    misses = sum(not low <= area <= high for low, high in intervals)
    assert misses <= binom.isf(1e-4, audits, 0.07)


def test_curve_against_naive():
    """Ties included: scores of few values."""
    generator = np.random.default_rng(3)
    members, others = generator.integers(0, 8, 60) + 0.0, generator.integers(0, 6, 50) + 0.0
    roc = measure_run_roc(RunEvidence(member_scores=members, non_member_scores=others), confidence=0.9)
    for rate, found in zip(roc.curve["false_positive_rate"], roc.curve["true_positive_rate"], strict=True):
        rules = [(np.mean(others > cut), np.mean(members > cut)) for cut in np.sort(others)[::-1]]
        allowed = [
            true for place, (_, true) in enumerate(rules) if place <= rate * others.size + 1e-9 and place < others.size
        ]
        assert found == pytest.approx(1.0 if rate == 1 else max(allowed))
    pairs = (members[:, None] > others).mean() + (members[:, None] == others).mean() / 2
    assert roc.auc == pytest.approx(pairs)


@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_intervals_hold_the_truth_as_often_as_they_say_against_theory(shift):
    """In 400 simulated audits, at four rates: misses stay within what the confidence allows (binomial, 1 in 10⁴)."""
    audits, confidence = 400, 0.9
    checked = (0.01, 0.1, 0.5)
    misses, areas = dict.fromkeys(checked, 0), 0
    for seed in range(audits):
        roc = measure_run_roc(shifted_normals(seed, 400, shift), confidence=confidence)
        for rate in checked:
            truth = norm.sf(norm.isf(rate) - shift)
            place = int(np.argmin(np.abs(np.array(roc.curve["false_positive_rate"]) - rate)))
            misses[rate] += not roc.curve["lower"][place] <= truth <= roc.curve["upper"][place]
        areas += not roc.auc_interval[0] <= norm.cdf(shift / np.sqrt(2)) <= roc.auc_interval[1]
    most = int(binom.isf(1e-4, audits, 1 - confidence))
    assert max(misses.values()) <= most
    assert areas <= most


def test_perfect_and_blind_scores_at_their_ends():
    apart = RunEvidence(member_scores=np.ones(200), non_member_scores=np.zeros(200))
    roc = measure_run_roc(apart, confidence=0.95)
    assert (roc.auc, roc.balanced_accuracy) == (1.0, 1.0)
    assert roc.curve["lower"][0] == 0.0
    assert roc.tpr_at_fpr["0.01"] == 1.0
    same = RunEvidence(member_scores=np.zeros(200), non_member_scores=np.zeros(200))
    roc = measure_run_roc(same, confidence=0.95)
    assert roc.auc == 0.5
    assert roc.balanced_accuracy == 0.5
