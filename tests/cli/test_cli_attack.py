"""`audit lira` and `audit loss`: verdicts, exit codes, what is printed; and that bad usage is one line."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from inline import compute_inline
from small_specs import spec_of

import audit.games.membership.pipeline
from audit.cli import main
from audit.engine.executor import Local
from audit.games.membership.config import AuditConfig
from audit.games.membership.resolve import resolve_config

TINY = shlex.split(
    "lira --dataset digits --records 200 --shadows 24 --shard-runs 4 --set iterations=6 --set width=4 --set depth=1 "
    "--set victim.width=4 --set victim.depth=1 --set victim.epochs=6"
)
# A random real subset of half of the members, learned by heart.
REAL = shlex.split(
    "lira --method real --records 400 --ipc 10 --shard-runs 8 --set victim.kind=linear-relu --set victim.width=64 "
    "--set victim.epochs=200 --set victim.learning_rate=0.1"
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line within this process."""

    def call(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return Outcome(code=int(stop.value.code or 0), out=printed.out, err=printed.err)

    return call


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute shards in this process: workers take seconds to start. Draw nothing."""
    monkeypatch.setattr(Local, "run", compute_inline)
    monkeypatch.setattr(audit.games.membership.pipeline, "draw", lambda *_: None)


HUGE = "9" * 30
BAD = r"""
--frobnicate | No such option
--shadow 9 | No such option
extra | unexpected extra argument
--method dmm | --method 'dmm' is not one of
--method '' | is empty; leave it out or give a value
--set foo=1 | --set foo: no such setting; there are
--set iterations=ten | --set iterations=ten: expected a whole number
--set iterations= | expected a whole number
--set iterations | write it as KEY=VALUE
--set =1 | write it as KEY=VALUE
--set '' | is empty; leave it out or give a value
--set iterations=0 | iterations=0: must be at least 1
--set iterations=HUGE | must be at most
--set victim.width=HUGE | must be at most
--set depth=HUGE | must be at most
--set depth=9 | choose a smaller depth
--set victim.depth=9 | choose a smaller depth
--set victim.kind=cube | 'cube' is not one of
--set augmentation=blur | 'blur' is not one of
--set precision=half | is not one of float32, bfloat16, bfloat16-emulated
--set precision=bfloat16 | precision=bfloat16: not supported on cpu here; choose bfloat16-emulated
--set victim.precision=bfloat16 | precision=bfloat16: not supported on cpu here
--set attack.online=perhaps | expected true or false
--set attack.variance=some | is not one of auto, record, pooled
--set learning_rate=nan | learning_rate=nan: must be positive
--set learning_rate=inf | must be a finite number
--set victim.momentum=nan | must be a finite number
--set ipc=5 | use the option --ipc instead
--set compiled=true | use the option --compile instead
--shadows 1 | --shadows 1: LiRA needs at least 4 runs
--shadows 0 | --shadows 0: must lie in 1…
--shadows -3 | --shadows -3: must lie in 1…
--shadows HUGE | must lie in 1…
--shadows '' | is empty; leave it out or give a value
--shadows 8 | 6 fit runs do not have for some record: raise --shadows
--ipc 21 | --ipc 21: the smallest class of digits has 20 records
--ipc 0 | --ipc 0: must lie in 1…
--ipc -1 | --ipc -1: must lie in 1…
--ipc HUGE | must lie in 1…
--ipc 20 --init real | --ipc 20 with real images: the smallest class has 10 records per run on average
--ipc 1 --ratio 0.1 | --ipc and --ratio both set the number of synthetic images
--ratio nan | --ratio nan: must lie in (0, 1]
--ratio 0 | --ratio 0.0: must lie in (0, 1]
--test-runs 22 | --test-runs 22: must lie in 1…21
--test-runs 0 | --test-runs 0: must lie in 1…
--test-runs HUGE | must lie in 1…
--delta 1 | --delta 1.0: must lie in [0, 1)
--delta nan | --delta nan: must lie in [0, 1)
--delta -1e-5 | must lie in [0, 1)
--confidence 1 | --confidence 1.0: must lie strictly between 0 and 1
--confidence nan | must lie strictly between 0 and 1
--claim nan | --claim nan: must lie in [0, 500]
--claim -1 | --claim -1.0: must lie in [0, 500]
--fail-above nan | --fail-above nan: must be a number
--fail-above -1 | --fail-above -1.0: must be a number
--jobs 0 | --jobs 0: must be at least 1
--jobs -1 | --jobs -1: must be at least 1
--shard-runs 0 | --shard-runs 0: must lie in 1…
--shard-runs -2 | --shard-runs -2: must lie in 1…
--device cuda:99 | not available on this machine
--device meta | not available on this machine
--device abacus | 'abacus' is not one of auto, cpu
--device '' | is empty; leave it out or give a value
--queries 99 | --queries 99: must lie in 1…9
--queries 0 | --queries 0: must lie in 1…9
--records 5 | --records 5: must be at least 20
--records HUGE | must lie in 1…
--dataset nonsense | --dataset nonsense: no such file or folder, and not one of digits
--dataset 'a\nb' | contains characters that cannot be printed: 'a\nb'
--seed -1 | --seed -1: must lie in 0…
--seed HUGE | must lie in 0…
--seed 1e3 | is not a valid integer
--init zero | is not one of 'random', 'real'
--preset slow | is not one of 'quick', 'paper', 'dong'
"""
CASES = [line.split(" | ") for line in BAD.strip().splitlines()]


@pytest.mark.parametrize(("flags", "line"), [pytest.param(*case, id=case[0]) for case in CASES])
def test_bad_usage_against_its_one_line(flags: str, line: str, run: Run, tmp_path: Path) -> None:
    arguments = [word.replace("HUGE", HUGE).replace("\\n", "\n") for word in shlex.split(flags)]
    outcome = run(*TINY, "--out", tmp_path / "runs", *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("audit: ")
    assert outcome.err.count("\n") == 1
    assert line in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "audit: Missing command. (audit --help)"),
        (["qqq"], "audit: no such command 'qqq' (audit --help)"),
        (["loss", "--shadows", "0"], "audit: --shadows 0: must lie in 1…100000"),
        (["loss", "--test-runs", "3"], "audit: --test-runs 3: this attack is not fitted on other runs"),
    ],
)
def test_bad_commands_against_their_one_line(arguments: list[str], line: str, run: Run, tmp_path: Path) -> None:
    outcome = run(*arguments, *(["--out", tmp_path / "runs"] if len(arguments) > 1 else []))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(line)
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/below", "long" * 100, "/proc/audit"])
def test_an_out_that_cannot_be_written_against_its_one_line(place: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    outcome = run(*TINY, "--out", tmp_path / place)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(r"audit: cannot write to .*; choose another --out\n", outcome.err)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_out_against_its_one_line(run: Run, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    outcome = run(*TINY, "--out", tmp_path / "runs")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "Permission denied" in outcome.err


@pytest.mark.parametrize("setting", ["learning_rate=1e30", "victim.learning_rate=1e30"])
@pytest.mark.usefixtures("inline")
def test_divergence_against_its_one_line(setting: str, run: Run, tmp_path: Path) -> None:
    outcome = run(*TINY, "--out", tmp_path, "--set", setting)
    assert outcome.code == 2
    assert "diverged" in outcome.err.splitlines()[-1]
    assert f"choose a smaller --set {setting.split('=')[0]}" in outcome.err.splitlines()[-1]


@pytest.mark.usefixtures("inline")
def test_a_claim_below_what_is_measured_is_refuted(run: Run, tmp_path: Path) -> None:
    audit_real = [*REAL, "--shadows", "32", "--json", "--out", tmp_path]
    refuted = run(*audit_real, "--claim", "0.01")
    assert refuted.code == 4
    report = json.loads(refuted.out)
    assert report["verdict"] == "REFUTED"
    assert report["epsilon"]["lower"] > 0.01
    assert report["roc"]["auc_interval"][0] > 0.5
    kept = run(*audit_real, "--claim", "100")
    assert (kept.code, json.loads(kept.out)["verdict"]) == (0, "NOT REFUTED")
    again = run(*audit_real, "--claim", "100", "--fail-above", "0")
    assert (again.code, again.out) == (4, kept.out)
    assert "condensing" not in again.err, "a finished audit computes nothing again"
    assert run(*audit_real, "--claim", "100", "--fail-above", "50").code == 0


@pytest.mark.usefixtures("inline")
def test_shuffled_membership_against_one_half(run: Run, tmp_path: Path) -> None:
    """At 99.9% confidence: at 95% the bound is above 0, and the interval beside one half, once in twenty audits."""
    arguments = ["--shadows", "48", "--test-runs", "24", "--confidence", "0.999", "--shuffle-membership"]
    outcome = run(*REAL, *arguments, "--json", "--out", tmp_path, "--fail-above", "0")
    report = json.loads(outcome.out)
    low, high = report["roc"]["auc_interval"]
    assert low < 0.5 < high
    assert report["epsilon"]["lower"] == 0
    assert outcome.code == 0
    assert report["game"]["membership_shuffled"]


NAMES = {
    *("schema", "command", "method", "attack", "dataset", "level", "verdict", "epsilon", "bounds", "claimed", "roc"),
    *("paper_style_epsilon", "utility", "run_directory", "pdf"),
}
EPSILON_NAMES = {"lower", "delta", "confidence", "estimator", "unit", "num_trials", "ceiling", "assumptions"}


def test_json_against_the_names_of_the_design(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Local, "run", compute_inline)
    monkeypatch.chdir(tmp_path)
    outcome = run(*TINY, "--out", "here", "--json")
    assert outcome.code == 0
    printed = json.loads(outcome.out)
    assert set(printed) >= NAMES
    assert all(set(bound) >= EPSILON_NAMES for bound in [printed["epsilon"], *printed["bounds"]])
    assert {"auc", "auc_interval", "tpr_at_fpr"} <= set(printed["roc"])
    assert set(printed["roc"]["tpr_at_fpr"]) == {"0.001", "0.01"}
    assert {"accuracy", "accuracy_interval"} <= set(printed["utility"])
    assert (printed["verdict"], printed["claimed"]) == ("NO CLAIM", None)
    assert all(line.startswith("audit: ") for line in outcome.err.splitlines())

    directory = Path(printed["run_directory"])
    assert printed["pdf"] == str(directory / "report.pdf")
    assert Path(printed["pdf"]).read_bytes().startswith(b"%PDF")
    stored = json.loads((directory / "report.json").read_text())
    assert stored == {**printed, "run_directory": directory.name, "pdf": "report.pdf"}
    assert stored["digest"] in directory.name
    assert str(tmp_path) not in (directory / "report.json").read_text()
    assert sorted(path.name for path in directory.iterdir()) == [
        "config.json", "figures", "report.html", "report.json", "report.pdf", "scores.parquet", "shards", "timing.json",
    ]  # fmt: skip

    table = pd.read_parquet(directory / "scores.parquet")
    assert list(table.columns) == ["run", "record", "member", "score"]
    assert len(table) == 6 * 200
    assert sorted(table["run"].unique()) == list(range(18, 24))

    monkeypatch.setattr(audit.games.membership.pipeline, "draw", lambda *_: None)
    people = run(*TINY, "--out", "here")
    assert people.code == 0
    assert people.out.startswith("NO CLAIM")
    assert people.out.rstrip().endswith("report.pdf")


@pytest.mark.usefixtures("inline")
def test_loss_reports_the_protocols_of_dong_et_al(run: Run, tmp_path: Path) -> None:
    arguments = ["loss", "--runs", "4", "--init", "real", *TINY[1:3], "--records", "200", *TINY[9:]]
    outcome = run(*arguments, "--json", "--out", tmp_path)
    report = json.loads(outcome.out)
    assert outcome.code == 0
    assert [entry["name"] for entry in report["protocols"]] == ["loss advantage, Table 2", "loss advantage, Table 1"]
    assert report["game"]["num_test_runs"] == 4


def resolve(command: list[str]) -> AuditConfig:
    """The configuration that a command line asks for."""
    return resolve_config(spec_of(command), None)[0]


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--level set --canaries blank:3 --fit-runs 9",
        "--seed 7 --shuffle-membership --claim 2 --queries 3 --test-runs 4",
        "--ratio 0.1 --independent-randomness",
    ],
)
def test_the_printed_command_gives_the_same_audit(flags: str) -> None:
    from audit.games.membership.request import resolved_spec

    config = resolve([*TINY, *flags.split()])
    printed = shlex.split(resolved_spec(config).command())
    assert resolve(printed[1:]).digest == config.digest


def test_help_imports_nothing_heavy() -> None:
    """Measured: 0.11 s; with torch it would take seconds."""
    heavy = ["torch", "numpy", "scipy", "pandas", "matplotlib", "sklearn", "rich"]
    code = (
        "import sys\nfrom audit.cli import main\nsys.argv = ['audit', '--help']\n"
        f"try: main()\nfinally: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: audit")
    assert done.stderr.strip() == "[]"


def test_output_that_the_terminal_cannot_show_is_spelt_out() -> None:
    code = "import sys; from audit.cli import main; sys.argv = ['audit', 'lira', '--help']; main()"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert rb"The \u03b5 claimed" in done.stdout
    assert done.stderr == b""
