"""Run claims and keep what was found."""

import json
import shlex
from collections.abc import Callable
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from audit import __version__
from audit.claims import privacy_for_free, private_methods
from audit.claims.effect import measure_effects
from audit.claims.record import SCHEMA, Claim, Evidence, Finding, Test
from audit.gate.run import perform
from audit.store import explain_failure, write_text
from condensers.errors import BadConfig, BadData

CLAIMS: dict[str, Claim] = {claim.name: claim for claim in (*privacy_for_free.CLAIMS, *private_methods.CLAIMS)}
ERROR_RATE = 0.05  # of each claim, shared by its tests
RECORDED = "recorded.json"  # what the authors found, part of the package


def run_claim(
    claim: Claim, *, scale: str, out: Path, jobs: int | None, seed: int, say: Callable[[str], None]
) -> tuple[Finding, ...]:
    """All tests of a claim, in the order in which their threat models grow."""
    if not claim.tests:
        raise BadConfig(f"--run {claim.name}: cannot be tested here; it would take {claim.needs}")
    findings = []
    for test in claim.tests:
        say(f"{claim.name}: {test.name}")
        findings.append(_run_test(claim, test, scale=scale, out=out, jobs=jobs, seed=seed, say=say))
    with explain_failure(out):
        (out / "claims").mkdir(parents=True, exist_ok=True)
    write_findings(out / "claims" / f"{claim.name}-{scale}.json", findings)
    return tuple(findings)


def _run_test(
    claim: Claim, test: Test, *, scale: str, out: Path, jobs: int | None, seed: int, say: Callable[[str], None]
) -> Finding:
    significance = ERROR_RATE / len(claim.tests)
    commands, evidence = [], []
    for text in test.commands[scale]:
        words = [*shlex.split(text), *_common(text, significance, seed)]
        commands.append(shlex.join(["audit", *words]))
        evidence.append(_collect(words, out=out, jobs=jobs, seed=seed, say=say))
    if words[0] == "effect":
        commands = [f"audit claims --run {claim.name} --scale {scale} --seed {seed}"]
    ruling = test.judge(evidence, significance)
    return Finding(
        claim=claim.name,
        test=test.name,
        threat_model=test.threat_model,
        verdict=ruling.verdict,
        figures=ruling.figures,
        confidence=1 - significance,
        scale=scale,
        commands=tuple(commands),
        version=__version__,
    )


def _common(text: str, significance: float, seed: int) -> list[str]:
    if text.startswith(("account", "effect")):
        return []
    return ["--confidence", f"{1 - significance:.6g}", "--seed", str(seed)]


def _collect(words: list[str], *, out: Path, jobs: int | None, seed: int, say: Callable[[str], None]) -> Evidence:
    import numpy as np

    if words[0] == "effect":
        options = dict(zip(words[1::2], words[2::2], strict=True))
        effects = measure_effects(
            method=options["--method"],
            extractor=options["--extractor"],
            dataset="digits",
            ipc=1,
            left_out=int(options.get("--left-out", "16")),
            seed=seed,
            say=say,
        )
        return Evidence(record=effects, members=np.empty(0), scores=np.empty(0))
    record, (members, scores) = perform(words[0], tuple(words[1:]), out=out, jobs=jobs, say=say)
    return Evidence(record=record, members=members, scores=scores)


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
            _add(fresh, path.read_text(encoding="utf-8"), str(path))
            found.update(fresh)
    return found


def _add(found: dict[str, tuple[Finding, ...]], text: str, where: str) -> None:
    try:
        raw = json.loads(text)
        if raw["schema"] != SCHEMA:
            raise ValueError(f"schema is {raw['schema']!r}")
        for entry in raw["findings"]:
            finding = Finding(**{**entry, "commands": tuple(entry["commands"])})
            found[finding.claim] = (*found.get(finding.claim, ()), finding)
    except (KeyError, TypeError, ValueError) as error:
        raise BadData(f"{where}: not findings of this version ({error}); remove it or run the claim again") from None
