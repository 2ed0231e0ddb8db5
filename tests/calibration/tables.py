"""Prints the tables of docs/estimators.md: `python tests/calibration/tables.py`, some ten minutes on one core; or one
of them, `python tests/calibration/tables.py calibration`.

How often each bound exceeds a known epsilon, how close it comes by number of trials, and what breaks.
"""

import resource
import sys
import time
from collections.abc import Iterator

import numpy as np
from naive_choices import largest_clopper_pearson, smallest_one_run
from scipy import special
from simulated_audits import (
    DELTA,
    LEAK,
    NOISE,
    RATE,
    SIGNIFICANCE,
    STEPS,
    Mechanism,
    RecordAudits,
    RunAudits,
    choices,
    mechanisms,
    most_exceedances,
    simulate_records,
    simulate_runs,
)

from audit.accounting.epsilon import epsilon_pld
from audit.accounting.events import subsampled_gaussian
from audit.statistics.estimators.bayesian import bound_epsilon_bayesian, credible_epsilon
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.evidence import RecordEvidence, RunCounts, RunEvidence
from audit.statistics.estimators.family import bound_epsilon_family
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian, gaussian_epsilon, gaussian_mu
from audit.statistics.estimators.one_run import bound_epsilon_one_run_records, one_run_ceiling
from audit.statistics.estimators.one_run_dp import bound_epsilon_one_run_dp, one_run_dp_lower_bounds
from audit.statistics.estimators.one_run_fdp import bound_epsilon_one_run_fdp, largest_rejected_mu
from audit.statistics.plan import ESTIMATORS
from reports.words.rounding import down

NUM_AUDITS = 2000
CHOICES = ("fixed", "split", "median", "grid")
RECORD_CHOICES = (*CHOICES, "chosen")
WITHIN = {
    "clopper-pearson": ("nothing", "gaussian", "laplace", "subsampled"),
    "gaussian": ("nothing", "gaussian"),
    "one-run": ("nothing", "gaussian", "laplace", "response", "leaky", "subsampled"),
    "one-run-dp": ("nothing", "gaussian", "laplace", "response", "leaky", "subsampled"),
    "one-run-fdp": ("nothing", "gaussian"),
}


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def head(*cells: str) -> str:
    return "\n".join([row(*cells), row(*("---" for _ in cells))])


def percent(share: float) -> str:
    return f"{100 * share:.2f}"


def calibration() -> Iterator[str]:
    allowed = percent(most_exceedances(NUM_AUDITS) / NUM_AUDITS)
    yield f"### Exceedance: % of {NUM_AUDITS} audits with a bound above epsilon (5; {allowed} with sampling error)\n"
    yield "300 trials of each class, or 4 test runs of 100 records. Two figures: one attack / best of five.\n"
    yield f"response: randomised response; leaky: that, each coin told with probability {LEAK}, at that delta.\n"
    yield head("mechanism", "epsilon", "estimator", *RECORD_CHOICES)
    for name in ("nothing", "gaussian", "laplace", "response", "leaky", "subsampled"):
        mechanism = mechanisms()[name]
        runs = simulate_runs(mechanism, num_audits=NUM_AUDITS, num_attacks=5, per_side=300, seed=21)
        records = simulate_records(mechanism, num_audits=NUM_AUDITS, num_attacks=5, shape=(4, 100), seed=22)
        for estimator, inside in WITHIN.items():
            if name in inside:
                game = runs if estimator in ("clopper-pearson", "gaussian") else records
                yield row(name, f"{mechanism.epsilon:.3f}", estimator, *_exceedances(game, estimator))
        if mechanism.curve is not None:
            cells = [
                " / ".join(
                    percent(np.mean(records.curve_refuted(choices(mechanism)[choice], tries))) for tries in (1, 5)
                )
                for choice in RECORD_CHOICES
            ]
            yield row(name, f"{mechanism.epsilon:.3f}", "curve test, coins", *cells)
        if name == "subsampled":
            for label, objective in (("curve test", "curve"), ("family", "gaussian")):
                cells = [
                    " / ".join(
                        percent(np.mean(runs.curve_refuted(choices(mechanism)[choice], tries, objective)))
                        for tries in (1, 5)
                    )
                    for choice in CHOICES
                ]
                yield row(name, f"{mechanism.epsilon:.3f}", label, *cells, "")


def _exceedances(game: RunAudits | RecordAudits, estimator: str) -> list[str]:
    own = RECORD_CHOICES if isinstance(game, RecordAudits) else CHOICES
    cells = [
        " / ".join(
            percent(np.mean(game.bounds(estimator, choices(game.mechanism)[choice], tries) > game.mechanism.epsilon))
            for tries in (1, 5)
        )
        for choice in own
    ]
    return [*cells, *("" for _ in range(len(RECORD_CHOICES) - len(own)))]


def _gaussian(epsilon: float) -> Mechanism:
    mu = float(gaussian_mu(epsilon, DELTA))
    return Mechanism(
        name=f"gaussian, {epsilon:g}",
        epsilon=epsilon,
        threshold=mu / 2,
        draw=lambda generator, members: generator.standard_normal(members.shape) + mu * members,
    )


def tightness() -> Iterator[str]:
    yield "### Tightness: median bound / epsilon, by trials (those used to choose included)\n"
    yield 'One attack; "median" is the median of 3 splits.\n'
    yield head("mechanism", "estimator", "trials", *RECORD_CHOICES)
    games = [_gaussian(1.0), _gaussian(4.0), mechanisms()["laplace"], mechanisms()["subsampled"]]
    for mechanism in games:
        gaussian = mechanism.name.startswith("gaussian")
        for estimator in ("clopper-pearson", *(("gaussian",) if gaussian else ())):
            for per_side in (64, 256, 1000, 4000):
                runs = simulate_runs(
                    mechanism, num_audits=min(200, 200_000 // per_side), num_attacks=1, per_side=per_side, seed=31
                )
                cells = [_median(runs, estimator, choice) for choice in CHOICES]
                yield row(mechanism.name, estimator, f"{2 * per_side:,} runs", *cells, "")
        if mechanism.name == "subsampled":
            yield from _family_rows(mechanism)
        for estimator in ("one-run", "one-run-dp", *(("one-run-fdp",) if gaussian else ())):
            for num_records in (128, 1000, 10_000, 50_000):
                records = simulate_records(
                    mechanism,
                    num_audits=min(200, 1_000_000 // num_records),
                    num_attacks=1,
                    shape=(4, num_records),
                    seed=32,
                )
                cells = [_median(records, estimator, choice) for choice in RECORD_CHOICES]
                yield row(mechanism.name, estimator, f"{4 * num_records:,} coins", *cells)


def _median(game: RunAudits | RecordAudits, estimator: str, choice: str) -> str:
    bounds = game.bounds(estimator, choices(game.mechanism, 3)[choice], 1)
    return f"{np.median(bounds) / game.mechanism.epsilon:.2f}"


def _family_rows(mechanism: Mechanism) -> Iterator[str]:
    """The family bound of the audit with the median error rates; each takes many privacy loss distributions."""
    for per_side in (256, 1000, 4000):
        runs = simulate_runs(mechanism, num_audits=201, num_attacks=1, per_side=per_side, seed=31)
        cells = [_family(runs, choice) for choice in ("fixed", "split")]
        yield row(mechanism.name, "family", f"{2 * per_side:,} runs", *cells, "", "", "")


def _family(runs: RunAudits, choice: str) -> str:
    errors, _ = runs.errors(choices(runs.mechanism)[choice], "gaussian", 1)
    missed, wrong = errors.false_negatives[:, 0, 0], errors.false_positives[:, 0, 0]
    rates = (missed + 1) / (errors.num_members + 2), (wrong + 1) / (errors.num_non_members + 2)
    typical = np.argsort(special.ndtri(rates[0]) + special.ndtri(rates[1]))[100]
    bound = bound_epsilon_family(
        RunCounts(
            true_positives=errors.num_members - int(missed[typical]),
            false_negatives=int(missed[typical]),
            false_positives=int(wrong[typical]),
            true_negatives=errors.num_non_members - int(wrong[typical]),
        ),
        sampling_rate=RATE,
        steps=STEPS,
        delta=DELTA,
        confidence=1 - SIGNIFICANCE,
    )
    return down(bound.lower / runs.mechanism.epsilon)


def outside() -> Iterator[str]:
    yield "### Outside the assumption, and credible limits: % of 2000 audits above epsilon, one attack\n"
    yield head("mechanism", "estimator", *CHOICES)
    mechanism = mechanisms()["laplace"]
    runs = simulate_runs(mechanism, num_audits=NUM_AUDITS, num_attacks=1, per_side=300, seed=41)
    records = simulate_records(mechanism, num_audits=NUM_AUDITS, num_attacks=1, shape=(4, 100), seed=42)
    for estimator, game in (("gaussian", runs), ("one-run-fdp", records)):
        cells = [
            percent(np.mean(game.bounds(estimator, choices(mechanism)[choice], 1) > mechanism.epsilon))
            for choice in CHOICES
        ]
        yield row("laplace", estimator, *cells)
    for name in ("nothing", "gaussian", "laplace"):
        game = simulate_runs(mechanisms()[name], num_audits=NUM_AUDITS, num_attacks=1, per_side=300, seed=43)
        yield row(name, "bayesian", *(_credible(game, choice) for choice in ("fixed", "split")), "", "")


def _credible(runs: RunAudits, choice: str) -> str:
    errors, _ = runs.errors(choices(runs.mechanism)[choice], "clopper-pearson", 1)
    pairs, number = np.unique(
        np.stack([errors.false_negatives.ravel(), errors.false_positives.ravel()]), axis=1, return_counts=True
    )
    above = [
        credible_epsilon(
            false_negatives=int(missed),
            num_members=errors.num_members,
            false_positives=int(wrong),
            num_non_members=errors.num_non_members,
            delta=DELTA,
            level=SIGNIFICANCE,
            num_nodes=400,
            num_steps=20,
        )
        > runs.mechanism.epsilon + 1e-3
        for missed, wrong in pairs.T
    ]
    return percent(np.dot(above, number) / number.sum())


def naive() -> Iterator[str]:
    yield "### Choosing on the tested data: % of 2000 audits of a mechanism with epsilon 0 that certify more\n"
    yield "500 runs of each class at delta 1e-5, or 1000 coins at delta 0.\n"
    yield head("way", "%")
    game = simulate_runs(mechanisms()["nothing"], num_audits=NUM_AUDITS, num_attacks=5, per_side=500, seed=51)
    best = largest_clopper_pearson(game)
    yield row("clopper-pearson, best of all thresholds, no correction", percent(np.mean(best[:, 0] > 0)))
    yield row("clopper-pearson, the same, best of five attacks", percent(np.mean(best.max(axis=1) > 0)))
    coins = simulate_records(mechanisms()["nothing"], num_audits=NUM_AUDITS, num_attacks=1, shape=(1, 1000), seed=52)
    smallest, frontier = smallest_one_run(coins)
    yield row("one-run, best number of guesses, no correction", percent(np.mean(smallest < SIGNIFICANCE)))
    yield row(
        "one-run, Bonferroni over the hull of the ROC, chosen by the data", percent(np.mean(frontier < SIGNIFICANCE))
    )
    for choice in ("split", "median", "grid"):
        chosen = choices(coins.mechanism)[choice]
        yield row(f"one-run, {choice}", percent(np.mean(coins.bounds("one-run", chosen, 1, delta=0.0) > 0)))
        yield row(f"clopper-pearson, {choice}", percent(np.mean(game.bounds("clopper-pearson", chosen, 1) > 0)))
        best_of_five = game.bounds("clopper-pearson", chosen, 5)
        yield row(f"clopper-pearson, {choice}, best of five, corrected", percent(np.mean(best_of_five > 0)))


def ceilings() -> Iterator[str]:
    yield "### Ceilings: what an attack without errors certifies, rule fixed beforehand\n"
    yield head("n", "clopper-pearson", "gaussian", "bayesian", "one-run", "one-run-dp", "one-run-fdp")
    settings = {"delta": DELTA, "confidence": 1 - SIGNIFICANCE}
    for size in (64, 128, 256, 512, 1000):
        runs = RunCounts(true_positives=size, false_negatives=0, false_positives=0, true_negatives=size)
        mu = largest_rejected_mu(num_coins=size, num_guesses=size, num_correct=size, significance=SIGNIFICANCE)
        figures = [
            bound_epsilon_clopper_pearson(runs, **settings).lower,
            bound_epsilon_gaussian(runs, **settings).lower,
            bound_epsilon_bayesian(runs, **settings).lower,
            one_run_ceiling(num_coins=size, delta=DELTA, significance=SIGNIFICANCE),
            one_run_dp_lower_bounds(
                num_coins=size, num_guesses=size, num_correct=size, delta=DELTA, significance=SIGNIFICANCE
            ),
            float(gaussian_epsilon(mu, DELTA)),
        ]
        yield row(str(size), *(f"{figure:.3f}" for figure in figures))


def speed() -> Iterator[str]:
    yield "### Speed: a bound from 1,000,000 scores, seconds of processor time\n"
    yield head("estimator", *CHOICES)
    mechanism = _gaussian(2.0)
    game = simulate_records(mechanism, num_audits=1, num_attacks=1, shape=(10, 100_000), seed=71)
    members, scores = game.members[0, 0], game.scores[0, 0]
    records = RecordEvidence(members=members, scores=scores)
    runs = RunEvidence(member_scores=scores[members], non_member_scores=scores[~members])
    for estimator, evidence in (
        (bound_epsilon_clopper_pearson, runs),
        (bound_epsilon_gaussian, runs),
        (bound_epsilon_bayesian, runs),
        (bound_epsilon_one_run_records, records),
        (bound_epsilon_one_run_dp, records),
        (bound_epsilon_one_run_fdp, records),
    ):
        cells = []
        for choice in (choices(mechanism)[name] for name in CHOICES):
            started = time.process_time()
            name = estimator(evidence, delta=DELTA, confidence=1 - SIGNIFICANCE, choice=choice).estimator
            cells.append(f"{time.process_time() - started:.2f}")
        yield row(name, *cells)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"\nPeak memory of the process so far: {peak:.0f} MiB."


def planned() -> Iterator[str]:
    yield "### Plan against simulation: tightness on the Gaussian mechanism, split\n"
    yield head("epsilon", "estimator", "trials", "expected", "median of 200 audits")
    for epsilon, num_trials in ((1.0, 8000), (4.0, 2000), (4.0, 8000)):
        mechanism = _gaussian(epsilon)
        runs = simulate_runs(mechanism, num_audits=200, num_attacks=1, per_side=num_trials // 2, seed=61)
        for estimator in ESTIMATORS:
            if estimator.unit == "run":
                expected = estimator.expect(num_trials // 2, float(gaussian_mu(epsilon, DELTA)), DELTA, SIGNIFICANCE)[0]
                found = np.median(runs.bounds(estimator.name, choices(mechanism)["split"], 1))
                cells = (f"{expected / epsilon:.2f}", f"{found / epsilon:.2f}")
                yield row(f"{epsilon:g}", estimator.name, f"{num_trials:,}", *cells)


def main() -> None:
    truth = epsilon_pld(subsampled_gaussian(sampling_rate=RATE, noise_multiplier=NOISE, steps=STEPS), DELTA)
    print(f"delta {DELTA:g}, confidence {1 - SIGNIFICANCE:g}; gaussian: epsilon 4; laplace: scale 1/2; subsampled")
    print(f"gaussian: rate {RATE}, noise multiplier {NOISE}, {STEPS} steps, epsilon {truth:.3f}\n")
    parts = {part.__name__: part for part in (speed, ceilings, calibration, tightness, planned, outside, naive)}
    for name in sys.argv[1:] or parts:
        for line in parts[name]():
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
