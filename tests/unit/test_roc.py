import numpy as np
import pytest
from scipy.stats import binomtest, norm
from sklearn.metrics import roc_auc_score

from audit.games.membership.game import Game
from audit.statistics.clustered import measure_roc_over_draws
from audit.statistics.roc import measure_roc, opened, paper_style_ratio, record_auc
from condensers.randomness import stream
from reports.records.schema import Roc


def audit_of(runs=40, records=200, effect=1.0, seed=0):
    members = stream(seed, "members").random((runs, records)) < 0.5
    scores = stream(seed, "scores").standard_normal((runs, records)) + effect * members
    return members, scores


def test_auc_against_sklearn():
    members, scores = audit_of()
    scores = np.round(scores, 1)
    roc = measure_roc(members, scores, confidence=0.95, seed=0)
    np.testing.assert_allclose(roc.auc, roc_auc_score(members.ravel(), scores.ravel()))


def test_tpr_at_fpr_against_naive():
    members, scores = audit_of()
    roc = measure_roc(members, scores, confidence=0.95, seed=0)
    outside = np.sort(scores[~members])[::-1]
    for rate in (0.001, 0.01):
        allowed = int(rate * len(outside))
        expected = (scores[members] > outside[allowed]).mean()
        assert roc.tpr_at_fpr[f"{rate:g}"] == expected


@pytest.mark.parametrize("runs", [8, 30])
def test_intervals_cover_the_truth_against_theory(runs):
    """Independent scores: the true AUC is Φ(1/√2); a 95% interval over runs misses it in about 1 of 20 audits."""
    truth = norm.cdf(1 / np.sqrt(2))
    missed = 0
    for seed in range(100):
        low, high = measure_roc(*audit_of(runs=runs, records=60, seed=seed), confidence=0.95, seed=seed).auc_interval
        missed += not low <= truth <= high
    assert missed <= 11  # P[Binomial(100, .05) > 11] < .005


def test_runs_that_differ_widen_the_interval():
    members, scores = audit_of(runs=30, records=300, effect=0.0)
    shared = stream(1, "effect").standard_normal((30, 1)) * members
    narrow = measure_roc(members, scores, confidence=0.95, seed=0).auc_interval
    wide = measure_roc(members, scores + shared, confidence=0.95, seed=0).auc_interval
    assert wide[1] - wide[0] > 3 * (narrow[1] - narrow[0])


def test_balanced_accuracy_of_noise_is_a_half():
    """A threshold chosen on the tested runs would show more than ½ for noise; ours does not, on average."""
    found = [
        measure_roc(*audit_of(runs=4, records=25, effect=0.0, seed=seed), confidence=0.95, seed=0).balanced_accuracy
        for seed in range(60)
    ]
    assert abs(np.mean(found) - 0.5) < 4 * np.std(found) / np.sqrt(60)


def test_single_run_and_constant_scores_do_not_fail():
    members, scores = audit_of(runs=1)
    assert 0.5 < measure_roc(members, scores, confidence=0.95, seed=0).auc <= 1
    flat = measure_roc(members, np.zeros_like(scores), confidence=0.95, seed=0)
    assert flat.auc == 0.5
    assert flat.tpr_at_fpr["0.001"] == 0
    assert paper_style_ratio(flat) is None


def test_record_auc_against_sklearn():
    members, scores = audit_of(records=6)
    expected = [roc_auc_score(members[:, r], scores[:, r]) for r in range(6)]
    np.testing.assert_allclose(record_auc(members, scores), expected)


def test_the_games_coins_are_fair_and_independent_of_the_number_of_runs():
    game = Game(seed=0, num_records=500, num_runs=200, num_test_runs=50)
    members = game.members(range(200))
    assert abs(members.mean() - 0.5) < 4 * 0.5 / np.sqrt(members.size)
    correlation = np.corrcoef(members[:50].astype(float))
    assert np.abs(correlation[np.triu_indices(50, 1)]).max() < 5 / np.sqrt(500)
    smaller = Game(seed=0, num_records=500, num_runs=60, num_test_runs=10)
    assert np.array_equal(smaller.members(range(60)), members[:60])
    assert not np.array_equal(game.decoys(range(60)), members[:60])
    assert set(game.fit_runs).isdisjoint(game.test_runs)


@pytest.mark.parametrize("num_runs", [1, 2, 3])
def test_intervals_hold_their_estimates_with_few_runs(num_runs: int) -> None:
    for seed in range(30):
        generator = np.random.default_rng(seed)
        members = generator.random((num_runs, 60)) < 0.5
        scores = generator.normal(size=members.shape) + (generator.random(members.shape) < 0.1) * members * 4
        roc = measure_roc(members, scores, confidence=0.95, seed=seed)
        assert roc.auc_interval[0] <= roc.auc <= roc.auc_interval[1]
        for rate, point in roc.tpr_at_fpr.items():
            low, high = roc.tpr_at_fpr_interval[rate]
            assert low <= point <= high
        curve = {name: np.array(values) for name, values in roc.curve.items()}
        assert (curve["lower"] <= curve["true_positive_rate"]).all()
        assert (curve["true_positive_rate"] <= curve["upper"]).all()


@pytest.mark.parametrize("measure", ["runs", "draws"])
def test_infinite_scores_against_finite_ranks(measure: str) -> None:
    """Half of the scores tie at infinity: that is one step of the curve, in whatever order the rows are."""
    generator = np.random.default_rng(5)
    members = generator.random((8, 50)) < 0.5
    scores = np.where(generator.random((8, 50)) < 0.5, np.inf, generator.normal(size=(8, 50)))
    scores[0, :5] = -np.inf
    order = generator.permutation(50)

    def measured(members: np.ndarray, scores: np.ndarray) -> Roc:
        if measure == "runs":
            return measure_roc(members, scores, confidence=0.95, seed=0)
        return measure_roc_over_draws(members, scores, np.arange(8) % 4, confidence=0.95, seed=0)

    found = measured(members, scores)
    assert found.auc == pytest.approx(roc_auc_score(members.ravel(), np.clip(scores, -99, 99).ravel()))
    assert measured(members[:, order], scores[:, order]).auc == pytest.approx(found.auc)
    assert 0 <= found.auc_interval[0] < found.auc < found.auc_interval[1] <= 1
    assert measured(members, np.full((8, 50), np.inf)).auc == 0.5


@pytest.mark.parametrize(("successes", "trials"), [(0, 400), (3, 400), (400, 400), (1, 2)])
def test_intervals_of_what_does_not_vary_against_scipy(successes: int, trials: int) -> None:
    share = successes / trials
    found = opened((share, share), share, trials, 0.95)
    exact = binomtest(successes, trials).proportion_ci(0.95, "exact")
    assert found == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert opened((0.1, 0.2), 0.15, trials, 0.95) == (0.1, 0.2)


def test_four_runs_without_a_hit_have_an_exact_interval_over_records_against_scipy() -> None:
    """Below every non-member all members: the rate is 0 in every run, and resampling runs shows no spread."""
    members = np.tile(np.arange(200) < 100, (4, 1))
    scores = np.where(members, 0.0, 1.0) + np.linspace(0, 0.1, 800).reshape(4, 200)
    roc = measure_roc(members, scores, confidence=0.95, seed=0)
    assert roc.tpr_at_fpr["0.001"] == 0
    exact = binomtest(0, 400).proportion_ci(0.95, "exact")
    assert roc.tpr_at_fpr_interval["0.001"] == pytest.approx((0.0, exact.high), abs=1e-9)
    assert "0.001" in roc.over_records


def test_intervals_of_a_perfect_attack_against_exact_shares() -> None:
    """The largest score of a non-member is shared by a whole run, and all members lie above it."""
    generator = stream(3, "perfect attack")
    members = generator.random((48, 60)) < 0.5
    scores = np.where(members, 20.0, -20.0) + generator.normal(size=members.shape)
    scores[5, ~members[5]] = scores[~members].max() + 1.0
    roc = measure_roc(members, scores, confidence=0.95, seed=0)
    assert roc.auc == 1.0
    for rate in ("0.001", "0.01"):
        assert roc.tpr_at_fpr_interval[rate][0] > 0.99, rate
    assert roc.auc_interval[0] > 0.99
