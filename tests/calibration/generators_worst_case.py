"""GS-WGAN and DP-CGAN at the door, as published and sound, over seeds: how often is their claim refuted?

    PYTHONPATH=. python tests/calibration/generators_worst_case.py FOLDER [number of seeds] [part of a name …]

Every finished audit is one line of FOLDER/verdicts.jsonl, and is not run again; the audits themselves resume in
FOLDER/runs. Prints one row per case. The seeds are such as chose no setting: the number of runs was chosen on seeds
0 to 2.
"""

import json
import sys
import time
from pathlib import Path

from audit import run
from audit.engine.executor import InProcess
from audit.specs.worst_case import WorstCase

FIRST_SEED = 10
TRIALS, TRIALS_AS_PUBLISHED = 4000, 16_000  # a canary that uses half of the sensitivity is not seen in 4000 runs
# One feature is all that a record of GS-WGAN needs: a gradient then keeps its sign or turns round.
AS_PUBLISHED = {
    "method": "gs-wgan", "shape": "1", "trials": TRIALS_AS_PUBLISHED, "settings": {"accounting": "apart"},
}  # fmt: skip
CASES = {
    "gs-wgan as published": AS_PUBLISHED,
    "gs-wgan at 8 as published": AS_PUBLISHED | {"epsilon": 8.0},
    "gs-wgan at 1": {"method": "gs-wgan", "shape": "1", "epsilon": 1.0},
    "gs-wgan at 8": {"method": "gs-wgan", "shape": "1", "epsilon": 8.0},
    "dp-cgan at 8 as published": {"method": "dp-cgan", "epsilon": 8.0, "settings": {"clipping": "tensor"}},
    "dp-cgan at 1": {"method": "dp-cgan", "epsilon": 1.0},
    "dp-cgan at 8": {"method": "dp-cgan", "epsilon": 8.0},
}


def audit_one(case: str, seed: int, folder: Path) -> dict[str, object]:
    started = time.process_time()
    spec = WorstCase(**{"trials": TRIALS, "seed": seed} | CASES[case])
    report = run(spec, out=folder / "runs", executor=InProcess(), progress=False)
    return {
        "case": case,
        "seed": seed,
        "command": spec.command(),
        "verdict": report.verdict,
        "p": min(attempt.test.p_value for attempt in report.attempts),
        "claimed": report.claimed.epsilon_pld,
        "canary": report.canary_typical_length,
        "seconds": round(time.process_time() - started, 1),
    }


def main(folder: Path, num_seeds: int, parts: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "verdicts.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    found = {(line["case"], line["seed"]): line for line in map(json.loads, lines)}
    wanted = [case for case in CASES if not parts or any(part in case for part in parts)]
    for seed in range(FIRST_SEED, FIRST_SEED + num_seeds):
        for case in wanted:
            if (case, seed) not in found:
                found[case, seed] = audit_one(case, seed, folder)
                with kept.open("a") as file:
                    file.write(json.dumps(found[case, seed]) + "\n")
    print("| audit | claimed ε | refuted | smallest p | processor seconds each |\n|---|---|---|---|---|")
    for case in wanted:
        rows = [found[case, seed] for seed in range(FIRST_SEED, FIRST_SEED + num_seeds)]
        refuted = sum(row["verdict"] == "REFUTED" for row in rows)
        seconds = sum(row["seconds"] for row in rows) / len(rows)
        smallest = min(row["p"] for row in rows)
        print(f"| {case} | {rows[0]['claimed']:.2f} | {refuted} of {len(rows)} | {smallest:.2g} | {seconds:.0f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20, sys.argv[3:])
