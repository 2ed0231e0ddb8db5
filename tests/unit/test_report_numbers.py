"""Digits, words and the few figures that a report computes from the score table."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from test_report_simulation import CLAIM, record_auc_naive, simulate_report, simulate_scores

from reports.records.allowed import allowed_true_positive_rate
from reports.records.schema import Claim, Report, claimed_epsilon
from reports.records.scores import (
    check_scores,
    pooled_auc,
    record_exposure,
    score_histogram,
)
from reports.words import bounds, membership, rounding
from reports.words.epsilon_rows import rows_of_bounds
from reports.words.tables import bounds_table


@pytest.fixture(scope="module")
def report() -> Report:
    return simulate_report(runs=24, records=100)[0]


@pytest.mark.parametrize("value", [0.0, 0.005, 1.1, 1.48999, 2.675, 5.6005775, 1e6 / 7])
def test_lower_bounds_are_never_rounded_up_nor_claims_down_against_value(value: float) -> None:
    assert float(rounding.down(value)) <= value + 1e-9
    assert float(rounding.up(value)) >= value - 1e-9
    assert float(rounding.up(value)) - float(rounding.down(value)) <= 0.01 + 1e-9


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (rounding.down, 1.1, "1.10"),
        (rounding.up, 1.1, "1.10"),
        (rounding.up, 6.114, "6.12"),
        (rounding.down, math.inf, "∞"),
        (rounding.small, 1e-5, "10⁻⁵"),
        (rounding.small, 2.5e-6, "2.5·10⁻⁶"),
        (rounding.small, 0.0, "0"),
        (rounding.small, 0.05, "0.05"),
        (rounding.percent, 0.001, "0.1%"),
        (rounding.percent, 1 - 0.05 / 3, "98.3%"),
        (rounding.percent, 0.05 / 3, "1.67%"),
        (rounding.percent, 0.9999999, "99.99999%"),
        (rounding.say_ceiling, 6.078, "6.07"),
        (rounding.say_ceiling, 184.21, "> 20"),
        (rounding.say_ceiling, math.inf, "none"),
        (rounding.say_delta, 1e-5, "δ = 10⁻⁵"),
        (rounding.count, 230016, "230\u202f016"),
        (rounding.signed, -0.0654, "−0.065"),
        (rounding.ordinary, -0.336, "−0.34"),
        (rounding.ordinary, -math.inf, "−∞"),
    ],
)
def test_numbers_are_written_against_examples(function, value, text: str) -> None:  # type: ignore[no-untyped-def]
    assert function(value) == text


def test_figures_show_two_digits_of_their_interval_against_examples() -> None:
    assert rounding.measured(0.64123, (0.637, 0.6455)) == ("0.6412", "[0.6370, 0.6455]")
    assert rounding.measured(0.64123, (0.60, 0.68)) == ("0.641", "[0.600, 0.680]")
    assert rounding.measured_percent(0.0347, (0.031, 0.0385)) == ("3.47%", "[3.10%, 3.85%]")
    assert rounding.measured_percent(0.5, (0.5, 0.5)) == ("50.000%", "[50.000%, 50.000%]")


def test_a_refuted_claim_stays_below_the_bound_as_printed_against_value() -> None:
    lower, claimed = 1.0043, 1.0011
    decimals = rounding.decimals_apart(lower, claimed)
    assert float(rounding.down(lower, decimals)) > float(rounding.up(claimed, decimals))
    assert rounding.decimals_apart(3.0, 1.0) == 2
    assert rounding.decimals_apart(1.0, 3.0) == 2


def test_words_follow_the_bound_against_cases(report: Report) -> None:
    nothing = replace(report.epsilon, lower=0.0)
    assert bounds.headline(nothing, None) == "ε ≥ 0"
    assert "no evidence of privacy" in bounds.explain_bound(nothing)
    credible = replace(report.epsilon, kind="credible")
    assert "credible" in bounds.explain_bound(credible)
    guess = replace(report.epsilon, kind="no bound")
    assert "nothing is certified" in bounds.explain_bound(guess)
    assert bounds.headline(guess, None).startswith("ε ≈")
    assert "no ceiling" in bounds.explain_bound(replace(report.epsilon, ceiling=math.inf))


def test_a_claim_beyond_the_ceiling_is_called_so_against_cases(report: Report) -> None:
    low = replace(report, claimed=replace(CLAIM, epsilon_pld=report.epsilon.ceiling / 2, epsilon_rdp=None))
    high = replace(report, claimed=replace(CLAIM, epsilon_pld=report.epsilon.ceiling + 1, epsilon_rdp=None))
    assert "above the ceiling" not in bounds.explain_claim(low)
    assert "above the ceiling" in bounds.explain_claim(high)
    assert "PLD" not in bounds.explain_claim(high)
    assert "another" in bounds.explain_claim(replace(report, claimed=replace(CLAIM, delta=1e-3)))
    assert claimed_epsilon(Claim(epsilon_rdp=None, epsilon_pld=None, delta=0, source="")) is None
    assert claimed_epsilon(CLAIM) == 5.62


def test_no_word_of_a_report_calls_it_safe_against_list(report: Report) -> None:
    entries = [*membership.limits(report), *membership.explain_game(report), *bounds.LEVELS.items()]
    text = " ".join(part for entry in entries for part in entry).lower()
    assert "safe" not in text
    assert "do not prove privacy" in text


def test_pooled_auc_against_naive() -> None:
    random = np.random.default_rng(5)
    score, member = random.integers(0, 6, 80).astype(np.float32), random.random(80) < 0.4
    pairs = score[member][:, None] - score[~member]
    assert pooled_auc(score, member) == pytest.approx((pairs > 0).mean() + (pairs == 0).mean() / 2)


def test_record_auc_against_naive() -> None:
    scores = simulate_scores(runs=40, records=30, leak=1.0)
    exposure = record_exposure(scores.sample(frac=1, random_state=1))
    assert exposure is not None
    assert exposure.auc == pytest.approx([record_auc_naive(scores, record) for record in range(30)])


def test_record_auc_of_no_leak_stays_under_the_chance_limit_against_theory() -> None:
    """The limit is passed with probability below 5%: of 40 pools at most 5 pass, but for one case in a hundred."""
    passed = 0
    deviations = []
    for seed in range(40):
        exposure = record_exposure(simulate_scores(runs=48, records=60, leak=0.0, seed=seed))
        assert exposure is not None
        passed += bool((exposure.auc > exposure.chance_maximum).any())
        deviations.append(exposure.auc.std() / exposure.chance_deviation)
    assert passed <= 5
    assert np.mean(deviations) == pytest.approx(1, abs=0.05)


def test_too_few_runs_give_no_exposure_against_cases() -> None:
    assert record_exposure(simulate_scores(runs=10, records=60, leak=0.0)) is None
    assert record_exposure(simulate_scores(runs=40, records=60, leak=0.0).iloc[:-1]) is None


def test_histogram_keeps_every_score_against_naive() -> None:
    scores = simulate_scores(runs=16, records=2000, leak=0.5)
    histogram = score_histogram(scores)
    assert histogram.members.sum() == pytest.approx(1)
    assert histogram.num_members == scores["member"].sum()
    low, high = histogram.edges[5], histogram.edges[6]
    inside = scores.loc[scores["member"], "score"].astype(np.float64)
    assert histogram.members[5] == pytest.approx(((inside >= low) & (inside < high)).mean())
    beyond = (scores["score"] < histogram.edges[0]) | (scores["score"] > histogram.edges[-1])
    assert histogram.folded == beyond.sum() > 0


@pytest.mark.parametrize("value", [0.0, np.inf])
def test_histogram_bears_constant_and_infinite_scores_against_counts(value: float) -> None:
    scores = simulate_scores(runs=4, records=10, leak=0.0).assign(score=np.float32(value))
    histogram = score_histogram(scores)
    assert histogram.nonmembers.sum() == pytest.approx(1)
    assert np.isfinite(histogram.edges).all()


def test_allowed_rates_against_theory() -> None:
    """No (ε, δ) region is left by the Gaussian mechanism that has exactly this ε at this δ."""
    mu, epsilon = 1.0, 4.0
    delta = norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
    rates = np.linspace(1e-6, 1 - 1e-6, 20001)
    gaussian = norm.cdf(norm.ppf(rates) + mu)
    allowed = allowed_true_positive_rate(rates, epsilon=epsilon, delta=delta)
    assert (gaussian <= allowed + 1e-9).all()
    assert (allowed - gaussian).min() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "percent", "half_digit"), [(1, 0.27, 0.005), (2, 0.74, 0.005), (4, 5.5, 0.05), (8, 99.97, 0.005)]
)
def test_allowed_rates_against_facts(epsilon: float, percent: float, half_digit: float) -> None:
    """Caps at FPR 0.1% and δ = 10⁻⁵ of FACTS.md §3, to half a unit of the last digit quoted there."""
    most = allowed_true_positive_rate(np.array([0.001]), epsilon=epsilon, delta=1e-5)[0]
    assert 100 * most == pytest.approx(percent, abs=half_digit)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda table: table.drop(columns="member"), "lacks member"),
        (lambda table: table.assign(member=True), "needs both kinds"),
        (lambda table: table.assign(score=np.float32("nan")), "not numbers"),
        (lambda table: table.assign(score=-table["score"]), "not of the same audit"),
    ],
)
def test_a_wrong_score_table_is_refused_against_cases(spoil, says: str) -> None:  # type: ignore[no-untyped-def]
    report, scores = simulate_report(runs=16, records=60)
    check_scores(scores, auc=report.roc.auc)
    table: pd.DataFrame = spoil(scores)
    with pytest.raises(ValueError, match=says):
        check_scores(table, auc=report.roc.auc)


def test_bounds_of_several_scores_are_told_apart_against_labels(report: Report) -> None:
    bounds_of = tuple(replace(report.epsilon, evidence=f"score {name}, canary alone") for name in ("nearest", "size"))
    labels = [row.label for row in rows_of_bounds(replace(report, epsilon=bounds_of[0], bounds=bounds_of))]
    assert labels == [f"{report.epsilon.estimator}, score {name}, canary alone" for name in ("nearest", "size")]
    assert [row[0] for row in bounds_table(bounds_of).rows] == [
        f"{each.estimator}: {each.evidence}" for each in bounds_of
    ]


def test_coins_that_chose_the_threshold_are_not_counted_as_tested_against_text(report: Report) -> None:
    bound = replace(report.epsilon, unit="record", num_trials=28_752)
    said = bounds.explain_bound(bound, num_drawn=57_504)
    assert "from 28\u202f752 membership coins" in said
    assert "the other 28\u202f752 coins were used to choose the thresholds" in said
    assert "used to choose" not in bounds.explain_bound(bound, num_drawn=28_752)


def test_a_ceiling_that_limits_nothing_is_said_to_against_text(report: Report) -> None:
    said = bounds.explain_ceiling(replace(report.epsilon, ceiling=184.21))
    assert "184" not in said
    assert "limits nothing" in said


def test_intervals_over_records_are_said_to_be_so_against_text(report: Report) -> None:
    assert membership.explain_exact(report.roc) == ""
    said = membership.explain_exact(replace(report.roc, over_records=("0.001", "balanced accuracy")))
    assert "For TPR at FPR 0.1%, balanced accuracy all test runs agree" in said
    assert "Clopper–Pearson" in said
