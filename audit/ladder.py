"""The ladder: the same method against adversaries who see the trained network, the set, and every noisy sum.

A bound that holds at the transcript holds below; an attack that wins at the model wins above. The three are tries at
one claim, so each has a third of the error.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from audit.commands.attack import perform_attack
from audit.commands.worst_case import perform_worst_case
from audit.store import RunDirectory, write_text
from condensers.errors import BadConfig
from condensers.registry import get_method, require_set
from reports.records import schema
from reports.records.schema import Ladder, LadderRow

LEVELS = ("model", "set", "transcript")


def run_ladder(
    flags: dict[str, Any], worst_case_flags: dict[str, Any], say: Callable[[str], None]
) -> tuple[schema.Report, Ladder]:
    """Audit at every level; the record of the set level carries the ladder. A method without a door has two rungs."""
    method = get_method(flags["method"])
    require_set(method, "its levels are model and transcript: audit lira, audit worst-case")
    if method.private and flags["epsilon"] is None:
        raise BadConfig("--epsilon is missing: a ladder is about one ε; for the method's own noise see `audit lira`")
    confidence = 1 - (1 - flags["confidence"]) / (3 if method.private else 2)
    rows: list[LadderRow] = []
    report: Any = None
    for level in ("model", "set"):
        say(f"level {level}")
        report = perform_attack("lira", {**flags, "level": level, "confidence": confidence}, say)
        rows.append(_row(report, "lira"))
    if method.private:
        say("level transcript")
        heard = perform_worst_case({**worst_case_flags, "confidence": confidence}, say)
        rows.append(_row(heard, "likelihood ratio of all releases"))
    return report, Ladder(method=report.method, dataset=report.dataset, rows=tuple(rows))


def _row(report: Any, attack: str) -> LadderRow:
    bound = report.epsilon
    return LadderRow(
        level=report.level,
        attack=attack,
        lower=bound.lower,
        delta=bound.delta,
        confidence=bound.confidence,
        ceiling=bound.ceiling,
        analytic_epsilon=None if report.claimed is None else report.claimed.epsilon_pld,
        verdict=report.verdict,
    )


def keep_ladder(report: schema.Report, ladder: Ladder) -> tuple[schema.Report, Path]:
    """Write the set level's record again, with the ladder in it; `audit report` draws it."""
    directory = RunDirectory(Path(report.run_directory))
    stored = schema.load(directory.report.read_text(encoding="utf-8"))
    record = replace(stored, ladder=ladder)
    write_text(directory.report, schema.dump(record))
    return record, directory.path
