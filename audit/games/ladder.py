"""The ladder: the same method against adversaries who see the trained network, the set, and every noisy sum.

A bound that holds at the transcript holds below; an attack that wins at the model wins above. The three are tries at
one claim, so each has a third of the error. The ladder has a run directory of its own, with the record of the set
level, the gravest verdict of all levels (of equal ones, that with the largest bound) and the ladder in it; the
directories of the levels stay as they are.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from audit.engine.store import RunDirectory, explain_failure, write_atomically, write_text
from audit.engine.where import Where
from audit.games.membership.config import AuditConfig
from audit.games.membership.pipeline import draw
from audit.games.membership.request import resolved_as
from audit.games.membership.reuse import link_or_copy
from audit.games.run import run
from audit.specs.membership import Ladder as LadderSpec
from audit.specs.membership import as_lira
from audit.specs.worst_case import WorstCase
from condensers.errors import BadConfig
from condensers.registry import get_method, require_set
from reports.records import schema
from reports.records.schema import Ladder, LadderRow
from reports.records.scope import describe_scope

LEVELS = ("model", "set", "transcript")


def audit_ladder(spec: LadderSpec, where: Where, say: Callable[[str], None]) -> schema.Report:
    """Run or resume all levels, keep the ladder in a directory of its own and draw it; its record."""
    reports = run_ladder(spec, where, say)
    record, directory = keep_ladder(reports, confidence=spec.confidence, trials=spec.trials)
    with explain_failure(directory.pdf), directory.held():
        draw(directory, record, pd.read_parquet(directory.scores), None)
    return replace(record, run_directory=str(directory.path), pdf=str(directory.pdf))


def run_ladder(spec: LadderSpec, where: Where, say: Callable[[str], None]) -> dict[str, Any]:
    """The records of all levels by name. A method without a door has two rungs."""
    method = get_method(spec.method)
    require_set(method, "its levels are model and transcript: audit lira, audit worst-case")
    if method.private and spec.epsilon is None:
        raise BadConfig(
            "--epsilon is missing: a ladder compares all levels at one ε; use `audit lira` for the method's own noise"
        )
    confidence = 1 - (1 - spec.confidence) / (3 if method.private else 2)
    reports: dict[str, Any] = {}
    for level in ("model", "set"):
        say(f"level {level}")
        reports[level] = run(as_lira(spec, level=level, confidence=confidence), where, say)
    if method.private:
        say("level transcript")
        transcript = WorstCase(
            method=spec.method,
            epsilon=spec.epsilon,
            delta=spec.delta,
            trials=spec.trials,
            # Other tries reach the levels above by `tries`, which an audit of the worst case does not have.
            confidence=1 - (1 - confidence) / spec.tries,
            seed=spec.seed,
        )
        reports["transcript"] = run(transcript, where, say)
    return reports


def _row(report: Any) -> LadderRow:
    attack = "likelihood ratio of all releases" if report.level == "transcript" else "lira"
    bound, claim = report.epsilon, getattr(report, "proved", None) or report.claimed
    return LadderRow(
        level=report.level,
        attack=attack,
        lower=bound.lower,
        delta=bound.delta,
        confidence=bound.confidence,
        ceiling=bound.ceiling,
        analytic_epsilon=None if claim is None else claim.epsilon_pld,
        verdict=report.verdict,
    )


def _reason(gravest: Any, reports: dict[str, Any]) -> str:
    """Of an accusation, that of its level; else what holds at all levels."""
    match gravest.verdict:
        case "NOT REFUTED":
            found = "No level contradicts the ε that is claimed or proved. A stronger attack might."
        case "NO CLAIM":
            found = f"Nothing is claimed for {gravest.method}, so nothing can be refuted at any level."
        case _:
            return f"Level {gravest.level}: {gravest.verdict_reason}"
    scopes: dict[str, list[str]] = {}
    for level, report in reports.items():
        scopes.setdefault(describe_scope(report.scope), []).append(level)
    tested = "; ".join(
        f"{scope} (level{'' if len(levels) == 1 else 's'} {' and '.join(levels)})" for scope, levels in scopes.items()
    )
    return f"{found} Tested in: {tested}."


def keep_ladder(
    reports: dict[str, Any], *, confidence: float, trials: int | None
) -> tuple[schema.Report, RunDirectory]:
    """Write a directory for the ladder, which `audit report` draws like any other; its record and where it is.

    `confidence` is that of all levels together, `trials` what was asked for at the transcript.
    """
    report = reports["set"]
    ladder = Ladder(method=report.method, dataset=report.dataset, rows=tuple(map(_row, reports.values())))
    gravest = min(reports.values(), key=lambda one: (schema.METHOD_VERDICTS.index(one.verdict), -one.epsilon.lower))
    source = RunDirectory(Path(report.run_directory))
    stored = schema.load(source.report.read_text(encoding="utf-8"))
    config = AuditConfig(**stored.config)
    digest = hashlib.sha256(f"{config.digest} {confidence!r} {trials}".encode()).hexdigest()[:12]
    name = config.directory_name.replace("lira-", "ladder-", 1).replace(f"{config.level}-{config.digest}", digest)
    directory = RunDirectory(source.path.with_name(name))
    directory.create()
    for kept in (source.scores, source.shard(0)):
        write_atomically(directory.path / kept.relative_to(source.path), partial(link_or_copy, kept))
    asked = resolved_as(LadderSpec, config, confidence=confidence, trials=trials)
    record = replace(
        stored,
        command=asked.command(),
        digest=digest,
        run_directory=name,
        ladder=ladder,
        verdict=gravest.verdict,
        verdict_reason=_reason(gravest, reports),
    )
    write_text(directory.report, schema.dump(record))
    return record, directory
