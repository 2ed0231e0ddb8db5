"""`--public-draws` from end to end: resumed to the same bytes, refused where it cannot be, tested by the gate."""

# ruff: noqa: F401, F811  (fixtures that are imported look unused, and arguments like them look like new definitions)

import json
from pathlib import Path

import pytest
from inline import compute_inline
from test_cli_attack import TINY, Run, inline, run

from audit.gate.file import read_gate
from condensers.errors import BadConfig

pytestmark = pytest.mark.usefixtures("inline")
SEVERAL = ("--level", "set", "--public-draws", "4", "--test-runs", "8", "--shadows", "32")
REGRESSION = """
[[regression]]
method = "{method}"
metrics = ["auc"]
{more}
"""


def bytes_of(out: Path) -> dict[str, bytes]:
    (directory,) = out.iterdir()
    names = ("scores.parquet", "report.json", "shards/*.safetensors")
    return {str(path.relative_to(out)): path.read_bytes() for name in names for path in directory.glob(name)}


def test_a_resumed_audit_of_four_draws_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    outcome = run(*TINY, *SEVERAL, "--out", tmp_path)
    assert outcome.code == 0
    assert "(over public draws)" in outcome.out
    before = bytes_of(tmp_path)
    (directory,) = tmp_path.iterdir()
    shards = sorted(directory.glob("shards/*.safetensors"))
    assert len(shards) == 8
    for path in (shards[1], shards[6], directory / "report.json", directory / "scores.parquet"):
        path.unlink()
    again = run(*TINY, *SEVERAL, "--out", tmp_path)
    assert "24 of 32 runs are done" in again.err
    assert bytes_of(tmp_path) == before
    record = json.loads((directory / "report.json").read_text())
    assert record["game"]["public_draws"] == 4
    assert record["roc"]["interval_unit"] == "public draws"
    assert "--public-draws 4" in record["command"]


def test_one_draw_says_given_this_public_randomness(run: Run, tmp_path: Path) -> None:
    outcome = run(*TINY, "--out", tmp_path)
    lines = [line for line in outcome.out.splitlines() if "[" in line]
    assert len(lines) == 4
    assert all(line.endswith("(given this public randomness)") for line in lines)


def test_compare_fits_every_entry_draw_by_draw(run: Run, tmp_path: Path) -> None:
    asked = ("--attacks", "rmia:model:4,lira:set", "--public-draws", "2", "--shadows", "64", "--test-runs", "8")
    outcome = run("compare", *TINY[1:], *asked, "--out", tmp_path, "--json")
    entries = json.loads(outcome.out)["entries"]
    assert [entry["num_fit_runs"] for entry in entries] == [4, 28]
    assert {entry["roc"]["interval_unit"] for entry in entries} == {"public draws"}


def test_sets_of_somebody_else_have_draws_of_their_own(run: Run, tmp_path: Path) -> None:
    outcome = run(*TINY, *SEVERAL[:4], "--synthetic", tmp_path / "set.npz", "--members", tmp_path / "coins.npz")
    assert outcome.code == 2
    assert "--public-draws: has no meaning with --synthetic" in outcome.err


@pytest.mark.parametrize(
    ("method", "more", "expected"),
    [
        ("dm", "", 8),
        ("dm", "public_draws = 16", 16),
        ("dm", "independent_randomness = true", 1),
        ("dpsgd", "", 1),
    ],
    ids=["default", "given", "independent", "network"],
)
def test_recorded_figures_take_several_draws(tmp_path: Path, method: str, more: str, expected: int) -> None:
    path = tmp_path / "privacy.toml"
    path.write_text(REGRESSION.format(method=method, more=more))
    (item,) = read_gate(path).items
    assert item.spec.public_draws == expected


def test_recorded_figures_are_not_taken_from_few_draws(tmp_path: Path) -> None:
    path = tmp_path / "privacy.toml"
    path.write_text(REGRESSION.format(method="dm", more="public_draws = 2"))
    with pytest.raises(BadConfig, match="at least 4 public draws"):
        read_gate(path)
