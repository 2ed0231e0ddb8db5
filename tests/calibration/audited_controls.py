"""Controls of audits with few records in doubt (docs/results.md):

    PYTHONPATH=.:tests python tests/calibration/audited_controls.py RESULTS.jsonl [part of a control's name …]

1. shuffled: the sets of a real condensation of digits, attacked 200 times with labels independent of membership.
2. ignores its data: 200 audits of sets that are noise.
3. private methods with ε of 1 and 8, 20 seeds each: a certified ε above the guarantee would be wrong.

What is in RESULTS.jsonl already is not computed again.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import binom

import audit
from attacks.released import Released
from audit.engine.executor import InProcess
from audit.games.membership.audited import audited_pool
from audit.games.membership.headline import bound_coins
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import condense, members_of_pool
from audit.games.membership.signals import embed_publicly, level_signals, view_publicly
from audit.games.membership.summary import score_runs
from audit.specs.membership import Lira
from condensers.randomness import Randomness, stream
from condensers.registry import untracked

REFITS, SEEDS = 200, 20
SPEC = Lira(level="set", audited="60", shadows=64, test_runs=24, settings={"iterations": "60"}, seed=7)


def refits(noise: bool) -> Iterator[Callable[[], float]]:
    """The certified ε of one attack after another, each fitted to coins of its own on the same sets."""
    config, pool = resolve_config(SPEC, None)
    small = audited_pool(config, pool)
    if noise:
        shape = (config.shadows, pool.num_classes, *pool.images.shape[1:])
        images = stream(1, "sets of noise").standard_normal(shape, dtype=np.float32)
        labels = np.tile(np.arange(pool.num_classes), (config.shadows, 1))
    else:
        runs = range(config.shadows)
        randomness = Randomness(seed=config.seed, runs=tuple(runs))
        batch, _ = condense(config, pool, torch.as_tensor(members_of_pool(config, pool, runs)), randomness, untracked)
        images, labels = batch.images.numpy(), batch.labels.numpy()
    shards = {"images": images, "labels": labels}
    released = Released(images=images.reshape(*images.shape[:2], -1), labels=labels)
    seen = {"features": embed_publicly(config, small), "views": view_publicly(config, small, (released,))}
    num_fit = config.shadows - config.test_runs

    def refit(number: int) -> float:
        coins = stream(2, "decoys", number).random((config.shadows, small.num_records)) < 0.5
        signals = level_signals("set", config, small, shards, fit_members=coins[:num_fit], **seen)
        _, scores = score_runs(config, signals)
        return bound_coins(coins[num_fit:], scores, delta=config.delta, confidence=config.confidence).lower

    for number in range(REFITS):
        yield partial(refit, number)


def private(method: str, epsilon: float) -> Iterator[Callable[[], float]]:
    """The certified ε of private methods in ordinary audits of 50 records of 600."""
    level = "model" if method == "dpsgd" else "set"
    fewer = {"iterations": "20", "batch": "10"}
    spec = Lira(
        method=method, level=level, records=600, audited="50", shadows=48, test_runs=16, epsilon=epsilon, settings=fewer
    )

    def certified(seed: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return audit.run(spec.but(seed=seed), out=folder, executor=InProcess()).epsilon.lower

    for seed in range(SEEDS):
        yield partial(certified, seed)


CONTROLS: dict[str, tuple[float, Callable[[], Iterator[Callable[[], float]]]]] = {
    "shuffled": (0.0, partial(refits, noise=False)),
    "ignores its data": (0.0, partial(refits, noise=True)),
    **{
        f"{method}, ε = {epsilon:g}": (epsilon, partial(private, method, epsilon))
        for method in ("ndpdc", "dpsgd")
        for epsilon in (1.0, 8.0)
    },
}


def main(path: Path, parts: list[str]) -> None:
    kept: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["control"], row["number"]) for row in kept}
    for control, (_, computations) in CONTROLS.items():
        if parts and not any(part in control for part in parts):
            continue
        for number, compute in enumerate(computations()):
            if (control, number) in done:
                continue
            kept.append({"control": control, "number": number, "lower": compute()})
            with path.open("a") as file:
                file.write(json.dumps(kept[-1]) + "\n")
    print("| control | audits | certified ε above the truth | allowed (99.9%) | largest |\n|---|---|---|---|---|")
    for control, (truth, _) in CONTROLS.items():
        if not (found := [row["lower"] for row in kept if row["control"] == control]):
            continue
        above = sum(lower > truth for lower in found)
        print(f"| {control} | {len(found)} | {above} | {binom.ppf(0.999, len(found), 0.05):.0f} | {max(found):.2f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
