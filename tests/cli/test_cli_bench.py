"""`audit bench`: a table, and the same as JSON."""

import json

import pytest
from click.testing import CliRunner

from audit.commands.bench import bench, describe
from audit.games.bench import Bench, Row
from condensers.errors import BadConfig


@pytest.mark.slow
def test_table_and_json() -> None:
    small = ["--device", "cpu", "--shadows", "2", "--steps", "1"]
    found = json.loads(CliRunner().invoke(bench, [*small, "--json"], catch_exceptions=False).stdout)
    assert found["device"] == "cpu"
    assert found["gigaflops"] > 0
    assert {"torch", "numpy", "scipy", "condensation-audit"} == set(found["versions"])
    assert len(found["rows"]) == 7
    for row in found["rows"]:
        assert row["seconds"] > 0
        assert (row["ratio"] is None) == ("on the host" in row["what"])
    rows = tuple(Row(**{name: row[name] for name in ("what", "seconds", "alone")}) for row in found.pop("rows"))
    printed = describe(Bench(**found, rows=rows))
    assert printed.count("\n| ") == 8
    assert "device cpu, 1 thread" in printed


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(BadConfig, match="--steps 0"):
        CliRunner().invoke(bench, ["--steps", "0"], catch_exceptions=False)
