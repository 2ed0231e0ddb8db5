"""The visual audit: are the records that look most like the synthetic images members? Counted, tested, bounded.

Dong et al. (arXiv:2206.00240, section 5.4, Figure 5) show nearest real images and leave the judgement to the eye. Here
the pool holds members and non-members, told apart by fair coins that are independent over records and runs.

Assumption: the coins. Guarantee: under H0, "the synthetic sets are independent of the coins", the guessed records are
fixed given the sets, distinct within a run, and each is in with probability ½ independently. So the number of members
among all guesses of all runs is Binomial(guesses, ½), exactly and whatever the distance; the p-value is its upper tail.
H0 is what a mechanism with ε = δ = 0 satisfies. Against larger ε the same guesses, whose number is fixed beforehand,
enter the one-run bound (arXiv:2305.08846). Unit: records (coins). Both are corrected for the number of distances.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np
from scipy.stats import binom

from attacks.nearest import Matches
from audit.games.visual.config import DISTANCES, VisualConfig
from audit.statistics.estimators.one_run import bound_epsilon_one_run, one_run_lower_bounds
from audit.statistics.roc import measure_roc, paper_style_ratio
from condensers.pool import Pool
from reports.records import schema
from reports.records.visual import Column, DistanceFinding, Match, NotComputed, VisualReport
from reports.words.rounding import decimals_apart, down, percent, probability, say_delta, up

MOST_COLUMNS = 10


def find_members(
    name: str, matches: Matches, members: np.ndarray, *, delta: float, confidence: float, num_tries: int, seed: int
) -> DistanceFinding:
    """Count the members `[runs, records]` among the guesses, test and bound; the p-value is not yet adjusted."""
    run, position = np.nonzero(matches.guesses >= 0)
    correct = members[run, matches.guesses[run, position]]
    compared = np.isfinite(matches.nearness).all(0)
    bound = bound_epsilon_one_run(
        num_coins=members.size,
        num_guesses=correct.size,
        num_correct=int(correct.sum()),
        delta=delta,
        confidence=confidence,
        num_tries=num_tries,
    )
    most = one_run_lower_bounds(
        num_coins=members.size,
        num_guesses=correct.size,
        num_correct=correct.size,
        delta=delta,
        significance=(1 - confidence) / num_tries,
    )
    return DistanceFinding(
        name=name,
        description=DISTANCES[name],
        num_guesses=correct.size,
        num_members=int(correct.sum()),
        num_displaced=matches.num_displaced,
        p_value=binomial_p_value(int(correct.sum()), correct.size),
        p_value_adjusted=1.0,
        most_certifiable=float(most),
        # One ceiling per audit: an image makes one guess, so that is what a perfect attack of this kind would certify.
        bound=replace(bound, ceiling=float(most), evidence=f"distance {name}"),
        roc=measure_roc(members[:, compared], matches.nearness[:, compared], confidence=confidence, seed=seed),
    )


def binomial_p_value(num_members: int, num_guesses: int) -> float:
    """P[Bin(num_guesses, ½) ≥ num_members]."""
    return float(binom.sf(num_members - 1, num_guesses, 0.5))


def adjust_p_values(findings: tuple[DistanceFinding, ...]) -> tuple[DistanceFinding, ...]:
    """Holm's step-down adjustment over the distances (Scandinavian Journal of Statistics 6, 1979)."""
    order = sorted(range(len(findings)), key=lambda place: findings[place].p_value)
    adjusted, largest = {}, 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(findings) - rank) * findings[place].p_value))
        adjusted[place] = largest
    return tuple(replace(finding, p_value_adjusted=adjusted[place]) for place, finding in enumerate(findings))


def summarise_visual(
    config: VisualConfig,
    pool: Pool,
    members: np.ndarray,
    labels: np.ndarray,
    matches: Mapping[str, Matches],
    *,
    claimed: schema.Claim | None,
    command: str,
    proved: schema.Claim | None = None,
) -> VisualReport:
    """The record of an audit from its matches and the coins `members` `[runs, records]`; `proved` is the ledger's."""
    findings = adjust_p_values(
        tuple(
            find_members(
                name,
                found,
                members,
                delta=config.delta,
                confidence=config.confidence,
                num_tries=len(matches),
                seed=config.seed,
            )
            for name, found in matches.items()
        )
    )
    best = max(findings, key=lambda finding: (finding.bound.lower, -finding.p_value))
    surest = min(findings, key=lambda finding: finding.p_value_adjusted)
    verdict, reason = judge(config, best.bound, claimed)
    ratio = paper_style_ratio(best.roc)
    return VisualReport(
        command=command,
        method=config.method,
        dataset=config.dataset,
        verdict=verdict,
        verdict_reason=reason,
        finding="MEMBERS FOUND" if surest.p_value_adjusted < 1 - config.confidence else "NOTHING FOUND",
        epsilon=best.bound,
        bounds=tuple(finding.bound for finding in findings),
        claimed=claimed,
        proved=proved,
        roc=best.roc,
        paper_style_epsilon=None if ratio is None else ratio.lower,
        distances=findings,
        not_computed=tuple(NotComputed(name=name, why=why) for name, why in config.left_out.items()),
        panel=make_panel(members[0], labels[0], matches),
        game=schema.Game(
            num_records=pool.num_records,
            num_classes=pool.num_classes,
            num_synthetic=labels.shape[1],
            num_fit_runs=0,
            num_test_runs=config.runs,
            inclusion_probability=0.5,
            public_randomness="shared by all runs and known to the adversary",
            membership_shuffled=config.shuffle_membership,
            seed=config.seed,
        ),
        threat_model=(
            "Level set: the adversary sees the synthetic set itself, with its labels.",
            "The adversary has all records of the pool, members and non-members, and compares them with the set; it "
            "does not know which of them are members, and it learns nothing from other runs.",
        ),
        weights=config.weights,
        config=asdict(config),
        versions=config.versions,
        digest=config.digest,
        run_directory=config.directory_name,
        pdf="report.pdf",
    )


def judge(config: VisualConfig, bound: schema.EpsilonBound, claimed: schema.Claim | None) -> tuple[str, str]:
    """The verdict on a claimed ε, and why, in a sentence."""
    claim = None if claimed is None else claimed.epsilon_pld
    decimals = decimals_apart(bound.lower, claim)
    confidence = percent(bound.confidence)
    found = f"ε is at least {down(bound.lower, decimals)} with {confidence} confidence at {say_delta(bound.delta)}"
    if claim is None:
        return "NO CLAIM", f"Nothing is claimed for {config.audited}, so nothing can be refuted; measured: {found}."
    stated = f"{claim:g}" if config.claim is not None else up(claim, decimals)
    if bound.lower > claim:
        return "REFUTED", f"The claim is ε ≤ {stated}, but {found}."
    return "NOT REFUTED", (
        f"The claim is ε ≤ {stated}; the nearest records certify that {found}, which does not contradict the claim. "
        "A stronger attack might."
    )


def make_panel(members: np.ndarray | None, labels: np.ndarray, matches: Mapping[str, Matches]) -> tuple[Column, ...]:
    """Up to ten images of the first run, the first of each class first, with their nearest records (Figure 5)."""
    seen: dict[int, int] = {}
    rounds = []
    for label in labels.tolist():
        seen[label] = seen.get(label, -1) + 1
        rounds.append(seen[label])
    chosen = np.sort(np.lexsort((labels, np.array(rounds)))[:MOST_COLUMNS])
    return tuple(
        Column(
            image=int(image),
            label=int(labels[image]),
            matches={
                name: tuple(
                    Match(
                        record=int(record),
                        member=None if members is None else bool(members[record]),
                        distance=float(distance),
                    )
                    for record, distance in zip(found.records[0, image], found.distances[0, image], strict=True)
                    if record >= 0
                )
                for name, found in matches.items()
            },
        )
        for image in chosen
    )


def describe_finding(finding: DistanceFinding) -> str:
    """One line for people."""
    found = probability(finding.p_value)
    return (
        f"{finding.num_members} of {finding.num_guesses} nearest records are members ({finding.num_guesses / 2:g} by "
        f"chance), p {found if found.startswith('<') else f'= {found}'}"
    )
