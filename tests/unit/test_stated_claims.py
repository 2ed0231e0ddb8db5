"""Claims that a person states, against the closed forms of their curves."""

import numpy as np
import pytest
from scipy import stats

from audit.accounting.claims import parse_claim
from audit.accounting.curve import stated_curve
from condensers.errors import BadConfig

RATES = np.array([0.001, 0.01, 0.1, 0.3, 0.6])


def curve(text, delta=1e-5):
    return stated_curve(parse_claim(text), delta)


def test_gaussian_differential_privacy_against_theory():
    """f(α) = Φ(Φ⁻¹(1 − α) − μ), arXiv:1905.02383, Eq. (6); one Gaussian release of σ is 1/σ-GDP."""
    expected = stats.norm.cdf(stats.norm.isf(RATES) - 1.25)
    for text in ("gdp:1.25", "gaussian:sigma=0.8", "gaussian:0.8", "gaussian:sigma=1.6,steps=4"):
        found = curve(text)[0].false_negative_rate(RATES)
        assert np.all(found <= expected + 1e-9), text
        np.testing.assert_allclose(found, expected, atol=2e-3)


def test_laplace_against_theory():
    """δ(ε) = (1 − e^((ε − 1/b)/2))⁺; at δ = 0 the claim is 1/b."""
    found, claimed = curve("laplace:0.5", 1e-6)
    assert claimed.epsilon_pld == pytest.approx(2.0, abs=1e-4)
    # the two Laplace laws around 0 and 1 at thresholds between them: α = e^(−t/b)/2, β = e^(−(1−t)/b)/2
    thresholds = np.array([0.2, 0.5, 0.8])
    alpha, beta = np.exp(-thresholds / 0.5) / 2, np.exp(-(1 - thresholds) / 0.5) / 2
    assert np.all(found.false_negative_rate(alpha) <= beta + 1e-9)
    np.testing.assert_allclose(found.false_negative_rate(alpha), beta, atol=2e-3)


def test_a_point_is_a_point():
    found, claimed = curve("2")
    assert claimed.epsilon_pld == 2.0
    np.testing.assert_allclose(found.false_negative_rate(np.array([0.0])), 1 - 1e-5)
    assert parse_claim(2.0).numbers == parse_claim("2").numbers


@pytest.mark.parametrize(
    "text", ["two", "gauss:1", "gdp:", "gdp:-1", "gaussian:rate=.5", "gaussian:sigma=1,sigma=2", "laplace:1,steps=1.5",
             "gaussian:sigma=1,rate=2", "inf"]
)  # fmt: skip
def test_what_is_no_claim_is_refused_in_one_line(text):
    with pytest.raises(BadConfig, match=r"^--claim [^\n]+$"):
        parse_claim(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [("-1", "-1 must be a finite number, 0 or more"), ("gdp:0", "0 must be a finite number, above 0")],
)
def test_message_names_the_limit_that_holds(text: str, said: str) -> None:
    """An ε of 0 is allowed, a μ of 0 is not."""
    assert parse_claim("0").numbers == {"epsilon": 0.0}
    with pytest.raises(BadConfig, match=said):
        parse_claim(text)
