"""Which records have coins. By default all; with --audited a few, and all others are in every run.

The one-run theorem (Steinke, Nasr, Jagielski, arXiv:2305.08846) asks for fair coins of the audited records only,
whatever the others are. Their number decides what the adversary is in doubt about: it knows the others to be members.

Everything after the condensation (victims' confidences, signals, scores) is computed for audited records alone, as if
they were the pool: `audited_pool` is handed to whatever scores. Record numbers in tables are those of the whole pool.
"""

import re
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from attacks.canaries import canary_kinds
from audit.data.load import pool_checksum
from audit.games.membership.coins import is_coin_file, read_coins
from audit.games.membership.config import AuditConfig
from condensers.errors import BadConfig, BadData
from condensers.pool import Pool
from condensers.randomness import stream

# Records that are in every run, on which victims' accuracy is measured beside the audited ones.
MOST_OTHERS = 1000


def choose_audited(asked: str | None, pool: Pool, canaries: dict[str, int], seed: int) -> list[int] | None:
    """The numbers of the audited records, sorted, of a pool with its canaries; None where all records have coins.

    `asked` is a number, or a file of record numbers or of coins. Canaries are audited in addition.
    """
    if asked is None:
        return None
    kinds = canary_kinds(pool.labels.cpu().numpy(), pool.num_classes, canaries)
    ordinary = np.flatnonzero(kinds == 0)
    number = re.fullmatch(r"[0-9]+", asked.strip())
    chosen = _draw(int(asked), pool, ordinary, seed) if number else _read(Path(asked), pool, ordinary)
    together = np.sort(np.concatenate([chosen, np.flatnonzero(kinds > 0)]))
    if not len(together):
        raise BadConfig(f"--audited {asked}: no record would be audited; give a number above 0, or --canaries")
    return together.tolist()


def _draw(number: int, pool: Pool, ordinary: np.ndarray, seed: int) -> np.ndarray:
    """As many of each class, the first classes one more; fewer audited records are a subset of more."""
    if number > len(ordinary):
        raise BadConfig(f"--audited {number}: the pool has {len(ordinary)} ordinary records; leave it out to audit all")
    labels = pool.labels.cpu().numpy()[ordinary]
    orders = [
        ordinary[labels == label][stream(seed, "audited records", label).permutation(int((labels == label).sum()))]
        for label in range(pool.num_classes)
    ]
    place = np.concatenate([np.arange(len(order)) for order in orders])
    first = np.lexsort((np.repeat(np.arange(len(orders)), [len(order) for order in orders]), place))[:number]
    return np.concatenate(orders)[first]


def _read(path: Path, pool: Pool, ordinary: np.ndarray) -> np.ndarray:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise BadData(f"--audited {path}: neither a number nor a readable file: {reason}") from None
    if is_coin_file(text):
        checksum = pool_checksum(pool)
        coins = read_coins(path, dataset=pool.name, checksum=checksum, num_records=pool.num_records)
        return ordinary if coins.audited is None else np.flatnonzero(coins.audited)
    words = re.split(r"[\s,;]+", "\n".join(line.partition("#")[0] for line in text.splitlines()).strip())
    strange = next((word for word in words if not re.fullmatch(r"[0-9]{1,10}", word)), None)
    if strange is not None:
        raise BadData(f"--audited {path}: holds {strange!r} where the number of a record is expected")
    found = np.array([int(word) for word in words], dtype=np.int64)
    if len(np.unique(found)) < len(found):
        raise BadData(f"--audited {path}: names a record twice")
    outside = np.setdiff1d(found, ordinary)
    if len(outside):
        raise BadData(
            f"--audited {path}: there is no ordinary record {outside[0]}; records are numbered "
            f"0…{pool.num_records - 1} as by `audit coins`, and canaries are always audited"
        )
    return found


def audited_pool(config: AuditConfig, pool: Pool) -> Pool:
    """The audited records as a pool of their own, in their order; the pool itself where all are audited."""
    if config.audited_records is None:
        return pool
    return _part(pool, config.audited_records)


def other_records(config: AuditConfig, pool: Pool) -> Pool | None:
    """A fixed sample of the ordinary records that are in every run; None where there are none."""
    if config.audited_records is None:
        return None
    others = np.setdiff1d(np.arange(pool.num_records), config.audited_records)
    if not len(others):
        return None
    order = stream(config.seed, "records for accuracy").permutation(len(others))
    return _part(pool, np.sort(others[order[:MOST_OTHERS]]))


def _part(pool: Pool, records: np.ndarray | list[int]) -> Pool:
    index = torch.as_tensor(np.asarray(records, dtype=np.int64), device=pool.images.device)
    return Pool(
        name=pool.name,
        images=pool.images[index],
        labels=pool.labels[index],
        num_classes=pool.num_classes,
        auxiliary=pool.auxiliary,
    )


def record_numbers(config: AuditConfig, num_audited: int) -> np.ndarray:
    """Numbers in the whole pool of the records that have coins."""
    return np.arange(num_audited) if config.audited_records is None else np.array(config.audited_records)


def include_others(config: AuditConfig, members: np.ndarray, num_records: int) -> Tensor:
    """Who is in which run `[runs, records]`, of the coins `[runs, audited]`: all records without a coin are."""
    if config.audited_records is None:
        return torch.from_numpy(members)
    included = np.ones((len(members), num_records), dtype=bool)
    included[:, config.audited_records] = members
    return torch.from_numpy(included)
