import numpy as np
import pytest
from scipy.stats import norm

from attacks.lira import LiraConfig, fit_gaussian, score_lira
from attacks.loss import LossConfig, advantage, best_threshold, score_loss
from attacks.registry import Observations
from condensers.errors import BadConfig, BadData
from condensers.randomness import stream


def observations_of(fit=40, test=6, records=15, queries=2, effect=1.0):
    generator = stream(3, "observations", fit)
    members = generator.random((fit + test, records)) < 0.5
    signals = generator.standard_normal((fit + test, records, queries)) + effect * members[:, :, None]
    signals = signals.astype(np.float32)
    seen = Observations(fit_signals=signals[:fit], fit_members=members[:fit], test_signals=signals[fit:])
    return seen, members[fit:]


@pytest.mark.parametrize("online", [True, False])
def test_lira_per_record_against_naive_loop(online):
    seen, _ = observations_of()
    scores = score_lira(seen, LiraConfig(online=online, variance="record"))
    for record in range(15):
        inside = seen.fit_members[:, record]
        expected = np.zeros(6)
        for query in range(2):
            fit, test = seen.fit_signals[:, record, query], seen.test_signals[:, record, query].astype(float)
            out = norm(fit[~inside].astype(float).mean(), fit[~inside].astype(float).std(ddof=1))
            if online:
                within = norm(fit[inside].astype(float).mean(), fit[inside].astype(float).std(ddof=1))
                expected += (within.logpdf(test) - out.logpdf(test)) / 2
            else:
                expected += -out.logsf(test) / 2
        np.testing.assert_allclose(scores[:, record], expected, rtol=1e-4, atol=1e-5)


def carlini_by_hand(seen: Observations, *, online: bool, fixed: bool) -> np.ndarray:
    """tensorflow/privacy at 3d499e6, research/mi_lira_2021/plot.py: `generate_ours`, `generate_ours_offline`.

    Facts taken from there: equally many runs of every record, the first ones; medians; np.std, which has ddof 0, per
    record or (fix_variance) of everything, online that of the runs with the record on both sides; 1e-30 added; the mean
    over queries; members have the *lower* number, in log density offline as in −ln p_in + ln p_out online.
    """
    signals, test = seen.fit_signals.astype(float), seen.test_signals.astype(float)
    num_records = signals.shape[1]
    sides = {}
    for side, members in (("in", seen.fit_members), ("out", ~seen.fit_members)):
        fewest = min(members[:, record].sum() for record in range(num_records))
        sides[side] = np.array([signals[members[:, record], record][:fewest] for record in range(num_records)])
    scores = np.empty(test.shape[:2])
    for run in range(len(test)):
        for record in range(num_records):
            density = {}
            for side in ("in", "out"):
                own = sides[side][record]
                deviation = np.std(sides["in" if online else "out"]) if fixed else np.std(own, axis=0)
                density[side] = norm.logpdf(test[run, record], np.median(own, axis=0), deviation + 1e-30)
            printed = -density["in"] + density["out"] if online else density["out"]
            scores[run, record] = printed.mean()
    return scores


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize(("variance", "fit", "fixed"), [("record", 40, False), ("pooled", 40, True), ("auto", 40, True),
                                                        ("auto", 64, False)])  # fmt: skip
def test_carlini_estimator_against_formula_of_its_authors(online, variance, fit, fixed):
    seen, _ = observations_of(fit=fit)
    found = score_lira(seen, LiraConfig(online=online, variance=variance, estimator="carlini"))
    expected = -carlini_by_hand(seen, online=online, fixed=fixed)
    constant = 0.0 if online else 0.5 * np.log(2 * np.pi)  # which changes no order
    np.testing.assert_allclose(found + constant, expected, rtol=1e-4, atol=1e-5)
    ours = score_lira(seen, LiraConfig(online=online, variance=variance))
    assert np.abs(found + constant - ours).max() > 0.05, "it is another estimator"


def test_carlini_estimator_bears_a_record_with_one_run_on_a_side():
    """A deviation of 0 gives scores beyond float32, which are cut to it."""
    seen, _ = observations_of(fit=8, queries=1)
    members = seen.fit_members.copy()
    members[:, 0] = [True] + [False] * 7
    members[0, 1:], members[1, 1:] = True, False
    seen = Observations(fit_signals=seen.fit_signals, fit_members=members, test_signals=seen.test_signals)
    found = score_lira(seen, LiraConfig(variance="record", estimator="carlini"))
    assert np.isfinite(found).all()


def test_pooled_variance_against_naive():
    seen, _ = observations_of(queries=1)
    signals, members = seen.fit_signals[:, :, 0].astype(float), seen.fit_members
    mean, deviation = fit_gaussian(signals, members, pooled=True)
    residuals = np.concatenate([signals[members[:, r], r] - mean[r] for r in range(15)])
    np.testing.assert_allclose(deviation, np.sqrt((residuals**2).sum() / (len(residuals) - 15)))


def test_lira_finds_a_planted_signal_against_theory():
    """With unit variance and a shift of 1 the best attack has AUC Φ(1/√2) = .760."""
    seen, members = observations_of(fit=400, test=200, records=50, queries=1)
    scores = score_lira(seen, LiraConfig())
    inside, outside = scores[members], scores[~members]
    auc = (inside[:, None] > outside[None, :2000]).mean()
    assert abs(auc - norm.cdf(1 / np.sqrt(2))) < 0.02


def test_lira_refuses_too_few_runs():
    seen, _ = observations_of(fit=2)
    with pytest.raises(BadData, match="raise --shadows"):
        score_lira(seen, LiraConfig())
    with pytest.raises(BadConfig, match="variance"):
        LiraConfig(variance="none")
    with pytest.raises(BadConfig, match="estimator='median' is not one of moments, carlini"):
        LiraConfig(estimator="median")


def test_loss_score_against_cross_entropy():
    seen, _ = observations_of()
    p = 1 / (1 + np.exp(-seen.test_signals[:, :, 0].astype(float)))
    np.testing.assert_allclose(score_loss(seen, LossConfig()), np.log(p), rtol=1e-4, atol=1e-6)


def test_best_threshold_against_naive_search():
    generator = stream(0, "thresholds")
    for _ in range(50):
        positives, negatives = generator.integers(0, 6, 8).astype(float), generator.integers(0, 6, 8).astype(float)
        found = best_threshold(positives, negatives)
        gains = [
            (positives >= t).sum() - (negatives >= t).sum() for t in [*np.unique([*positives, *negatives]), np.inf]
        ]
        assert (positives >= found).sum() - (negatives >= found).sum() == max(gains)


def test_advantage_is_measured_on_the_other_half():
    """Pure noise: a threshold that is best on its own half gains nothing on the other, on average."""
    generator = stream(0, "noise")
    found = [
        advantage(generator.standard_normal(80), np.arange(40), np.arange(40, 80), generator, 1000) for _ in range(400)
    ]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(400)
    perfect = np.repeat([1.0, 0.0], 40)
    assert advantage(perfect, np.arange(40), np.arange(40, 80), generator, 1000) == 1
    assert advantage(np.arange(4.0), np.array([0]), np.array([2, 3]), generator, 1000) is None
