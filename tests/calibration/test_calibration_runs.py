"""Bounds from independent runs at 95%: they exceed a known epsilon in at most 5% of 2000 simulated audits.

For every threshold choice, with one attack and with the best of five. tables.py prints the rates.
"""

from functools import cache

import numpy as np
import pytest
from simulated_audits import (
    DELTA,
    RATE,
    STEPS,
    RunAudits,
    choices,
    mechanisms,
    most_exceedances,
    simulate_runs,
)

from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.evidence import RunCounts, RunEvidence
from audit.statistics.estimators.family import bound_epsilon_family
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian
from audit.statistics.estimators.trials import upper_limits

NUM_AUDITS = 2000
PER_SIDE = 300
CHOICES = ("fixed", "split", "median", "grid")


@cache
def audits(name: str) -> RunAudits:
    return simulate_runs(mechanisms()[name], num_audits=NUM_AUDITS, num_attacks=5, per_side=PER_SIDE, seed=11)


@pytest.mark.parametrize("num_tries", [1, 5])
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("name", "estimator", "least_median"),
    [
        ("gaussian", "clopper-pearson", 0.05),
        ("gaussian", "gaussian", 0.25),
        ("laplace", "clopper-pearson", 0.45),
        ("subsampled", "clopper-pearson", 0.0),
        ("nothing", "clopper-pearson", None),
        ("nothing", "gaussian", None),
    ],
)
def test_run_bounds_against_known_epsilon(name, estimator, choice, num_tries, least_median):
    game = audits(name)
    bounds = game.bounds(estimator, choices(game.mechanism, 3)[choice], num_tries)
    assert np.sum(bounds > game.mechanism.epsilon) <= most_exceedances(NUM_AUDITS)
    if least_median is not None:
        assert np.median(bounds) > least_median * game.mechanism.epsilon


@pytest.mark.parametrize("num_tries", [1, 5])
@pytest.mark.parametrize("choice", CHOICES)
def test_true_curve_and_family_against_known_curve(choice, num_tries):
    """The curve test refutes the true curve rarely; the family bound exceeds epsilon just when its rule does so."""
    game = audits("subsampled")
    chosen = choices(game.mechanism, 3)[choice]
    for objective in ("curve", "gaussian"):
        assert np.sum(game.curve_refuted(chosen, num_tries, objective)) <= most_exceedances(NUM_AUDITS)


def test_family_bound_of_typical_counts_against_truth():
    """Not vacuous: the audit with the median error count certifies a good part of epsilon, and not more."""
    game = audits("subsampled")
    errors, _ = game.errors(choices(game.mechanism)["fixed"], "gaussian", 1)
    missed, wrong = (int(np.median(counts)) for counts in (errors.false_negatives, errors.false_positives))
    evidence = RunCounts(
        true_positives=PER_SIDE - missed,
        false_negatives=missed,
        false_positives=wrong,
        true_negatives=PER_SIDE - wrong,
    )
    bound = bound_epsilon_family(evidence, sampling_rate=RATE, steps=STEPS, delta=DELTA, confidence=0.95)
    assert 0.3 * game.mechanism.epsilon < bound.lower < game.mechanism.epsilon
    assert bound.lower > bound_epsilon_clopper_pearson(evidence, delta=DELTA, confidence=0.95).lower


@pytest.mark.parametrize("choice", CHOICES)
def test_simulated_bounds_against_public_functions(choice):
    """What is calibrated here is what a person calls."""
    game = audits("gaussian")
    chosen = choices(game.mechanism, 3)[choice]
    public = {"clopper-pearson": bound_epsilon_clopper_pearson, "gaussian": bound_epsilon_gaussian}
    for name, function in public.items():
        for audit in range(3):
            evidence = RunEvidence(member_scores=game.members[audit, 0], non_member_scores=game.non_members[audit, 0])
            single = function(evidence, delta=DELTA, confidence=0.95, choice=chosen, num_tries=5).lower
            alone = RunAudits(
                mechanism=game.mechanism,
                members=np.repeat(game.members[audit : audit + 1, :1], 5, axis=1),
                non_members=np.repeat(game.non_members[audit : audit + 1, :1], 5, axis=1),
            )
            assert single == pytest.approx(float(alone.bounds(name, chosen, 5)[0]), abs=1e-12)


def test_limit_at_an_order_statistic_against_theory():
    """The share beyond the (k+1)-th largest of n scores exceeds the Clopper-Pearson limit of k with probability s."""
    generator = np.random.default_rng(5)
    num_trials, allowed, significance, num_draws = 50, 3, 0.05, 20000
    thresholds = np.sort(generator.random((num_draws, num_trials)), axis=1)[:, num_trials - 1 - allowed]
    limit = upper_limits(np.array([allowed]), num_trials, significance)[0]
    exceeded = np.mean(1.0 - thresholds > limit)
    assert exceeded == pytest.approx(significance, abs=4 * np.sqrt(significance * (1 - significance) / num_draws))
