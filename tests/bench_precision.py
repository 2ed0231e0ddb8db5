"""What bfloat16 does to the scores of a small audit, emulated on the CPU.

    PYTHONPATH=. python tests/bench_precision.py

LiRA against DM on 400 records of digits, 48 runs of which 12 are tested on, 100 steps, ConvNet-2-16: AUC, and how far
scores are from those in float32.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).parent))

from small_specs import small_spec

from audit.games.membership.audited import audited_pool
from audit.games.membership.draws import signals_by_draw
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import num_shards, shard_tensors
from audit.games.membership.summary import score_runs
from condensers.registry import untracked

NETWORK = {"width": "16", "depth": "2"}
VICTIM = {"victim.width": "16", "victim.depth": "2", "victim.epochs": "100"}
CASES = {
    "model": ((), ("precision",), ("victim.precision",), ("precision", "victim.precision")),
    "set": ((), ("precision",)),
}


def score(level: str, rounded: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Members and scores `[test runs, records]`."""
    settings = {"iterations": "100", **NETWORK, **(VICTIM if level == "model" else {})}
    settings |= dict.fromkeys(rounded, "bfloat16-emulated")
    config, pool = resolve_config(small_spec(level=level, records=400, shadows=48, settings=settings), None)
    shards = [shard_tensors(config, pool, index, untracked) for index in range(num_shards(config))]
    joined = {name: torch.cat([shard[name] for shard in shards]).numpy() for name in shards[0]}
    members, scores = score_runs(config, signals_by_draw(level, config, audited_pool(config, pool), joined))
    return np.asarray(members), np.asarray(scores)


def area_under_curve(members: np.ndarray, scores: np.ndarray) -> float:
    ranks, inside = rankdata(scores.ravel()), members.ravel().astype(bool)
    pairs = inside.sum() * (~inside).sum()
    return float((ranks[inside].sum() - inside.sum() * (inside.sum() + 1) / 2) / pairs)


def main() -> None:
    torch.set_num_threads(1)
    print(
        "| level | in bfloat16 | AUC | largest difference of a score | correlation of scores |\n|---|---|---|---|---|"
    )
    for level, cases in CASES.items():
        found = {rounded: score(level, rounded) for rounded in cases}
        _, exact = found[()]
        for rounded, (members, scores) in found.items():
            difference = np.abs(scores - exact).max() / exact.std()
            print(
                f"| {level} | {' and '.join(rounded) or 'nothing'} | {area_under_curve(members, scores):.4f} "
                f"| {difference:.2f} deviations | {np.corrcoef(scores.ravel(), exact.ravel())[0, 1]:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
