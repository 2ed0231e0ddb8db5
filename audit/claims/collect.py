"""From the words of a test's command to its evidence. Nothing is printed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from audit.claims.effect import measure_effects
from audit.claims.record import Evidence
from audit.gate.file import flags_of
from audit.gate.run import perform
from audit.scope import scope_of_report, scope_of_worst_case
from reports.records.scope import KNOWN, Scope

Say = Callable[[str], None]
# Commands without a seed or a confidence of their own.
PLAIN = ("account", "effect", "theory")


def collect(words: list[str], *, out: Path, jobs: int | None, say: Say) -> Evidence:
    """Run what the words ask for."""
    match words[0]:
        case "effect":
            return _effect(words, say)
        case "theory":
            return _theory(words, say)
        case "visual":
            from audit.commands.visual import perform_visual

            report = perform_visual({**flags_of("visual", tuple(words[1:])), "out": out, "jobs": jobs}, say)
            return Evidence(record=report, scope=scope_of_report(report))
        case "account":
            return Evidence(record=perform("account", tuple(words[1:]), out=out, jobs=jobs, say=say)[0])
    record, (members, scores) = perform(words[0], tuple(words[1:]), out=out, jobs=jobs, say=say)
    if words[0] == "worst-case":
        return Evidence(record=record, scope=scope_of_worst_case(record))
    return Evidence(
        record=record, members=members, scores=scores, draws=_draws(record, len(members)), scope=scope_of_report(record)
    )


def _draws(record: Any, num_test_runs: int) -> np.ndarray:
    """Which public draw each test run had: they take turns (audit/game.py)."""
    return np.arange(num_test_runs) % record.config["public_draws"]


def _effect(words: list[str], say: Say) -> Evidence:
    options = dict(zip(words[1::2], words[2::2], strict=True))
    effects = measure_effects(
        method=options["--method"],
        extractor=options["--extractor"],
        dataset="digits",
        ipc=1,
        left_out=int(options["--left-out"]),
        seed=int(options["--seed"]),
        say=say,
    )
    return Evidence(
        record=effects, scope=Scope(dataset=effects.dataset, network=options["--extractor"], randomness=KNOWN)
    )


def _theory(words: list[str], say: Say) -> Evidence:
    from audit.data.load import load_pool
    from audit.theory import TheoryConfig, examine

    flags = flags_of("theory", tuple(words[1:]))
    config = TheoryConfig(ipcs=tuple(flags["ipcs"]), iterations=flags["iterations"], seed=flags["seed"])
    pool = load_pool(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    report = examine(pool, config, say)
    return Evidence(
        record=report,
        scope=Scope(
            dataset=report.dataset, members_per_class=report.class_size, steps=config.iterations, randomness=KNOWN
        ),
    )
