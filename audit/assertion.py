"""What the fixture of pytest does: `assert_private(condenser, epsilon=…, delta=…)`.

    def test_my_condenser(assert_private):
        assert_private("my_module:my_condenser", epsilon=1.0, delta=1e-5)

It audits the condenser at the door (`audit worst-case`) and fails the test where the guarantee is refuted or not even
proved by its own ledger. A condenser that keeps its guarantee fails with probability `false_alarm` at most; the seed
is fixed, so a test that passed once passes again until the code changes.
"""

import tempfile
from pathlib import Path
from typing import Any


def assert_private(
    condenser: Any,
    *,
    epsilon: float,
    delta: float = 1e-5,
    trials: int = 10_000,
    false_alarm: float = 1e-3,
    seed: int = 0,
    **settings: Any,
) -> None:
    """Fail where (ε, δ)-DP of the condenser is refuted. `settings` are fields of its config."""
    from audit.engine.where import Where
    from audit.games.run import run
    from audit.gate.file import Item
    from audit.gate.run import judge_guarantee
    from audit.specs.spec import as_settings
    from audit.specs.worst_case import WorstCase
    from condensers.registry import name_of

    spec = WorstCase(
        method=name_of(condenser),
        epsilon=None if "noise_multiplier" in settings else float(epsilon),
        delta=delta,
        trials=trials,
        settings=as_settings(settings),
        confidence=1 - false_alarm,
        seed=seed,
    )
    with tempfile.TemporaryDirectory() as folder:
        report = run(spec, Where(out=Path(folder)), lambda _: None)
    item = Item(name=spec.method, spec=spec, epsilon=epsilon)
    outcome = judge_guarantee(item, report, report.command)
    if outcome.exit_code:
        raise AssertionError(f"{outcome.status}: {outcome.reason} ({outcome.command})")
