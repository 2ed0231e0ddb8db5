"""Anyone's table of scores (Parquet or CSV) as evidence of one unit.

Rows are put in order of run and record, so that the order of the file changes nothing.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from audit.data.limits import check_parquet
from audit.statistics.estimators.evidence import Bools, Floats, RecordEvidence, RunEvidence, check_runs_differ
from condensers.errors import BadConfig, BadData

_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Names of the columns. `run` may be missing where all rows are records of one run, `record` where one run is."""

    score: str = "score"
    member: str = "member"
    run: str = "run"
    record: str = "record"

    def __post_init__(self) -> None:
        names = list(vars(self).values())
        twice = [f"--{role}-column" for role, name in vars(self).items() if names.count(name) > 1]
        if twice:
            raise BadConfig(f"{' and '.join(twice)} name the same column; each needs a column of its own")


def read_evidence(path: Path, columns: Columns, *, unit: str | None) -> RunEvidence | RecordEvidence:
    """The evidence of a file. Without a unit: runs where every run has one row, records otherwise."""
    table = read_table(path)
    # What has its usual name may be missing; what somebody named must be there.
    named = [name for name in (columns.run, columns.record) if name not in vars(Columns()).values()]
    for name in (columns.score, columns.member, *named):
        _require(table, name, path)
    if table.empty:
        raise BadData(f"{path}: 0 trials, the table has no rows")
    rows_per_run = _rows_per_run(table, columns, path)
    if unit is None:
        unit = "run" if rows_per_run is not None and rows_per_run.max() == 1 else "record"
    if unit == "run":
        return _runs(table, columns, path, rows_per_run)
    return _records(table, columns, path, rows_per_run)


def read_table(path: Path) -> pd.DataFrame:
    """A Parquet or CSV file, or one line about what is wrong with it."""
    if not path.is_file():
        raise BadData(f"{path}: no such file")
    readers = {".parquet": _read_parquet, ".csv": _read_csv}
    if path.suffix.lower() not in readers:
        raise BadData(f"{path}: expected a .parquet or a .csv file")
    try:
        return readers[path.suffix.lower()](path)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadData(f"{path}: cannot be read as {path.suffix[1:]}: {reason}") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    """All columns of the file, also those that were the index of the table that was saved."""
    check_parquet(path)
    return parquet.read_table(path).to_pandas(ignore_metadata=True)


def _read_csv(path: Path) -> pd.DataFrame:
    """A column that stands twice would be renamed by pandas, and rows that are longer than the header would be shifted:
    which scores were meant is for the person to say."""
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, skipinitialspace=True)
    names = [name.strip() for name in header.iloc[0]]
    for name in names:
        if names.count(name) > 1:
            raise BadData(f"{path}: has two columns {name!r}; leave one of them out or rename it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(path, index_col=False, low_memory=False, skipinitialspace=True)
    except pd.errors.ParserWarning:
        raise BadData(f"{path}: its rows have more cells than its header, which names {', '.join(names)}") from None


def _require(table: pd.DataFrame, name: str, path: Path) -> None:
    if name not in table.columns:
        found = ", ".join(map(str, table.columns))
        raise BadData(
            f"{path}: no column {name!r}; there are {found}; name the columns with --score-column, --member-column, "
            "--run-column and --record-column"
        )


def _rows_per_run(table: pd.DataFrame, columns: Columns, path: Path) -> pd.Series | None:
    if columns.run not in table.columns:
        return None
    if table[columns.run].isna().any():
        raise BadData(f"{path}: column {columns.run!r} has empty cells; every row needs its run")
    _refuse_lists(table, columns.run, path)
    return table.groupby(columns.run, sort=True).size()


def _refuse_lists(table: pd.DataFrame, name: str, path: Path) -> None:
    if table[name].dtype == object and not table[name].map(pd.api.types.is_hashable).all():
        raise BadData(f"{path}: column {name!r} holds lists; every cell must be one number or one word")


def _scores(table: pd.DataFrame, columns: Columns, path: Path) -> Floats:
    scores = table[columns.score]
    if scores.dtype.kind not in "iuf":
        raise BadData(f"{path}: column {columns.score!r} does not hold numbers only")
    return scores.to_numpy(dtype=np.float64)


def read_members(table: pd.DataFrame, columns: Columns, path: Path) -> Bools:
    """Who was in, row by row."""
    members = table[columns.member]
    if members.dtype == np.bool_:
        return members.to_numpy()
    known = members.astype(str).str.strip().str.lower().map(_TRUTH)
    if known.isna().any():
        value = members[known.isna()].iloc[0]
        raise BadData(f"{path}: column {columns.member!r} holds {str(value)!r}; allowed are true, false, 1 and 0")
    return known.to_numpy(dtype=np.bool_)


def _runs(table: pd.DataFrame, columns: Columns, path: Path, rows_per_run: pd.Series | None) -> RunEvidence:
    if rows_per_run is None:
        raise BadData(
            f"{path}: --unit run needs a column that numbers the runs (--run-column), to check that every row is "
            "a run of its own; rows scored against one condensation share its randomness and are not independent "
            "trials"
        )
    if rows_per_run.max() > 1:
        raise BadData(
            f"{path}: run {rows_per_run.idxmax()} has {rows_per_run.max()} rows, --unit run needs one per run: records "
            "scored against one condensation share its randomness, so they are not independent trials; "
            "use --unit record"
        )
    ordered = table.sort_values(columns.run, kind="stable")
    members, scores = read_members(ordered, columns, path), _scores(ordered, columns, path)
    return RunEvidence(member_scores=scores[members], non_member_scores=scores[~members])


def _records(table: pd.DataFrame, columns: Columns, path: Path, rows_per_run: pd.Series | None) -> RecordEvidence:
    keys = [name for name in (columns.run, columns.record) if name in table.columns]
    num_runs = 1 if rows_per_run is None else rows_per_run.size
    if columns.record in table.columns:
        _refuse_lists(table, columns.record, path)
        twice = table.duplicated(keys)
        if twice.any():
            raise BadData(
                f"{path}: record {table.loc[twice, columns.record].iloc[0]} appears twice in one run; "
                "a record has one coin per run"
            )
    elif num_runs > 1:
        _require(table, columns.record, path)
    if rows_per_run is not None and rows_per_run.min() != rows_per_run.max():
        raise BadData(
            f"{path}: run {rows_per_run.idxmin()} has {rows_per_run.min()} records and run {rows_per_run.idxmax()} has "
            f"{rows_per_run.max()}; every run must score the same records"
        )
    ordered = table.sort_values(keys, kind="stable") if keys else table
    if num_runs > 1:
        records = ordered[columns.record].to_numpy().reshape(num_runs, -1)
        if not (records == records[0]).all():
            raise BadData(f"{path}: runs score different records; every run must score the same records")
    shape = (num_runs, len(table) // num_runs)
    evidence = RecordEvidence(
        members=read_members(ordered, columns, path).reshape(shape),
        scores=_scores(ordered, columns, path).reshape(shape),
    )
    check_runs_differ(evidence.members)
    return evidence
