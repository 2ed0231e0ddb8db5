"""Claims: what is on record, and judges against planted evidence."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from audit.claims.effect import Effects, effect_is_of_order, slope
from audit.claims.judges import auc_below, guarantee_holds, more_private_than, printed_epsilon_is_right
from audit.claims.record import SCALES, Evidence, Finding, Ruling
from audit.claims.run import CLAIMS, read_findings, run_claim, write_findings
from audit.gate.file import flags_of
from condensers.errors import BadConfig, BadData

NOTHING = np.empty(0)


def test_at_least_ten_claims_each_with_tests_or_what_they_would_take() -> None:
    assert len(CLAIMS) >= 10
    for claim in CLAIMS.values():
        assert claim.tests or claim.needs
        assert len({test.name for test in claim.tests}) == len(claim.tests)


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_every_command_of_a_claim_is_understood_by_the_command_line(name: str) -> None:
    for test in CLAIMS[name].tests:
        for scale in SCALES:
            for text in test.commands[scale]:
                command, *words = text.split()
                if command != "effect":
                    flags_of(command, tuple(words))


def _roc_evidence(auc: float, interval: tuple[float, float]) -> Evidence:
    roc = SimpleNamespace(auc=auc, auc_interval=interval)
    bound = SimpleNamespace(lower=0.1, delta=1e-5, ceiling=5.0)
    return Evidence(record=SimpleNamespace(roc=roc, epsilon=bound), members=NOTHING, scores=NOTHING)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((0.55, 0.6), "CONTRADICTED"), ((0.48, 0.505), "NOT CONTRADICTED"), ((0.49, 0.53), "NOT SHOWN")],
    ids=["above", "below", "across"],
)
def test_auc_below_against_its_interval(interval: tuple[float, float], verdict: str) -> None:
    assert auc_below(0.51)([_roc_evidence(0.5, interval)], 0.05).verdict == verdict


def _planted(seed: int, shift: float) -> Evidence:
    generator = np.random.default_rng(seed)
    members = np.random.default_rng(9).random((24, 400)) < 0.5
    scores = generator.normal(size=members.shape) + shift * members
    record = SimpleNamespace(utility=None)
    return Evidence(record=record, members=members, scores=scores)


def test_more_private_than_against_planted_leaks() -> None:
    judge = more_private_than("another")
    assert judge([_planted(0, 0.0), _planted(1, 2.0)], 0.05).verdict == "CONFIRMED"
    assert judge([_planted(0, 2.0), _planted(1, 0.0)], 0.05).verdict == "CONTRADICTED"
    verdicts = [judge([_planted(2 * k, 0.5), _planted(2 * k + 1, 0.5)], 0.05).verdict for k in range(40)]
    assert verdicts.count("NOT SHOWN") >= 34


def test_guarantee_and_printed_epsilon_against_their_records() -> None:
    claimed = SimpleNamespace(epsilon_pld=1.0, delta=1e-5)
    attempt = SimpleNamespace(test=SimpleNamespace(p_value=1e-9))
    record = SimpleNamespace(verdict="REFUTED", tightness=None, claimed=claimed, attempts=(attempt,))
    assert guarantee_holds([Evidence(record=record, members=NOTHING, scores=NOTHING)], 0.05).verdict == "CONTRADICTED"
    account = {"dataset": "mnist", "printed_epsilon": 10.0, "epsilon_rdp": 9.9, "epsilon_pld": 9.0, "actual": None}
    evidence = Evidence(record=account, members=NOTHING, scores=NOTHING)
    assert printed_epsilon_is_right([evidence], 0.05).verdict == "CONFIRMED"
    worse = replace(evidence, record={**account, "actual": {"epsilon_pld": 300.0}})
    assert printed_epsilon_is_right([worse], 0.05).verdict == "CONTRADICTED"


def test_slope_of_effects_against_theory() -> None:
    generator = np.random.default_rng(0)
    sizes = (100, 200, 400, 800)
    norms = np.exp(generator.normal(0, 0.05, (16, 4))) / np.array(sizes)
    effects = Effects(method="dm", dataset="digits", ipc=1, pool_sizes=sizes, norms=norms)
    exponent, (low, high) = slope(effects, 0.95)
    assert low < -1 < high
    assert exponent == pytest.approx(-1, abs=0.05)
    slower = replace(effects, norms=norms * np.sqrt(sizes))
    evidence = Evidence(record=slower, members=NOTHING, scores=NOTHING)
    assert effect_is_of_order([evidence], 0.05).verdict == "CONTRADICTED"


def test_findings_are_read_back_and_damage_is_one_line(tmp_path) -> None:
    finding = Finding(
        claim="psg-dp", test="t", threat_model="m", verdict="CONFIRMED", figures="f", confidence=0.95, scale="quick",
        commands=("audit x",), version="0",
    )  # fmt: skip
    (tmp_path / "claims").mkdir()
    path = tmp_path / "claims" / "psg-dp-quick.json"
    write_findings(path, [finding])
    assert read_findings(tmp_path)["psg-dp"] == (finding,)
    path.write_text(json.dumps({"schema": "other"}))
    with pytest.raises(BadData, match="not findings"):
        read_findings(tmp_path)


def test_accounting_claim_end_to_end_against_paper(tmp_path) -> None:
    findings = run_claim(CLAIMS["gs-wgan-dp"], scale="quick", out=tmp_path, jobs=1, seed=0, say=lambda _: None)
    assert findings[0].verdict == "CONTRADICTED"
    assert "329" in findings[0].figures


def test_claim_without_tests_says_what_it_would_take(tmp_path) -> None:
    with pytest.raises(BadConfig, match="it would take"):
        run_claim(CLAIMS["gan-leak"], scale="quick", out=tmp_path, jobs=1, seed=0, say=lambda _: None)


def test_a_verdict_is_one_of_five() -> None:
    with pytest.raises(ValueError, match="not one of"):
        Ruling(verdict="SAFE", figures="")
