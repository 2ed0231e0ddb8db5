"""Audit every sound method at three claims, at all levels, with twenty seeds: no verdict may be against it.

    PYTHONPATH=.:tests python tests/calibration/sound_methods.py RESULTS.jsonl [part of a method's name …]

What is in RESULTS.jsonl already is not audited again, so the command can be interrupted. At level transcript the
adversary sees the released set as well; level `set` by itself is audited for plugins without a door. The command ends
with the table of docs/faults.md.
"""

import json
import sys
import time
from itertools import product
from pathlib import Path

import zoo.own_plugins
import zoo.plugins
from zoo.kinds import SOUND
from zoo.measure import VERDICTS, audit, by_what

from audit.specs.worst_case import WorstCase

METHODS = (
    "ldpdc", "ndpdc", "psg", "dosser", "dpmix", "dpsgd",
    "dp-merf", "dp-hp", "dp-kip", "dp-sinkhorn", "gs-wgan", "dp-cgan",
)  # fmt: skip
PLUGINS = {name: zoo.plugins if name == "door_means" else zoo.own_plugins for name in SOUND}
# Claims of the plugins without a door, and the setting that makes them true.
SIGMA = {1.0: 3.8, 2.0: 2.1, 8.0: 0.65}
OWN_CLAIMS = {
    "own_mechanism": {e: (f"gaussian:sigma={sigma}", {"sigma": str(sigma)}) for e, sigma in SIGMA.items()},
    "sound_laplace": {e: (f"laplace:{1 / e}", {"scale": str(1 / e)}) for e in SIGMA},
}
SEEDS = range(20)
TRIALS = 400  # of the design "alone"; others have a quarter of them


def specification(name: str, level: str, epsilon: float, seed: int) -> WorstCase:
    """The audit of a method or plugin at one claim."""
    method = f"{PLUGINS[name].__file__}:{name}" if name in PLUGINS else name
    spec = WorstCase(method=method, level=level, trials=TRIALS, seed=seed)
    if name in OWN_CLAIMS:
        claim, settings = OWN_CLAIMS[name][epsilon]
        return spec.but(claim=claim, settings=settings)
    return spec.but(epsilon=epsilon)


def audits() -> list[tuple[str, str, float, int]]:
    """Method, level, claimed ε and seed; all seeds of one audit together, since they share the accounting."""
    levels = {name: ("set" if name in OWN_CLAIMS else "transcript", "model") for name in (*METHODS, *PLUGINS)}
    return [
        (name, level, epsilon, seed)
        for name, of_method in levels.items()
        for epsilon, level, seed in product(SIGMA, of_method, SEEDS)
    ]


def main(path: Path, parts: list[str]) -> None:
    kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["method"], row["level"], row["epsilon"], row["seed"]) for row in kept}
    for key in audits():
        name, level, epsilon, seed = key
        if key in done or not (not parts or any(part in name for part in parts)):
            continue
        started = time.process_time()
        report = audit(specification(*key))
        found, p_value = by_what(report)
        row = {
            "method": name, "level": level, "epsilon": epsilon, "seed": seed, "verdict": report.verdict, "by": found,
            "p": p_value, "noise p": None if report.noise is None else report.noise.p_value,
            "tries": len(report.attempts), "seconds": round(time.process_time() - started, 1),
        }  # fmt: skip
        kept.append(row)
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(*row.values(), flush=True)
    print("| method | level | claimed ε | seeds | accused | smallest p | CPU s per audit |")
    print("|---|---|---|---|---|---|---|")
    for name, level, epsilon in dict.fromkeys((row["method"], row["level"], row["epsilon"]) for row in kept):
        rows = [row for row in kept if (row["method"], row["level"], row["epsilon"]) == (name, level, epsilon)]
        accused = sum(row["verdict"] in VERDICTS for row in rows)
        values = [row["p"] for row in rows if row["p"] is not None]
        seconds = sum(row["seconds"] for row in rows) / len(rows)
        smallest = f"{min(values):.2g}" if values else "—"
        print(f"| `{name}` | {level} | {epsilon:g} | {len(rows)} | {accused} | {smallest} | {seconds:.0f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
