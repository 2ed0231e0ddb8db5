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

from dataclasses import replace
from typing import Any

from audit.accounting.curve import TradeoffCurve, tradeoff_curve
from audit.accounting.events import branches, neighbouring_relation, sampling_rate
from audit.accounting.ledger import ledger_event
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.runs import Transcript
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.curve import refute_curve
from audit.statistics.estimators.family import bound_epsilon_family
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian
from audit.statistics.estimators.thresholds import Grid, Split
from condensers.ledger import Entries, FixedSize
from reports.records.schema import Claim, EpsilonBound
from reports.records.worst_case import Attempt
from reports.words.rounding import decimals_apart, down, up

CHOOSE_ON = 0.2  # of the runs: a rule is one of few, so few runs choose it
# Rules of the family bound, declared beforehand: the best few for Gaussian mechanisms simulated at ε = 1 and 8.
FAMILY_RULES = Grid(fractions=(0.2, 0.4))


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
