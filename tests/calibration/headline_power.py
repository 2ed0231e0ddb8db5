"""What each estimator and choice certifies of the same audits: `python tests/calibration/headline_power.py RUNS`.

RUNS is a folder of finished audits (`audit lira … --seed 100 --out RUNS` and so on). Their headline and the one-run
bound have numbers of guesses chosen on cross-fitted fit runs; here the same scores are bounded with a split and with a
grid.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from audit.estimators.evidence import RecordEvidence
from audit.estimators.one_run import bound_epsilon_one_run_records
from audit.estimators.one_run_dp import bound_epsilon_one_run_dp
from audit.estimators.thresholds import Grid, Split
from reports.records import schema

ESTIMATORS = {"one-run": bound_epsilon_one_run_records, "one-run-dp": bound_epsilon_one_run_dp}
CHOICES = {"split": Split(seed=None), "grid": Grid()}


def bounds_of(folder: Path) -> dict[str, float]:
    """Every lower bound at the audit's own delta, by estimator and choice."""
    report = schema.load((folder / "report.json").read_text(encoding="utf-8"))
    table = pd.read_parquet(folder / "scores.parquet")
    shape = (table.run.nunique(), table.record.nunique())
    evidence = RecordEvidence(
        members=table.member.to_numpy().reshape(shape), scores=table.score.to_numpy(dtype=np.float64).reshape(shape)
    )
    delta, confidence = report.epsilon.delta, report.epsilon.confidence
    found = {
        f"{name}, {choice}": function(evidence, delta=delta, confidence=confidence, choice=CHOICES[choice]).lower
        for name, function in ESTIMATORS.items()
        for choice in CHOICES
    }
    for bound in report.bounds:
        if bound.delta == delta and bound.guess_fractions is not None:
            found[f"{bound.estimator}, chosen"] = bound.lower
    return {"seed": report.game.seed, **found}


def main() -> None:
    rows = pd.DataFrame([bounds_of(path.parent) for path in sorted(Path(sys.argv[1]).glob("*/report.json"))])
    rows = rows.set_index("seed").sort_index()
    print(rows.round(3).to_string())
    base = rows["one-run, split"]
    for name in rows.columns:
        gain = rows[name] - base
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        print(f"{name:<20} mean {rows[name].mean():.3f}, against one-run, split: {gain.mean():+.3f} ± {error:.3f}")


if __name__ == "__main__":
    main()
