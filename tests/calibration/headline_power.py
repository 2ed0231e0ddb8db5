"""What each estimator and choice certifies of the same audits: `python tests/calibration/headline_power.py RUNS`.

RUNS is a folder of finished audits of our own runs (`audit lira … --seed 100 --out RUNS` and so on). The scores of the
test runs are bounded by either estimator, with numbers of guesses chosen by a split, by a grid and on fit runs.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from audit.engine.store import RunDirectory
from audit.games.membership.config import AuditConfig
from audit.games.membership.crossfit import cross_fit_audit
from audit.games.membership.headline import bound_coins
from audit.games.membership.runs import load_shards
from audit.games.membership.shard import load_checked_pool
from audit.statistics.estimators.evidence import RecordEvidence
from audit.statistics.estimators.one_run import bound_epsilon_one_run_records
from audit.statistics.estimators.one_run_dp import bound_epsilon_one_run_dp
from audit.statistics.estimators.thresholds import Grid, Split

ESTIMATORS = {"one-run": bound_epsilon_one_run_records, "one-run-dp": bound_epsilon_one_run_dp}
CHOICES = {"split": Split(seed=None), "grid": Grid()}
BASE = "one-run, split"


def bounds_of(folder: Path) -> dict[str, float]:
    """Every lower bound at the audit's own delta, by estimator and choice."""
    directory = RunDirectory(folder)
    config = AuditConfig.from_json(directory.config.read_text(encoding="utf-8"))
    pool = load_checked_pool(config, None)
    seen = ("images", "labels") if config.level == "set" else ("signals", "accuracy")
    fitted = cross_fit_audit(config, pool, load_shards(directory, config, seen))
    table = pd.read_parquet(directory.scores)
    shape = (config.test_runs, pool.num_records)
    members, scores = (table[name].to_numpy().reshape(shape) for name in ("member", "score"))
    level = {"delta": config.delta, "confidence": config.confidence}
    found: dict[str, float] = {"seed": config.seed}
    for name, function in ESTIMATORS.items():
        for choice, value in CHOICES.items():
            evidence = RecordEvidence(members=members, scores=scores)
            found[f"{name}, {choice}"] = function(evidence, choice=value, **level).lower
        found[f"{name}, chosen"] = bound_coins(members, scores, estimator=name, fitted=fitted, **level).lower
    return found


def main() -> None:
    rows = pd.DataFrame([bounds_of(path.parent) for path in sorted(Path(sys.argv[1]).glob("*/report.json"))])
    rows = rows.set_index("seed").sort_index()
    print(rows.round(3).to_string())
    for name in rows.columns:
        gain = rows[name] - rows[BASE]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        print(f"{name:<20} mean {rows[name].mean():.3f}, against {BASE}: {gain.mean():+.3f} ± {error:.3f}")


if __name__ == "__main__":
    main()
