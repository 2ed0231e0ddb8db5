"""One condensation of all records, outside the membership game: everybody is in, and N_c is the true class size.

With members chosen by coins (`membership.coins`), those are in, and N_c is half of the class, as in the game. Such a
run has a number that no shadow run has: it shares private streams with none.

A condensation for release draws every private stream of a private method from the operating system. An interrupted one
goes on from its last checkpoint: the ledger is kept with the state, noise drawn afterwards is fresh, and whatever was
drawn between checkpoint and interruption is thrown away unpublished, so that the released set is the output of the
accounted releases and of nothing else. What no mechanism protects is drawn from the seed, and so can be repeated.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from audit.data.load import pool_checksum
from audit.engine.checkpoints import Tracker
from audit.engine.progress import ProgressBar
from audit.engine.store import RunDirectory
from audit.games import settings
from audit.games.contracts import Bench, broken, check_contracts
from audit.games.full_pool import Condensation, condense_all, true_class_sizes
from audit.games.membership.coins import ColumnOfCoins
from audit.games.membership.game import nominal_class_sizes
from audit.games.membership.resolve import check_extractor, check_sizes, settle_noise, should_compile
from condensers.errors import BrokenContract, Incomplete
from condensers.initial import check_real_start
from condensers.ledger import Ledger
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness
from condensers.registry import Method, require_set

Published = TypeVar("Published")
FIRST_RUN_BY_COINS = 1 << 40
CLASSES_CHECKED = 2  # of a method's contracts before a release: enough to show what one class does to another


def resolve_condensation(
    method: Method,
    pool: Pool,
    *,
    preset: str,
    ipc: int | None,
    init: str | None,
    epsilon: float | None,
    delta: float,
    changes: dict[str, str],
    compiled: str = "off",
    by_coins: bool = False,
    audited: Sequence[int] | None = None,
) -> Condensation:
    """Check and complete the method's settings; with `epsilon`, calibrate its noise.

    `by_coins`: half are in or, where only some are `audited`, half of these and all others.
    """
    require_set(method, "it can be attacked: audit lira")
    sizes = nominal_class_sizes(pool, audited) if by_coins else true_class_sizes(pool)
    epsilon = settings.target_epsilon(method, preset, pool, epsilon, changes)
    size = settings.resolve_ipc(pool, ipc, None, sum(sizes), method=method, preset=preset)
    config = settings.resolve_method(
        method, preset, pool, ipc=size, init=init, changes=changes, epsilon=epsilon, num_members=sum(sizes)
    )
    check_real_start(sizes, ipc=size, init=vars(config).get("init"))
    accountant = settings.accountant_of(method, preset, pool)
    config = settle_noise(method, config, sizes, epsilon=epsilon, delta=delta, changes=changes, accountant=accountant)
    values = dict(vars(config))
    check_sizes("", values)
    check_extractor(values, tuple(pool.images.shape[1:]), pool.num_classes)
    if "compiled" in values:
        config = method.config(**{**values, "compiled": should_compile(compiled, values, pool, 1)})
    return Condensation(method=method, config=config, class_sizes=sizes)


def condense_for_release(
    condensation: Condensation,
    pool: Pool,
    publish: Callable[[CondensedBatch, Ledger | None], Published],
    *,
    seed: int,
    out: Path,
    say: Callable[[str], None],
    chosen: ColumnOfCoins | None = None,
) -> Published:
    """Condense once and publish, with checkpoints in `out` until then; the same command goes on if interrupted."""
    check_before_release(condensation, pool)
    directory = RunDirectory(out)
    directory.create()
    name, private = condensation.method.name, condensation.method.private
    run = 0 if chosen is None else FIRST_RUN_BY_COINS + chosen.column
    randomness = Randomness(seed=seed, runs=(run,), from_operating_system=private)
    try:
        with directory.held(), ProgressBar(f"condensing {pool.name} with {name}", {0: 1}) as bar:
            tracker = Tracker(
                digest=_digest(condensation, pool, seed, chosen),
                place=partial(directory.checkpoint, 0),
                report=lambda share: bar.update(0, share),
                stages={"condense": 1.0},
            )
            if any(directory.shards.glob("*.partial")):
                say("resuming an interrupted condensation, if it was started by the same command")
            published = publish(*condense_all(condensation, pool, randomness, tracker.track, chosen))
            tracker.clear()
            directory.shards.rmdir()
    except KeyboardInterrupt:
        raise Incomplete(
            f"interrupted: nothing was released; what was saved is in {out}, run the same command again to resume"
        ) from None
    return published


def check_before_release(condensation: Condensation, pool: Pool) -> None:
    """Refuse a private method that breaks a contract of the door, on small pools and few steps of its own."""
    method = condensation.method
    if not method.private:
        return
    small = method.presets.get("worst-case", {})
    kept = {name: value for name, value in vars(condensation.config).items() if name not in small}
    config = method.config(**kept | small)
    sizes = tuple(max(float(size), float(getattr(config, "batch", 1))) for size in condensation.class_sizes)
    few = sizes[:CLASSES_CHECKED] if "auxiliary" not in vars(config) else sizes
    shape, auxiliary = tuple(pool.images.shape[1:]), None if pool.auxiliary is None else pool.auxiliary.cpu()
    bench = Bench(method=method, config=config, class_sizes=few, input_shape=shape, seed=0, auxiliary=auxiliary)
    found = broken(check_contracts(bench))
    if found is not None:
        raise BrokenContract(f"{method.name}: {found.sentence} Nothing was released.")


def _digest(condensation: Condensation, pool: Pool, seed: int, chosen: ColumnOfCoins | None) -> str:
    """Of everything that determines the result; it stays in checkpoints, which are removed."""
    facts = {
        "method": condensation.method.name,
        "config": vars(condensation.config),
        "class_sizes": condensation.class_sizes,
        "seed": seed,
        "data": pool_checksum(pool),
        "versions": settings.versions(condensation.method),
        "members": None if chosen is None else [chosen.column, chosen.members.tobytes().hex()],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
