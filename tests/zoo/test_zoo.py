"""A quick part of the zoo: something of every kind is caught, by what should catch it. All of it: measure.py."""

import pytest
from zoo.kinds import AROUND, FAULTS, IN_VECTORS, SOUND
from zoo.measure import audit, by_what, spec_of

from reports.words.worst_case import audited_entries

BY_CONTRACT = {
    "weighted-by-rank": "contract: one by one",
    "running-mean-removed": "contract: one by one",
    "sign-by-position": "contract: one by one",
    "median-picture-kept": "contract: replay",
    "soft-labels-by-private-distance": "contract: replay",
    "pool-read-through-the-door": "contract: replay",
    "range-of-the-records": "contract: replay",
    "private-early-stopping": "contract: replay",
    "ledger-replaced": "contract: replay",
    "plan-counts-epochs-not-steps": "contract: ledger",
}


def test_there_are_thirty_faults_of_four_kinds():
    assert len(FAULTS) >= 30
    assert all(sum(kind == one for one in FAULTS.values()) >= 5 for kind in set(FAULTS.values()))
    assert all(FAULTS[fault] in (IN_VECTORS, AROUND) for fault in BY_CONTRACT)


@pytest.mark.parametrize("fault", BY_CONTRACT)
def test_a_broken_contract_is_named(fault):
    report = audit(spec_of(fault, trials=200))
    assert report.verdict == "CONTRACT BROKEN"
    assert by_what(report) == (BY_CONTRACT[fault], None)
    assert not report.attempts


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "verdict"), [
    ("noise-smoothed-over-pixels", "NOISE NOT AS CLAIMED"),
    ("noise-cancels-over-steps", "REFUTED"),
    ("noise-seeded-by-a-constant", "REFUTED"),
    ("nearest-record-first", "REFUTED"),
])  # fmt: skip
def test_what_contracts_do_not_see_is_measured(fault, verdict):
    assert audit(spec_of(fault, trials=800)).verdict == verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_sound_plugins_are_not_accused(name):
    assert audit(spec_of(name, trials=600)).verdict == "NOT REFUTED"


def test_a_canary_that_does_not_reach_the_release_tests_nothing():
    spec = spec_of("own_mechanism", trials=100)
    report = audit(spec.but(design=("blank",)))
    assert report.verdict == "NOTHING TESTED"
    assert "does not reach the release" in report.verdict_reason
    assert report.claimed.source.endswith(spec.claim)
    assert spec.claim in dict(audited_entries(report))["Claimed"]
