"""Predictions of `audit plan` against the audits themselves:  PYTHONPATH=. python tests/bench_plan.py [NAME …]

Each audit is probed and run back to back, as commands of their own. Prints rows for docs/scale.md: seconds of the
processors, which other work on the machine changes little, and seconds of the clock.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

SMALL = ["--records", "600", "--level", "set"]
# name -> arguments that the plan and the audit share, and the sizes of three audits
AUDITS = {
    "dm": (["--method", "dm", *SMALL], [["--shadows", "16"], ["--shadows", "64"], ["--shadows", "128"]]),
    "ndpdc": (["--method", "ndpdc", *SMALL], [["--shadows", "16"], ["--shadows", "64"], ["--shadows", "128"]]),
    "dsa": (
        ["--method", "dsa", *SMALL, "--shadows", "16"],
        [["--set", "iterations=2"], ["--set", "iterations=4"], ["--set", "iterations=8"]],
    ),
    "worst-case": (["--method", "ldpdc"], [["--trials", "1000"], ["--trials", "4000"], ["--trials", "16000"]]),
}


def measured(words: list[str]) -> tuple[str, float, float]:
    """What the command printed, and the seconds that it took of the clock and of the processors."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "audit.cli", *words], capture_output=True, text=True)
    clock, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 4):
        raise SystemExit(done.stderr)
    processors = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, clock, processors


def compare(name: str, size: list[str]) -> None:
    shared = AUDITS[name][0]
    attack = "worst-case" if name == "worst-case" else "lira"
    printed, probed, _ = measured(["plan", "--attack", attack, *shared, *size, "--json"])
    cost = json.loads(printed)["cost"]
    with tempfile.TemporaryDirectory() as folder:
        _, clock, processors = measured([attack, *shared, *size, "--out", folder])
    ratio = cost["processor_seconds"] / processors
    print(
        f"| {name} {' '.join(size)} | {probed:.0f} s | {cost['processor_seconds']:.0f} s | {processors:.0f} s "
        f"| {ratio - 1:+.0%} | {cost['seconds']:.0f} s | {clock:.0f} s | {os.getloadavg()[0]:.1f} |",
        flush=True,
    )


def main(names: list[str]) -> None:
    print(
        "| audit | probe | predicted, processors | measured, processors | error | predicted, clock | measured | load |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for turn in range(3):
        for name in names:
            compare(name, AUDITS[name][1][turn])


if __name__ == "__main__":
    main(sys.argv[1:] or list(AUDITS))
