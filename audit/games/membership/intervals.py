"""Intervals of what the test runs show: over public draws where there are several, else over runs."""

import numpy as np

from audit.games.membership.config import AuditConfig
from audit.games.membership.draws import draws_of, interval_unit
from audit.statistics.clustered import interval_of_mean, measure_roc_over_draws
from audit.statistics.roc import measure_roc, opened
from reports.records.intervals import PUBLIC_DRAWS, RECORDS
from reports.records.schema import Roc


def measure_test_runs(config: AuditConfig, members: np.ndarray, scores: np.ndarray) -> Roc:
    """ROC of the test runs, with intervals over public draws where there are several, else over runs."""
    draws = draws_of(config, len(members))
    if draws is not None:
        return measure_roc_over_draws(members, scores, draws, confidence=config.confidence, seed=config.seed)
    unit = interval_unit(config, len(members))
    return measure_roc(members, scores, confidence=config.confidence, seed=config.seed, unit=unit)


def interval_of_runs(
    config: AuditConfig, runs: np.ndarray, shares: np.ndarray, num_records: int
) -> tuple[tuple[float, float], str]:
    """Interval of the mean of `shares` (in [0, 1], one for each of `runs`), and what it is over.

    A share is that of `num_records` records. Of a single run, or of runs that all have the same, the interval is that
    of a binomial share, as if the records were independent.
    """
    point = float(shares.mean())
    unit = interval_unit(config, len(shares))
    interval = (point, point)
    if unit != RECORDS:
        interval = interval_of_mean(
            shares, runs % config.public_draws if unit == PUBLIC_DRAWS else runs, config.confidence
        )
    if interval[1] > interval[0]:
        return interval, unit
    return opened(interval, point, num_records * len(shares), config.confidence), RECORDS
