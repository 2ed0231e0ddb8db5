"""Bounds from membership coins at 95%: they exceed a known epsilon in at most 5% of 2000 simulated audits."""

from functools import cache

import numpy as np
import pytest
from scipy import stats
from simulated_audits import (
    DELTA,
    Mechanism,
    RecordAudits,
    choices,
    mechanisms,
    most_exceedances,
    simulate_records,
)

from audit.statistics.estimators.evidence import RecordEvidence
from audit.statistics.estimators.one_run import bound_epsilon_one_run_records
from audit.statistics.estimators.one_run_dp import bound_epsilon_one_run_dp
from audit.statistics.estimators.one_run_fdp import bound_epsilon_one_run_fdp
from audit.statistics.estimators.thresholds import Fixed

NUM_AUDITS = 2000
SHAPE = (4, 80)
CHOICES = ("fixed", "split", "median", "grid")


@cache
def audits(name: str) -> RecordAudits:
    return simulate_records(mechanisms()[name], num_audits=NUM_AUDITS, num_attacks=5, shape=SHAPE, seed=12)


@pytest.mark.parametrize("num_tries", [1, 5])
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("name", "estimator", "least_median"),
    [
        ("gaussian", "one-run", 0.1),
        ("gaussian", "one-run-fdp", 0.2),
        ("laplace", "one-run", 0.3),
        ("subsampled", "one-run", 0.03),
        ("nothing", "one-run", None),
    ],
)
def test_record_bounds_against_known_epsilon(name, estimator, choice, num_tries, least_median):
    game = audits(name)
    bounds = game.bounds(estimator, choices(game.mechanism, 3)[choice], num_tries)
    assert np.sum(bounds > game.mechanism.epsilon) <= most_exceedances(NUM_AUDITS)
    if least_median is not None:
        assert np.median(bounds) > least_median * game.mechanism.epsilon


@pytest.mark.parametrize("num_tries", [1, 5])
@pytest.mark.parametrize("choice", ["split", "chosen"])
@pytest.mark.parametrize(
    ("name", "least_median"),
    [("gaussian", 0.1), ("response", 0.3), ("leaky", 0.2), ("nothing", None)],
)
def test_recursion_against_known_epsilon(name, choice, num_tries, least_median):
    """The estimator of the headline, with the choices that audits make, and the test of the true curve."""
    game = audits(name)
    bounds = game.bounds("one-run-dp", choices(game.mechanism)[choice], num_tries)
    assert np.sum(bounds > game.mechanism.epsilon) <= most_exceedances(NUM_AUDITS)
    if num_tries == 1:
        assert least_median is None or np.median(bounds) > least_median * game.mechanism.epsilon
        refuted = game.curve_refuted(choices(game.mechanism)[choice], num_tries)
        assert np.sum(refuted) <= most_exceedances(NUM_AUDITS)


def test_one_run_on_randomised_response_against_exact_tail():
    """The mechanism for which the bound is exact: it is exceeded as often as the binomial tail says, close to 5%."""
    epsilon = 1.0
    success = np.exp(epsilon) / (1 + np.exp(epsilon))
    response = Mechanism(
        name="randomised response",
        epsilon=epsilon,
        threshold=0.5,
        draw=lambda generator, members: (members ^ (generator.random(members.shape) > success)).astype(float),
    )
    num_coins = SHAPE[0] * SHAPE[1]
    game = simulate_records(response, num_audits=20000, num_attacks=1, shape=SHAPE, seed=13)
    rate = np.mean(game.bounds("one-run", Fixed(threshold=0.5), 1, delta=0.0) > epsilon)
    tails = stats.binom.sf(np.arange(num_coins) - 1, num_coins, success)
    expected = tails[tails < 0.05].max()
    assert expected > 0.04
    assert rate == pytest.approx(expected, abs=4 * np.sqrt(expected / 20000))


def test_naive_choice_of_the_threshold_against_significance():
    """The harness can fail: the best of all thresholds, on the tested coins, is wrong far more often than 5%."""
    game = audits("nothing")
    total = SHAPE[0] * SHAPE[1]
    numbers = np.arange(1, total + 1)
    wrong = 0
    for audit in range(500):
        order = np.argsort(-game.scores[audit, 0].ravel())
        right = np.cumsum(game.members[audit, 0].ravel()[order])
        wrong += bool((stats.binom.sf(right - 1, numbers, 0.5) < 0.05).any())
    assert wrong / 500 > 0.15


@pytest.mark.parametrize("choice", CHOICES)
def test_simulated_bounds_against_public_functions(choice):
    game = audits("gaussian")
    chosen = choices(game.mechanism, 3)[choice]
    public = {
        "one-run": bound_epsilon_one_run_records,
        "one-run-dp": bound_epsilon_one_run_dp,
        "one-run-fdp": bound_epsilon_one_run_fdp,
    }
    for name, function in public.items():
        evidence = RecordEvidence(members=game.members[0, 0], scores=game.scores[0, 0])
        single = function(evidence, delta=DELTA, confidence=0.95, choice=chosen)
        alone = RecordAudits(
            mechanism=game.mechanism,
            members=game.members[:1],
            scores=game.scores[:1],
            fit_members=game.fit_members[:1],
            fit_scores=game.fit_scores[:1],
        )
        assert single.lower == pytest.approx(float(alone.bounds(name, chosen, 1)[0]), abs=1e-4)
