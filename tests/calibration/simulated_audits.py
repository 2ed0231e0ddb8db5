"""Many audits at once of mechanisms whose epsilon is known: how often a bound exceeds it, and how close it comes.

Every attack of an audit has trials of its own. Independent attacks are the hardest case for a correction by the
number of tries: the best of dependent ones is exceeded less often.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from audit.accounting.curve import TradeoffCurve, tradeoff_curve
from audit.accounting.epsilon import epsilon_pld
from audit.accounting.events import subsampled_gaussian
from audit.statistics.estimators import coin_curve, one_run, one_run_fdp
from audit.statistics.estimators.clopper_pearson import clopper_pearson_epsilons
from audit.statistics.estimators.curve import corners_below, normal_gaps
from audit.statistics.estimators.gaussian import gaussian_epsilon, gaussian_mu, gaussian_mus
from audit.statistics.estimators.guesses import GuessCounts, count_guesses, rank_coins
from audit.statistics.estimators.looks import share_significance
from audit.statistics.estimators.one_run import one_run_lower_bounds
from audit.statistics.estimators.one_run_dp import one_run_dp_lower_bounds
from audit.statistics.estimators.one_run_fdp import largest_rejected_mu
from audit.statistics.estimators.other_runs import fractions_on_other_runs
from audit.statistics.estimators.recursion import LeastWrong, least_wrong_of_curve, least_wrong_of_point, p_value
from audit.statistics.estimators.thresholds import (
    SELECTION_SIGNIFICANCE,
    Fixed,
    Grid,
    MedianOfSplits,
    Split,
    ThresholdChoice,
)
from audit.statistics.estimators.trials import ErrorCounts, count_errors_of_scores

DELTA = 1e-5
SELECTION_STEPS = {
    "one-run": one_run.SELECTION_STEPS,
    "one-run-dp": one_run.SELECTION_STEPS,
    "one-run-fdp": one_run_fdp.SELECTION_STEPS,
    "curve": coin_curve.SELECTION_STEPS,
}
CHOSEN = "chosen"  # numbers of guesses chosen on other runs of the same audit, three times as many coins
SIGNIFICANCE = 0.05
RATE, NOISE, STEPS = 0.3, 1.0, 4
LEAK = 0.01


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """`draw(generator, members)` gives the best attack's scores of trials with that membership.

    `epsilon` is that at `delta`; `curve` its trade-off function, where coins are held against it.
    """

    name: str
    epsilon: float
    threshold: float
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    delta: float = DELTA
    curve: LeastWrong | None = None


def _draw_subsampled(generator: np.random.Generator, members: np.ndarray) -> np.ndarray:
    """Log-likelihood ratio of the whole transcript of a Poisson-subsampled Gaussian."""
    total = np.zeros(members.shape)
    for _ in range(STEPS):
        sampled = members & (generator.random(members.shape) < RATE)
        release = sampled + NOISE * generator.standard_normal(members.shape)
        total += np.log1p(RATE * np.expm1((release - 0.5) / NOISE**2))
    return total


def _draw_response(generator: np.random.Generator, members: np.ndarray, epsilon: float, leak: float) -> np.ndarray:
    """Randomised response on every coin, which is told as it is with probability `leak`; ties are broken at random."""
    wrong = generator.random(members.shape) > np.exp(epsilon) / (1 + np.exp(epsilon))
    told = generator.random(members.shape) < leak
    answers = np.where(told, members, members ^ wrong)
    return (2.0 * answers - 1.0) * np.where(told, 3.0, 1.0) + generator.random(members.shape) - 0.5


@cache
def mechanisms() -> dict[str, Mechanism]:
    mu = float(gaussian_mu(4.0, DELTA))
    laplace = 2.0
    return {
        "gaussian": Mechanism(
            name="gaussian",
            epsilon=4.0,
            threshold=mu / 2,
            draw=lambda generator, members: generator.standard_normal(members.shape) + mu * members,
            curve=one_run_fdp.least_wrong_of_gaussian(mu),
        ),
        "response": Mechanism(
            name="response",
            epsilon=float(np.log(np.e - DELTA * (1 + np.e))),  # at delta: ln((q - delta) / (1 - q))
            threshold=0.0,
            draw=lambda generator, members: _draw_response(generator, members, 1.0, 0.0),
            curve=least_wrong_of_point(1.0, 0.0),
        ),
        "leaky": Mechanism(
            name="leaky",
            epsilon=1.0,
            threshold=0.0,
            draw=lambda generator, members: _draw_response(generator, members, 1.0, LEAK),
            delta=LEAK,
            curve=least_wrong_of_point(1.0, LEAK),
        ),
        "laplace": Mechanism(
            name="laplace",
            epsilon=laplace + 2 * np.log1p(-DELTA),
            threshold=1.0,
            draw=lambda generator, members: generator.laplace(scale=1 / laplace, size=members.shape) + members,
        ),
        "subsampled": Mechanism(
            name="subsampled",
            epsilon=epsilon_pld(subsampled_gaussian(sampling_rate=RATE, noise_multiplier=NOISE, steps=STEPS), DELTA),
            threshold=0.0,
            draw=_draw_subsampled,
            curve=least_wrong_of_curve(true_curve()),
        ),
        "nothing": Mechanism(
            name="nothing",
            epsilon=0.0,
            threshold=0.0,
            draw=lambda generator, members: generator.standard_normal(members.shape),
            curve=least_wrong_of_point(0.0, 0.0),
        ),
    }


@cache
def true_curve() -> TradeoffCurve:
    return tradeoff_curve(subsampled_gaussian(sampling_rate=RATE, noise_multiplier=NOISE, steps=STEPS))


def choices(mechanism: Mechanism, num_splits: int = 7) -> dict[str, ThresholdChoice | str]:
    """`CHOSEN` is for records only."""
    return {
        "fixed": Fixed(threshold=mechanism.threshold),
        "split": Split(),
        "median": MedianOfSplits(num=num_splits),
        "grid": Grid(),
        "chosen": CHOSEN,
    }


def agreed(values: np.ndarray, num_agreeing: int) -> np.ndarray:
    return np.sort(values, axis=-1)[..., -num_agreeing]


@dataclass(frozen=True, kw_only=True)
class RunAudits:
    """Scores `[audits, attacks, trials]` of independent runs."""

    mechanism: Mechanism
    members: np.ndarray
    non_members: np.ndarray

    def errors(self, choice: ThresholdChoice, objective: str, num_tries: int) -> tuple[ErrorCounts, float]:
        """Errors of the first `num_tries` attacks and the significance of each look."""
        errors = count_errors_of_scores(
            self.members[:, :num_tries],
            self.non_members[:, :num_tries],
            choice,
            lambda looks: RUN_OBJECTIVES[objective](looks, SELECTION_SIGNIFICANCE),
        )
        each = share_significance(
            SIGNIFICANCE / num_tries, num_looks=errors.num_looks, num_agreeing=errors.num_agreeing
        )
        return errors, each

    def bounds(self, estimator: str, choice: ThresholdChoice, num_tries: int) -> np.ndarray:
        """The best bound of so many attacks, for every audit."""
        errors, each = self.errors(choice, estimator, num_tries)
        return agreed(RUN_BOUNDS[estimator](errors, each), errors.num_agreeing).max(axis=-1)

    def curve_refuted(self, choice: ThresholdChoice, num_tries: int, objective: str = "curve") -> np.ndarray:
        """Whether the true curve is refuted. With the objective of the family bound: whether that exceeds the truth."""
        errors, each = self.errors(choice, objective, num_tries)
        return (agreed(corners_below(errors, true_curve(), each), errors.num_agreeing) > 0).any(axis=-1)


RUN_OBJECTIVES: dict[str, Callable[[ErrorCounts, float], np.ndarray]] = {
    "clopper-pearson": lambda errors, level: clopper_pearson_epsilons(errors, delta=DELTA, significance=level),
    "gaussian": lambda errors, level: gaussian_mus(errors, significance=level),
    "curve": lambda errors, level: normal_gaps(errors, true_curve(), level),
}
RUN_BOUNDS: dict[str, Callable[[ErrorCounts, float], np.ndarray]] = {
    "clopper-pearson": RUN_OBJECTIVES["clopper-pearson"],
    "gaussian": lambda errors, level: gaussian_epsilon(gaussian_mus(errors, significance=level), DELTA),
}


def simulate_runs(mechanism: Mechanism, *, num_audits: int, num_attacks: int, per_side: int, seed: int) -> RunAudits:
    generator = np.random.default_rng(seed)
    shape = (num_audits, num_attacks, per_side)
    return RunAudits(
        mechanism=mechanism,
        members=mechanism.draw(generator, np.ones(shape, dtype=np.bool_)),
        non_members=mechanism.draw(generator, np.zeros(shape, dtype=np.bool_)),
    )


@dataclass(frozen=True, kw_only=True)
class RecordAudits:
    """Coins and scores `[audits, attacks, test runs, records]`; those of fit runs likewise, to choose on."""

    mechanism: Mechanism
    members: np.ndarray
    scores: np.ndarray
    fit_members: np.ndarray
    fit_scores: np.ndarray

    def guesses(self, estimator: str, choice: ThresholdChoice | str, num_tries: int, delta: float) -> GuessCounts:
        """Guesses of the first `num_tries` attacks, numbers chosen as the estimator does."""

        def objective(looks: GuessCounts) -> np.ndarray:
            values = record_values(
                estimator, looks, SELECTION_SIGNIFICANCE, delta, SELECTION_STEPS[estimator], self.mechanism.curve
            )
            return -np.log(values) if estimator == "curve" else values

        members, scores = self.members[:, :num_tries], self.scores[:, :num_tries]
        if not isinstance(choice, str):
            return count_guesses(members, scores, choice, objective)
        shape = (*members.shape[:2], -1)
        fit_members, fit_scores = self.fit_members[:, :num_tries], self.fit_scores[:, :num_tries]
        tested = rank_coins(members.reshape(shape), scores.reshape(shape))
        fractions = fractions_on_other_runs(
            fit_members.reshape(shape), fit_scores.reshape(shape), objective, num_tested=tested.num_coins
        )
        numbers = (fractions * tested.num_coins + 1e-6).astype(np.int64)
        return tested.guess(numbers[..., :1], numbers[..., 1:])

    def bounds(
        self, estimator: str, choice: ThresholdChoice | str, num_tries: int, delta: float | None = None
    ) -> np.ndarray:
        """The best bound of so many attacks, for every audit."""
        delta = self.mechanism.delta if delta is None else delta
        guesses = self.guesses(estimator, choice, num_tries, delta)
        each = share_significance(
            SIGNIFICANCE / num_tries, num_looks=guesses.num_looks, num_agreeing=guesses.num_agreeing
        )
        values = agreed(record_values(estimator, guesses, each, delta, num_steps=30), guesses.num_agreeing)
        if estimator == "one-run-fdp":
            values = gaussian_epsilon(values, delta)
        return values.max(axis=-1)

    def curve_refuted(self, choice: ThresholdChoice | str, num_tries: int) -> np.ndarray:
        """Whether the true curve is refuted from coins."""
        guesses = self.guesses("curve", choice, num_tries, self.mechanism.delta)
        each = share_significance(
            SIGNIFICANCE / num_tries, num_looks=guesses.num_looks, num_agreeing=guesses.num_agreeing
        )
        values = record_values("curve", guesses, each, self.mechanism.delta, 30, self.mechanism.curve)
        return (-agreed(-values, guesses.num_agreeing) <= each).any(axis=-1)


def record_values(
    estimator: str,
    guesses: GuessCounts,
    significance: float,
    delta: float,
    num_steps: int,
    curve: LeastWrong | None = None,
) -> np.ndarray:
    """Epsilon (one-run, one-run-dp), mu (one-run-fdp) or p-value (curve) of each look, once for each pair of counts."""
    width = guesses.num_coins + 1
    keys = guesses.num_guesses * width + guesses.num_correct
    seen = np.flatnonzero(np.bincount(keys.ravel())) if width < 3000 else np.unique(keys)
    totals, right = seen // width, seen % width
    if estimator in LOWER_BOUNDS:
        values = LOWER_BOUNDS[estimator](
            num_coins=guesses.num_coins,
            num_guesses=totals,
            num_correct=right,
            delta=delta,
            significance=significance,
            num_steps=num_steps,
        )
        return values[np.searchsorted(seen, keys)]
    counts = [
        {"num_coins": guesses.num_coins, "num_guesses": total, "num_correct": correct}
        for total, correct in zip(totals.tolist(), right.tolist(), strict=True)
    ]
    if estimator == "curve":
        assert curve is not None
        values = np.array([p_value(curve, **each, num_steps=num_steps) for each in counts])
    else:
        values = np.array(
            [
                largest_rejected_mu(**each, significance=significance, num_steps=num_steps)
                if 2 * each["num_correct"] > each["num_guesses"]
                else 0.0
                for each in counts
            ]
        )
    return values[np.searchsorted(seen, keys)]


LOWER_BOUNDS = {"one-run": one_run_lower_bounds, "one-run-dp": one_run_dp_lower_bounds}


def simulate_records(
    mechanism: Mechanism, *, num_audits: int, num_attacks: int, shape: tuple[int, int], seed: int
) -> RecordAudits:
    generator = np.random.default_rng(seed)
    members = generator.random((num_audits, num_attacks, *shape)) < 0.5
    scores = mechanism.draw(generator, members)
    fit_members = generator.random((num_audits, num_attacks, 3 * shape[0], shape[1])) < 0.5
    return RecordAudits(
        mechanism=mechanism,
        members=members,
        scores=scores,
        fit_members=fit_members,
        fit_scores=mechanism.draw(generator, fit_members),
    )


def most_exceedances(num_audits: int) -> int:
    """What a bound that is exactly right 95 times in 100 stays within, 999 times in 1000."""
    return int(stats.binom.ppf(0.999, num_audits, SIGNIFICANCE))
