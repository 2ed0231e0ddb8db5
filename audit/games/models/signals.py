"""Signals of models that somebody trained without this program: tables and archives of them, checked and brought to
one scale.

A table (.csv, .parquet) has a row for every run and record, and the columns

    run, record, member        numbers of the run and of the record (0 … n − 1), and whether it was trained on
    logit | confidence | loss  what the adversary sees of the record: ln(p/(1 − p)), p, or −ln p of its true label
    role                       fit or test, the same in all rows of a run; not needed
    label                      class of the record; not needed

An archive (.npz) holds `members` [runs, records], one of `logit`, `confidence`, `loss` as [runs, records] or [runs,
records, queries], and if wanted `test` [runs] (true: a test run), `labels` [records] and `name`. Nothing pickled is
loaded.
"""

import hashlib
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from audit.statistics.estimators.table import Columns, read_members, read_table
from condensers.errors import BadConfig, BadData

KINDS = ("logit", "confidence", "loss")
ROLES = ("fit", "test")
# A probability is kept this far from 0 and 1, about what float32 resolves, so that ln(p/(1 − p)) lies within ±16.2.
SMALLEST_PROBABILITY = 1e-7
LARGEST_LOGIT = 1e15  # whose square and sums of squares are finite in single precision
MOST_BYTES = 4 << 30


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelSignals:
    """ln(p/(1 − p)) `[runs, records, queries]`, who was in `[runs, records]`, and who is tested `[runs]` if said."""

    name: str
    kind: str
    signals: np.ndarray
    members: np.ndarray
    tested: np.ndarray | None = None
    labels: np.ndarray | None = None

    def __post_init__(self) -> None:
        runs, records = self.members.shape
        for name, array, shape in (("tested", self.tested, (runs,)), ("labels", self.labels, (records,))):
            if array is not None and array.shape != shape:
                raise BadData(f"{self.name}: {name} have shape {list(array.shape)}, expected {list(shape)}")
        if self.signals.shape[:2] != self.members.shape or self.signals.ndim != 3 or not self.signals.size:
            raise BadData(
                f"{self.name}: {self.kind} has shape {list(self.signals.shape)} and members "
                f"{list(self.members.shape)}; expected a signal for every run and record"
            )

    @property
    def sha256(self) -> str:
        """Of all that a figure depends on."""
        digest = hashlib.sha256(f"{self.signals.shape}".encode())
        digest.update(np.ascontiguousarray(self.signals, dtype="<f4").tobytes())
        digest.update(np.packbits(self.members, axis=1).tobytes())
        for array in (self.tested, self.labels):
            digest.update(b"-" if array is None else np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()


def to_logits(values: np.ndarray, kind: str, where: str) -> np.ndarray:
    """Signals of a kind as ln(p/(1 − p)), float32.

    >>> to_logits(np.array([0.5, 1.0]), "confidence", "x").round(2).tolist()
    [0.0, 16.1200008392334]
    """
    if kind not in KINDS:
        raise BadConfig(f"signal {kind!r}: must be one of {', '.join(KINDS)}")
    try:
        signals = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadData(f"{where}: {kind} does not hold numbers only") from None
    if not np.isfinite(signals).all():
        raise BadData(f"{where}: {int((~np.isfinite(signals)).sum())} of {signals.size} signals are NaN or infinite")
    if kind == "logit":
        if np.abs(signals).max(initial=0.0) > LARGEST_LOGIT:
            raise BadData(f"{where}: a logit is beyond ±{LARGEST_LOGIT:g}; divide all of them by a constant")
        return signals.astype(np.float32)
    if kind == "loss":
        if signals.min(initial=0.0) < 0:
            raise BadData(
                f"{where}: a loss is {signals.min():g}, but −ln p is never negative; give other signals as logit"
            )
        signals = np.exp(-signals)
    elif signals.min(initial=0.0) < 0 or signals.max(initial=0.0) > 1:
        raise BadData(f"{where}: a confidence lies outside [0, 1]; give other signals as logit")
    kept = signals.clip(SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return (np.log(kept) - np.log1p(-kept)).astype(np.float32)


def read_signals(path: Path) -> ModelSignals:
    """The signals of a file, or one line about what is wrong with it."""
    if path.suffix.lower() == ".npz":
        return _read_archive(path)
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        raise BadData(f"--scores {path}: is larger than {MOST_BYTES >> 30} GiB; give the signals as .npz")
    table = read_table(path)
    kind = _kind_of(path, [str(name) for name in table.columns])
    for name in ("run", "record", "member"):
        if name not in table.columns:
            raise BadData(f"--scores {path}: no column {name!r}; expected run, record, member and {' or '.join(KINDS)}")
    if table.empty:
        raise BadData(f"--scores {path}: has no rows")
    table = _in_order(path, table)
    num_runs = table["run"].nunique()
    shape = (num_runs, len(table) // num_runs)
    return ModelSignals(
        name=path.stem,
        kind=kind,
        signals=to_logits(table[kind].to_numpy(), kind, f"--scores {path}").reshape(*shape, 1),
        members=read_members(table, Columns(), path).reshape(shape),
        tested=_roles(path, table, shape) if "role" in table.columns else None,
        labels=_labels(path, table, shape) if "label" in table.columns else None,
    )


def write_signals(path: Path, found: ModelSignals) -> None:
    """As an archive that `read_signals` reads, with the same bytes for the same signals."""
    optional = {"test": found.tested, "labels": found.labels}
    arrays: dict[str, Any] = {name: array for name, array in optional.items() if array is not None}
    with open(path, "wb") as file:
        np.savez(file, members=found.members, logit=found.signals, name=np.array(found.name), **arrays)


def _kind_of(path: Path, names: list[str]) -> str:
    kinds = [kind for kind in KINDS if kind in names]
    if len(kinds) != 1:
        raise BadData(
            f"--scores {path}: needs one of {', '.join(KINDS)}, has {', '.join(kinds or names[:20]) or 'none'}"
        )
    return kinds[0]


def _in_order(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """By run and record, if every run has each of the records 0 … n − 1 once."""
    for name in ("run", "record"):
        if table[name].dtype.kind not in "iu":
            raise BadData(f"--scores {path}: column {name!r} must hold whole numbers")
    table = table.sort_values(["run", "record"], kind="stable", ignore_index=True)
    num_runs = table["run"].nunique()
    num_records = len(table) // num_runs
    expected = np.tile(np.arange(num_records), num_runs)
    if len(table) != num_runs * num_records or not (table["record"].to_numpy() == expected).all():
        raise BadData(
            f"--scores {path}: every run must have the same records, numbered 0…n − 1, each once; {len(table)} rows of "
            f"{num_runs} runs do not"
        )
    return table


def _roles(path: Path, table: pd.DataFrame, shape: tuple[int, int]) -> np.ndarray:
    roles = table["role"].astype(str).str.strip().to_numpy().reshape(shape)
    if not np.isin(roles, ROLES).all() or not (roles == roles[:, :1]).all():
        raise BadData(f"--scores {path}: column 'role' must say fit or test, the same in all rows of a run")
    return roles[:, 0] == "test"


def _labels(path: Path, table: pd.DataFrame, shape: tuple[int, int]) -> np.ndarray:
    if table["label"].dtype.kind not in "iu":
        raise BadData(f"--scores {path}: column 'label' must hold whole numbers")
    labels = table["label"].to_numpy(dtype=np.int64).reshape(shape)
    if not (labels == labels[0]).all():
        raise BadData(f"--scores {path}: a record has different labels in different runs")
    return labels[0]


def _read_archive(path: Path) -> ModelSignals:
    where = f"--scores {path}"
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise BadData(
            f"{where}: {'is not an .npz archive' if path.is_file() else 'no such file'}; numpy.savez writes one"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                raise BadData(f"{where}: unpacks to more than {MOST_BYTES >> 30} GiB")
        with np.load(path, allow_pickle=False) as archive:
            kind = _kind_of(path, archive.files)
            if "members" not in archive.files:
                raise BadData(f"{where}: holds no array members; expected [runs, records], true where a record was in")
            arrays = {name: archive[name] for name in ("members", kind, "test", "labels", "name") if name in archive}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        reason = "holds Python objects, which are never loaded" if "pickle" in str(error) else "is damaged"
        raise BadData(f"{where}: {reason}; save plain arrays with numpy.savez") from None
    members, signals = arrays["members"], to_logits(arrays[kind], kind, where)
    return ModelSignals(
        name=str(arrays["name"]) if "name" in arrays and arrays["name"].ndim == 0 else path.stem,
        kind=kind,
        signals=signals[:, :, None] if signals.ndim == 2 else signals,
        members=as_bools(f"{where}: members", members, 2),
        tested=as_bools(f"{where}: test", arrays["test"], 1) if "test" in arrays else None,
        labels=_whole_numbers(where, arrays["labels"]) if "labels" in arrays else None,
    )


def as_bools(where: str, values: np.ndarray, dimensions: int) -> np.ndarray:
    """An array of true and false, or of 1 and 0."""
    if values.ndim != dimensions or values.dtype.kind not in "biu" or not np.isin(values, (0, 1)).all():
        raise BadData(f"{where}: expected true or false (or 1 or 0) in {dimensions} dimensions")
    return values.astype(bool)


def _whole_numbers(where: str, labels: np.ndarray) -> np.ndarray:
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise BadData(f"{where}: labels must be whole numbers, one per record")
    return labels.astype(np.int64)
