"""`audit account`: figures, one line for what a person can mend, a light --help."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from audit.accounting.events import event_to_json, parallel, subsampled_gaussian
from audit.cli import main

DOCUMENTED = {
    "method",
    "dataset",
    "epsilon_rdp",
    "epsilon_pld",
    "delta",
    "sampling_rate",
    "noise_multiplier",
    "steps",
}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["audit", "account", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        output = capsys.readouterr()
        return int(caught.value.code or 0), output.out, output.err

    return run


def test_ldpdc_on_mnist_against_paper(account: Any) -> None:
    status, out, err = account("--method", "ldpdc", "--dataset", "mnist", "--json")
    result = json.loads(out)
    assert (status, err) == (0, "")
    assert set(result) >= DOCUMENTED
    assert round(result["epsilon_rdp"], 2) == result["printed_epsilon"] == 1.10
    assert result["epsilon_pld"] < result["epsilon_rdp"]
    assert (result["sampling_rate"], result["noise_multiplier"], result["steps"]) == (50 / 5421, 1.0, 50)
    assert (result["theorem"], result["status"]) == ("Theorem III.1", "proved")
    assert (result["adjacency"], result["conversion"], result["delta"]) == ("add-or-remove-one", "balle", 1e-5)


def test_settings_change_the_account(account: Any) -> None:
    arguments = ("--method", "ldpdc", "--class-sizes", "1000,400", "--ipc", "10", "--batch", "20", "--sigma", "2")
    result = json.loads(account(*arguments, "--delta", "1e-4", "--json")[1])
    chosen = (result["sampling_rate"], result["noise_multiplier"], result["steps"], result["delta"])
    assert chosen == (0.05, 2.0, 10, 1e-4)
    assert result["printed_epsilon"] is None


def test_gaussian_against_facts(account: Any) -> None:
    status, out, _ = account("--gaussian", "--rate", "0.01", "--sigma", "1.1", "--steps", "1000", "--curve", "--json")
    result = json.loads(out)
    assert status == 0
    assert set(result) >= DOCUMENTED
    assert result["epsilon_rdp"] == pytest.approx(1.71177, abs=1e-4)
    assert result["epsilon_pld"] == pytest.approx(1.51537, abs=2e-4)
    caps = result["largest_true_positive_rate"]
    assert list(caps) == ["0.0001", "0.001", "0.01", "0.1"]
    assert list(caps.values()) == sorted(caps.values())


def test_fixed_size_speaks_of_replacement(account: Any) -> None:
    arguments = ("--gaussian", "--rate", "0.05", "--sigma", "2", "--steps", "20")
    fixed = json.loads(account(*arguments, "--sampling", "fixed", "--json")[1])
    poisson = json.loads(account(*arguments, "--json")[1])
    assert (fixed["adjacency"], poisson["adjacency"]) == ("replace-one", "add-or-remove-one")
    assert (fixed["sampling_rate"], poisson["sampling_rate"]) == (0.05, 0.05)
    assert fixed["epsilon_pld"] > poisson["epsilon_pld"]
    everybody = account("--gaussian", "--sigma", "2", "--sampling", "fixed", "--json")[1]
    assert json.loads(everybody)["adjacency"] == "replace-one"


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_calibration_keeps_to_its_target(account: Any, accountant: str) -> None:
    arguments = ("--method", "ndpdc", "--dataset", "cifar10", "--epsilon", "1", "--accountant", accountant)
    result = json.loads(account(*arguments, "--json")[1])
    assert 0.999 <= result[f"epsilon_{accountant}"] <= 1
    assert result["calibrated_by"] == accountant


def test_calibration_keeps_to_its_target_under_the_conversion_asked_for(account: Any) -> None:
    arguments = ("--gaussian", "--epsilon", "1", "--conversion", "mironov")
    result = json.loads(account(*arguments, "--json")[1])
    assert 0.999 <= result["epsilon_rdp"] <= 1
    assert result["noise_multiplier"] == pytest.approx(4.9, abs=0.01)  # 1/(2σ²) + √(2 ln 1e5)/σ = 1


def test_unsound_claims_are_marked_in_words(account: Any) -> None:
    status, out, _ = account("--method", "dyn-psg", "--dataset", "cifar10", "--sigma", "5")
    assert status == 0
    assert "unsound" in out
    assert "Proposition 1 treats it as a constant and does not hold" in out


def test_fresh_noise_of_dosser_is_told_where_its_code_has_it(account: Any) -> None:
    arguments = ("--method", "dosser", "--dataset", "cifar10", "--sigma", "4.2969")
    many = json.loads(account(*arguments, "--json")[1])
    assert many["epsilon_rdp"] == pytest.approx(0.956, abs=1e-3)
    assert many["actual"] is None
    assert "seeded by the clock" in many["note"]
    one = json.loads(account(*arguments, "--ipc", "1", "--json")[1])
    assert one["epsilon_rdp"] == many["epsilon_rdp"]
    assert one["actual"]["epsilon_rdp"] == pytest.approx(7.262, abs=1e-3)
    assert "at one image per class, or without augmentation" in one["actual"]["reason"]


def test_who_printed_an_epsilon_and_what_it_was_accounted_with_is_told(account: Any) -> None:
    """DP-CGAN's script stops when its own accountant, with σ·C = 1.232 and Mironov's conversion, passes 9.6."""
    arguments = ("--method", "dp-cgan", "--dataset", "mnist")
    result = json.loads(account(*arguments, "--conversion", "mironov", "--json")[1])
    assert result["printed_epsilon"] == 9.6 == pytest.approx(result["epsilon_rdp"], abs=1e-3)
    assert (result["noise_multiplier"], result["accounted_noise"]) == (1.12, pytest.approx(1.232))
    assert result["printed_by"].startswith("DP-CGAN")
    assert "PSG" in result["note"]
    assert result["epsilon_pld"] == pytest.approx(8.166, abs=1e-3)
    assert result["actual"]["epsilon_pld"] == pytest.approx(58.98, abs=0.01)
    out = account(*arguments)[1]
    assert "accounted noise     1.232" in out
    assert "accounted noise" not in account("--method", "ldpdc", "--dataset", "mnist")[1]


def test_auxiliary_share_is_added(account: Any) -> None:
    result = json.loads(account("--method", "dosser", "--dataset", "mnist", "--json")[1])
    assert result["auxiliary_epsilon"] == pytest.approx(0.2)
    assert 0.999 <= result["epsilon_rdp"] <= 1
    status, _, err = account("--method", "dosser", "--dataset", "mnist", "--curve")
    assert status == 2
    assert "not a curve" in err


def test_cross_checks_agree(account: Any) -> None:
    out = account("--gaussian", "--rate", "0.05", "--sigma", "2", "--steps", "20", "--cross-check")[1]
    lines = {line[:20].strip(): line[20:] for line in out.splitlines()}
    assert float(lines["rdp opacus"]) == pytest.approx(float(lines["epsilon rdp"]), rel=2e-3)
    assert float(lines["epsilon pld"]) <= float(lines["prv opacus"]) <= float(lines["epsilon pld"]) + 0.021


def test_a_ledger_is_accounted(account: Any, tmp_path: Path) -> None:
    ran = {
        str(size): subsampled_gaussian(sampling_rate=50 / size, noise_multiplier=1.0, steps=50) for size in (5421, 6742)
    }
    (tmp_path / "ledger.json").write_text(json.dumps(event_to_json(parallel(ran))))
    result = json.loads(account("--ledger", str(tmp_path / "ledger.json"), "--json")[1])
    assert round(result["epsilon_rdp"], 2) == 1.10
    assert (result["sampling_rate"], result["releases"]) == (50 / 5421, 50)


GAUSSIAN = ("--gaussian", "--sigma", "1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give one of --method"),
        (("--gaussian", "--method", "ldpdc"), "give one of --method"),
        (("--gaussian",), "give --noise-multiplier, or --epsilon"),
        (("--gaussian", "--sigma", "0"), "--noise-multiplier 0"),
        (("--gaussian", "--sigma", "-1"), "--noise-multiplier -1"),
        (("--gaussian", "--sigma", "nan"), "--noise-multiplier nan"),
        (("--gaussian", "--sigma", "1e-200"), "noise multiplier 1e-200"),
        (("--gaussian", "--sigma", "0.01"), "guarantees nothing"),
        (("--gaussian", "--sigma", "0.2", "--rate", "0.5", "--steps", "1000"), "guarantees nothing"),
        ((*GAUSSIAN, "--epsilon", "1"), "leave out --noise-multiplier"),
        ((*GAUSSIAN, "--rate", "0"), "--rate 0"),
        ((*GAUSSIAN, "--rate", "1.5"), "--rate 1.5"),
        ((*GAUSSIAN, "--rate", "nan"), "--rate nan"),
        ((*GAUSSIAN, "--steps", "0"), "--steps 0"),
        ((*GAUSSIAN, "--steps", "1.5"), "not a valid integer"),
        ((*GAUSSIAN, "--steps", "1000000000000"), "1e+12 releases"),
        ((*GAUSSIAN, "--delta", "0"), "--delta 0"),
        ((*GAUSSIAN, "--delta", "1"), "--delta 1"),
        ((*GAUSSIAN, "--delta", "1e-30"), "delta 1e-30"),
        ((*GAUSSIAN, "--dataset", "mnist"), "--dataset cannot be combined with --gaussian"),
        (("--gaussian", "--epsilon", "0"), "--epsilon 0"),
        (("--gaussian", "--epsilon", "-2"), "--epsilon -2"),
        (("--gaussian", "--epsilon", "inf"), "--epsilon inf"),
        (("--method", "ldpdc"), "give one of --dataset"),
        (("--method", "ldpdc", "--dataset", "imagenet"), "imagenet"),
        (("--method", "dm", "--dataset", "mnist"), "dm"),
        (("--method", "ldpdc", "--dataset", "mnist", "--rate", "0.1"), "--rate cannot be combined with --method"),
        (("--method", "ldpdc", "--dataset", "mnist", "--ipc", "0"), "--ipc 0"),
        (("--method", "ldpdc", "--dataset", "digits", "--batch", "175"), "--batch 175: must lie between 1 and 174"),
        (("--method", "psg", "--dataset", "mnist", "--ipc", "7"), "--ipc 7"),
        (("--method", "ldpdc", "--class-sizes", "10,x"), "--class-sizes 10,x"),
        (("--method", "ldpdc", "--class-sizes", "10,0"), "--class-sizes 0"),
        (("--ledger", "missing.json"), "--ledger missing.json"),
        (("--ledger", "missing.json", "--epsilon", "1"), "--epsilon cannot be combined with --ledger"),
    ],
)
def test_bad_input_is_one_line_and_exit_two(account: Any, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = account(*arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[]", "{", '{"event": "laplace"}', '{"event": "gaussian"}', "[" * 100_000])
def test_bad_ledgers_are_one_line_and_exit_two(account: Any, tmp_path: Path, text: str) -> None:
    path = tmp_path / "ledger.json"
    path.write_text(text)
    status, out, err = account("--ledger", str(path))
    assert (status, out, err.count("\n")) == (2, "", 1)


def test_help_imports_no_accountant() -> None:
    code = (
        "import sys; sys.argv = ['audit', 'account', '--help']\n"
        "from audit.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n"
        "    heavy = {'torch', 'opacus', 'dp_accounting', 'scipy', 'numpy'} & set(sys.modules)\n"
        "    sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "--noise-multiplier" in shown.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_ten_thousand_compositions_take_less_than_a_gibibyte() -> None:
    code = (
        "import sys; sys.argv = 'audit account --method ndpdc --dataset mnist --curve'.split()\n"
        "from audit.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as done:\n"
        "    status = open('/proc/self/status').read()\n"
        "    print(status.split('VmHWM:')[1].split()[0], done.code)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kibibytes, status = ran.stdout.split()[-2:]
    assert status == "0"
    assert int(kibibytes) < 2**20
