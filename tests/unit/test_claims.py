"""Claims: what is on record, how it is run and read back."""

import json
import shlex
from dataclasses import replace

import pytest

from audit.claims import record
from audit.claims.effect import Effect
from audit.claims.ranges import ANYTHING, PublishedRange, describe_range, find_mismatches
from audit.claims.record import SCALES, Claim, Evidence, Finding, Ruling, at_scales
from audit.claims.run import CLAIMS, _complete, read_findings, run_claim, write_findings
from audit.engine.executor import Local
from audit.specs.account import Account
from audit.specs.membership import Loss
from audit.specs.options import parse
from audit.specs.theory import Theory
from condensers.errors import BadConfig, BadData
from reports.records.scope import KNOWN, UNKNOWN, Scope, describe_scope


def test_every_claim_has_tests_or_says_what_they_would_take() -> None:
    assert len(CLAIMS) >= 20
    for claim in CLAIMS.values():
        assert claim.tests or claim.needs
        assert len({test.name for test in claim.tests}) == len(claim.tests)


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_the_command_of_a_claim_asks_for_its_specification(name: str) -> None:
    for test in CLAIMS[name].tests:
        for scale in SCALES:
            for spec in test.specs[scale]:
                if not isinstance(spec, Effect):
                    program, command, *words = shlex.split(spec.command())
                    assert (program, command) == ("audit", spec.COMMAND)
                    assert parse(type(spec), words) == spec


def test_seeds_are_counted_from_that_of_the_run_and_confidence_is_its_share() -> None:
    assert _complete(Theory(seed=2), 0.01, 3) == Theory(seed=5)
    assert _complete(Loss(), 0.05, 3) == Loss(seed=3, confidence=0.95)
    account = Account(gaussian=True, noise_multiplier=1.0)
    assert _complete(account, 0.05, 3) == account


DIGITS = Scope(
    dataset="digits", members_per_class=89.85, ratio=0.0111, steps=300, network="convnet of depth 2 and width 32",
    randomness=KNOWN,
)  # fmt: skip


def test_mismatches_against_a_list_by_hand() -> None:
    published = PublishedRange(
        datasets=("cifar10", "digits"), members_per_class=(50, 100), ratio=(0.002, 0.01), steps=(20_000, 20_000),
        network="convnet of depth 2 and width 32", randomness=UNKNOWN,
    )  # fmt: skip
    assert find_mismatches(published, DIGITS) == (
        "r 0.0111, not 0.002 to 0.01",
        "steps 300, not 20 000",
        "randomness known, not unknown",
    )
    assert find_mismatches(ANYTHING, DIGITS) == ()
    few = replace(DIGITS, num_audited=100, num_records=1797)
    doubtful = PublishedRange(everybody_in_doubt=True)
    assert find_mismatches(doubtful, few) == ("100 of 1 797 records in doubt, not every record",)
    assert find_mismatches(doubtful, DIGITS) == find_mismatches(ANYTHING, few) == ()
    assert describe_range(ANYTHING) == "any data set and any settings"
    assert describe_scope(DIGITS).startswith("digits, 90 members per class, r = 0.011, 300 steps, convnet")
    large = replace(DIGITS, members_per_class=1025.0, steps=20_000, num_audited=500, num_records=10_500)
    assert "500 of 10 500 records audited" in describe_scope(large)
    assert ", 1 025 members per class" in describe_scope(large)
    assert ", 20 000 steps, " in describe_scope(large)


def test_a_ruling_outside_the_published_range_says_so(tmp_path) -> None:
    claim = Claim(
        name="planted", who="w", where="w", statement="s", published=PublishedRange(datasets=("cifar10",)),
        tests=(
            record.Test(
                name="t", threat_model="m",
                specs=at_scales(Loss(method="real", records=100, shadows=2, settings={"victim.epochs": "1"})),
                judge=lambda *_: Ruling(verdict="CONTRADICTED", figures=""),
            ),
        ),
    )  # fmt: skip
    (finding,) = run_claim(claim, scale="quick", out=tmp_path, executor=Local(1), seed=0, say=lambda _: None)
    assert finding.headline == "CONTRADICTED (outside the published range)"
    assert finding.mismatches == ("data set digits, not cifar10",)
    assert finding.tested_in.startswith("digits, 5 members per class, r = 0.2")


def test_missing_data_are_a_verdict_of_one_test_and_no_crash(tmp_path, monkeypatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> Evidence:
        raise BadData("fashion-mnist is not here")

    monkeypatch.setattr("audit.claims.run.collect", refuse)
    (finding,) = run_claim(
        CLAIMS["loss-advantage-zero"], scale="quick", out=tmp_path, executor=Local(1), seed=0, say=print
    )
    assert (finding.verdict, finding.figures) == ("NOT TESTABLE HERE", "fashion-mnist is not here")


def test_findings_are_read_back_and_damage_is_one_line(tmp_path) -> None:
    finding = Finding(
        claim="psg-dp", test="t", threat_model="m", verdict="CONFIRMED", figures="f", confidence=0.95, scale="quick",
        commands=("audit x",), version="0", claimed_for="c", tested_in="t", mismatches=("steps",),
    )  # fmt: skip
    (tmp_path / "claims").mkdir()
    path = tmp_path / "claims" / "psg-dp-quick.json"
    write_findings(path, [finding])
    assert read_findings(tmp_path)["psg-dp"] == (finding,)
    path.write_text(json.dumps({"schema": "other"}))
    with pytest.raises(BadData, match="not findings"):
        read_findings(tmp_path)


def test_accounting_claims_end_to_end_against_paper(tmp_path) -> None:
    verdicts = {}
    for name in ("gs-wgan-dp", "adult-noise", "dosser-dm-row"):
        findings = run_claim(CLAIMS[name], scale="quick", out=tmp_path, executor=Local(1), seed=0, say=lambda _: None)
        verdicts[name] = findings[0]
        assert findings[0].mismatches == ()
    assert {name: finding.verdict for name, finding in verdicts.items()} == dict.fromkeys(verdicts, "CONTRADICTED")
    assert "costs at least 261" in verdicts["gs-wgan-dp"].figures
    assert "no accountant can prove less than 1.228" in verdicts["adult-noise"].figures
    assert "6 of 6 figures equal those of DSA" in verdicts["dosser-dm-row"].figures


def test_claim_without_tests_says_what_it_would_take(tmp_path) -> None:
    with pytest.raises(BadConfig, match="it would take"):
        run_claim(
            CLAIMS["dyn-psg-above-psg"], scale="quick", out=tmp_path, executor=Local(1), seed=0, say=lambda _: None
        )


def test_a_verdict_is_one_of_five() -> None:
    with pytest.raises(ValueError, match="not one of"):
        Ruling(verdict="SAFE", figures="")
