"""What the fixture of pytest does: `assert_private(condenser, epsilon=…, delta=…)`.

    def test_my_condenser(assert_private):
        assert_private("my_module:my_condenser", epsilon=1.0, delta=1e-5)

It audits the condenser by `audit worst-case`: behind a door its contracts, its noise, the transcript and the set;
without one the set, against `epsilon` or `claim`. It fails the test where a contract is broken, the noise is not as
claimed, the guarantee is refuted or not even proved by its own ledger, and where nothing could be tested. A condenser
that keeps its guarantee fails with probability `false_alarm` at most; the seed is fixed, so a test that passed once
passes again until the code changes. It computes in the process of the test, where what the test patched holds.
"""

import tempfile
from pathlib import Path
from typing import Any, Literal

from condensers.errors import BadConfig


def assert_private(
    condenser: Any,
    *,
    epsilon: float | None = None,
    claim: str | float | None = None,
    delta: float = 1e-5,
    level: Literal["transcript", "set", "model"] | None = None,
    designs: tuple[str, ...] = (),
    dataset: str | None = None,
    trials: int = 10_000,
    false_alarm: float = 1e-3,
    seed: int = 0,
    **settings: Any,
) -> None:
    """Fail where (ε, δ)-DP of the condenser, or the curve `claim`, is refuted. `settings` are fields of its config."""
    from audit.engine.executor import InProcess
    from audit.engine.where import Where
    from audit.games.run import run
    from audit.gate.file import Item
    from audit.gate.run import judge_guarantee
    from audit.specs.spec import as_settings
    from audit.specs.worst_case import WorstCase
    from condensers.registry import get_method, name_of

    name = name_of(condenser)
    private = get_method(name).private
    if epsilon is None and claim is None:
        raise BadConfig("assert_private: give epsilon=… or claim=…")
    spec = WorstCase(
        method=name,
        level=level,
        epsilon=None if "noise_multiplier" in settings or not private or epsilon is None else float(epsilon),
        claim=claim if private or claim is not None else epsilon,
        design=tuple(designs),
        dataset=dataset,
        delta=delta,
        trials=trials,
        settings=as_settings(settings),
        confidence=1 - false_alarm,
        seed=seed,
    )
    with tempfile.TemporaryDirectory() as folder:
        report = run(spec, Where(out=Path(folder), executor=InProcess()), lambda _: None)
    item = Item(name=spec.method, spec=spec, epsilon=epsilon)
    outcome = judge_guarantee(item, report, report.command)
    if outcome.exit_code:
        raise AssertionError(f"{outcome.status}: {outcome.reason} ({outcome.command})")
