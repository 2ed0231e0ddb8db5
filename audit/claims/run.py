"""Run claims and keep what was found."""

import json
from collections.abc import Callable
from dataclasses import asdict
from importlib import resources
from pathlib import Path

import msgspec

from audit.claims import baselines, dong_theory, generators, privacy_for_free, private_methods, private_utility
from audit.claims.collect import collect
from audit.claims.effect import Effect
from audit.claims.ranges import describe_range, find_mismatches
from audit.claims.record import SCHEMA, Claim, Evidence, Finding, Ruling, Test
from audit.data.limits import read_text
from audit.engine.executor import Executor
from audit.engine.store import explain_failure, write_text
from audit.engine.where import Where
from audit.specs.spec import Spec, explain, fields_of
from audit.version import __version__
from condensers.errors import BadConfig, BadData
from reports.records.scope import describe_scope

_PARTS = (privacy_for_free, baselines, dong_theory, private_methods, private_utility, generators)
CLAIMS: dict[str, Claim] = {claim.name: claim for part in _PARTS for claim in part.CLAIMS}
ERROR_RATE = 0.05  # of each claim, shared by its tests
RECORDED = "recorded.json"  # what the authors found, part of the package


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of findings holds."""

    schema: str
    findings: tuple[Finding, ...]


def run_claim(
    claim: Claim, *, scale: str, out: Path, executor: Executor, seed: int, say: Callable[[str], None]
) -> tuple[Finding, ...]:
    """All tests of a claim, in the order in which their threat models grow."""
    if not claim.tests:
        raise BadConfig(f"--run {claim.name}: cannot be tested here; it would take {claim.needs}")
    findings = []
    for test in claim.tests:
        say(f"{claim.name}: {test.name}")
        findings.append(_run_test(claim, test, scale=scale, out=out, executor=executor, seed=seed, say=say))
    with explain_failure(out):
        (out / "claims").mkdir(parents=True, exist_ok=True)
    write_findings(out / "claims" / f"{claim.name}-{scale}.json", findings)
    return tuple(findings)


def _run_test(
    claim: Claim, test: Test, *, scale: str, out: Path, executor: Executor, seed: int, say: Callable[[str], None]
) -> Finding:
    significance = ERROR_RATE / len(claim.tests)
    evidence: list[Evidence] = []
    specs = [_complete(spec, significance, seed) for spec in test.specs[scale]]
    where = Where(out=out, executor=executor)
    try:
        for spec in specs:
            evidence.append(collect(spec, where, say))
        ruling = test.judge(evidence, significance)
    except BadData as error:
        ruling = Ruling(verdict="NOT TESTABLE HERE", figures=str(error))
    scopes = list(dict.fromkeys(one.scope for one in evidence if one.scope is not None))
    mismatches = [line for scope in scopes for line in find_mismatches(claim.published, scope)]
    run_by_claims = any(isinstance(spec, Effect) for spec in specs)
    return Finding(
        claim=claim.name,
        test=test.name,
        threat_model=test.threat_model,
        verdict=ruling.verdict,
        figures=ruling.figures,
        confidence=None if ruling.is_arithmetic else 1 - significance,
        scale=scale,
        commands=(f"audit claims --run {claim.name} --scale {scale} --seed {seed}",)
        if run_by_claims or not specs
        else tuple(spec.command() for spec in specs),
        version=__version__,
        claimed_for=describe_range(claim.published),
        tested_in="; ".join(map(describe_scope, scopes)) or "the printed settings",
        mismatches=tuple(dict.fromkeys(mismatches)),
    )


def _complete(spec: Spec, significance: float, seed: int) -> Spec:
    """The specification with the seed and the confidence that are left to a run, as far as it has such fields."""
    own = {name for name, _ in fields_of(type(spec))}
    changes: dict[str, float | int] = {"confidence": 1 - significance} if "confidence" in own else {}
    if "seed" in own:
        changes["seed"] = seed + getattr(spec, "seed", 0)
    return spec.but(**changes)


def write_findings(path: Path, findings: list[Finding]) -> None:
    record = {"schema": SCHEMA, "findings": [asdict(finding) for finding in findings]}
    write_text(path, json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def read_findings(out: Path) -> dict[str, tuple[Finding, ...]]:
    """By claim: what was found in `out`, at the larger scale if at both; else what the authors recorded."""
    found: dict[str, tuple[Finding, ...]] = {}
    recorded = resources.files("audit.claims").joinpath(RECORDED)
    if recorded.is_file():
        _add(found, recorded.read_text(encoding="utf-8"), RECORDED)
    for scale in ("quick", "full"):
        for path in sorted((out / "claims").glob(f"*-{scale}.json")):
            fresh: dict[str, tuple[Finding, ...]] = {}
            _add(fresh, read_text(path), str(path))
            found.update(fresh)
    return found


def _add(found: dict[str, tuple[Finding, ...]], text: str, where: str) -> None:
    try:
        recorded = msgspec.json.decode(text, type=Recorded)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = explain(str(error))
        raise BadData(f"{where}: not findings of this version ({reason}); remove it or run the claim again") from None
    if recorded.schema != SCHEMA:
        raise BadData(f"{where}: schema {recorded.schema!r} is not {SCHEMA!r}; remove it or run the claim again")
    for finding in recorded.findings:
        found[finding.claim] = (*found.get(finding.claim, ()), finding)
