"""The region that a guarantee allows: old records, both sources, and which points lie outside."""

import json
from dataclasses import replace

import numpy as np
import pytest
from test_report_simulation import CLAIM, simulate_report

from reports.records.allowed import allowed_at, allowed_region, lies_outside
from reports.records.schema import Tradeoff, dump, load
from reports.words.roc import explain_outside
from reports.words.rounding import up_percent
from reports.words.tables import rates_table


@pytest.fixture(scope="module")
def report():  # type: ignore[no-untyped-def]
    return simulate_report(runs=24, records=120, leak=1.5)[0]


def test_a_record_of_before_is_read_against_fields(report) -> None:  # type: ignore[no-untyped-def]
    raw = json.loads(dump(report))
    for name in ("tradeoff", "outlook", "ladder"):
        raw.pop(name)
    old = load(json.dumps(raw))
    assert (old.tradeoff, old.outlook, old.ladder) == (None, (), None)
    assert allowed_region(old) is None


def test_a_claim_alone_allows_what_its_two_lines_allow_against_formula(report) -> None:  # type: ignore[no-untyped-def]
    region = allowed_region(replace(report, claimed=replace(CLAIM, epsilon_rdp=None, epsilon_pld=1.0, delta=0.01)))
    assert region is not None
    for rate, allowed in zip(region.false_positive_rate, region.true_positive_rate, strict=True):
        naive = min(0.01 + np.e * rate, 1 - (1 - 0.01 - rate) / np.e, 1.0)
        assert allowed == pytest.approx(naive)


def test_the_curve_of_the_record_comes_first_and_is_tabled_against_value(report) -> None:  # type: ignore[no-untyped-def]
    curve = Tradeoff(false_positive_rate=(0.0, 0.01, 1.0), true_positive_rate=(0.0, 0.0777701, 1.0), source="ledger")
    curved = replace(report, claimed=CLAIM, tradeoff=curve)
    assert allowed_region(curved) == curve
    assert rates_table(curved, 5000).rows[1][-1] == "7.78%"
    assert load(dump(curved)) == load(dump(load(dump(curved))))
    assert load(dump(curved)).tradeoff == curve


def test_points_outside_are_those_whose_whole_interval_is_against_naive(report) -> None:  # type: ignore[no-untyped-def]
    claimed = replace(report, claimed=replace(CLAIM, epsilon_rdp=None, epsilon_pld=0.3))
    region = allowed_region(claimed)
    assert region is not None
    outside = lies_outside(claimed, region, 1440)
    rates = np.array(report.roc.curve["false_positive_rate"])
    naive = [
        rate >= 10 / 1440 and low > min(1e-5 + np.exp(0.3) * rate, 1 - np.exp(-0.3) * (1 - 1e-5 - rate)) + 1e-9
        for rate, low in zip(rates, report.roc.curve["lower"], strict=True)
    ]
    assert outside.tolist() == naive
    assert 0 < outside.sum() < outside.size
    assert "whole interval lies outside" in explain_outside(claimed, region, 1440)
    generous = replace(report, claimed=replace(CLAIM, epsilon_rdp=None, epsilon_pld=50.0))
    assert "at every FPR" in explain_outside(generous, allowed_region(generous), 1440)  # type: ignore[arg-type]


def test_allowed_between_the_rates_is_on_the_chord_against_middle() -> None:
    region = Tradeoff(false_positive_rate=(0.0, 0.5, 1.0), true_positive_rate=(0.1, 0.9, 1.0), source="")
    assert allowed_at(region, np.array([0.25])) == pytest.approx([0.5])


def test_curves_of_unlike_lengths_are_refused_against_message() -> None:
    with pytest.raises(ValueError, match="as many of both"):
        Tradeoff(false_positive_rate=(0.0,), true_positive_rate=(), source="")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0%"), (1.0, "100%"), (0.07721, "7.73%"), (0.99991, "100.0%"), (0.00124, "0.124%"), (0.5, "50.0%")],
)
def test_an_allowed_rate_is_rounded_up_against_examples(value: float, shown: str) -> None:
    assert up_percent(value) == shown
