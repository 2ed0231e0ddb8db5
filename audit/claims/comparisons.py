"""Judges of two methods against each other.

Privacy is compared by three measures that were declared before any score was seen: the true-positive rate above
chance at false-positive rates of 0.1% and of 1%, and the ε that is certified. Each is computed for every draw of the
public randomness, with the same coins for both methods, and the difference has Student's interval over draws. A claim
is CONFIRMED or CONTRADICTED only where all three say so; otherwise the ruling names those that do not agree. All must
exclude 0 at the same level, so no correction for the number of measures is needed (an intersection-union test).
"""

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from scipy import stats

from audit.claims.record import Evidence, Judge, Ruling
from audit.games.membership.headline import bound_coins

CERTIFIED_AT = 0.95  # confidence of the ε that each draw certifies
Leak = Callable[[np.ndarray, np.ndarray], float]  # members and scores of the runs of one draw → how much they leak


def _rate_above_chance(false_positive_rate: float) -> Leak:
    """TPR − FPR on the second half of the runs, at the threshold that has this FPR on the first half."""

    def leak(members: np.ndarray, scores: np.ndarray) -> float:
        half = len(members) // 2
        threshold = np.quantile(scores[:half][~members[:half]], 1 - false_positive_rate)
        members, above = members[half:], scores[half:] > threshold
        return float(above[members].mean() - above[~members].mean())

    return leak


def _certified_epsilon(members: np.ndarray, scores: np.ndarray) -> float:
    return bound_coins(members, scores, delta=0.0, confidence=CERTIFIED_AT).lower


MEASURES: dict[str, tuple[Leak, str]] = {
    "TPR - FPR at FPR 0.1%": (_rate_above_chance(0.001), ".2%"),
    "TPR - FPR at FPR 1%": (_rate_above_chance(0.01), ".2%"),
    "certified epsilon": (_certified_epsilon, ".2f"),
}


def more_private_than(baseline: str, *, not_done: str = "") -> Judge:
    """Claim: the first command's method leaks less than the second's. `not_done` stands in the verdict's own line."""

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:
        directions, parts = {}, []
        for name, (leak, form) in MEASURES.items():
            first, second = (_by_draw(one, evidence[0].draws, leak) for one in evidence[:2])
            gap = first - second
            low, high = _student(gap, significance)
            directions[name] = -1 if high < 0 else 1 if low > 0 else 0
            parts.append(
                f"{name}: {first.mean():{form}} against {second.mean():{form}}, difference {gap.mean():{form}} "
                f"[{low:{form}}, {high:{form}}]"
            )
        found = set(directions.values())
        verdict = {frozenset({-1}): "CONFIRMED", frozenset({1}): "CONTRADICTED"}.get(frozenset(found), "NOT SHOWN")
        words = {-1: "less", 1: "more", 0: "neither"}
        disagreement = "; ".join(f"{name} says {words[way]}" for name, way in directions.items())
        accuracy = [one.record.utility.accuracy for one in evidence[:2] if one.record.utility is not None]
        beside = f"; accuracies {accuracy[0]:.1%} and {accuracy[1]:.1%}" if len(accuracy) == 2 else ""
        return Ruling(
            verdict=verdict,
            figures=f"against {baseline}, over {len(np.unique(evidence[0].draws))} public draws: {'; '.join(parts)}"
            f"{beside}{'' if len(found) == 1 else f'. The measures do not agree: {disagreement}'}"
            f"{f'. {not_done}' if not_done else ''}",
        )

    return judge


def _by_draw(evidence: Evidence, draws: np.ndarray, leak: Leak) -> np.ndarray:
    """By the draws of the first method: DP-SGD has none, and its runs are paired by their coins."""
    runs = [np.flatnonzero(draws == draw) for draw in np.unique(draws)]
    return np.array([leak(evidence.members[rows], evidence.scores[rows]) for rows in runs])


def _student(values: np.ndarray, significance: float) -> tuple[float, float]:
    """Student's interval of a mean."""
    reach = float(stats.t.isf(significance / 2, len(values) - 1)) * values.std(ddof=1) / sqrt(len(values))
    return float(values.mean() - reach), float(values.mean() + reach)


def more_accurate_than(baseline: str) -> Judge:
    """Claim: networks trained on the first command's sets are more accurate than on the second's (Welch)."""

    def judge(evidence: Sequence[Evidence], significance: float) -> Ruling:
        (first, first_error, runs), (second, second_error, others) = (_accuracy(one) for one in evidence[:2])
        error = sqrt(first_error**2 + second_error**2)
        degrees = error**4 / (first_error**4 / (runs - 1) + second_error**4 / (others - 1))  # Welch-Satterthwaite
        reach = float(stats.t.isf(significance / 2, degrees)) * error
        gain = first - second
        verdict = "CONFIRMED" if gain - reach > 0 else "CONTRADICTED" if gain + reach < 0 else "NOT SHOWN"
        return Ruling(
            verdict=verdict,
            figures=f"accuracy {first:.1%} against {second:.1%} for {baseline}; difference {100 * gain:.1f} points "
            f"[{100 * (gain - reach):.1f}, {100 * (gain + reach):.1f}] over {runs} and {others} runs",
        )

    return judge


def _accuracy(evidence: Evidence) -> tuple[float, float, int]:
    """Mean, standard error and number of runs, from Student's interval over runs with randomness of their own."""
    report = evidence.record
    runs = report.game.num_fit_runs + report.game.num_test_runs
    low, high = report.utility.accuracy_interval
    reach = float(stats.t.ppf((1 + report.epsilon.confidence) / 2, runs - 1))
    return report.utility.accuracy, (high - low) / 2 / reach, runs
