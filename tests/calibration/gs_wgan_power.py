"""What the published accounting of GS-WGAN allows, and what the optimal test of one draw per step reaches.

    PYTHONPATH=. python tests/calibration/gs_wgan_power.py

No record has a part in it: `used` is the share of the sensitivity by which a canary moves every gradient of a draw.
Prints the table of docs/generators.md; true rates are simulated, 100 000 runs on either side.
"""

from math import log, log1p, sqrt

import numpy as np

from audit.accounting.curve import tradeoff_curve
from audit.accounting.epsilon import epsilon_pld
from audit.accounting.events import fixed_size_gaussian

NOISE, COUNT, RUNS = 1.07, 32, 100_000
RATES = (0.001, 0.01, 0.1)


def power(shards: int, steps: int, used: float) -> list[float]:
    """True-positive rates of the likelihood ratio at `RATES`."""
    shift, generator = sqrt(COUNT) * used / NOISE, np.random.default_rng(0)

    def ratio(seen: np.ndarray) -> np.ndarray:
        return np.logaddexp(log1p(-1 / shards), -log(shards) + shift * seen - shift**2 / 2).sum(1)

    without = ratio(generator.standard_normal((RUNS, steps)))
    drawn = generator.random((RUNS, steps)) < 1 / shards
    present = ratio(generator.standard_normal((RUNS, steps)) + shift * drawn)
    return [float((present > np.quantile(without, 1 - rate)).mean()) for rate in RATES]


def main() -> None:
    print(
        "| shards, steps | claimed ε | TPR at FPR .1%, 1%, 10%: allowed | used .5 | used .65 | used 1 |\n"
        + "|---" * 6
        + "|"
    )
    for shards, steps in ((4, 3), (20, 2), (20, 8)):
        event = fixed_size_gaussian(population=shards, batch=1, noise_multiplier=NOISE, steps=COUNT * steps)
        allowed = 1 - tradeoff_curve(event, directed=True).false_negative_rate(np.array(RATES))
        cells = [allowed, *(power(shards, steps, used) for used in (0.5, 0.65, 1.0))]
        shown = " | ".join(", ".join(f"{rate:.3f}" for rate in cell) for cell in cells)
        print(f"| {shards}, {steps} | {epsilon_pld(event, 1e-5):.2f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
