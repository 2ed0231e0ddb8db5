"""Coins for a condenser that runs elsewhere: who is in which set, drawn before anything is condensed, in a text file.

An auditor who has somebody else condense draws one fair coin per record and set, hands over the members, and keeps the
file. The bounds on what comes back rest on these coins alone (Steinke, Nasr, Jagielski, arXiv:2305.08846): so they come
from the operating system unless a seed is given, and a file is never drawn over. A seeded stream has a key of its own:
no seed makes these coins those of an audit's shadow runs.

The file is CSV with `#` lines before its header: the pool's name, size and sha256, then a line for each record of the
pool in its order, with 1 where it is in the set. `row` is where the record stands in the data set's own order. With
`--audited` a column `audited` has 1 where the record has a coin; all others are in every set.
"""

import csv
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from audit.data.limits import read_text
from audit.data.load import pool_checksum
from audit.engine.store import write_text
from audit.games.membership.game import INCLUSION_PROBABILITY
from audit.specs.condense import Condense
from condensers.errors import BadConfig, BadData, BadInput
from condensers.pool import Pool
from condensers.randomness import stream

FORMAT = "condensation-audit coins 1"
MOST_SETS = 1000
# The two-sided tail below which nobody takes a column for fair coins; `estimators.evidence` refuses the same.
UNFAIR = 1e-9
_COLUMN = re.compile(r"set_(0|[1-9][0-9]*)")


@dataclass(frozen=True, kw_only=True, eq=False)
class Coins:
    """`members` `[sets, records]` over the pool with this checksum; `audited` `[records]` have coins, None: all."""

    dataset: str
    checksum: str
    members: np.ndarray
    audited: np.ndarray | None = None

    @property
    def num_sets(self) -> int:
        return self.members.shape[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnOfCoins:
    """The members `[records]` of one set, the number of its column, and who has a coin (None: all)."""

    members: np.ndarray
    column: int
    audited: np.ndarray | None = None


def draw_coins(num_sets: int, num_records: int, seed: int | None, audited: np.ndarray | None = None) -> np.ndarray:
    """Fair coins `[sets, records]`; without a seed, from the operating system. Who is not audited is in every set."""
    if not 1 <= num_sets <= MOST_SETS:
        raise BadConfig(f"--sets {num_sets}: must lie in 1…{MOST_SETS}")
    source = secrets.randbits(128) if seed is None else seed
    draws = [stream(source, "coins for others", column).random(num_records) for column in range(num_sets)]
    members = np.array(draws) < INCLUSION_PROBABILITY
    return members if audited is None else members | ~audited


def is_coin_file(text: str) -> bool:
    return text.lstrip("# ").startswith(FORMAT)


def write_coins(path: Path, coins: Coins, rows: np.ndarray, labels: np.ndarray) -> None:
    """Write the file; a file that is there already holds coins that something may have been made with."""
    if path.exists():
        raise BadInput(
            f"--out {path}: already exists; coins must be drawn once, before the set is made; choose another file"
        )
    names = [] if coins.audited is None else ["audited"]
    head = [
        f"# {FORMAT}",
        f"# dataset: {coins.dataset}",
        f"# records: {coins.members.shape[1]}",
        f"# pool: {coins.checksum}",
        *([] if coins.audited is None else [f"# audited: {int(coins.audited.sum())}, all others are in every set"]),
        "# 1: the record is in the set. Keep this file secret from the attacker; give the members to those who "
        "make the sets.",
        ",".join(["record", "row", "label", *names, *(f"set_{column}" for column in range(coins.num_sets))]),
    ]
    marks = [] if coins.audited is None else [coins.audited.astype(np.int64)]
    columns = np.stack([np.arange(len(rows)), rows, labels, *marks, *coins.members.astype(np.int64)], 1)
    write_text(path, "\n".join([*head, *(",".join(map(str, line)) for line in columns.tolist())]) + "\n")


def read_coins(path: Path, *, dataset: str, checksum: str, num_records: int) -> Coins:
    """The coins of a file, if they are those of the pool with this checksum."""
    try:
        lines = read_text(Path(path)).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise BadData(f"--members {path}: cannot be read: {reason}") from None
    head = dict(line[1:].strip().partition(":")[::2] for line in lines if line.startswith("#"))
    stated = {name.strip(): value.strip() for name, value in head.items()}
    if "pool" not in stated or not any(map(is_coin_file, lines[:1])):
        raise BadData(f"--members {path}: is not a file of coins; `audit coins --out FILE` writes one")
    if stated["pool"] != checksum:
        raise BadData(
            f"--members {path}: its coins are for other records: {stated.get('records', '?')} of "
            f"{stated.get('dataset', '?')} with sha256 {stated['pool'][:12]}…, not {num_records} of {dataset} with "
            f"{checksum[:12]}…; give the --dataset and --records that `audit coins` had"
        )
    members, audited = _read_table(path, [line for line in lines if line and not line.startswith("#")], num_records)
    return Coins(dataset=dataset, checksum=checksum, members=members, audited=audited)


def take_column(coins: Coins, path: Path, column: int) -> np.ndarray:
    """The coins `[records]` of one set."""
    if not 0 <= column < coins.num_sets:
        raise BadConfig(f"--column {column}: {path} has coins of {coins.num_sets} sets, 0…{coins.num_sets - 1}")
    return coins.members[column]


def choose_members(spec: Condense, pool: Pool) -> ColumnOfCoins | None:
    """Whom the specification condenses by coins; None where everybody is condensed."""
    if spec.members is None:
        return None
    path = Path(spec.members)
    coins = read_coins(path, dataset=spec.dataset, checksum=pool_checksum(pool), num_records=pool.num_records)
    return ColumnOfCoins(members=take_column(coins, path, spec.column), column=spec.column, audited=coins.audited)


def _read_table(path: Path, lines: list[str], num_records: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Membership `[sets, records]`, every record once, every coin 0 or 1, no column beyond belief; who has a coin."""
    from scipy.stats import binom  # workers import this module, and wait for nothing that they do not use

    try:
        table = list(csv.reader(lines))
    except csv.Error as error:
        raise BadData(f"--members {path}: is not a table of coins: {error}") from None
    names = [] if not table else [name.strip() for name in table[0]]
    columns = [place for place, name in enumerate(names) if _COLUMN.fullmatch(name)]
    if "record" not in names or [names[place] for place in columns] != [f"set_{k}" for k in range(len(columns))]:
        raise BadData(f"--members {path}: columns {', '.join(names) or 'none'}; expected record, set_0, set_1 …")
    if not columns:
        raise BadData(f"--members {path}: holds coins of no set; expected a column set_0")
    if any(len(line) != len(names) for line in table[1:]):
        raise BadData(f"--members {path}: has lines that do not have {len(names)} fields; it was altered or cut off")
    records = [line[names.index("record")].strip() for line in table[1:]]
    if sorted(records) != sorted(map(str, range(num_records))):
        raise BadData(f"--members {path}: must have each of the records 0…{num_records - 1} once, in any order")
    marks = [names.index("audited")] if "audited" in names else []
    coins = [[line[place].strip() for place in (*columns, *marks)] for line in table[1:]]
    strange = next((value for line in coins for value in line if value not in ("0", "1")), None)
    if strange is not None:
        raise BadData(f"--members {path}: holds {strange!r} where 0 or 1 is expected")
    whole = np.empty((len(columns) + len(marks), num_records), dtype=bool)
    whole[:, np.array(records, dtype=np.int64)] = (np.array(coins) == "1").T
    members, audited = whole[: len(columns)], whole[-1] if marks else None
    tossed = members if audited is None else members[:, audited]
    if audited is not None and not (members[:, ~audited].all() and audited.any()):
        raise BadData(f"--members {path}: a record that is not audited is left out of a set; the file was altered")
    for column, own in enumerate(tossed):
        inside, number = int(own.sum()), tossed.shape[1]
        if 2 * binom.cdf(min(inside, number - inside), number, INCLUSION_PROBABILITY) < UNFAIR:
            raise BadData(
                f"--members {path}: {inside} of {number} records are in set_{column}, which is implausible for "
                "fair coins; an audit is valid only with fair coins"
            )
    return members, audited
