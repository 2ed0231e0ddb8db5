"""What the scores say: every one of every design against the whole trade-off curve, and the bounds.

Unit: runs, independent given the public randomness, which the adversary knows; without a door all randomness of a run
is its own. Thresholds are chosen on a part of the runs and tested on the others, or declared beforehand; learned scores
are fitted on runs of their own (learned.py); the canary is chosen by trial runs of its own. A claim is refuted by a
test against its whole curve, or by the headline bound; the tests and the bound have half of the error each. Every
declared score of every design is one of the tests, whether or not it varies, and so is that of the noise. At the
transcript the bounds, and with them the tightness, were decided upon beforehand: they are those of the likelihood ratio
with the canary alone or, for samples of fixed size, replaced. At the other levels the bound is the largest
Clopper-Pearson bound of all scores, corrected for their number.

The family bound grants that the mechanism is the claimed one but for its noise multiplier, and reads ε off the PLD of
the smallest multiplier that is refuted. That is a lower bound only where this PLD is exact: for one Poisson-subsampled
Gaussian that repeats. Elsewhere (samples of fixed size, several mechanisms composed, noise that depends on the records)
there is no tightness, and the report says why; the verdict does not need it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from audit.accounting.curve import TradeoffCurve, tradeoff_curve
from audit.accounting.events import ADD_OR_REMOVE_ONE, branches, sampling_rate
from audit.accounting.ledger import ledger_event, relation_of_ledger
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.transcripts import Transcript
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.curve import refute_curve
from audit.statistics.estimators.evidence import RunEvidence
from audit.statistics.estimators.family import bound_epsilon_family
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian
from audit.statistics.estimators.thresholds import Grid, Split
from condensers.errors import BrokenContract
from condensers.ledger import Entries, FixedSize
from reports.records.schema import Claim, EpsilonBound
from reports.records.worst_case import Attempt, NoiseTest
from reports.words.attempts import probability
from reports.words.rounding import decimals_apart, down, say_delta, up

CHOOSE_ON = 0.2  # of the runs: a rule is one of few, so few runs choose it
# Rules of the family bound, declared beforehand: the best few for Gaussian mechanisms simulated at ε = 1 and 8.
FAMILY_RULES = Grid(fractions=(0.2, 0.4))


# A claim is tested in two ways, by the curve and by the bound, which share the error equally.
WAYS = 2
# What PLD proves is rounded up by less than this, which must not make a family bound exceed the claim it was read off.
ACCOUNTANT_SLACK = 1e-3

Pair = tuple[str, str]  # design, score


def pairs_of(transcripts: dict[str, Transcript]) -> tuple[Pair, ...]:
    """Every score of every design that is not the same number in all runs."""
    return tuple(
        (design, score)
        for design, transcript in transcripts.items()
        for score in transcript.tried
        if not _is_constant(transcript.evidence(score))
    )


def num_declared(transcripts: dict[str, Transcript]) -> int:
    """Every score of every design, also those that turn out to be constant: which they are depends on the runs."""
    return sum(len(transcript.tried) for transcript in transcripts.values())


def _is_constant(evidence: RunEvidence) -> bool:
    both = np.concatenate([evidence.member_scores, evidence.non_member_scores])
    return bool(np.ptp(both) == 0)


def try_all(
    experiment: Experiment, transcripts: dict[str, Transcript], curve: TradeoffCurve | None = None, more_tries: int = 0
) -> tuple[Attempt, ...]:
    """Hold every score of every design against the curve, by default that which PLD proves for the ledger."""
    if curve is None:
        curve = tradeoff_curve(ledger_event(_ledger(transcripts)), directed=True)
    return tuple(
        Attempt(
            design=design,
            score=score,
            test=refute_curve(
                transcripts[design].evidence(score),
                curve,
                confidence=experiment.confidence,
                choice=Split(fraction=CHOOSE_ON),
                num_tries=WAYS * (num_declared(transcripts) + more_tries),
            ),
        )
        for design, score in pairs_of(transcripts)
    )


def _ledger(transcripts: dict[str, Transcript]) -> Entries:
    ledgers = {transcript.ledger for transcript in transcripts.values()}
    if len(ledgers) != 1:
        raise BrokenContract("designs wrote different ledgers: the accounting depends on the records (equal ledgers)")
    (ledger,) = ledgers
    assert ledger is not None
    return ledger


def granted_family(entries: Entries) -> tuple[float, int] | str:
    """Sampling rate and steps of the one Poisson-subsampled Gaussian that repeats; or why that is not granted."""
    if any(event.noise_by != "clip" for event, _ in entries):
        return "the noise depends on the records, so no family of mechanisms can be assumed"
    if any(isinstance(event.sampling, FixedSize) for event, _ in entries):
        return "what PLD proves for samples of fixed size is not exact, so no lower bound can be derived from it"
    found = branches(ledger_event(entries))
    if len(found) != 1 or len(found[0]) != 1:
        return "several mechanisms are composed, but the family bound is for a single repeated mechanism"
    ((leaf,),) = found
    return sampling_rate(leaf.event), leaf.count


def bound_all(
    transcripts: dict[str, Transcript], experiment: Experiment, headline: Pair, *, is_claimed: bool
) -> tuple[tuple[EpsilonBound, ...], str]:
    """The bounds, the headline first; and why there is no family bound, where there is none."""
    ways = WAYS if is_claimed else 1
    declared = headline[1] == "likelihood"
    settings: dict[str, Any] = {"delta": experiment.delta, "confidence": experiment.confidence, "num_tries": ways}
    split, ledger = Split(fraction=CHOOSE_ON), transcripts[headline[0]].ledger
    evidence = transcripts[headline[0]].evidence(headline[1])
    family = "without a ledger no family of mechanisms is claimed" if ledger is None else granted_family(ledger)
    if experiment.claim and not isinstance(family, str):
        family = "the claim was stated, so no family of mechanisms is assumed"
    if declared:
        plain = [bound_epsilon_clopper_pearson(evidence, **settings, choice=split)]
    else:
        every = {
            pair: replace(
                bound_epsilon_clopper_pearson(
                    transcripts[pair[0]].evidence(pair[1]),
                    **settings | {"num_tries": ways * num_declared(transcripts)},
                    choice=split,
                ),
                evidence=f"score {pair[1]}, canary {pair[0]}",
            )
            for pair in pairs_of(transcripts)
        }
        plain = sorted(_best_of_each(every), key=lambda bound: -bound.lower)
    if isinstance(family, str):
        relation = ADD_OR_REMOVE_ONE if ledger is None else relation_of_ledger(ledger)
        return tuple(replace(bound, adjacency=relation) for bound in plain), family
    rate, steps = family
    granted = bound_epsilon_family(evidence, sampling_rate=rate, steps=steps, **settings, choice=FAMILY_RULES)
    if not declared:
        return (*plain, granted), ""
    # That the mechanism is Gaussian is part of the claim only where every record takes part.
    gaussian = (bound_epsilon_gaussian(evidence, **settings, choice=split),) if rate == 1.0 else ()
    return (granted, *plain, *gaussian), ""


def _best_of_each(every: dict[Pair, EpsilonBound]) -> list[EpsilonBound]:
    """The largest bound of every design; all are corrected for all that were looked at."""
    best: dict[str, EpsilonBound] = {}
    for (design, _), bound in every.items():
        if design not in best or bound.lower > best[design].lower:
            best[design] = bound
    return list(best.values())


def judge(
    attempts: tuple[Attempt, ...],
    claimed: Claim | None,
    noise: NoiseTest | None,
    epsilon: EpsilonBound,
    confidence: float,
) -> tuple[str, str]:
    """REFUTED if any attempt lies below the curve, or the bound above the claim; all are corrected for tries."""
    if claimed is None:
        return "NO CLAIM", (
            f"Nothing is claimed for the method, so nothing can be refuted; the best score certifies "
            f"ε ≥ {down(max(epsilon.lower, 0.0))} at {say_delta(epsilon.delta)}."
        )
    claim = f"the trade-off curve of ε = {up(claimed.epsilon_pld or 0.0)} at {say_delta(claimed.delta)}"
    claim = f"{claim}, which {'the ledger proves' if 'ledger' in claimed.source else 'is claimed'}"
    if "stated" in claimed.source:
        claim = f"{claim} ({claimed.source})"
    # Of equal ones, that with other members says more.
    best = min(attempts, key=lambda attempt: (attempt.test.p_value, attempt.design == "alone"))
    if best.test.refuted:
        test = best.test
        decimals = max(3, decimals_apart(test.allowed_false_negative_rate, test.false_negative_upper))
        return "REFUTED", (
            f"The score “{best.score}” (canary {best.design}) contradicts {claim}: at a false positive rate of "
            f"{up(test.false_positive_upper, 3)} the curve allows no false negative rate below "
            f"{down(test.allowed_false_negative_rate, decimals)}, and the score has at most "
            f"{up(test.false_negative_upper, decimals)} (p = {probability(test.p_value)})."
        )
    if claimed.epsilon_pld is not None and epsilon.lower > claimed.epsilon_pld + ACCOUNTANT_SLACK:
        decimals = max(2, decimals_apart(epsilon.lower, claimed.epsilon_pld))
        return "REFUTED", (
            f"The {epsilon.estimator} bound certifies ε ≥ {down(epsilon.lower, decimals)} at "
            f"{say_delta(epsilon.delta)}, corrected for {epsilon.num_tries} tries, and contradicts {claim}."
        )
    if noise is not None and noise.p_value < 1 - confidence:
        return "NOISE NOT AS CLAIMED", (
            f"In runs without records the sums are not independent Gaussian noise of the claimed standard deviation "
            f"({noise.worst}, p = {probability(noise.p_value)}). No ε follows from this."
        )
    said = "" if noise is None else f" The noise agrees with the claim (p = {probability(noise.p_value)})."
    return "NOT REFUTED", (
        f"None of the {len(attempts)} scores that were tested contradicts {claim} (smallest p = "
        f"{probability(best.test.p_value)}).{said}"
    )
