"""How many trials a bound needs, before the compute is spent.

The yardstick is a Gaussian mechanism that has exactly the epsilon in question at delta, attacked as well as possible.
The bound of each estimator is taken at the expected counts of its best rule on the grid of a split; half of the
trials choose that rule, the other half are tested. A real attack is weaker, so these numbers are the least that do.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import optimize, special

from audit.engine.progress import ProgressBar
from audit.statistics.estimators.clopper_pearson import clopper_pearson_epsilons
from audit.statistics.estimators.evidence import Floats, check_confidence, check_delta
from audit.statistics.estimators.gaussian import gaussian_epsilon, gaussian_mu, gaussian_mus, require_positive_delta
from audit.statistics.estimators.guesses import GUESS_FRACTIONS, GuessCounts, perfect_guesses
from audit.statistics.estimators.one_run import one_run_lower_bounds
from audit.statistics.estimators.one_run_dp import one_run_dp_lower_bounds
from audit.statistics.estimators.one_run_fdp import largest_rejected_mu
from audit.statistics.estimators.thresholds import SPLIT_FRACTIONS
from audit.statistics.estimators.trials import ErrorCounts
from condensers.errors import BadInput

MOST_TRIALS = 2**27
_GROWTH = 2**0.5
MOST_NUMBERS = 56  # of trials that are tried for one estimator: 49 that grow, and a few between the last two
LEAST_EPSILON, MOST_EPSILON, LEAST_DELTA = 1e-2, 50.0, 1e-30


# (tested trials, mu, delta, significance) -> (expected bound, ceiling)
Expect = Callable[[int, float, float, float], tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Option:
    """One estimator: what it takes, or, where the tightness is out of reach, the best that it can do."""

    estimator: str
    unit: str
    assumption: str
    reachable: bool
    num_trials: int
    num_tested: int
    expected_lower: float
    expected_tightness: float
    ceiling: float
    num_runs: int | None
    seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What `audit plan` answers."""

    epsilon: float
    delta: float
    confidence: float
    tightness: float
    mu: float
    options: tuple[Option, ...]
    seconds_per_run: float | None
    time_source: str


@dataclass(frozen=True, kw_only=True)
class _Estimator:
    name: str
    unit: str
    assumption: str
    expect: Expect


def _expected_errors(num_trials: int, mu: float) -> tuple[ErrorCounts, ErrorCounts]:
    """Errors to expect of each rule on the grid with half of the trials on either side, and of a perfect attack."""
    per_side = num_trials // 2
    allowed = np.unique([min(int(fraction * per_side), per_side - 1) for fraction in SPLIT_FRACTIONS])
    thresholds = -special.ndtri((allowed + 1.0) / (per_side + 1.0))
    missed = np.rint(per_side * special.ndtr(thresholds - mu)).astype(np.int64)

    def errors(false_negatives: np.ndarray, false_positives: np.ndarray) -> ErrorCounts:
        return ErrorCounts(
            false_negatives=false_negatives,
            false_positives=false_positives,
            thresholds=np.zeros(false_negatives.size),
            num_members=per_side,
            num_non_members=per_side,
        )

    return errors(missed, allowed), errors(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))


def _expect_clopper_pearson(num_trials: int, mu: float, delta: float, significance: float) -> tuple[float, float]:
    expected, perfect = (
        clopper_pearson_epsilons(errors, delta=delta, significance=significance)
        for errors in _expected_errors(num_trials, mu)
    )
    return float(expected.max()), float(perfect[0])


def _expect_gaussian(num_trials: int, mu: float, delta: float, significance: float) -> tuple[float, float]:
    expected, perfect = (
        gaussian_epsilon(gaussian_mus(errors, significance=significance), delta)
        for errors in _expected_errors(num_trials, mu)
    )
    return float(expected.max()), float(perfect[0])


def _expected_guesses(num_coins: int, mu: float) -> GuessCounts:
    """Right guesses to expect when as many coins are guessed at either end, for each fraction of the grid."""
    numbers = np.unique([int(fraction * num_coins) for fraction in GUESS_FRACTIONS if int(fraction * num_coins)])
    if not numbers.size:
        numbers = np.array([num_coins // 2])
    # Half of the coins are members: a threshold is where the even mixture has that share above it.
    cuts = [
        optimize.brentq(
            lambda cut, share=number / num_coins: (special.ndtr(-cut) + special.ndtr(mu - cut)) / 2.0 - share,
            -40.0,
            40.0 + mu,
        )
        for number in numbers
    ]
    right = np.rint(num_coins * special.ndtr(mu - np.array(cuts)) / 2.0).astype(np.int64)
    return GuessCounts(
        num_coins=num_coins,
        num_positives=numbers,
        num_negatives=numbers,
        num_correct=2 * np.minimum(right, numbers),
        thresholds=np.array(cuts),
    )


def _expect_from_coins(lower_bounds: Callable[..., Floats]) -> Expect:
    def expect(num_trials: int, mu: float, delta: float, significance: float) -> tuple[float, float]:
        def bounds(guesses: GuessCounts) -> Floats:
            return lower_bounds(
                num_coins=guesses.num_coins,
                num_guesses=guesses.num_guesses,
                num_correct=guesses.num_correct,
                delta=delta,
                significance=significance,
                num_steps=30,
            )

        return float(bounds(_expected_guesses(num_trials, mu)).max()), float(bounds(perfect_guesses(num_trials))[0])

    return expect


def _expect_one_run_fdp(num_trials: int, mu: float, delta: float, significance: float) -> tuple[float, float]:
    def bound(guesses: GuessCounts) -> float:
        mus = [
            largest_rejected_mu(
                num_coins=guesses.num_coins, num_guesses=total, num_correct=correct, significance=significance
            )
            for total, correct in zip(guesses.num_guesses.tolist(), guesses.num_correct.tolist(), strict=True)
        ]
        return float(gaussian_epsilon(max(mus), delta))

    return bound(_expected_guesses(num_trials, mu)), bound(perfect_guesses(num_trials))


_GAUSSIAN = "the mechanism is assumed to be Gaussian"
ESTIMATORS = (
    _Estimator(name="clopper-pearson", unit="run", assumption="none", expect=_expect_clopper_pearson),
    _Estimator(name="gaussian", unit="run", assumption=_GAUSSIAN, expect=_expect_gaussian),
    _Estimator(name="one-run", unit="record", assumption="none", expect=_expect_from_coins(one_run_lower_bounds)),
    _Estimator(name="one-run-dp", unit="record", assumption="none", expect=_expect_from_coins(one_run_dp_lower_bounds)),
    _Estimator(name="one-run-fdp", unit="record", assumption=_GAUSSIAN, expect=_expect_one_run_fdp),
)


def make_plan(
    *,
    epsilon: float,
    delta: float,
    tightness: float,
    confidence: float,
    unit: str = "both",
    num_records: int | None = None,
    seconds_per_run: float | None = None,
    time_source: str = "",
) -> Plan:
    """Trials that each estimator needs to certify `tightness * epsilon` on the Gaussian mechanism with that epsilon."""
    check_delta(delta)
    require_positive_delta(delta, estimator="plan")
    check_confidence(confidence)
    if delta < LEAST_DELTA:
        raise BadInput(f"delta is {delta}; it must be at least {LEAST_DELTA:g} and below 1")
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise BadInput(f"epsilon is {epsilon}; it must be at least {LEAST_EPSILON:g} and at most {MOST_EPSILON:g}")
    if not 0.0 < tightness < 1.0:
        raise BadInput(f"tightness is {tightness}; it must lie strictly between 0 and 1, for example 0.8")
    if num_records is not None and num_records < 1:
        raise BadInput(f"the number of records is {num_records}; it must be at least 1")
    mu = float(gaussian_mu(epsilon, delta))
    chosen = [estimator for estimator in ESTIMATORS if unit in ("both", estimator.unit)]
    with ProgressBar("planning", dict.fromkeys(range(len(chosen)), 1), announced=False) as bar:
        options = tuple(
            _plan_estimator(
                estimator,
                epsilon=epsilon,
                mu=mu,
                delta=delta,
                significance=1.0 - confidence,
                tightness=tightness,
                num_records=num_records,
                seconds_per_run=seconds_per_run,
                tell=partial(bar.update, number),
            )
            for number, estimator in enumerate(chosen)
        )
    return Plan(
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        tightness=tightness,
        mu=mu,
        options=options,
        seconds_per_run=seconds_per_run,
        time_source=time_source or "unknown until a run of the method has finished",
    )


def _plan_estimator(
    estimator: _Estimator,
    *,
    epsilon: float,
    mu: float,
    delta: float,
    significance: float,
    tightness: float,
    num_records: int | None,
    seconds_per_run: float | None,
    tell: Callable[[float], None],
) -> Option:
    numbers = 0

    def expect(num_tested: int) -> float:
        nonlocal numbers
        numbers += 1
        tell(min(0.99, numbers / MOST_NUMBERS))
        return estimator.expect(num_tested, mu, delta, significance)[0]

    num_tested, reachable = _fewest(expect, tightness * epsilon)
    lower, ceiling = estimator.expect(num_tested, mu, delta, significance)
    tell(1.0)
    num_trials = 2 * num_tested
    num_runs: int | None = num_trials
    if estimator.unit == "record":
        num_runs = None if num_records is None else max(2, -(-num_trials // num_records))
    return Option(
        estimator=estimator.name,
        unit=estimator.unit,
        assumption=estimator.assumption,
        reachable=reachable,
        num_trials=num_trials,
        num_tested=num_tested,
        expected_lower=lower,
        expected_tightness=lower / epsilon,
        ceiling=ceiling,
        num_runs=num_runs,
        seconds=None if num_runs is None or seconds_per_run is None else num_runs * seconds_per_run,
    )


def _fewest(expect: Callable[[int], float], target: float) -> tuple[int, bool]:
    """The fewest tested trials, to one in a hundred, whose expected bound meets the target; else the best number."""
    tried: list[tuple[float, int]] = []
    number = 8.0
    while number <= MOST_TRIALS:
        size = 2 * round(number / 2)
        tried.append((expect(size), size))
        if tried[-1][0] >= target:
            break
        number *= _GROWTH
    if tried[-1][0] < target:
        return max(tried, key=lambda pair: (pair[0], -pair[1]))[1], False
    low, high = (tried[-2][1] if len(tried) > 1 else 2), tried[-1][1]
    while high - low > max(2, high // 100):
        middle = 2 * ((low + high) // 4)
        low, high = (low, middle) if expect(middle) >= target else (middle, high)
    return high, True


def measured_seconds(out: Path, method: str) -> tuple[float, str] | None:
    """Seconds per run of a method, from the finished run directories that say how long they took."""
    seconds = runs = 0.0
    sources = []
    for path in sorted(out.glob(f"*-{method}-*/timing.json")):
        try:
            timing = json.loads(path.read_text())
            taken, made = float(timing["seconds"]), float(timing["runs"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if taken > 0 and made > 0:
            seconds, runs = seconds + taken, runs + made
            sources.append(path.parent.name)
    if not sources:
        return None
    return seconds / runs, f"measured in {', '.join(sources)}"
