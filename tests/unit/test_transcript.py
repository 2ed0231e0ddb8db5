import numpy as np
import pytest
from scipy import stats

from audit.transcript import DESIGNS, log_likelihood_ratio, make_trials, neighbouring_pools
from condensers.ledger import Poisson


@pytest.mark.parametrize("design", DESIGNS)
def test_neighbouring_runs_differ_in_one_record(design):
    pool = neighbouring_pools((1, 8, 8), 3, seed=0)
    trials = make_trials(design, 12, 24, 3)
    members = trials.members(pool).numpy()
    assert not members[-1].any()
    assert np.bincount(trials.labels[trials.has_canary]).tolist() == [4, 4, 4]
    for label in range(3):
        rows = members[:-1][trials.labels == label]
        has = trials.has_canary[trials.labels == label]
        with_canary, without = np.unique(rows[has], axis=0), np.unique(rows[~has], axis=0)
        assert len(with_canary) == len(without) == 1
        assert np.flatnonzero(with_canary[0] != without[0]).tolist() == [2 * label]


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("pull", [0.0, -0.7])
def test_likelihood_ratio_against_densities(rate, pull):
    heard = np.linspace(-4, 4, 41)
    noise = 0.8

    def without(x):
        return (1 - rate) * stats.norm.pdf(x, 0, noise) + rate * stats.norm.pdf(x, pull, noise)

    expected = np.log((1 - rate) * without(heard) + rate * without(heard - 0.9)) - np.log(without(heard))
    found = log_likelihood_ratio(heard, np.full(41, 0.9), np.full(41, pull), Poisson(rate=rate), noise)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
