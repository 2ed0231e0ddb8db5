"""What a person may get wrong on the command line: one line, exit 2, at once, with a hint; nothing is computed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from audit.cli import COMMANDS, main, one_line
from audit.engine.executor import InProcess, Local
from audit.games.compare import DEFAULT_ENTRIES, parse_entries, with_runs_there_are

HUGE = "1" + "0" * 23


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command; the one line that it is refused with."""

    def start(*_: object) -> NoReturn:
        pytest.fail("work was started")

    def run(*words: str) -> str:
        monkeypatch.chdir(tmp_path)
        for executor in (Local, InProcess):
            monkeypatch.setattr(executor, "run", start)
        monkeypatch.setattr(sys, "argv", ["audit", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert (stop.value.code, printed.out) == (2, ""), printed
        assert printed.err.startswith("audit: ")
        assert printed.err.count("\n") == 1, printed.err
        return printed.err

    return run


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("lirra", "lira"),
        ("worstcase", "worst-case"),
        ("lira --method dmm", "dm"),
        ("worst-case --method npdc", "ndpdc"),
        ("utility --method psgg", "psg"),
        ("account --method ldpc --dataset mnist", "ldpdc"),
        ("claims --run privacy-for-fre", "privacy-for-free"),
        ("lira --set iteratons=3", "iterations"),
        ("lira --set victim.epoch=3", "victim.epochs"),
        ("lira --dataset digit", "digits"),
        ("data fashionmnist", "fashion-mnist"),
        ("data --get mnst", "mnist"),
        ("compare --attacks lirra:set", "lira"),
        ("reproduce dong/tabel-1", "dong/table-1"),
        ("worst-case --design natrual", "natural"),
        ("worst-case --claim gausian:sigma=1", "gaussian"),
        ("lira --canaries mislabeled:3", "mislabelled"),
        ("adversaries --levels modell", "model"),
    ],
)
def test_a_misspelt_name_against_what_was_meant(words: str, meant: str, refused) -> None:
    assert f"did you mean {meant}?" in refused(*words.split())


def test_a_misspelt_option_against_what_was_meant(refused) -> None:
    line = refused("lira", "--shadws", "3")
    assert "Did you mean" in line
    assert "'--shadows'" in line


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('false_alrm = 0.1\n[[guarantee]]\nmethod = "dm"\nepsilon = 1.0', "false_alarm"),
        ('[[guarante]]\nmethod = "ndpdc"\nepsilon = 1.0', "guarantee"),
        ('[[guarantee]]\nmetod = "ndpdc"\nepsilon = 1.0', "method"),
        ('[[guarantee]]\nmethod = "ndpdc"\nepsilon = 1.0\ntrails = 1000', "trials"),
        ('[[guarantee]]\nmethod = "ndpdc"\nlevel = "transcrpt"\nepsilon = 1.0', "transcript"),
        ('[[regression]]\nmethod = "dm"\nmetrics = ["acu"]', "auc"),
        ('[[regression]]\nmethod = "dm"\ncommand = "lirra"\nmetrics = ["auc"]', "lira"),
        ('[[regression]]\nmethod = "dm"\nmetrics = ["auc"]\nset = { iteratons = 5 }', "iterations"),
        ('[[regression]]\nmethod = "dmm"\nmetrics = ["auc"]', "dm"),
    ],
)
def test_a_misspelt_key_of_a_gate_against_what_was_meant(text: str, meant: str, refused, tmp_path: Path) -> None:
    (tmp_path / "privacy.toml").write_text(text + "\n")
    assert f"did you mean {meant}?" in refused("check")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("claims --seed -1", "--seed -1: must lie in 0…"),
        ("lira --seed -1", "--seed -1: must lie in 0…"),
        (f"check privacy.toml --seed {HUGE}", "--seed"),
        ("utility --method dm --epsilon 2", "--epsilon 2: there is no noise to calibrate for dm"),
        ("lira --method dm --epsilon 2", "dm adds no noise that could be calibrated"),
        ("worst-case --trials 1e20", "'1e20' is not a valid integer"),
        (f"worst-case --trials {HUGE}", "must lie in 100…100000000"),
        (f"utility --seeds {HUGE}", "must lie in 1…10000"),
        ("lira --set width=100000000000000", "must be at most 2147483647"),
        ("lira --set width=1e14", "expected a whole number"),
        ("lira --set width=100000", "the network would have 9e+10 parameters"),
        ("worst-case --set width=100000000000000", "must be at most 2147483647"),
        ("lira --delta 1e-320", "--delta 1e-320: must be 0 or at least 1e-30"),
        ("worst-case --delta 1e-320", "--delta 1e-320: must be at least 1e-30"),
        ("account --gaussian --sigma 1 --delta 1e-320", "--delta 1e-320: must be at least 1e-30"),
        ("plan --epsilon 1 --delta 1e-320", "delta is 1e-320"),
        ("plan --epsilon 1e308", "it must be at least 0.01 and at most 50"),
        ("plan --epsilon 1e-300", "it must be at least 0.01 and at most 50"),
        ("plan --epsilon 1 --nodes -3", "--nodes -3: must lie in 1…"),
        ("lira --claim 1e308", "--claim 1e+308: must lie in [0, 500]"),
        ("worst-case --claim 1e308", "must be at most 500"),
        ("worst-case --claim gaussian:sigma=1e-300", "its noise multiplier, 1e-300, must lie"),
        (f"worst-case --claim gaussian:sigma=1,steps={HUGE}", "a whole number up to 10000000"),
        ("worst-case --epsilon 1e308", "must lie in [0.001, 500]"),
        ("lira --method ndpdc --epsilon 1e-300", "must lie in [0.001, 500]"),
        (f"lira --jobs {HUGE}", "at most 4096"),
        (f"bench --shadows {HUGE}", "must lie in 1…4096"),
        (f"bench --steps {HUGE}", "must lie in 1…100000"),
    ],
)
def test_a_value_beyond_its_limits_against_its_one_line(words: str, line: str, refused, tmp_path: Path) -> None:
    (tmp_path / "privacy.toml").write_text('[[guarantee]]\nmethod = "ldpdc"\nepsilon = 1.0\n')
    assert line in refused(*words.split())


@pytest.mark.parametrize("command", [["data"], ["lira", "--dataset"], ["report"], ["coins", "--out"]])
def test_an_empty_argument_is_refused(command: list[str], refused) -> None:
    assert "is empty" in refused(*command, "")


@pytest.mark.parametrize("command", [["lira", "--method"], ["data"], [], ["lira", "--set"], ["check"]])
def test_a_very_long_argument_is_refused_in_a_short_line(command: list[str], refused) -> None:
    line = refused(*command, "A" * 100_000)
    assert "has 100000 characters" in line
    assert len(line) < 200


@pytest.mark.parametrize("command", [["lira", "--method"], ["data"], [], ["report"]])
def test_escape_codes_in_an_argument_are_refused_and_not_printed(command: list[str], refused) -> None:
    line = refused(*command, "\x1b[31mred")
    assert "\x1b" not in line
    assert "'\\x1b[31mred'" in line


def test_what_is_printed_of_a_message_against_its_characters() -> None:
    assert one_line("a\x1b[31m\nb\x07 ε") == "a\\x1b[31m b\\x07 ε"
    assert len(one_line("x" * 10_000)) < 2100


def test_escape_codes_in_files_are_refused_and_not_printed(refused, tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("\x1b[31mscore,member\n1,0\n")
    assert "\x1b" not in refused("epsilon", "scores.csv")
    (tmp_path / "privacy.toml").write_text('[[guarantee]]\nname = "\\u001b[31m"\nmethod = "ldpdc"\nepsilon = 1.0\n')
    assert "control character" in refused("check")


def test_two_columns_of_one_name_are_refused(refused, tmp_path: Path) -> None:
    rows = "".join(f"{i / 10},{i % 2},{i}\n" for i in range(20))
    (tmp_path / "scores.csv").write_text(f"score,member,score\n{rows}")
    assert "two columns 'score'" in refused("epsilon", "scores.csv")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_membership_of_2_against_words_of_a_person(suffix: str, refused, tmp_path: Path) -> None:
    table = pd.DataFrame({"score": [0.1, 0.2], "member": [0, 2]})
    getattr(table, f"to_{suffix}")(tmp_path / f"scores.{suffix}")
    line = refused("epsilon", f"scores.{suffix}")
    assert "holds '2'" in line
    assert "np." not in line


def test_recorded_figures_that_are_none_against_words_of_a_person(refused, tmp_path: Path) -> None:
    (tmp_path / "privacy.toml").write_text('[[regression]]\nmethod = "dm"\nmetrics = ["auc"]\n')
    record = {
        "schema": "condensation-audit/baseline/1",
        "entries": {"lira dm": {"settings": "", "metrics": {"auc": {}}}},
    }
    (tmp_path / "privacy.baseline.json").write_text(json.dumps(record))
    line = refused("check")
    assert "missing required field value" in line
    assert "__init__" not in line
    (tmp_path / "privacy.baseline.json").write_text('{"entries": ' + "[" * 50_000)
    for words in (["check"], ["check", "--update"]):
        line = refused(*words)
        assert "not a file of recorded figures" in line
        assert "delete it, record with `audit check privacy.toml --update`" in line


def test_findings_that_are_none_against_words_of_a_person(refused, tmp_path: Path) -> None:
    (tmp_path / "runs" / "claims").mkdir(parents=True)
    (tmp_path / "runs" / "claims" / "a-quick.json").write_text('{"schema": "x", "findings": [{}]}')
    line = refused("claims")
    assert "not findings of this version" in line
    assert "__init__" not in line


def test_a_run_is_not_compared_with_itself(refused, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert "a run cannot be compared with itself" in refused("report", "run", "./run")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = " + "[" * 20_000 + "]" * 20_000, "line 1 is longer or more deeply nested"),
        ("a = " + "[\n" * 5_000 + "]\n" * 5_000, "more deeply nested than is allowed"),
        ("[" + ".".join("a" * 1_500) + "]", "line 1 is longer or more deeply nested"),
        ("# " + "x" * 100_000, "at most 64.0 KiB may be read"),
        ('[[guarantee]]\nmethod = "ndpdc"\nepsilon = nan', "must be a positive number"),
        ('[[guarantee]]\nmethod = "ndpdc"\nepsilon = 1e308', "must lie in [0.001, 500]"),
        (
            'seed = 100000000000000000000\n[[guarantee]]\nmethod = "ndpdc"\nepsilon = 1.0',
            "must be a whole number in 0…",
        ),
        (f'[[guarantee]]\nmethod = "ndpdc"\nepsilon = 1{"0" * 400}', "must be a positive number"),
        ('[[regression]]\nmethod = "dm"\nmetrics = [["auc"]]', "must be a list of some of auc"),
        ('[[regression]]\nmethod = "dm"\nmetrics = ["auc"]\npublic-draws = 2', "need at least 4 public draws"),
        ('[[regression]]\nmethod = "dm"\nmetrics = ["auc"]\ntest-runs = 8\ntest_runs = 16', "is given twice"),
        ('[[guarantee]]\nmethod = "ndpdc"\nepsilon = 1.0\ncommand = "lira"', "is tested by worst-case"),
    ],
)
def test_a_gate_beyond_its_limits_against_its_one_line(text: str, line: str, refused, tmp_path: Path) -> None:
    (tmp_path / "privacy.toml").write_text(text + "\n")
    assert line in refused("check")


def test_a_deeply_nested_ledger_against_its_one_line(refused, tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_text("[" * 100_000)
    assert "too deeply nested" in refused("account", "--ledger", "ledger.json")


def test_sixteen_shadows_suffice_for_the_defaults_of_compare() -> None:
    fitting = with_runs_there_are(parse_entries(DEFAULT_ENTRIES), 12)
    assert ",".join(map(str, fitting)) == "loss:model,rmia:model:4,lira:model,rmia:set,lira:set"
    assert with_runs_there_are(parse_entries(DEFAULT_ENTRIES), 192) == parse_entries(DEFAULT_ENTRIES)


BAD_FLAGS = """
import sys
import click
from audit.cli import COMMANDS, group
for name in COMMANDS:
    try:
        group.main([name, "--no-such-flag"], prog_name="audit", standalone_mode=False)
    except click.ClickException as error:
        assert "--no-such-flag" in error.format_message()
    heavy = [name for name in ("torch", "scipy", "pandas", "matplotlib", "sklearn") if name in sys.modules]
    assert not heavy, f"{name} imports {heavy} before it looks at its options"
print("all")
"""
BAD_NAMES = """
import sys
from audit.cli import main
for words in ("lira --method dmm", "worst-case --method dmm", "compare --attacks lirra:set", "lirra"):
    sys.argv = ["audit", *words.split()]
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 2
    assert "torch" not in sys.modules, words
print("all")
"""


@pytest.mark.parametrize("code", [BAD_FLAGS, BAD_NAMES], ids=["flags", "names"])
def test_bad_flags_and_names_are_refused_without_heavy_imports(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout == "all\n", done.stderr
    assert len(COMMANDS) > 20


def test_the_estimators_of_the_option_against_those_there_are() -> None:
    from audit.commands.epsilon import ESTIMATORS
    from audit.statistics.estimators.named import FOR_RECORDS, FOR_RUNS

    assert (*FOR_RUNS, "family", *FOR_RECORDS) == ESTIMATORS


def test_names_read_from_sources_against_the_registries() -> None:
    import attacks
    import condensers
    from attacks.registry import all_attacks
    from condensers.plugins import registered_names
    from condensers.registry import all_methods

    assert registered_names(condensers, "condenser") == tuple(all_methods())
    assert registered_names(attacks, "attack") == tuple(all_attacks())


def test_an_array_of_scores_is_still_read(tmp_path: Path, monkeypatch, capsys) -> None:
    """The checks before reading refuse no ordinary table."""
    generator = np.random.default_rng(0)
    table = pd.DataFrame({"score": generator.normal(size=200), "member": generator.random(200) < 0.5})
    for suffix in ("csv", "parquet"):
        getattr(table, f"to_{suffix}")(tmp_path / f"scores.{suffix}", index=False)
        monkeypatch.setattr(sys, "argv", ["audit", "epsilon", str(tmp_path / f"scores.{suffix}")])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 0, capsys.readouterr().err
