"""What an audit will cost: loops cut short, units scheduled, and whole predictions of small audits."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

import audit
from audit.engine.executor import InProcess
from audit.engine.where import Where
from audit.games.predict import predict
from audit.games.probe.cost import Cost, makespan
from audit.games.probe.loops import FEWEST_STEPS, CutLoops
from condensers.errors import BadConfig

COST = Cost(
    what="an audit",
    unit_seconds=(10.0,) * 8,
    start_seconds=2.0,
    rest_seconds=5.0,
    processor_seconds=90.0,
    worker_memory=3,
    driver_memory=4,
    workers=2,
    probe_seconds=1.0,
)


def busy(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_cut_loop_against_whole_loop() -> None:
    loops = CutLoops(seconds=0.1)
    steps = []
    for step in loops.track("condense", 50, {}):
        busy(0.05)
        steps.append(step)
    assert FEWEST_STEPS <= len(steps) <= 5
    whole = loops.spent + loops.left
    assert whole.processor == pytest.approx(50 * 0.05, rel=0.25)
    assert loops.steps["condense"] == (len(steps), 50)


def test_short_loop_is_not_cut() -> None:
    loops = CutLoops(seconds=0.0)
    assert list(loops.track("condense", FEWEST_STEPS, {})) == list(range(FEWEST_STEPS))
    assert loops.left.processor == 0.0


def test_cost_on_nodes_against_theory() -> None:
    assert COST.seconds() == 2 + 40 + 5
    assert COST.seconds(4) == 2 + 10 + 5
    assert COST.memory() == (4 + 2 * 3, 0)
    assert COST.memory(8) == (4 + 3, 3)
    assert makespan([], 3) == 0
    assert makespan([1.0, 1.0, 1.0], 10) == 1.0
    for wrong in (lambda: COST.seconds(0), lambda: replace(COST, workers=0)):
        with pytest.raises(BadConfig, match="at least 1"):
            wrong()


@pytest.mark.slow
@pytest.mark.parametrize("level", ["set", "model"])
def test_every_shard_is_counted(level: str) -> None:
    spec = audit.Lira(
        method="dm", records=120, shadows=20, shard_runs=8, level=level,
        settings={"iterations": "4"} if level == "set" else {"iterations": "4", "victim.epochs": "2"},
    )  # fmt: skip
    lines: list[str] = []
    cost = predict(spec, Where(out=Path(), executor=InProcess()), lines.append)
    assert cost.num_units == 3
    assert cost.unit_seconds[2] == pytest.approx(cost.unit_seconds[0] / 2)
    assert 0 < sum(cost.unit_seconds) < cost.seconds()
    assert cost.worker_memory > 1 << 26
    assert len(lines) == 2


@pytest.mark.slow
def test_worst_case_grows_with_trials() -> None:
    spec = audit.WorstCase(method="ldpdc", trials=8000, settings={"noise_multiplier": "4"})
    cost = predict(spec, Where(out=Path(), executor=InProcess()), lambda _line: None)
    assert cost.num_units > 2
    assert cost.processor_seconds > sum(cost.unit_seconds) * 0.1
    assert cost.seconds() > cost.seconds(4)


def test_what_has_no_probe_is_refused() -> None:
    with pytest.raises(BadConfig, match="can be predicted for"):
        predict(audit.Compare(method="dm"), Where(out=Path()), lambda _line: None)
