"""Judges against planted evidence."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from audit.accounting.account import account
from audit.accounting.epsilon import epsilon_lower, epsilon_pld
from audit.accounting.events import fixed_size_gaussian, subsampled_gaussian
from audit.claims.comparisons import more_accurate_than, more_private_than
from audit.claims.effect import Effects, effect_is_of_order, slopes
from audit.claims.judges import auc_below, estimate_is_about, guarantee_holds, no_members_found
from audit.claims.printed import judge_printed, noise_gives, row_is_that_of
from audit.claims.record import Evidence
from audit.claims.theory import barycentres_approach, closed_form_holds, eq33_holds
from audit.specs.account import Account
from audit.specs.options import parse

DRAWS = np.repeat(np.arange(6), 4)


def _roc_evidence(auc: float, interval: tuple[float, float]) -> Evidence:
    roc = SimpleNamespace(auc=auc, auc_interval=interval)
    bound = SimpleNamespace(lower=0.1, delta=1e-5, ceiling=5.0)
    return Evidence(record=SimpleNamespace(roc=roc, epsilon=bound))


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((0.55, 0.6), "CONTRADICTED"), ((0.48, 0.505), "NOT CONTRADICTED"), ((0.49, 0.53), "NOT SHOWN")],
    ids=["above", "below", "across"],
)
def test_auc_below_against_its_interval(interval: tuple[float, float], verdict: str) -> None:
    assert auc_below(0.51)([_roc_evidence(0.5, interval)], 0.05).verdict == verdict


def test_an_estimate_is_worded_as_one() -> None:
    roc = SimpleNamespace(tpr_at_fpr_interval={"0.001": (0.0, 0.002)})
    record = SimpleNamespace(roc=roc, epsilon=SimpleNamespace(lower=2.5, ceiling=6.0), paper_style_epsilon=None)
    ruling = estimate_is_about(2.3)([Evidence(record=record)], 0.05)
    assert ruling.verdict == "CONTRADICTED"
    assert "promises nothing" in ruling.figures
    smaller = SimpleNamespace(**{**vars(record), "epsilon": SimpleNamespace(lower=2.2, ceiling=6.0)})
    assert estimate_is_about(2.3)([Evidence(record=smaller)], 0.05).verdict == "NOT SHOWN"


def _planted(seed: int, leak: float, certain: float = 0.0) -> Evidence:
    """Scores that leak a little about all records (`leak`), or everything about a few members (`certain`)."""
    generator = np.random.default_rng(seed)
    members = np.random.default_rng(9).random((24, 2000)) < 0.5
    scores = generator.normal(size=members.shape) + leak * members
    scores += 100 * (members & (generator.random(members.shape) < certain))
    return Evidence(record=SimpleNamespace(utility=None), members=members, scores=scores, draws=DRAWS)


def test_more_private_than_against_planted_leaks() -> None:
    judge = more_private_than("another")
    assert judge([_planted(0, 0.0), _planted(1, 2.0)], 0.05).verdict == "CONFIRMED"
    assert judge([_planted(0, 2.0), _planted(1, 0.0)], 0.05).verdict == "CONTRADICTED"
    verdicts = [judge([_planted(2 * k, 0.5), _planted(2 * k + 1, 0.5)], 0.05).verdict for k in range(40)]
    assert verdicts.count("NOT SHOWN") >= 38


def test_measures_that_disagree_are_named_and_decide_nothing() -> None:
    """A few members for certain: more at FPR 0.1%; a little about all: more at FPR 1%."""
    judge = more_private_than("another", not_done="nothing else was done")
    ruling = judge([_planted(0, 0.0, certain=0.04), _planted(1, 0.9)], 0.05)
    assert ruling.verdict == "NOT SHOWN"
    assert "TPR - FPR at FPR 0.1% says more" in ruling.figures
    assert "TPR - FPR at FPR 1% says less" in ruling.figures
    assert ruling.figures.endswith("nothing else was done")


def test_more_accurate_than_against_welch() -> None:

    first, second = np.array([0.5, 0.52, 0.54, 0.51]), np.array([0.4, 0.45, 0.41])

    def evidence(values: np.ndarray) -> Evidence:
        reach = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        interval = (values.mean() - reach, values.mean() + reach)
        utility = SimpleNamespace(accuracy=values.mean(), accuracy_interval=interval)
        game = SimpleNamespace(num_fit_runs=0, num_test_runs=len(values))
        record = SimpleNamespace(utility=utility, game=game, epsilon=SimpleNamespace(confidence=0.95))
        return Evidence(record=record)

    ruling = more_accurate_than("it")([evidence(first), evidence(second)], 0.05)
    low, high = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert ruling.verdict == "CONFIRMED"
    assert f"[{100 * low:.1f}, {100 * high:.1f}]" in ruling.figures
    assert more_accurate_than("it")([evidence(second), evidence(first)], 0.05).verdict == "CONTRADICTED"


def test_guarantee_holds_against_its_record() -> None:
    claimed = SimpleNamespace(epsilon_pld=1.0, delta=1e-5)
    attempt = SimpleNamespace(test=SimpleNamespace(p_value=1e-9))
    record = SimpleNamespace(verdict="REFUTED", tightness=None, claimed=claimed, attempts=(attempt,))
    assert guarantee_holds([Evidence(record=record)], 0.05).verdict == "CONTRADICTED"


def test_members_found_by_one_distance_contradict() -> None:
    def record(p_value: float) -> SimpleNamespace:
        distance = SimpleNamespace(name="l2", num_members=60, num_guesses=100, p_value_adjusted=p_value)
        return SimpleNamespace(distances=(distance,), not_computed=(SimpleNamespace(name="lpips", why="no weights"),))

    ruling = no_members_found([Evidence(record=record(0.001))], 0.05)
    assert ruling.verdict == "CONTRADICTED"
    assert "lpips was not computed: no weights" in ruling.figures
    assert no_members_found([Evidence(record=record(0.2))], 0.05).verdict == "NOT CONTRADICTED"


def _account(*words: str) -> dict:
    return account(parse(Account, words))


def test_lower_end_of_epsilon_against_pld() -> None:
    event = subsampled_gaussian(sampling_rate=0.01, noise_multiplier=1.1, steps=1000)
    lower, upper = epsilon_lower(event, 1e-5), epsilon_pld(event, 1e-5)
    assert lower is not None
    assert upper - 0.03 < lower < upper
    assert epsilon_lower(fixed_size_gaussian(population=100, batch=1, noise_multiplier=1, steps=2), 1e-5) is None


def test_a_printed_epsilon_is_right_if_one_accountant_proves_it() -> None:
    """DP-CGAN's own 9.6 at its printed noise: RDP gives 10.3, PLD proves 9.565."""
    result = {**_account("--method", "ldpdc", "--dataset", "mnist"), "printed_epsilon": 1.10}
    proved = min(result["epsilon_rdp"], result["epsilon_pld"])
    assert judge_printed(result)[0] == "CONFIRMED"
    by_pld_only = {**result, "epsilon_rdp": 1.5}
    assert judge_printed({**by_pld_only, "printed_epsilon": result["epsilon_pld"] + 0.1})[0] == "CONFIRMED"
    assert judge_printed({**result, "printed_epsilon": proved - 0.2})[0] == "CONTRADICTED"
    assert judge_printed({**result, "printed_epsilon": None})[0] == "NOT SHOWN"


def test_a_printed_epsilon_that_nothing_proves_or_excludes_is_not_shown() -> None:
    """Samples of fixed size: no exact law is at hand, so an unproved figure is neither right nor wrong."""
    result = _account("--method", "dpmix", "--dataset", "mnist")
    assert judge_printed({**result, "printed_epsilon": result["epsilon_pld"] / 2})[0] == "NOT SHOWN"


def test_noise_gives_against_accountants() -> None:
    result = _account("--gaussian", "--rate", "0.01", "--sigma", "1.1", "--steps", "1000")
    for printed, verdict in ((1.0, "CONTRADICTED"), (1.6, "CONFIRMED"), (1.51, "NOT SHOWN")):
        assert noise_gives(printed)([Evidence(record=result)], 0.05).verdict == verdict


def test_row_is_that_of_against_planted_tables() -> None:
    row = {"a": 1.0, "b": 2.0}
    judge = row_is_that_of(row, {"named": {"b": 2.5}, "other": dict(row)})
    assert judge([], 0.05).verdict == "CONTRADICTED"
    assert row_is_that_of(row, {"named": dict(row), "other": {"a": 3.0}})([], 0.05).verdict == "CONFIRMED"
    assert row_is_that_of(row, {"named": {"b": 2.5}, "other": {"a": 1.0}})([], 0.05).verdict == "NOT SHOWN"


def _effects(seed: int, exponent: float) -> Evidence:
    generator = np.random.default_rng(seed)
    sizes = (100, 200, 400, 800)
    norms = np.exp(generator.normal(0, 0.05, (16, 4))) * np.array(sizes, dtype=float) ** exponent
    return Evidence(record=Effects(method="dm", dataset="digits", ipc=1, pool_sizes=sizes, norms=norms))


def test_slopes_of_effects_against_theory() -> None:
    assert slopes(_effects(0, -1.0).record).mean() == pytest.approx(-1, abs=0.05)
    assert effect_is_of_order([_effects(k, -0.5) for k in range(4)], 0.05).verdict == "CONTRADICTED"
    ruling = effect_is_of_order([_effects(k, -1.0) for k in range(4)], 0.05)
    assert ruling.verdict == "NOT CONTRADICTED"
    assert ruling.figures.startswith("for n from 100 to 800, exponent of n: -1.0")


def test_the_effect_takes_variation_between_seeds_into_account() -> None:
    """Every seed by itself excludes -1; their spread does not."""
    evidence = [_effects(k, exponent) for k, exponent in enumerate((-0.2, -1.6, -0.4, -1.5))]
    assert effect_is_of_order(evidence, 0.05).verdict == "NOT CONTRADICTED"


def _theory(distances: tuple[float, float], error: float = 0.0, extractor: str = "linear") -> Evidence:
    entry = SimpleNamespace(extractor=extractor, init="random", ipc=2, distances=distances, closed_form_error=error)
    gibbs = SimpleNamespace(num_images=2, shift=0.1, sup_log_ratio=0.08, right_side_of_eq33=0.04, corrected_bound=0.08)
    return Evidence(record=SimpleNamespace(condensations=(entry,), gibbs=gibbs))


def test_judges_of_the_theory_against_planted_records() -> None:
    assert closed_form_holds([_theory((8.0, 1e-7), 1e-7)], 0.05).verdict == "CONFIRMED"
    assert closed_form_holds([_theory((8.0, 1e-7), 1e-2)], 0.05).verdict == "CONTRADICTED"
    assert eq33_holds([_theory((8.0, 1e-7))], 0.05).verdict == "CONTRADICTED"
    judge = barycentres_approach("convnet")
    near, far = _theory((2.0, 1.0), extractor="convnet"), _theory((2.0, 4.0), extractor="convnet")
    assert judge([near, near], 0.05).verdict == "CONFIRMED"
    assert judge([far, far], 0.05).verdict == "CONTRADICTED"
    assert judge([near, far], 0.05).verdict == "NOT SHOWN"


def test_barycentres_without_a_trend_are_seldom_accused() -> None:
    """Four cells, three seeds, a ratio whose median is 1: an accusation in 5% at most, or confirmed."""
    judge, generator, verdicts = barycentres_approach("convnet"), np.random.default_rng(5), []
    for _ in range(400):
        evidence = []
        for ratios in np.exp(generator.normal(0, 0.1, size=(3, 4))):
            cells = [
                SimpleNamespace(extractor="convnet", init="random", ipc=ipc, distances=(1.0, ratio))
                for ipc, ratio in enumerate(ratios)
            ]
            evidence.append(Evidence(record=SimpleNamespace(condensations=cells)))
        verdicts.append(judge(evidence, 0.05).verdict)
    assert verdicts.count("CONTRADICTED") <= stats.binom.ppf(0.999, 400, 0.025)
    assert verdicts.count("CONFIRMED") <= stats.binom.ppf(0.999, 400, 0.025)


@pytest.mark.parametrize(
    ("verdict", "attempts", "expected"),
    [
        ("CONTRACT BROKEN", (), "CONTRADICTED"),
        ("NOTHING TESTED", (), "NOT SHOWN"),
        ("NOISE NOT AS CLAIMED", (SimpleNamespace(test=SimpleNamespace(p_value=1.0)),), "NOT SHOWN"),
    ],
)
def test_guarantee_without_a_test_of_its_curve_against_the_reason(verdict: str, attempts: tuple, expected: str) -> None:
    record = SimpleNamespace(verdict=verdict, verdict_reason="It is so.", attempts=attempts, tightness=None)
    ruling = guarantee_holds([Evidence(record=record)], 0.05)
    assert (ruling.verdict, ruling.figures) == (expected, f"{verdict}: It is so.")
