"""Tables for `audit epsilon` in other spellings: read as they are meant, or refused in one line."""

from pathlib import Path

import pytest
import test_cli_epsilon
from test_cli_epsilon import Run, records_table, runs_table, save

audit = test_cli_epsilon.audit  # the fixture


MISREAD_TEXTS = {
    "a mark before two columns": ("\ufeffscore,run,member,score\n", "{score},{run},{member},0\n", "two columns"),
    "an empty line before two columns": ("\nscore,run,member,score\n", "{score},{run},{member},0\n", "two columns"),
    "a header without record": ("run,member,score\n", "{run},0,{member},{score}\n", "more cells than its header"),
}


@pytest.mark.parametrize("name", list(MISREAD_TEXTS))
def test_text_whose_columns_are_in_doubt_is_refused_against_one_line(audit: Run, tmp_path: Path, name: str):
    header, row, words = MISREAD_TEXTS[name]
    rows = [row.format(**trial) for trial in runs_table(50).to_dict("records")]
    (tmp_path / "scores.csv").write_text(header + "".join(rows), encoding="utf-8")
    outcome = audit("epsilon", tmp_path / "scores.csv")
    assert outcome.code == 2
    assert outcome.out == ""
    assert words in outcome.err


@pytest.mark.parametrize("name", ["run", "record"])
def test_lists_in_cells_are_refused_against_one_line(audit: Run, tmp_path: Path, name: str):
    table = records_table()
    outcome = audit("epsilon", save(table.assign(**{name: [[cell] for cell in table[name]]}), tmp_path / "s.parquet"))
    assert outcome.code == 2
    assert f"column {name!r} holds lists" in outcome.err


def test_other_spellings_of_a_table_against_the_same_bounds(audit: Run, tmp_path: Path):
    """Columns that pandas keeps as an index, spaces and a comma at the ends of lines change nothing."""
    table = records_table()
    table.set_index(["run", "record"]).to_parquet(tmp_path / "index.parquet")
    text = table.to_csv(index=False)
    (tmp_path / "spaces.csv").write_text(text.replace(",", ", "), encoding="utf-8-sig")
    (tmp_path / "comma.csv").write_text(text.replace("\n", ",\n").replace("score,", "score"))
    expected = audit("epsilon", save(table, tmp_path / "scores.csv"), "--json")
    assert expected.code == 0
    for name in ("index.parquet", "spaces.csv", "comma.csv"):
        assert audit("epsilon", tmp_path / name, "--json") == expected
