"""The two protocols of Dong et al. (arXiv:2206.00240, Tables 1 and 2) for the loss attack."""

import numpy as np

from attacks.loss import advantage
from audit.games.membership.config import AuditConfig
from audit.games.membership.intervals import interval_of_runs
from condensers.randomness import stream
from reports.records import schema

PROTOCOL_RECORDS = 1000


def loss_protocols(
    config: AuditConfig, members: np.ndarray, scores: np.ndarray, initial: np.ndarray
) -> tuple[schema.Protocol, ...]:
    """Dong et al.'s two protocols for the loss attack, each run a seed of its own."""
    if config.attack != "loss":
        return ()
    first = config.shadows - config.test_runs
    tables: dict[str, list[tuple[int, float, int]]] = {"Table 2": [], "Table 1": []}
    for position in range(len(scores)):
        generator = stream(config.seed, "loss protocol", first + position)
        inside, outside = np.flatnonzero(members[position]), np.flatnonzero(~members[position])
        started = initial[first + position][initial[first + position] >= 0]
        if config.audited_records is not None:
            started = np.flatnonzero(np.isin(config.audited_records, started))
        others = np.setdiff1d(inside, started)
        for table, positives, negatives in (("Table 2", inside, outside), ("Table 1", started, others)):
            found = advantage(scores[position], positives, negatives, generator, PROTOCOL_RECORDS)
            if found is not None:
                tested = 2 * min(len(positives) // 2, len(negatives) // 2, PROTOCOL_RECORDS)
                tables[table].append((first + position, found, tested))
    notes = {
        "Table 2": "members against non-members; threshold from one half, advantage on the other",
        "Table 1": "records that images were initialised from, against as many other members",
    }
    return tuple(_protocol(config, table, found, notes[table]) for table, found in tables.items() if found)


def _protocol(config: AuditConfig, table: str, found: list[tuple[int, float, int]], note: str) -> schema.Protocol:
    """Of run, advantage and records tested. An advantage a is an accuracy of (1 + a)/2, which has an interval."""
    runs, advantages = np.array([run for run, _, _ in found]), np.array([value for _, value, _ in found])
    (low, high), unit = interval_of_runs(config, runs, (1 + advantages) / 2, min(tested for _, _, tested in found))
    return schema.Protocol(
        name=f"loss advantage, {table}",
        source=f"Dong et al., arXiv:2206.00240, {table}",
        advantage=float(advantages.mean()),
        advantage_interval=(2 * low - 1, 2 * high - 1),
        num_seeds=len(advantages),
        note=note,
        interval_unit=unit,
    )
