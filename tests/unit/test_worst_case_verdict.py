"""A claim is refuted by a test against its curve or by the headline bound, which share the error."""

from types import SimpleNamespace

import numpy as np
import pytest

from audit.games.transcript.verdict import bound_all, judge, num_declared
from audit.statistics.estimators.evidence import RunEvidence
from condensers.ledger import Event, FixedSize, Poisson
from reports.records.schema import Claim, EpsilonBound
from reports.records.worst_case import Attempt, CurveTest

CLAIMED = Claim(epsilon_rdp=None, epsilon_pld=1.0, delta=1e-5, source="stated: 1")


def attempt(p_value: float) -> Attempt:
    test = CurveTest(
        refuted=p_value < 0.05, p_value=p_value, confidence=0.95, false_positive_upper=0.1, false_negative_upper=0.5,
        allowed_false_negative_rate=0.7, counts={}, threshold=0.0, thresholds_tried=(), threshold_choice="",
        correction="", num_tries=12, assumptions=(),
    )  # fmt: skip
    return Attempt(design="alone", score="likelihood", test=test)


def bound(lower: float) -> EpsilonBound:
    return EpsilonBound(
        lower=lower, delta=1e-5, confidence=0.95, estimator="clopper-pearson", unit="run", num_trials=800, ceiling=5.0,
        assumptions=(), threshold_choice="", counts={}, num_tries=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("p_value", "lower", "verdict"),
    [
        (0.9, 1.134, "REFUTED"),
        (0.9, 1.0005, "NOT REFUTED"),  # within what the accountant rounds
        (0.9, 0.9, "NOT REFUTED"),
        (0.01, 0.9, "REFUTED"),
    ],
)
def test_no_bound_above_the_claim_stands_beside_not_refuted(p_value: float, lower: float, verdict: str) -> None:
    found, reason = judge((attempt(p_value),), CLAIMED, None, bound(lower), 0.95)
    assert found == verdict
    if lower > 1.1:
        assert "The clopper-pearson bound certifies ε ≥ 1.13 at δ = 10⁻⁵, corrected for 2 tries" in reason


def test_constant_scores_are_counted() -> None:
    """Whether a score is constant depends on the runs that are tested, so it must not change the correction."""
    transcripts = {design: SimpleNamespace(tried=("likelihood", "energy")) for design in ("alone", "opposed")}
    assert num_declared(transcripts) == 4  # type: ignore[arg-type]


@pytest.mark.parametrize("batch", [5, 100])
def test_bounds_of_a_replaced_canary_are_about_replacement(batch: int) -> None:
    """Also where samples of fixed size are everybody (dp-merf with adjacency=replace)."""
    event = Event(group=None, sampling=FixedSize(batch=batch, population=100), noise_multiplier=1.0)
    evidence = RunEvidence(member_scores=np.arange(100.0, 200.0), non_member_scores=np.arange(100.0))
    transcript = SimpleNamespace(ledger=((event, 1),), tried=("likelihood",), evidence=lambda _score: evidence)
    experiment = SimpleNamespace(delta=1e-5, confidence=0.95, claim="")
    bounds, _ = bound_all({"replaced": transcript}, experiment, ("replaced", "likelihood"), is_claimed=True)  # type: ignore[dict-item, arg-type]
    assert {bound.adjacency for bound in bounds} == {"replace-one"}


@pytest.mark.parametrize(("rate", "others"), [(1.0, ["clopper-pearson", "gaussian"]), (0.3, ["clopper-pearson"])])
def test_every_bound_rests_on_what_the_claim_says(rate: float, others: list[str]) -> None:
    """At rate .3, σ = 1 and 4 steps ε is .61 at δ = .1, where a Gaussian with error rates as good has .80."""
    generator = np.random.default_rng(0)
    evidence = RunEvidence(member_scores=generator.normal(1, 1, 200), non_member_scores=generator.normal(0, 1, 200))
    event = Event(group=None, sampling=Poisson(rate=rate), noise_multiplier=1.0)
    transcript = SimpleNamespace(ledger=((event, 4),), tried=("likelihood",), evidence=lambda _score: evidence)
    experiment = SimpleNamespace(delta=0.1, confidence=0.95, claim="")
    bounds, _ = bound_all({"alone": transcript}, experiment, ("alone", "likelihood"), is_claimed=True)  # type: ignore[dict-item, arg-type]
    assert [bound.estimator for bound in bounds] == ["family", *others]
