"""From released sets to how well masked parts are guessed, with intervals.

The gain of a record in a run is how much smaller the error is with the set than without it. Given the fit runs, what
members gain over non-members is estimated run by run without bias: with fair coins the mean over records of 2
(2·member − 1)(gain − c) has the mean difference of the gains with and without each record as its expectation, for any
c that does not depend on the test runs. c is the record's mean gain over fit runs, which takes out that some records
are easier than others. Test runs are independent given the public randomness, so Student's interval over runs, or
over public draws, is an interval for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.attribute import (
    MaskedRecords,
    SetParts,
    first_guesses,
    guess_with_set,
    guess_without_set,
    learn_corrections,
    usual_parts,
)
from audit.games.attribute.config import AttributeConfig
from audit.games.membership.draws import interval_unit
from audit.games.membership.shard import game_of
from audit.statistics.clustered import interval_of_mean
from audit.statistics.roc import opened
from reports.records.attribute import Estimate, Guessing
from reports.records.intervals import PUBLIC_DRAWS

RECONSTRUCTED_AT = 0.05
SMALLEST_DEVIATION = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Guessed:
    """Errors without a set `[records]`, and with that of each test run and each fit run `[runs, records]`."""

    without: np.ndarray
    test: np.ndarray
    fit: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """The gain in test runs as a score of membership: less its mean over fit runs, over its deviation there."""
        gain, usual = self.without - self.test, self.without - self.fit
        return (gain - usual.mean(0)) / np.maximum(usual.std(0, ddof=1), SMALLEST_DEVIATION)


def guess_all(
    config: AttributeConfig, records: MaskedRecords, shards: dict[str, np.ndarray], num_classes: int
) -> Guessed:
    """Every record guessed with the set of every run, by an adversary fitted on the fit runs of the same draw."""
    shadows = config.condensation
    game = game_of(shadows, len(records.labels))
    guesses = first_guesses(records)
    fit = np.empty((len(game.fit_runs), len(records.labels)))
    test = np.empty((len(game.test_runs), len(records.labels)))
    for draw in range(shadows.public_draws):
        learned = game.fit_runs_of(draw)
        sets = [parts_of(config, shards, run) for run in learned]
        usual = usual_parts(sets, num_classes)
        coefficients = learn_corrections(records, guesses, sets, usual)
        for errors, first, runs in ((fit, 0, learned), (test, game.test_runs.start, game.test_runs_of(draw))):
            for run in runs:
                released = parts_of(config, shards, run)
                errors[run - first] = records.errors(guess_with_set(records, guesses, coefficients, released, usual))
    return Guessed(without=records.errors(guess_without_set(records, guesses)), test=test, fit=fit)


def parts_of(config: AttributeConfig, shards: dict[str, np.ndarray], run: int) -> SetParts:
    """Visible and masked parts of the set of one run; soft labels by their largest entry."""
    images, labels = shards["images"][run], shards["labels"][run]
    flat = images.reshape(len(images), -1).astype(np.float64)
    hard = labels.argmax(-1) if labels.ndim == 2 else labels
    return SetParts(visible=flat[:, ~config.mask], masked=flat[:, config.mask], labels=hard)


def measure(config: AttributeConfig, guessed: Guessed, members: np.ndarray, started: np.ndarray) -> Guessing:
    """All figures of the test runs; `members` are the coins `[runs, records]`, `started` who started an image."""
    gain, usual = guessed.without - guessed.test, guessed.without - guessed.fit
    hit, usual_hit = guessed.test <= RECONSTRUCTED_AT, guessed.fit <= RECONSTRUCTED_AT

    def over_runs(values: np.ndarray) -> Estimate:
        return _over_runs(config, values)

    def shares_over_runs(hits: np.ndarray, chosen: np.ndarray) -> Estimate:
        found = over_runs(_mean_of(hits, chosen))
        low, high = opened(found.interval, found.value, int(chosen.sum()), config.condensation.confidence)
        return replace(found, interval=(max(low, 0.0), min(high, 1.0)))

    return Guessing(
        error_without=float(guessed.without.mean()),
        error_nonmembers=over_runs(_mean_of(guessed.test, ~members)),
        error_members=over_runs(_mean_of(guessed.test, members)),
        gain=over_runs(gain.mean(1)),
        member_gain=over_runs(differences(gain, members, usual.mean(0))),
        reconstructed_at=RECONSTRUCTED_AT,
        reconstructed_without=float((guessed.without <= RECONSTRUCTED_AT).mean()),
        reconstructed_nonmembers=shares_over_runs(hit, ~members),
        reconstructed_members=shares_over_runs(hit, members),
        member_reconstructions=_open_difference(
            config, over_runs(differences(hit, members, usual_hit.mean(0))), members.size // 2
        ),
        start_gain=over_runs(_mean_of(gain, started)) if started.any(1).all() else None,
    )


def differences(values: np.ndarray, members: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Run by run what members have over non-members, unbiased for fair coins."""
    return (2 * (2.0 * members - 1) * (values - centre)).mean(1)


def who_started(initial_records: Sequence[np.ndarray] | np.ndarray, num_records: int) -> np.ndarray:
    """Bool `[runs, records]`: an image of the run started from the record."""
    found = np.zeros((len(initial_records), num_records), dtype=bool)
    for own, records in zip(found, initial_records, strict=True):
        own[records[records >= 0]] = True
    return found


def _mean_of(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Run by run the mean over the chosen records."""
    return (values * chosen).sum(1) / np.maximum(chosen.sum(1), 1)


def _open_difference(config: AttributeConfig, found: Estimate, num_trials: int) -> Estimate:
    """The estimate; where not one record was reconstructed, an interval as wide as such a share leaves open."""
    if found.interval[1] > found.interval[0]:
        return found
    reach = opened((0.0, 0.0), 0.0, num_trials, config.condensation.confidence)[1]
    return replace(found, interval=(found.value - reach, found.value + reach))


def _over_runs(config: AttributeConfig, values: np.ndarray) -> Estimate:
    """The mean over test runs with Student's interval over runs or public draws."""
    shadows = config.condensation
    runs = np.arange(len(values))
    over_draws = interval_unit(shadows, len(values)) == PUBLIC_DRAWS
    clusters = runs % shadows.public_draws if over_draws else runs
    low, high = interval_of_mean(values, clusters, shadows.confidence)
    return Estimate(value=float(values.mean()), interval=(low, high))
