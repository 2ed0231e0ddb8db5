"""The audit of the transcript: runs of the real method before and after one record, against what its ledger claims.

Unit: runs, independent given the public randomness, which the adversary knows. Thresholds are chosen on a part of the
runs and tested on the others. The verdict is that of the test against the whole trade-off curve which PLD proves for
the ledger; every score of every design is one of `num_tries`. The family bound, and with it the tightness, was decided
upon beforehand: it is that of the likelihood ratio with the canary alone.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from audit.accounting.curve import tradeoff_curve
from audit.accounting.events import branches, sampling_rate
from audit.accounting.ledger import claim_from_ledger, ledger_event
from audit.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.estimators.curve import CurveTest, refute_curve
from audit.estimators.evidence import RunEvidence
from audit.estimators.family import bound_epsilon_family
from audit.estimators.gaussian import bound_epsilon_gaussian
from audit.estimators.thresholds import Split
from audit.transcript import DESIGNS, Eavesdropper, make_trials, neighbouring_pools
from condensers.errors import BadConfig
from condensers.ledger import Entries
from condensers.randomness import Randomness
from condensers.registry import Method, condense_runs
from reports.schema import SCHEMA, Claim, EpsilonBound

CHOOSE_ON = 0.2  # of the runs: a rule is one of few, so few runs choose it
RUNS_AT_ONCE = 4096
SHARE_OF_RUNS = {"alone": 1.0, "opposed": 0.25}  # what the second looks for is seen in few
LEAST_TRIALS = 100


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What determines the result."""

    method: Method
    config: Any
    class_sizes: tuple[float, ...]
    input_shape: tuple[int, ...]
    trials: int
    seed: int
    delta: float
    confidence: float

    def __post_init__(self) -> None:
        if self.trials < LEAST_TRIALS:
            raise BadConfig(f"--trials {self.trials}: at least {LEAST_TRIALS} runs are needed")
        if not 0 < self.delta < 1:
            raise BadConfig(f"--delta {self.delta}: must lie in (0, 1)")
        if not 0 < self.confidence < 1:
            raise BadConfig(f"--confidence {self.confidence}: must lie strictly between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One score of one design, tested."""

    design: str
    score: str
    test: CurveTest


@dataclass(frozen=True, kw_only=True)
class WorstCaseReport:
    """The record of such an audit; names as in report.json."""

    command: str
    method: str
    verdict: str
    verdict_reason: str
    epsilon: EpsilonBound
    bounds: tuple[EpsilonBound, ...]
    claimed: Claim
    tightness: float
    attempts: tuple[Attempt, ...]
    canary_length: float
    ledger: tuple[dict[str, Any], ...]
    config: dict[str, Any]
    seed: int
    threat_model: tuple[str, ...]
    attack: str = "worst-case"
    dataset: str = "neighbouring pools"
    level: str = "transcript"
    schema: str = SCHEMA


@dataclass(frozen=True, kw_only=True)
class Heard:
    """Scores of one design by name, who had the canary, and the ledger of the runs."""

    scores: dict[str, np.ndarray]
    has_canary: np.ndarray
    canary_length: float
    ledger: Entries

    def evidence(self, score: str) -> RunEvidence:
        values = self.scores[score]
        return RunEvidence(member_scores=values[self.has_canary], non_member_scores=values[~self.has_canary])


def listen(experiment: Experiment, design: str, say: Callable[[str], None]) -> Heard:
    """Run the real method before and after the canary and score what is heard at the door."""
    num_classes = len(experiment.class_sizes)
    pool = neighbouring_pools(experiment.input_shape, num_classes, experiment.seed)
    place = list(DESIGNS).index(design)
    parts, ledgers, lengths, canary = [], set(), [], []
    total = max(LEAST_TRIALS, int(experiment.trials * SHARE_OF_RUNS[design]))
    for first in range(0, total, RUNS_AT_ONCE):
        num_runs = min(RUNS_AT_ONCE, total - first)
        trials = make_trials(design, first, num_runs, num_classes)
        # No two runs of an experiment share private streams: designs and references have numbers of their own.
        start = place * 2 * experiment.trials + first
        runs = (*range(start, start + num_runs), start + experiment.trials)
        eavesdropper = Eavesdropper(pool, trials)
        _, ledger = condense_runs(
            experiment.method,
            pool,
            trials.members(pool),
            experiment.config,
            class_sizes=experiment.class_sizes,
            randomness=Randomness(seed=experiment.seed, runs=runs),
            listeners=[eavesdropper],
        )
        if ledger is None:
            raise BadConfig(
                f"--method {experiment.method.name}: it releases nothing through the door, nothing is claimed"
            )
        parts.append(eavesdropper.scores())
        ledgers.add(ledger.entries)
        lengths.append(eavesdropper.shortest)
        canary.append(trials.has_canary)
        say(f"{design}: {first + num_runs} of {total} runs")
    if len(ledgers) != 1:
        raise RuntimeError("runs of one method wrote different ledgers: the accounting depends on the records")
    return Heard(
        scores={name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
        has_canary=np.concatenate(canary),
        canary_length=min(lengths),
        ledger=ledgers.pop(),
    )


def try_all(experiment: Experiment, heard: dict[str, Heard]) -> tuple[Attempt, ...]:
    """Hold every score of every design against the curve that PLD proves for the ledger."""
    curve = tradeoff_curve(ledger_event(heard["alone"].ledger), directed=True)
    pairs = [(design, score) for design in heard for score in heard[design].scores]
    return tuple(
        Attempt(
            design=design,
            score=score,
            test=refute_curve(
                heard[design].evidence(score),
                curve,
                confidence=experiment.confidence,
                choice=Split(fraction=CHOOSE_ON),
                num_tries=len(pairs),
            ),
        )
        for design, score in pairs
    )


def run_worst_case(experiment: Experiment, command: str, say: Callable[[str], None]) -> WorstCaseReport:
    """Audit a method at the door."""
    torch.set_num_threads(1)
    heard = {design: listen(experiment, design, say) for design in DESIGNS}
    alone = heard["alone"]
    say("what the ledger claims")
    claimed = claim_from_ledger(alone.ledger, experiment.delta)
    say("testing")
    attempts = try_all(experiment, heard)
    bounds = bound_all(alone, experiment)
    family = bounds[0]
    assert claimed.epsilon_pld is not None
    verdict, reason = judge(attempts, claimed)
    return WorstCaseReport(
        command=command,
        method=experiment.method.name,
        verdict=verdict,
        verdict_reason=reason,
        epsilon=family,
        bounds=bounds,
        claimed=claimed,
        tightness=family.lower / claimed.epsilon_pld,
        attempts=attempts,
        canary_length=alone.canary_length,
        ledger=tuple({**asdict(entry), "count": count} for entry, count in alone.ledger),
        config=asdict(experiment.config),
        seed=experiment.seed,
        threat_model=(
            "Level transcript: the adversary sees every noisy sum that the method drew from the records.",
            "It chose the neighbouring pools and knows all public randomness (networks, augmentations, first images).",
            "It does not know the sampling and the noise, which belong to a run.",
        ),
    )


def bound_all(alone: Heard, experiment: Experiment) -> tuple[EpsilonBound, ...]:
    """Family, Clopper-Pearson and Gaussian bounds of the likelihood ratio with the canary alone."""
    evidence = alone.evidence("likelihood")
    settings: dict[str, Any] = {
        "delta": experiment.delta,
        "confidence": experiment.confidence,
        "choice": Split(fraction=CHOOSE_ON),
    }
    # One mechanism, repeated, for every class: as a plan gives it with equal class sizes.
    ((leaf,),) = branches(ledger_event(alone.ledger))
    return (
        bound_epsilon_family(evidence, sampling_rate=sampling_rate(leaf.event), steps=leaf.count, **settings),
        bound_epsilon_clopper_pearson(evidence, **settings),
        bound_epsilon_gaussian(evidence, **settings),
    )


def judge(attempts: tuple[Attempt, ...], claimed: Claim) -> tuple[str, str]:
    """REFUTED if any attempt lies below the curve; every test is corrected for the number of attempts."""
    claim = f"the trade-off curve of epsilon = {claimed.epsilon_pld:.3g} at delta {claimed.delta:g}"
    best = min(attempts, key=lambda attempt: attempt.test.p_value)
    if best.test.refuted:
        test = best.test
        return "REFUTED", (
            f"The ledger claims {claim}, which leaves a false-negative rate of at least "
            f"{test.allowed_false_negative_rate:.3f} at a false-positive rate of {test.false_positive_upper:.3f}; the "
            f"{best.score} score (canary {best.design}) has at most {test.false_negative_upper:.3f} there (p = "
            f"{test.p_value:.2g})."
        )
    return "NOT REFUTED", (
        f"Nothing that was tried ({len(attempts)} scores) lies below {claim} (smallest p = {best.test.p_value:.2g})."
    )
