"""Coverage of intervals, and false alarms of the regression test, between audits that differ in their seed alone.

    OMP_NUM_THREADS=1 python tests/calibration/public_draws.py FOLDER [--kind model] [--seeds 24]
    OMP_NUM_THREADS=1 python tests/calibration/public_draws.py --simulated

Runs the same small audit of DM with many seeds: with one public draw for all runs, and with several. Prints, for every
figure, how far it varies between seeds over the standard error that single audits report, in how many audits the 95%
interval covers the mean over seeds, and in how many ordered pairs of seeds the second would be called worse than the
first (audit/gate/metrics.py) at several significances. What was computed stays in FOLDER, so the script can be
interrupted. With --simulated: coverage of several intervals over draws on scores of which the law is known.
"""

import argparse
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from audit.engine.store import RunDirectory
from audit.games.membership.draws import signals_by_draw
from audit.games.membership.resolve import resolve_config
from audit.games.membership.runs import load_shards
from audit.games.membership.shard import compute_shard, num_shards
from audit.games.membership.summary import score_runs, summarise
from audit.gate.file import KINDS
from audit.gate.metrics import METRICS, got_worse
from audit.specs.options import parse
from audit.statistics.roc import area, binned_counts, curves, exact_curve, tpr_at
from condensers.randomness import stream

COMMON = ("--records", "400", "--set", "iterations=50", "--device", "cpu")
COMMANDS = {
    "loss": ("loss", ("--set", "victim.epochs=60", "--shadows", "16")),
    "set": ("lira", ("--level", "set", "--shadows", "64", "--test-runs", "16")),
    "model": ("rmia", ("--set", "victim.epochs=60", "--shadows", "64", "--test-runs", "16")),
}
DRAWS = (1, 4, 8)
SIGNIFICANCES = (0.05, 0.01, 1e-3 / 7)


def audit_once(kind: str, draws: int, seed: int, folder: Path) -> tuple[Any, tuple[np.ndarray, np.ndarray]]:
    """Report, coins and scores of one audit, its runs kept in `folder`."""
    command, own = COMMANDS[kind]
    level = "set" if kind == "set" else "model"
    arguments = (*own, *COMMON, "--seed", str(seed), "--public-draws", str(draws))
    config, pool = resolve_config(parse(KINDS[command], arguments), None)
    kept = folder / f"{kind}-{draws}-{seed}.npz"
    seen = ("images", "labels") if level == "set" else ("signals", "accuracy")
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            directory = RunDirectory(Path(scratch))
            directory.create()
            for index in range(num_shards(config)):
                compute_shard(config, pool, directory, index, lambda *_: None)
            np.savez(kept.with_suffix(".unfinished.npz"), **load_shards(directory, config, seen))
        kept.with_suffix(".unfinished.npz").rename(kept)
        print(f"computed {kept.name}", flush=True)
    with np.load(kept) as stored:
        shards = {name: stored[name] for name in stored.files}
    members, scores = score_runs(config, signals_by_draw(level, config, pool, shards))
    return summarise(config, pool, members, scores, shards), (members, scores)


def show_audits(kind: str, seeds: int, folder: Path) -> None:
    """The table of docs/estimators.md."""
    metrics = ("auc", "tpr at fpr 0.01", "tpr at fpr 0.001", *(("accuracy",) if kind != "set" else ()))
    intervals: dict[str, Callable[[Any], tuple[float, float]]] = {
        "auc": lambda report: report.roc.auc_interval,
        "tpr at fpr 0.01": lambda report: report.roc.tpr_at_fpr_interval["0.01"],
        "tpr at fpr 0.001": lambda report: report.roc.tpr_at_fpr_interval["0.001"],
        "accuracy": lambda report: report.utility.accuracy_interval,
    }
    print(
        "kind | draws | figure | mean | deviation / error | covered |",
        "alarms at",
        *(f"{s:.2g}" for s in SIGNIFICANCES),
    )
    for draws in DRAWS:
        found = [audit_once(kind, draws, seed, folder) for seed in range(seeds)]
        if draws > 1:
            show_pooling(f"{kind} | {draws}", [scores for _, scores in found], draws)
        for metric in metrics:
            measured = [METRICS[metric].measure(report, scores, 0.05) for report, scores in found]
            values = np.array([one.value for one in measured])
            errors = np.array([one.standard_error for one in measured])
            ends = np.array([intervals[metric](report) for report, _ in found])
            covered = int(((ends[:, 0] <= values.mean()) & (values.mean() <= ends[:, 1])).sum())
            pairs = list(itertools.permutations(measured, 2))
            alarms = [sum(got_worse(metric, new, old, s) for new, old in pairs) for s in SIGNIFICANCES]
            ratio = values.std(ddof=1) / np.sqrt((errors**2).mean())
            print(
                f"{kind} | {draws} | {metric} | {values.mean():.4f} | {ratio:.2f} | {covered} of {seeds} |",
                ", ".join(f"{count} of {len(pairs)}" for count in alarms),
                flush=True,
            )


def show_pooling(label: str, found: list[tuple[np.ndarray, np.ndarray]], draws: int) -> None:
    """Whether scores of several draws may be pooled: AUC of all of them, and the mean of those within a draw."""
    pooled = [figures(members, scores)[0] for members, scores in found]
    within = [
        figures(members[draw::draws], scores[draw::draws])[0] for members, scores in found for draw in range(draws)
    ]
    print(f"{label} | AUC pooled {np.mean(pooled):.4f}, within draws {np.mean(within):.4f}", flush=True)


def simulate(
    generator: np.random.Generator, *, draws: int, runs: int, records: int = 200, effect: float = 0.8,
    between: float = 0.3, within: float = 0.2,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Coins, scores and draws: members' scores are higher by an effect that varies from draw to draw and run to run."""
    own = np.arange(runs) % draws
    effects = effect + between * generator.normal(size=draws)[own] + within * generator.normal(size=runs)
    members = generator.random((runs, records)) < 0.5
    return members, generator.normal(size=(runs, records)) + effects[:, None] * members, own


def figures(members: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """AUC, TPR at FPR 1% and at 0.1%."""
    curve = exact_curve(members.ravel(), scores.ravel())
    return np.array([area(curve), tpr_at(curve, 0.01), tpr_at(curve, 0.001)])


def intervals_over_draws(
    members: np.ndarray, scores: np.ndarray, own: np.ndarray, generator: np.random.Generator
) -> dict[str, np.ndarray]:
    """Ends `[2, figures]` of the 95% intervals that were considered; the first is of `statistics.clustered`."""
    numbers = np.unique(own)
    draws, point = len(numbers), figures(members, scores)
    quantile = stats.t.ppf(0.975, draws - 1)
    counts = [[part[own == draw].sum(0) for draw in numbers] for part in binned_counts(members, scores)]
    weights = generator.multinomial(draws, np.full(draws, 1 / draws), size=300)
    drawn = curves(*(np.asarray(weights @ np.array(part), dtype=np.float64) for part in counts))
    replicates = np.array([[area(curve), tpr_at(curve, 0.01), tpr_at(curve, 0.001)] for curve in drawn])
    widened = np.sqrt(draws / (draws - 1)) * quantile
    left_out = np.array([figures(members[own != draw], scores[own != draw]) for draw in numbers])
    single = np.array([figures(members[own == draw], scores[own == draw]) for draw in numbers])
    sides = np.array([[-1.0], [1.0]])
    return {
        "bootstrap deviation, Student": point + sides * widened * replicates.std(0),
        "bootstrap percentiles, widened": point
        + (np.quantile(replicates, [0.025, 0.975], axis=0) - point) * widened / stats.norm.ppf(0.975),
        "jackknife, Student": point + sides * quantile * np.sqrt(draws - 1) * left_out.std(0),
        "single draws, Student": single.mean(0) + sides * quantile * single.std(0, ddof=1) / np.sqrt(draws),
    }


def show_simulation(audits: int = 400) -> None:
    """Coverage of the mean over all audits, by every interval."""
    print("interval | draws | runs | coverage of AUC, TPR at FPR 1%, at 0.1%")
    for draws, runs in ((2, 8), (4, 16), (8, 16), (8, 32), (16, 32)):
        points, ends = [], []
        for audit in range(audits):
            generator = stream(0, "simulated public draws", draws, runs, audit)
            members, scores, own = simulate(generator, draws=draws, runs=runs)
            points.append(figures(members, scores))
            ends.append(intervals_over_draws(members, scores, own, generator))
        truth = np.mean(points, 0)
        for name in ends[0]:
            covered = np.mean([(found[name][0] <= truth) & (truth <= found[name][1]) for found in ends], 0)
            print(f"{name} | {draws} | {runs} |", ", ".join(f"{share:.1%}" for share in covered), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/public-draws"))
    parser.add_argument("--kind", choices=tuple(COMMANDS), default="set")
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--simulated", action="store_true", help="simulated scores instead of audits")
    given = parser.parse_args()
    if given.simulated:
        show_simulation()
    else:
        given.folder.mkdir(parents=True, exist_ok=True)
        show_audits(given.kind, given.seeds, given.folder)
