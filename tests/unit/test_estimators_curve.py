"""The test against a whole curve, and the family bound."""

import numpy as np
import pytest
from scipy import stats

from audit.accounting.curve import point_curve, tradeoff_curve
from audit.accounting.epsilon import epsilon_pld
from audit.accounting.events import subsampled_gaussian
from audit.statistics.estimators import family
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.curve import refute_curve
from audit.statistics.estimators.evidence import RunCounts, RunEvidence
from audit.statistics.estimators.family import bound_epsilon_family
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian
from audit.statistics.estimators.thresholds import Fixed, Grid, MedianOfSplits, Split
from condensers.errors import BadInput


class GaussianCurve:
    """f(a) = Phi(Phi^-1(1 - a) - mu), arXiv:1905.02383."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def false_negative_rate(self, rates):
        return stats.norm.cdf(stats.norm.ppf(1 - np.asarray(rates)) - self.mu)


COUNTS = RunCounts(true_positives=300, false_negatives=100, false_positives=20, true_negatives=380)


def test_refutation_against_gaussian_bound():
    """For a Gaussian claim the test refutes exactly the mu below the one that the GDP estimator certifies."""
    missed, wrong = stats.beta.ppf(0.975, 101, 300), stats.beta.ppf(0.975, 21, 380)
    mu = stats.norm.ppf(1 - wrong) - stats.norm.ppf(missed)
    below = refute_curve(COUNTS, GaussianCurve(mu - 1e-6), confidence=0.95)
    above = refute_curve(COUNTS, GaussianCurve(mu + 1e-6), confidence=0.95)
    assert below.refuted
    assert not above.refuted
    assert (below.false_positive_upper, below.false_negative_upper) == pytest.approx((wrong, missed))
    assert below.allowed_false_negative_rate > below.false_negative_upper


def test_refutation_of_a_point_against_clopper_pearson():
    """Against an (epsilon, delta) point the test is the Clopper-Pearson bound, in both directions."""
    bound = bound_epsilon_clopper_pearson(COUNTS, delta=1e-5, confidence=0.95).lower
    assert refute_curve(COUNTS, point_curve(bound - 1e-6, 1e-5), confidence=0.95).refuted
    assert not refute_curve(COUNTS, point_curve(bound + 1e-6, 1e-5), confidence=0.95).refuted


@pytest.mark.parametrize("choice", [Fixed(threshold=0.7), Split(), MedianOfSplits(num=3), Grid()])
@pytest.mark.parametrize("num_tries", [1, 4])
def test_p_value_against_verdict_at_other_confidences(choice, num_tries):
    generator = np.random.default_rng(1)
    evidence = RunEvidence(member_scores=generator.normal(1.5, 1, 300), non_member_scores=generator.normal(0, 1, 300))
    curve = GaussianCurve(1.0)
    outcome = refute_curve(evidence, curve, confidence=0.95, choice=choice, num_tries=num_tries)
    assert outcome.refuted == (outcome.p_value < 0.05)
    assert len(outcome.thresholds_tried) == {Grid(): 8, MedianOfSplits(num=3): 3}.get(choice, 1)
    assert sum(outcome.counts.values()) in (300, 600)
    if not isinstance(choice, Fixed):
        return
    for factor, refuted in ((1.01, True), (0.99, False)):
        again = refute_curve(
            evidence, curve, confidence=1 - outcome.p_value * factor, choice=choice, num_tries=num_tries
        )
        assert again.refuted == refuted


def test_p_value_of_a_vacuous_claim_against_one():
    class Nothing:
        def false_negative_rate(self, rates):
            return np.zeros_like(rates)

    outcome = refute_curve(COUNTS, Nothing(), confidence=0.95)
    assert not outcome.refuted
    assert outcome.p_value == 1.0


def test_family_without_sampling_against_gaussian_bound():
    """Sampling rate 1 is the Gaussian mechanism, composed or not."""
    expected = bound_epsilon_gaussian(COUNTS, delta=1e-5, confidence=0.95).lower
    found = bound_epsilon_family(COUNTS, sampling_rate=1.0, steps=7, delta=1e-5, confidence=0.95).lower
    assert found == pytest.approx(expected)


def test_family_bound_against_refuted_noise(monkeypatch):
    """The reported epsilon is that of a refuted noise multiplier; one per cent less noise is not refuted."""
    noises, reported, num_curves = [], [], 0

    def event(*, sampling_rate, noise_multiplier, steps):
        noises.append(noise_multiplier)
        return subsampled_gaussian(sampling_rate=sampling_rate, noise_multiplier=noise_multiplier, steps=steps)

    def curve(made):
        nonlocal num_curves
        num_curves += 1
        return tradeoff_curve(made)

    def epsilon(made, delta):
        reported.append((noises[-1], epsilon_pld(made, delta)))
        return reported[-1][1]

    monkeypatch.setattr(family, "subsampled_gaussian", event)
    monkeypatch.setattr(family, "tradeoff_curve", curve)
    monkeypatch.setattr(family, "epsilon_pld", epsilon)
    bound = bound_epsilon_family(COUNTS, sampling_rate=0.3, steps=4, delta=1e-5, confidence=0.95)
    ((noise, lower),) = reported
    assert bound.lower == lower
    assert num_curves <= 15
    for factor, refuted in ((1.0, True), (0.99, False)):
        claim = subsampled_gaussian(sampling_rate=0.3, noise_multiplier=factor * noise, steps=4)
        assert refute_curve(COUNTS, tradeoff_curve(claim), confidence=0.95).refuted == refuted


def test_family_that_cannot_be_against_noiseless_member():
    """A record is never sampled with probability .7^4 = .24: no such mechanism is attacked without errors."""
    perfect = RunCounts(true_positives=400, false_negatives=0, false_positives=0, true_negatives=400)
    bound = bound_epsilon_family(perfect, sampling_rate=0.3, steps=4, delta=1e-5, confidence=0.95)
    assert np.isinf(bound.lower)
    assert np.isinf(bound.ceiling)


def test_family_of_no_evidence_against_zero():
    blind = RunCounts(true_positives=50, false_negatives=50, false_positives=50, true_negatives=50)
    bound = bound_epsilon_family(blind, sampling_rate=1.0, steps=1, delta=1e-5, confidence=0.95)
    assert bound.lower == 0.0


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"sampling_rate": 0.0, "steps": 4, "delta": 1e-5}, "sampling rate"),
        ({"sampling_rate": 1.5, "steps": 4, "delta": 1e-5}, "sampling rate"),
        ({"sampling_rate": 0.1, "steps": 0, "delta": 1e-5}, "steps"),
        ({"sampling_rate": 0.1, "steps": 4, "delta": 0.0}, "delta"),
    ],
)
def test_family_settings_outside_their_range_are_refused_against_rule(settings, word):
    with pytest.raises(BadInput, match=word):
        bound_epsilon_family(COUNTS, confidence=0.95, **settings)
