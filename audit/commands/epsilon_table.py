"""Bounds on ε from anyone's table of scores: which estimators, and what they say."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from audit.statistics.estimators.coin_curve import refute_curve_from_coins
from audit.statistics.estimators.curve import CurveTest, refute_curve
from audit.statistics.estimators.evidence import RecordEvidence, RunEvidence
from audit.statistics.estimators.named import FOR_RECORDS, FOR_RUNS
from audit.statistics.estimators.single_run import splits_one_run
from audit.statistics.estimators.thresholds import Fixed, Grid, MedianOfSplits, Split, ThresholdChoice
from condensers.errors import BadConfig
from reports.records.coin_test import CoinTest
from reports.records.schema import EpsilonBound
from reports.words.coin_test import describe_coin_test
from reports.words.rounding import down, percent, probability, say_delta, up

NEEDS_DELTA = ("gaussian", "family", "one-run-fdp")


@dataclass(frozen=True, kw_only=True)
class EpsilonTable:
    """What `--json` prints."""

    bounds: tuple[EpsilonBound, ...]
    curve_test: CurveTest | CoinTest | None
    notes: tuple[str, ...]


def parse_choice(text: str, seed: int) -> ThresholdChoice:
    if seed < 0:
        raise BadConfig(f"--seed {seed}: must be at least 0")
    match text.split(":", 1):
        case ["split"]:
            return Split(seed=seed)
        case ["median"]:
            return MedianOfSplits(seed=seed)
        case ["grid"]:
            return Grid()
        case ["fixed", number]:
            try:
                return Fixed(threshold=float(number))
            except ValueError:
                raise BadConfig(f"--threshold {text}: {number!r} is not a number; write fixed:0.5") from None
        case _:
            raise BadConfig(f"--threshold {text}: allowed are split, median, grid and fixed:X")


def estimate(
    evidence: RunEvidence | RecordEvidence,
    choice: ThresholdChoice,
    *,
    estimator: str,
    delta: float,
    confidence: float,
    tries: int,
    rate: float | None,
    steps: int | None,
    sigma: float | None,
) -> EpsilonTable:
    """The chosen estimators on one body of evidence, and the test of the claimed curve if there is a claim."""
    claimed = rate is not None or steps is not None or sigma is not None
    if claimed and (rate is None or steps is None):
        raise BadConfig("--rate, --steps and --sigma describe one claim: give at least --rate and --steps")
    if estimator == "family" and not claimed:
        raise BadConfig("--estimator family needs the claimed --rate and --steps")
    available = FOR_RUNS if isinstance(evidence, RunEvidence) else FOR_RECORDS
    chosen = list(available) if estimator == "all" else [estimator]
    if estimator == "all" and claimed and available is FOR_RUNS:
        chosen.append("family")
    notes = ["all scores are equal, so they contain no information about membership"] if _all_equal(evidence) else []
    if claimed and sigma is None and "family" not in chosen:
        notes.append("--rate and --steps were not used: the family bound, which needs them, is for independent runs")
    if estimator == "all" and delta == 0.0:
        notes += [f"{name} left out: it needs δ > 0" for name in chosen if name in NEEDS_DELTA]
        chosen = [name for name in chosen if name not in NEEDS_DELTA]
    if estimator == "all" and splits_one_run(evidence, choice):
        notes.append("one-run-fdp left out: it cannot split the records of a single run; give --threshold grid")
        chosen = [name for name in chosen if name != "one-run-fdp"]
    settings = {"delta": delta, "confidence": confidence, "choice": choice, "num_tries": tries}
    bounds = [_bound(name, evidence, rate, steps, settings) for name in chosen]
    if sum(bound.kind == "bound" for bound in bounds) > 1:
        notes.append(
            "each bound holds on its own, under its own assumptions; to report the largest of k, give --tries k"
        )
    test = None
    if sigma is not None:
        test = _test_claim(evidence, choice, confidence, tries, rate, steps, sigma)
    return EpsilonTable(bounds=tuple(bounds), curve_test=test, notes=tuple(notes))


def _all_equal(evidence: RunEvidence | RecordEvidence) -> bool:
    if isinstance(evidence, RecordEvidence):
        return bool(np.ptp(evidence.scores) == 0.0)
    return bool(np.ptp(np.concatenate([evidence.member_scores, evidence.non_member_scores])) == 0.0)


def _bound(name: str, evidence: Any, rate: Any, steps: Any, settings: dict[str, Any]) -> EpsilonBound:
    if name == "family":
        from audit.statistics.estimators.family import bound_epsilon_family

        return bound_epsilon_family(evidence, sampling_rate=rate, steps=steps, **settings)
    return (FOR_RUNS | FOR_RECORDS)[name](evidence, **settings)


def _test_claim(
    evidence: Any, choice: ThresholdChoice, confidence: float, tries: int, rate: Any, steps: Any, sigma: float
) -> CurveTest | CoinTest:
    from audit.accounting.curve import tradeoff_curve
    from audit.accounting.events import subsampled_gaussian

    event = subsampled_gaussian(sampling_rate=rate, noise_multiplier=sigma, steps=steps)
    refute = refute_curve_from_coins if isinstance(evidence, RecordEvidence) else refute_curve
    return refute(evidence, tradeoff_curve(event), confidence=confidence, choice=choice, num_tries=tries)


def describe(result: EpsilonTable) -> str:
    first = result.bounds[0]
    lines = [
        f"{first.num_trials} tested trials ({first.unit}s), {say_delta(first.delta)}, {percent(first.confidence)} "
        f"confidence, tries {first.num_tries}; threshold {first.threshold_choice}",
        f"{'estimator':<16}{'epsilon':>10}{'ceiling':>10}  what it is",
    ]
    for bound in result.bounds:
        sign = "~" if bound.kind == "no bound" else ">="
        what = {"bound": "lower bound", "credible": "credible, not a confidence bound", "no bound": "no bound"}
        extra = "; ".join(bound.assumptions[-1:]) if bound.estimator in NEEDS_DELTA else ""
        figure = f"{sign} {down(bound.lower, 3)}"
        lines.append(
            f"{bound.estimator:<16}{figure:>10}{down(bound.ceiling, 3):>10}  {what[bound.kind]}"
            + (f", if {extra}" if extra else "")
        )
    if result.curve_test is not None:
        lines.append(_describe_test(result.curve_test))
    if all(bound.kind != "bound" or bound.lower == 0.0 for bound in result.bounds):
        lines.append("no positive ε is certified: no leak was found, which is no evidence of privacy")
    return "\n".join([*lines, *(f"note: {note}" for note in result.notes)])


def _describe_test(test: CurveTest | CoinTest) -> str:
    if isinstance(test, CoinTest):
        return f"claimed curve: {'REFUTED' if test.refuted else 'NOT REFUTED'}, {describe_coin_test(test)}"
    return (
        f"claimed curve: {'REFUTED' if test.refuted else 'NOT REFUTED'}, p ≤ {probability(test.p_value)}; at FPR up to "
        f"{up(test.false_positive_upper, 4)} the claim needs FNR >= {down(test.allowed_false_negative_rate, 4)}, "
        f"observed FNR up to {up(test.false_negative_upper, 4)}"
    )
