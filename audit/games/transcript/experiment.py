"""The audit of the transcript: runs of the real method before and after one record, against what its ledger claims.

Unit: runs, independent given the public randomness, which the adversary knows. Thresholds are chosen on a part of the
runs and tested on the others, or declared beforehand; the canary is chosen by trial runs of its own. The verdict is
that of the test against the whole trade-off curve which PLD proves for the ledger; every score of every design is one
of `num_tries`. The bounds, and with them the tightness, were decided upon beforehand: they are those of the likelihood
ratio with the canary alone or, for samples of fixed size, replaced.

The family bound grants that the mechanism is the claimed one but for its noise multiplier, and reads ε off the PLD of
the smallest multiplier that is refuted. That is a lower bound only where this PLD is exact: for one Poisson-subsampled
Gaussian that repeats. Elsewhere (samples of fixed size, several mechanisms composed, noise that depends on the records)
there is no tightness, and the report says why; the verdict does not need it.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from audit.accounting.curve import TradeoffCurve, tradeoff_curve
from audit.accounting.events import branches, neighbouring_relation, sampling_rate
from audit.accounting.ledger import claim_from_ledger, ledger_event
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, write_text
from audit.games.scope import in_scope
from audit.games.settings import versions
from audit.games.transcript.adversary import (
    DESIGNS,
    LENGTHS,
    Eavesdropper,
    designs_for,
    headline_design,
    make_trials,
    neighbouring_pools,
)
from audit.statistics.estimators.clopper_pearson import NAME as CLOPPER_PEARSON
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.curve import refute_curve
from audit.statistics.estimators.evidence import RunEvidence
from audit.statistics.estimators.family import bound_epsilon_family
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian
from audit.statistics.estimators.thresholds import Grid, Split
from audit.statistics.outlook import curve_on_grid, look_ahead_runs
from audit.statistics.run_roc import measure_run_roc
from condensers.errors import BadConfig
from condensers.ledger import Entries, FixedSize
from condensers.plugins import directory_part
from condensers.randomness import Randomness
from condensers.registry import Method, condense_runs
from reports.documents.worst_case import WorstCaseMaterial, build_worst_case
from reports.records.schema import Claim, EpsilonBound, dump
from reports.records.worst_case import ATTACK, Attempt, WorstCaseReport
from reports.words.rounding import decimals_apart, down, up

CHOOSE_ON = 0.2  # of the runs: a rule is one of few, so few runs choose it
# Rules of the family bound, declared beforehand: the best few for Gaussian mechanisms simulated at ε = 1 and 8.
FAMILY_RULES = Grid(fractions=(0.2, 0.4))
RUNS_AT_ONCE = 4096
# What the others look for is seen in few runs.
SHARE_OF_RUNS = {"alone": 1.0, "opposed": 0.25, "ordinary": 0.25, "replaced": 1.0}
LEAST_TRIALS = 100
TRIAL_RUNS = 16  # by which the adversary chooses its canary


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

    @property
    def designs(self) -> tuple[str, ...]:
        assert self.method.plan is not None
        return designs_for(self.method.plan(self.config, self.class_sizes))

    def to_json(self) -> str:
        """Canonical and complete, the versions of libraries and code with it."""
        record = {
            **vars(self),
            "method": self.method.name,
            "config": asdict(self.config),
            "versions": versions(self.method),
        }
        return json.dumps(record, sort_keys=True, indent=2) + "\n"


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """Scores of one design by name, who had the canary, and the ledger of the runs."""

    scores: dict[str, np.ndarray]
    has_canary: np.ndarray
    shortest: float
    typical: float
    ledger: Entries

    def evidence(self, score: str) -> RunEvidence:
        values = self.scores[score]
        return RunEvidence(member_scores=values[self.has_canary], non_member_scores=values[~self.has_canary])


def choose_length(experiment: Experiment) -> float:
    """The canary whose clipped vectors are longest in a few runs that are not tested."""
    first = 2 * len(DESIGNS) * experiment.trials
    typical = [
        _listen_to(experiment, "alone", 0, TRIAL_RUNS, first + number * (TRIAL_RUNS + 1), length)[0].typical
        for number, length in enumerate(LENGTHS)
    ]
    return LENGTHS[int(np.argmax(typical))]


def listen(experiment: Experiment, design: str, say: Callable[[str], None], length: float = LENGTHS[0]) -> Transcript:
    """Run the real method before and after the canary and score what is heard at the door."""
    place = list(DESIGNS).index(design)
    parts, canary, ledgers = [], [], set()
    total = max(LEAST_TRIALS, int(experiment.trials * SHARE_OF_RUNS[design]))
    for first in range(0, total, RUNS_AT_ONCE):
        num_runs = min(RUNS_AT_ONCE, total - first)
        # No two runs of an experiment share private streams: designs and references have numbers of their own.
        start = place * 2 * experiment.trials + first
        eavesdropper, ledger = _listen_to(
            experiment, design, first, num_runs, start, length, reference=start + experiment.trials
        )
        parts.append(eavesdropper)
        ledgers.add(ledger)
        canary.append(make_trials(design, first, num_runs, len(experiment.class_sizes)).has_canary)
        say(f"{design}: {first + num_runs} of {total} runs")
    if len(ledgers) != 1:
        raise RuntimeError("runs of one method wrote different ledgers: the accounting depends on the records")
    scores = [part.scores() for part in parts]
    return Transcript(
        scores={name: np.concatenate([part[name] for part in scores]) for name in scores[0]},
        has_canary=np.concatenate(canary),
        shortest=min(part.shortest for part in parts),
        typical=float(np.mean([part.typical for part in parts])),
        ledger=ledgers.pop(),
    )


def _listen_to(
    experiment: Experiment,
    design: str,
    first: int,
    num_runs: int,
    start: int,
    length: float,
    reference: int | None = None,
) -> tuple[Eavesdropper, Entries]:
    """Trials `first` and after, under run numbers `start` and after, and a reference run without records."""
    num_classes = len(experiment.class_sizes)
    pool = neighbouring_pools(experiment.input_shape, num_classes, experiment.seed, length)
    trials = make_trials(design, first, num_runs, num_classes)
    eavesdropper = Eavesdropper(pool, trials)
    last = start + num_runs if reference is None else reference
    _, ledger = condense_runs(
        experiment.method,
        pool,
        trials.members(pool),
        experiment.config,
        class_sizes=experiment.class_sizes,
        randomness=Randomness(seed=experiment.seed, runs=(*range(start, start + num_runs), last)),
        listeners=[eavesdropper],
    )
    if ledger is None:
        raise BadConfig(f"--method {experiment.method.name}: it releases nothing through the door, nothing is claimed")
    return eavesdropper, ledger.entries


def try_all(
    experiment: Experiment, heard: dict[str, Transcript], curve: TradeoffCurve | None = None
) -> tuple[Attempt, ...]:
    """Hold every score of every design against the curve that PLD proves for the ledger."""
    curve = curve or tradeoff_curve(ledger_event(heard["alone"].ledger), directed=True)
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


def run_worst_case(experiment: Experiment, command: str, out: Path, say: Callable[[str], None]) -> WorstCaseReport:
    """Audit a method at the door and keep the record under `out`; returned with the path as seen from here."""
    identity = experiment.to_json()
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    name = f"{ATTACK}-{directory_part(experiment.method.name)}-{digest}"
    directory = RunDirectory(out / name)
    with explain_failure(directory.path):
        directory.path.mkdir(parents=True, exist_ok=True)
    write_text(directory.config, identity)
    report = in_scope(_audit(experiment, command, say))
    report = replace(report, versions=versions(experiment.method), digest=digest, run_directory=name)
    write_text(directory.report, dump(report))
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def draw_worst_case(report: WorstCaseReport, directory: RunDirectory) -> None:
    """The PDF with its figure, and the page; from the record alone."""
    kept = replace(report, run_directory=directory.path.name, pdf=directory.pdf.name)
    with explain_failure(directory.pdf), directory.held():
        write_pages(build_worst_case(WorstCaseMaterial(report=kept)), directory)


def _audit(experiment: Experiment, command: str, say: Callable[[str], None]) -> WorstCaseReport:
    torch.set_num_threads(1)
    length = choose_length(experiment)
    heard = {design: listen(experiment, design, say, length) for design in experiment.designs}
    headline = heard[headline_design(experiment.designs)]
    say("what the ledger claims")
    claimed = claim_from_ledger(headline.ledger, experiment.delta)
    say("testing")
    curve = tradeoff_curve(ledger_event(headline.ledger), directed=True)
    attempts = try_all(experiment, heard, curve)
    bounds, reason = bound_all(headline, experiment)
    assert claimed.epsilon_pld is not None
    verdict, verdict_reason = judge(attempts, claimed)
    return WorstCaseReport(
        command=command,
        method=experiment.method.name,
        verdict=verdict,
        verdict_reason=verdict_reason,
        epsilon=bounds[0],
        bounds=bounds,
        claimed=claimed,
        tightness=None if reason else bounds[0].lower / claimed.epsilon_pld,
        tightness_reason=reason,
        attempts=attempts,
        canary_length=headline.shortest,
        canary_typical_length=headline.typical,
        ledger=tuple({**asdict(entry), "count": count} for entry, count in headline.ledger),
        config=asdict(experiment.config),
        class_sizes=experiment.class_sizes,
        num_trials=experiment.trials,
        seed=experiment.seed,
        threat_model=(
            "Level transcript: the adversary sees every noisy sum that the method drew from the records.",
            "It chose the neighbouring pools and knows all public randomness (networks, augmentations, first images).",
            "It does not know the sampling and the noise, which belong to a run.",
        ),
        versions={},
        digest="",
        run_directory="",
        roc=measure_run_roc(headline.evidence("likelihood"), confidence=experiment.confidence),
        tradeoff=curve_on_grid(curve, "trade-off curve of what ran, by its privacy loss distribution"),
        outlook=look_ahead_runs(
            next(bound for bound in bounds if bound.estimator == CLOPPER_PEARSON), num_runs=experiment.trials
        ),
    )


def granted_family(entries: Entries) -> tuple[float, int] | str:
    """Sampling rate and steps of the one Poisson-subsampled Gaussian that repeats; or why that is not granted."""
    if any(event.noise_by != "clip" for event, _ in entries):
        return "the noise depends on the records, so the mechanism is of no family that could be granted"
    if any(isinstance(event.sampling, FixedSize) for event, _ in entries):
        return "what PLD proves for samples of fixed size is not exact, so no lower bound may be read off it"
    found = branches(ledger_event(entries))
    if len(found) != 1 or len(found[0]) != 1:
        return "several mechanisms are composed, and the family bound speaks of one that repeats"
    ((leaf,),) = found
    return sampling_rate(leaf.event), leaf.count


def bound_all(heard: Transcript, experiment: Experiment) -> tuple[tuple[EpsilonBound, ...], str]:
    """Family (where one is granted), Clopper-Pearson and Gaussian bounds of the likelihood ratio; why no family."""
    evidence = heard.evidence("likelihood")
    settings: dict[str, Any] = {
        "delta": experiment.delta,
        "confidence": experiment.confidence,
        "choice": Split(fraction=CHOOSE_ON),
    }
    family = granted_family(heard.ledger)
    clopper_pearson = bound_epsilon_clopper_pearson(evidence, **settings)
    if isinstance(family, str):
        relation = neighbouring_relation(ledger_event(heard.ledger))
        return (replace(clopper_pearson, adjacency=relation),), family
    rate, steps = family
    return (
        bound_epsilon_family(evidence, sampling_rate=rate, steps=steps, **settings | {"choice": FAMILY_RULES}),
        clopper_pearson,
        bound_epsilon_gaussian(evidence, **settings),
    ), ""


def judge(attempts: tuple[Attempt, ...], claimed: Claim) -> tuple[str, str]:
    """REFUTED if any attempt lies below the curve; every test is corrected for the number of attempts."""
    assert claimed.epsilon_pld is not None
    claim = f"the trade-off curve of epsilon = {up(claimed.epsilon_pld)} at delta {claimed.delta:g}"
    # Of equal ones, that with other members says more.
    best = min(attempts, key=lambda attempt: (attempt.test.p_value, attempt.design == "alone"))
    if best.test.refuted:
        test = best.test
        decimals = max(3, decimals_apart(test.allowed_false_negative_rate, test.false_negative_upper))
        return "REFUTED", (
            f"The ledger claims {claim}, which leaves a false-negative rate of at least "
            f"{down(test.allowed_false_negative_rate, decimals)} at a false-positive rate of "
            f"{up(test.false_positive_upper, 3)}; the {best.score} score (canary {best.design}) has at most "
            f"{up(test.false_negative_upper, decimals)} there (p = {test.p_value:.2g})."
        )
    return "NOT REFUTED", (
        f"Nothing that was tried ({len(attempts)} scores) lies below {claim} (smallest p = {best.test.p_value:.2g})."
    )
