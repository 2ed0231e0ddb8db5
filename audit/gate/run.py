"""Run a gate: every entry through the code that its command runs, at the significance that the file leaves it.

A crash of one entry does not hide the others and is never taken for a finding.
"""

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from audit.data.limits import read_text
from audit.engine.executor import Executor
from audit.engine.store import write_text
from audit.engine.where import Where
from audit.games.run import run
from audit.gate.file import Gate, Item
from audit.gate.metrics import METRICS, Measured, got_worse, threshold
from audit.specs.spec import explain
from audit.specs.worst_case import WorstCase
from condensers.errors import AuditError, BadConfig, BadData, Incomplete
from reports.records.worst_case import WorstCaseReport
from reports.words.rounding import down, up

BASELINE_SCHEMA = "condensation-audit/baseline/1"
# Worst first. What a status makes of the exit code: DESIGN.md, "Commands".
EXIT_CODES = {
    "CRASHED": 1, "CONTRACT BROKEN": 4, "REFUTED": 4, "NOISE NOT AS CLAIMED": 4, "NOT GUARANTEED": 4, "REGRESSED": 4,
    "NOTHING TESTED": 3, "UNFINISHED": 3, "BAD INPUT": 2, "RECORDED": 0, "NOT WORSE": 0, "NOT REFUTED": 0,
}  # fmt: skip
Say = Callable[[str], None]


class RecordedItem(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one entry, and a digest of the settings they were measured with."""

    settings: str
    metrics: dict[str, Measured]


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of recorded figures holds."""

    schema: str = BASELINE_SCHEMA
    entries: dict[str, RecordedItem] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one test of one entry."""

    name: str
    status: str
    reason: str
    command: str
    epsilon: float | None = None
    claimed: float | None = None
    metric: str | None = None
    measured: Measured | None = None
    recorded: Measured | None = None

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]


def run_gate(gate: Gate, *, out: Path, update: bool, executor: Executor, say: Say) -> tuple[Outcome, ...]:
    """Test everything in the file; with `update`, record the figures that were found instead of testing them."""
    recorded = {} if update and not gate.baseline.exists() else read_baseline(gate, required=not update)
    outcomes: list[Outcome] = []
    for number, item in enumerate(gate.items, 1):
        say(f"{number} of {len(gate.items)}: {item.name}")
        outcomes += _run_item(
            item, gate, recorded.get(item.name, {}), out=out, update=update, executor=executor, say=say
        )
    if update:
        write_baseline(gate, outcomes)
    return tuple(outcomes)


def exit_code(outcomes: tuple[Outcome, ...]) -> int:
    """That of the worst outcome, in the order of EXIT_CODES."""
    return min(outcomes, key=lambda outcome: list(EXIT_CODES).index(outcome.status)).exit_code


def _run_item(
    item: Item, gate: Gate, recorded: dict[str, Measured], *, out: Path, update: bool, executor: Executor, say: Say
) -> list[Outcome]:
    # A guarantee is tested at its share of the error rate. A figure is measured at 95%, and tested at its share.
    confidence = 0.95 if item.metrics else 1 - gate.significance
    spec = item.spec.but(confidence=confidence, seed=gate.seed)
    command = spec.command()

    def failed(status: str, reason: str) -> list[Outcome]:
        return [Outcome(name=item.name, status=status, reason=" ".join(reason.split()), command=command)]

    try:
        report = run(spec, Where(out=out, executor=executor), say)
        scores = scores_of(report)
        if not item.metrics:
            return [judge_guarantee(item, report, command)]
        return [
            _judge_figure(item, metric, report, scores, recorded.get(metric), gate.significance, command, update=update)
            for metric in item.metrics
        ]
    except Incomplete as error:
        return failed("UNFINISHED", str(error))
    except AuditError as error:
        return failed("BAD INPUT", str(error))
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return failed("CRASHED", f"{type(error).__name__}: {error}")


def scores_of(report: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coins and scores of the test runs of a record, none for an audit of the worst case."""
    if isinstance(report, WorstCaseReport):
        return np.empty(0), np.empty(0)
    return read_scores(Path(report.run_directory) / "scores.parquet")


def read_scores(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Coins and scores `[test runs, records]` of a finished run."""
    import pandas as pd

    table = pd.read_parquet(path).sort_values(["run", "record"])
    shape = (table["run"].nunique(), -1)
    return table["member"].to_numpy().reshape(shape), table["score"].to_numpy().reshape(shape)


def judge_guarantee(item: Item, report: Any, command: str) -> Outcome:
    """Refuted by measurement, or not even proved by the ledger, or neither."""
    status, reason = report.verdict, report.verdict_reason
    # At the transcript the claim is what the ledger proves; at other levels it is the guarantee that the file states.
    claim = report.claimed if isinstance(item.spec, WorstCase) else report.proved
    stated = isinstance(item.spec, WorstCase) and item.spec.claim is not None
    proved = None if claim is None or stated else claim.epsilon_pld
    if (
        status == "NOT REFUTED"
        and item.epsilon is not None
        and proved is not None
        and proved > item.epsilon * (1 + 1e-6)
    ):
        status = "NOT GUARANTEED"
        reason = f"The ledger of what ran proves epsilon = {up(proved)}, more than the {item.epsilon:g} that is stated."
    return Outcome(
        name=item.name,
        status=status,
        reason=reason,
        command=command,
        epsilon=report.epsilon.lower,
        claimed=item.epsilon,
    )


def _judge_figure(
    item: Item,
    metric: str,
    report: Any,
    scores: tuple[np.ndarray, np.ndarray],
    old: Measured | None,
    significance: float,
    command: str,
    *,
    update: bool,
) -> Outcome:
    new = METRICS[metric].measure(report, scores, significance)
    found = f"{metric} is {_figure(metric, new.value)}"
    if update or old is None:
        status = "RECORDED"
        reason = (
            f"{found}; recorded for the first time" if old is None else f"{found}; was {_figure(metric, old.value)}"
        )
    else:
        status = "REGRESSED" if got_worse(metric, new, old, significance) else "NOT WORSE"
        reason = f"{found}; recorded {_figure(metric, old.value)}; alarm at {threshold(new, old, significance):.2g}"
    return Outcome(
        name=f"{item.name}: {metric}",
        status=status,
        reason=reason,
        command=command,
        metric=metric,
        measured=new,
        recorded=old,
    )


def _figure(metric: str, value: float) -> str:
    return down(value, 3) if METRICS[metric].bound else f"{value:.4g}"


def settings_of(item: Item, gate: Gate) -> str:
    """What a recorded figure belongs to."""
    return item.spec.but(seed=gate.seed).command()


def read_baseline(gate: Gate, *, required: bool) -> dict[str, dict[str, Measured]]:
    """Recorded figures by entry and metric; refuses those of other settings where they are needed."""
    wanted = [item for item in gate.items if item.metrics]
    if not wanted:
        return {}
    again = f"record with `audit check {gate.path.name} --update` and commit {gate.baseline.name}"
    try:
        text = read_text(gate.baseline) if gate.baseline.exists() else "{}"
        recorded = msgspec.json.decode(text, type=Recorded)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        reason = explain(str(error))
        raise BadData(f"{gate.baseline.name}: not a file of recorded figures ({reason}); delete it, {again}") from None
    if recorded.schema != BASELINE_SCHEMA:
        raise BadData(
            f"{gate.baseline.name}: schema {recorded.schema!r} is not {BASELINE_SCHEMA!r}; delete it, {again}"
        )
    found: dict[str, dict[str, Measured]] = {}
    for item in wanted:
        kept = recorded.entries.get(item.name)
        if kept and kept.settings == settings_of(item, gate) and set(item.metrics) <= set(kept.metrics):
            found[item.name] = kept.metrics
        elif required:
            why = "nothing is recorded for it" if kept is None else "its settings have changed"
            raise BadConfig(f"{gate.path.name}: {item.name!r}: {why}; {again}")
    return found


def write_baseline(gate: Gate, outcomes: list[Outcome]) -> None:
    """Record what was found; an entry that could not be measured keeps nothing."""
    figures = {outcome.name: outcome.measured for outcome in outcomes if outcome.measured is not None}
    entries = {
        item.name: {
            "settings": settings_of(item, gate),
            "metrics": {metric: asdict(figures[f"{item.name}: {metric}"]) for metric in item.metrics},
        }
        for item in gate.items
        if item.metrics and all(f"{item.name}: {metric}" in figures for metric in item.metrics)
    }
    text = json.dumps({"schema": BASELINE_SCHEMA, "entries": entries}, indent=2, sort_keys=True)
    write_text(gate.baseline, text + "\n")
