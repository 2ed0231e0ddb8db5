"""All attacks and levels on the same condensations, with as many fit runs as each is given.

Every entry is tested on the same test runs; bounds are corrected for the number of entries. With few fit runs some
records have none with them or none without them; entries with equally many fit runs leave the same records out.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from attacks.registry import Observations, get_attack
from audit.engine.pages import keep_record
from audit.engine.store import RunDirectory
from audit.engine.where import Where
from audit.games.membership.audited import audited_pool
from audit.games.membership.config import AuditConfig
from audit.games.membership.crossfit import cross_fit_runs
from audit.games.membership.draws import per_draw, scores_by_draw
from audit.games.membership.headline import bound_coins
from audit.games.membership.intervals import measure_test_runs
from audit.games.membership.request import resolved_as
from audit.games.membership.resolve import resolve_config
from audit.games.membership.runs import load_shards
from audit.games.membership.shard import game_of
from audit.games.membership.signals import labels_given, level_signals
from audit.games.run import run
from audit.specs.membership import Compare, as_lira
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.registry import get_method, require_set
from reports.documents.attacks import build_attacks
from reports.records.attacks import ComparedAttack, CompareReport
from reports.records.scope import describe_scope

DEFAULT_ENTRIES = "loss:model,rmia:model:4,lira:model:16,lira:model,rmia:set:16,lira:set:16,lira:set"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An attack at a level; `fit_runs` None means all that there are."""

    attack: str
    level: str
    fit_runs: int | None

    def __str__(self) -> str:
        return f"{self.attack}:{self.level}" + ("" if self.fit_runs is None else f":{self.fit_runs}")


def parse_entries(text: str) -> tuple[Entry, ...]:
    """`lira:set:64,loss:model` → entries."""
    entries = []
    for part in text.split(","):
        found = re.fullmatch(r"([a-z]+):(model|set)(?::([1-9][0-9]*))?", part.strip())
        if found is None:
            raise BadConfig(
                f"--attacks {part.strip()!r}: write ATTACK:LEVEL or ATTACK:LEVEL:FIT_RUNS, e.g. lira:set:64"
            )
        attack = get_attack(found[1])
        if found[2] not in attack.levels:
            raise BadConfig(f"--attacks {part.strip()}: {attack.name} works at level {', '.join(attack.levels)}")
        if found[3] and not attack.needs_fit_runs:
            raise BadConfig(
                f"--attacks {part.strip()}: {attack.name} is not fitted on other runs; write {attack.name}:{found[2]}"
            )
        entries.append(Entry(attack=attack.name, level=found[2], fit_runs=int(found[3]) if found[3] else None))
    if len(set(entries)) < len(entries):
        raise BadConfig(f"--attacks {text}: names an entry twice")
    return tuple(entries)


def with_runs_there_are(entries: tuple[Entry, ...], available: int) -> tuple[Entry, ...]:
    """The entries, where one asks for more fit runs than there are with all of them; each of them once."""
    few = (entry.fit_runs is not None and entry.fit_runs < available for entry in entries)
    fitting = [entry if fits else replace(entry, fit_runs=None) for entry, fits in zip(entries, few, strict=True)]
    return tuple(dict.fromkeys(fitting))


def run_comparison(spec: Compare, where: Where, say: Callable[[str], None]) -> CompareReport:
    """Run or resume the condensations as LiRA does, score every entry, write record and pages; the record."""
    entries = parse_entries(spec.attacks or DEFAULT_ENTRIES)
    if any(entry.level == "set" for entry in entries):
        require_set(get_method(spec.method), "compare attacks at level model: --attacks lira:model,rmia:model")
    shadows = as_lira(spec, level="model")
    config, pool = resolve_config(shadows, where.data_root)
    for name in config.changes:
        if name.startswith("attack."):
            raise BadConfig(f"--set {name}: attacks are compared at their default settings; leave it out")
    available = (config.shadows - config.test_runs) // config.public_draws
    if spec.attacks is None:
        entries = with_runs_there_are(entries, available)
    for entry in entries:
        if entry.fit_runs is not None and entry.fit_runs > available:
            raise BadConfig(f"--attacks {entry}: there are {available} fit runs{per_draw(config)}; raise --shadows")
    pool = audited_pool(config, pool)
    report = run(shadows, where, say)
    directory = RunDirectory(Path(report.run_directory))
    shards = load_shards(directory, config, ("signals", "images", "labels"))
    compared = [_score(entry, config, pool, shards, config.tries * len(entries), say) for entry in entries]
    named = ",".join(map(str, entries))
    digest = hashlib.sha256(f"{config.digest} {named}".encode()).hexdigest()[:12]
    folder = directory.path.with_name(
        config.directory_name.replace("lira-", "compare-", 1).replace(f"{config.level}-{config.digest}", digest)
    )
    directory = RunDirectory(folder)
    directory.create()
    record = CompareReport(
        command=resolved_as(Compare, config, attacks=named).command(),
        method=config.method,
        dataset=config.dataset,
        scope="" if report.scope is None else describe_scope(report.scope),
        entries=tuple(compared),
        proved=report.proved,
        config=config.facts(),
        versions=config.versions,
        digest=digest,
        run_directory=folder.name,
        pdf="report.pdf",
    )
    with directory.held():
        keep_record(record, build_attacks(record), directory, say)
    return replace(record, run_directory=str(folder), pdf=str(directory.pdf))


def _score(
    entry: Entry, config: AuditConfig, pool: Pool, shards: dict[str, np.ndarray], tries: int, say: Callable[[str], None]
) -> ComparedAttack:
    attack = get_attack(entry.attack)
    game = game_of(config, pool.num_records)
    available = len(game.fit_runs_of(0)) if attack.needs_fit_runs else 0
    num_fit = available if entry.fit_runs is None else entry.fit_runs
    say(f"{entry.attack} at level {entry.level} with {num_fit} fit runs{per_draw(config)}")
    fit_runs = [game.fit_runs_of(draw)[:num_fit] for draw in range(config.public_draws)]
    fit_members = [labels_given(config, pool.num_records, runs) for runs in fit_runs]
    members = labels_given(config, pool.num_records, game.test_runs)
    known = np.ones(pool.num_records, dtype=bool)
    for told in fit_members if num_fit else ():
        known &= told.any(0) & ~told.all(0)

    def score(draw: int) -> np.ndarray:
        told, rows = fit_members[draw], [*fit_runs[draw], *game.test_runs_of(draw)]
        signals = level_signals(entry.level, config, pool, shards, fit_members=told, rows=rows, draw=draw)
        observations = Observations(
            fit_signals=signals[:num_fit, known],
            fit_members=told[:, known],
            test_signals=signals[num_fit:, known],
            ratios=entry.level == "set",
        )
        return attack.score(observations, attack.config())

    scores = scores_by_draw(config, score)
    fitted = cross_fit_runs(attack, attack.config(), entry.level, config, pool, shards, fit_runs)
    return ComparedAttack(
        label=f"{entry.attack}, {entry.level}, {f'{num_fit} shadows' if num_fit else 'no shadows'}",
        attack=entry.attack,
        level=entry.level,
        num_fit_runs=num_fit,
        num_records=int(known.sum()),
        roc=measure_test_runs(config, members[:, known], scores),
        epsilon=bound_coins(
            members[:, known],
            scores,
            delta=config.delta,
            confidence=config.confidence,
            fitted=None if fitted is None else fitted.of(known),
            num_tries=tries,
        ),
    )
