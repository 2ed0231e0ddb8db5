"""An adversary who knows the public randomness of a method without private noise: two simulations, one exact match.

    PYTHONPATH=. python tests/calibration/known_randomness.py METHOD [--set KEY=VALUE …]

In every trial a fair coin decides whether a pool of 600 digits has the canary of `audit worst-case`, and the pool is
condensed with the public randomness of the trial. The adversary condenses both pools with that randomness and compares
bytes. Where both simulations are equal, no minibatch had the canary, and it guesses "out". Prints the errors, the
certified ε (95%, δ = 1e-5) and what a perfect attack certifies.
"""

import sys

import numpy as np

import audit
from audit.games.neighbours import make_trials
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.resolve import resolve_experiment
from audit.specs.worst_case import WorstCase
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs

TRIALS, RECORDS, SEED = 100, 600, 1


def guess(experiment: Experiment) -> tuple[np.ndarray, np.ndarray, int]:
    """Coins, guesses, and in how many trials the canary changed nothing."""
    pool = experiment.pool("natural", 1.0)
    classes = len(experiment.class_sizes)
    neighbours = make_trials("natural", 0, 2 * classes, classes, pool.num_records // classes).members(pool)

    def condense(trial: int, *, has_canary: bool) -> bytes:
        row = 2 * (trial % classes) + (not has_canary)
        batch, _ = condense_runs(
            experiment.method,
            pool,
            neighbours[row : row + 1],
            experiment.config,
            class_sizes=experiment.class_sizes,
            randomness=Randomness(seed=SEED, runs=(trial,), independent=True),
        )
        return batch.images.numpy().tobytes()

    coins = stream(SEED, "coins of known randomness").random(TRIALS) < 0.5
    guesses, unchanged = np.zeros(TRIALS, dtype=bool), 0
    for trial, coin in enumerate(coins):
        released = condense(trial, has_canary=bool(coin))
        with_canary, without = (condense(trial, has_canary=has) for has in (True, False))
        unchanged += with_canary == without
        guesses[trial] = released == with_canary != without
    return coins, guesses, unchanged


def main(method: str, settings: dict[str, str]) -> None:
    spec = WorstCase(
        method=method, dataset="digits", records=RECORDS, design=("natural",), settings=settings, seed=SEED
    )
    coins, guesses, unchanged = guess(resolve_experiment(spec))
    bound = audit.bound_epsilon(coins, guesses, unit="run")
    print(
        f"{method}: {(coins != guesses).sum()} errors in {TRIALS} trials, the canary changed nothing in {unchanged}; "
        f"ε ≥ {bound.lower:.2f} of at most {bound.ceiling:.2f}"
    )


if __name__ == "__main__":
    main(sys.argv[1], dict(option.split("=", 1) for option in sys.argv[2:] if option != "--set"))
