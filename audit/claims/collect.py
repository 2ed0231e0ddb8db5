"""From the words of a test's command to its evidence. Nothing is printed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from audit.claims.effect import measure_effects
from audit.claims.record import Evidence
from audit.engine.executor import Local
from audit.engine.where import Where
from audit.games.run import run
from audit.games.scope import scope_of_report, scope_of_worst_case
from audit.gate.file import KINDS
from audit.gate.run import scores_of
from audit.specs.options import parse
from audit.specs.worst_case import WorstCase
from reports.records.scope import KNOWN, Scope

Say = Callable[[str], None]
# Commands without a seed or a confidence of their own.
PLAIN = ("account", "effect", "theory")


def collect(words: list[str], *, out: Path, jobs: int | None, say: Say) -> Evidence:
    """Run what the words ask for."""
    command, *rest = words
    where = Where(out=out, executor=Local(jobs))
    match command:
        case "effect":
            return _effect(words, say)
        case "theory":
            return _theory(words, say)
        case "visual":
            from audit.commands.visual import perform_visual

            report = perform_visual({**options_of("visual", rest), "out": out, "jobs": jobs}, say)
            return Evidence(record=report, scope=scope_of_report(report))
        case "account":
            from audit.commands.account import perform_account

            flags = options_of("account", rest)
            return Evidence(record=perform_account(**{k: v for k, v in flags.items() if k != "as_json"}))
        case "worst-case":
            record = run(parse(WorstCase, rest), where, say)
            return Evidence(record=record, scope=scope_of_worst_case(record))
    report = run(parse(KINDS[command], rest), where, say)
    members, scores = scores_of(report)
    return Evidence(
        record=report, members=members, scores=scores, draws=_draws(report, len(members)), scope=scope_of_report(report)
    )


def options_of(command: str, words: list[str]) -> dict[str, Any]:
    """What `audit COMMAND WORDS` would be called with, for commands that have no specification yet."""
    from audit.cli import group

    found = group.get_command(click.Context(group), command)
    assert found is not None
    return found.make_context(command, list(words)).params


def _draws(record: Any, num_test_runs: int) -> np.ndarray:
    """Which public draw each test run had: they take turns (audit/games/membership/game.py)."""
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
    from audit.games.theory import TheoryConfig, examine

    flags = options_of("theory", words[1:])
    config = TheoryConfig(ipcs=tuple(flags["ipcs"]), iterations=flags["iterations"], seed=flags["seed"])
    pool = load_pool(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    report = examine(pool, config, say)
    return Evidence(
        record=report,
        scope=Scope(
            dataset=report.dataset, members_per_class=report.class_size, steps=config.iterations, randomness=KNOWN
        ),
    )
