"""Records in groups, each reported by itself: classes, groups that a file names, and kinds of canaries.

Who belongs to which group is decided by --groups and --canaries, before any score is seen. The bounds of all groups
hold with the confidence at once: the error is divided among them (Bonferroni). A group may be as small as one record.
What its coins cannot certify is 0, and where all of them fell on one side there is no AUC.
"""

import csv
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attacks.canaries import ORDINARY, canary_kinds, parse_canaries
from audit.games.membership.audited import record_numbers
from audit.games.membership.config import AuditConfig
from audit.games.membership.crossfit import CrossFitted
from audit.games.membership.headline import bound_coins, headline_estimator
from audit.games.membership.intervals import measure_test_runs
from condensers.errors import BadConfig, BadData
from condensers.pool import Pool
from reports.records import schema

BY_LABEL = "label"
RECORD, GROUP = "record", "group"
MOST_GROUPS = 200
LONGEST_NAME = 60
MOST_BYTES = 256 << 20
ONE_SIDED = "all coins of the group fell on one side, so that nothing can be certified"


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouping:
    """`places` `[records]` are those of the records' groups in `names`."""

    names: tuple[str, ...]
    places: np.ndarray

    @property
    def sha256(self) -> str:
        content = "\n".join([*self.names, *map(str, self.places.tolist())])
        return hashlib.sha256(content.encode()).hexdigest()


def read_grouping(asked: str, labels: np.ndarray | None, num_records: int) -> Grouping:
    """What --groups says about records that are numbered from 0; `labels` are None where they are not known."""
    if asked != BY_LABEL:
        return _read_file(asked, num_records)
    if labels is None:
        raise BadConfig("--groups label: the labels of the records are not known; give the groups in a file")
    values, places = np.unique(labels, return_inverse=True)
    return _checked(asked, tuple(f"label {value}" for value in values.tolist()), places)


def describe_groups(asked: str | None, pool: Pool, canaries: dict[str, int]) -> dict[str, Any] | None:
    """What a configuration keeps of --groups: the question, and a checksum of who belongs to which group."""
    if asked is None:
        return None
    return facts_of(asked, _of_ordinary_records(asked, pool, canaries)[0])


def facts_of(asked: str, grouping: Grouping) -> dict[str, Any]:
    """The same of a grouping that was read already."""
    return {"asked": asked, "checksum": grouping.sha256}


def group_records(
    config: AuditConfig, pool: Pool, members: np.ndarray, scores: np.ndarray, fitted: CrossFitted | None = None
) -> tuple[schema.RecordGroup, ...]:
    """The groups of --groups, or ordinary records as one, and every kind of canary by itself; none if nobody asked."""
    canaries = parse_canaries(config.canaries)
    if not canaries and config.groups is None:
        return ()
    names, places = [ORDINARY], canary_kinds(pool.labels.numpy(), pool.num_classes, canaries)
    if config.groups is not None:
        grouping, ordinary = _of_ordinary_records(config.groups["asked"], pool, canaries)
        if grouping.sha256 != config.groups["checksum"]:
            raise BadData(f"--groups {config.groups['asked']}: the file was changed while the audit ran; run it again")
        names = list(grouping.names)
        places = np.where(places > 0, places + len(names) - 1, 0)
        places[ordinary] = grouping.places
    return measure_groups(
        Grouping(names=(*names, *canaries), places=places[record_numbers(config, members.shape[1])]),
        members,
        scores,
        fitted,
        measure=lambda own, seen: measure_test_runs(config, own, seen),
        delta=config.delta,
        confidence=config.confidence,
        tries=config.tries,
    )


def measure_groups(
    grouping: Grouping,
    members: np.ndarray,
    scores: np.ndarray,
    fitted: CrossFitted | None,
    *,
    measure: Callable[[np.ndarray, np.ndarray], schema.Roc],
    delta: float,
    confidence: float,
    tries: int,
) -> tuple[schema.RecordGroup, ...]:
    """Every group that has a record, from the test runs `[test runs, records]`; all groups share the error."""
    groups = []
    for place, name in enumerate(grouping.names):
        own = grouping.places == place
        if not own.any():
            continue
        coins, seen, num_tries = members[:, own], scores[:, own], tries * len(grouping.names)
        one_sided = coins.all() or not coins.any()
        roc = None if one_sided else measure(coins, seen)
        groups.append(
            schema.RecordGroup(
                name=name,
                num_records=int(own.sum()),
                auc=None if roc is None else roc.auc,
                auc_interval=None if roc is None else roc.auc_interval,
                tpr_at_fpr={} if roc is None else roc.tpr_at_fpr,
                tpr_at_fpr_interval={} if roc is None else roc.tpr_at_fpr_interval,
                epsilon=_nothing(coins, delta, confidence, num_tries)
                if one_sided
                else bound_coins(
                    coins,
                    seen,
                    delta=delta,
                    confidence=confidence,
                    fitted=_fitted_part(fitted, own),
                    num_tries=num_tries,
                ),
            )
        )
    return tuple(groups)


def _fitted_part(fitted: CrossFitted | None, own: np.ndarray) -> CrossFitted | None:
    """The fit runs of a group, if any of its coins there could be scored."""
    part = None if fitted is None else fitted.of(own)
    return part if part is not None and len(part.coins[0]) else None


def _nothing(coins: np.ndarray, delta: float, confidence: float, num_tries: int) -> schema.EpsilonBound:
    """ε ≥ 0, which always holds."""
    return schema.EpsilonBound(
        lower=0.0,
        delta=delta,
        confidence=confidence,
        estimator=headline_estimator(delta),
        unit="record",
        num_trials=int(coins.size),
        ceiling=0.0,
        assumptions=(),
        threshold_choice=ONE_SIDED,
        num_tries=num_tries,
    )


def _of_ordinary_records(asked: str, pool: Pool, canaries: dict[str, int]) -> tuple[Grouping, np.ndarray]:
    """The groups of the records that are no canaries, and their numbers in the pool with canaries.

    A file numbers records as `audit coins` does, without canaries.
    """
    labels = pool.labels.numpy()
    ordinary = np.flatnonzero(canary_kinds(labels, pool.num_classes, canaries) == 0)
    return read_grouping(asked, labels[ordinary], len(ordinary)), ordinary


def _read_file(asked: str, num_records: int) -> Grouping:
    path, column = _path_and_column(asked)
    lines = _read_lines(asked, path)
    table = list(csv.reader(line for line in lines if line.strip() and not line.startswith("#")))
    names = [] if not table else [name.strip() for name in table[0]]
    for wanted in (RECORD, column):
        if names.count(wanted) != 1:
            raise BadData(
                f"--groups {asked}: needs one column {wanted!r}, has {', '.join(map(repr, names[:20])) or 'none'}; "
                "another column of groups is chosen by FILE:COLUMN"
            )
    if any(len(line) != len(names) for line in table[1:]):
        raise BadData(f"--groups {asked}: has lines that do not have {len(names)} fields")
    records = [line[names.index(RECORD)].strip() for line in table[1:]]
    if sorted(records) != sorted(map(str, range(num_records))):
        raise BadData(
            f"--groups {asked}: must name each of the records 0…{num_records - 1} once, in any order, "
            "numbered as in a file of `audit coins`"
        )
    given = np.empty(num_records, dtype=object)
    given[np.array(records, dtype=np.int64)] = [line[names.index(column)].strip() for line in table[1:]]
    values, places = np.unique(given.astype(str), return_inverse=True)
    return _checked(asked, tuple(values.tolist()), places)


def _path_and_column(asked: str) -> tuple[Path, str]:
    """A file, and behind a colon the column that holds the groups."""
    path, colon, column = asked.rpartition(":")
    if colon and path and column and not os.path.exists(asked):
        return Path(path), column
    return Path(asked), GROUP


def _read_lines(asked: str, path: Path) -> list[str]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadData(f"--groups {asked}: is larger than {MOST_BYTES >> 20} MiB")
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise BadData(f"--groups {asked}: neither {BY_LABEL!r} nor a readable file: {reason}") from None


def _checked(asked: str, names: tuple[str, ...], places: np.ndarray) -> Grouping:
    if len(names) > MOST_GROUPS:
        raise BadData(f"--groups {asked}: defines {len(names)} groups; at most {MOST_GROUPS} are allowed")
    strange = next((name for name in names if not name or len(name) > LONGEST_NAME or not name.isprintable()), None)
    if strange is not None:
        raise BadData(
            f"--groups {asked}: {strange[:LONGEST_NAME]!r} is not a valid name of a group; give 1 to "
            f"{LONGEST_NAME} printable characters for every record"
        )
    return Grouping(names=names, places=places.reshape(-1))
