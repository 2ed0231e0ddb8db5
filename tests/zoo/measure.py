"""Audit the zoo and print the table of docs/faults.md:

    PYTHONPATH=.:tests python tests/zoo/measure.py RESULTS.jsonl [part of a name …]

What is in RESULTS.jsonl already is not measured again. Faults behind a door are audited at level transcript, which sees
the set as well, the others at level set. Runs: 4000 behind a door, 1600 without one (docs/faults.md says how
that was decided); designs other than "alone" have a quarter. `sound` as a part of a name audits the sound plugins at
three seeds.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import zoo.own_plugins
import zoo.plugins
from zoo.kinds import FAULTS, SOUND, WITHOUT

from audit.engine.executor import InProcess
from audit.engine.where import Where
from audit.games.transcript.record import run_worst_case
from audit.games.transcript.resolve import resolve_experiment
from audit.specs.worst_case import WorstCase
from reports.records.worst_case import WorstCaseReport

TRIALS = {True: 4000, False: 1600}  # behind a door, without one
SIGMA = 2.1
CLAIMS = {"laplace-with-l2-sensitivity": "laplace:0.5", "sound_laplace": "laplace:0.5"}
VERDICTS = ("REFUTED", "CONTRACT BROKEN", "NOISE NOT AS CLAIMED")


def spec_of(fault: str, *, trials: int | None = None, seed: int = 0, epsilon: float = 2.0) -> WorstCase:
    """The audit of a fault, or of a sound plugin by the name of its function."""
    if fault in SOUND:
        behind = fault in ("door_means", "sound_everybody")
        function, settings = fault, {}
    else:
        behind = FAULTS[fault] != WITHOUT
        function, settings = ("door_means" if behind else "own_mechanism"), {"fault": fault}
    claim = None if behind else CLAIMS.get(fault, f"gaussian:sigma={SIGMA}")
    return WorstCase(
        method=f"{(zoo.plugins if function == 'door_means' else zoo.own_plugins).__file__}:{function}",
        epsilon=epsilon if behind else None,
        claim=claim,
        trials=trials or TRIALS[behind],
        settings=settings,
        seed=seed,
    )


def audit(spec: WorstCase) -> WorstCaseReport:
    with tempfile.TemporaryDirectory() as folder:
        where = Where(out=Path(folder), executor=InProcess())
        return run_worst_case(resolve_experiment(spec), "", where, lambda _: None)


def by_what(report: WorstCaseReport) -> tuple[str, float | None]:
    """What found it, and p where there is one."""
    match report.verdict:
        case "CONTRACT BROKEN":
            return f"contract: {next(check.name for check in report.contracts if check.held is False)}", None
        case "NOISE NOT AS CLAIMED":
            assert report.noise is not None
            return f"noise: {report.noise.worst}", report.noise.p_value
    if not report.attempts:
        return "", None
    best = min(report.attempts, key=lambda attempt: attempt.test.p_value)
    return f"{best.score}, canary {best.design}", best.test.p_value


def main(path: Path, parts: list[str]) -> None:
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    asked = [(name, 0, kind) for name, kind in FAULTS.items()]
    asked += [(f"sound: {name}", seed, "sound") for name in SOUND for seed in range(3)]
    for name, seed, kind in asked:
        if any((row["fault"], row["seed"]) == (name, seed) for row in kept) or not (
            not parts or any(part in name for part in parts)
        ):
            continue
        started = time.process_time()
        report = audit(spec_of(name.removeprefix("sound: "), seed=seed))
        found, p_value = by_what(report)
        row = {
            "fault": name, "seed": seed, "kind": kind, "verdict": report.verdict, "by": found, "p": p_value,
            "runs": 0 if report.verdict == "CONTRACT BROKEN" else report.num_trials,
            "noise p": None if report.noise is None else report.noise.p_value,
            "seconds": round(time.process_time() - started, 1), "reason": report.verdict_reason[:200],
        }  # fmt: skip
        kept.append(row)
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(name, seed, report.verdict, found, p_value, row["seconds"], flush=True)
    print("| fault | kind | verdict | by | p | runs | CPU s |\n|---|---|---|---|---|---|---|")
    for row in kept:
        p_value = "—" if row["p"] is None else f"{row['p']:.1g}"
        name = row["fault"] if row["kind"] != "sound" else f"{row['fault']}, seed {row['seed']}"
        print(
            f"| {name} | {row['kind']} | {row['verdict']} | {row['by']} | {p_value} | {row['runs'] or '—'} | "
            f"{row['seconds']:.0f} |"
        )
    faulty = [row for row in kept if row["kind"] != "sound"]
    caught = sum(row["verdict"] in VERDICTS for row in faulty)
    print(f"\ncaught {caught} of {len(faulty)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
