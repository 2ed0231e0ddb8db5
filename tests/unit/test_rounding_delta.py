"""A δ is written as a power of ten wherever a person reads it, as reports write it."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.commands.account import account
from reports.words.rounding import say_delta

COMMANDS = Path(__file__).parents[2] / "audit" / "commands"


@pytest.mark.parametrize(
    ("delta", "text"),
    [
        (1e-5, "δ = 10⁻⁵"),
        (2.5e-6, "δ = 2.5·10⁻⁶"),
        (1.23456e-7, "δ = 1.23456·10⁻⁷"),
        (0.0, "δ = 0"),
        (0.05, "δ = 0.05"),
        (1e-30, "δ = 10⁻³⁰"),
    ],
)
def test_say_delta_against_powers_of_ten(delta: float, text: str) -> None:
    assert say_delta(delta) == text


def test_no_command_prints_a_delta_in_another_form() -> None:
    """`{bound.delta:g}` would print 1e-05 beside the 10⁻⁵ of the reports."""
    found = {
        path.name: re.findall(r"\{[^{}]*delta[^{}]*:[^{}]*[ge]\}", path.read_text())
        for path in sorted(COMMANDS.glob("*.py"))
    }
    assert {name: one for name, one in found.items() if one} == {}


def test_account_prints_powers_of_ten_and_plain_numbers_in_json() -> None:
    words = ["--gaussian", "--sigma", "4", "--rate", "1e-5", "--steps", "10", "--delta", "1.5e-6"]
    printed = CliRunner().invoke(account, words).output
    assert "\ndelta               1.5·10⁻⁶\n" in printed
    assert "\nsampling rate       10⁻⁵\n" in printed
    record = json.loads(CliRunner().invoke(account, [*words, "--json"]).output)
    assert (record["delta"], record["sampling_rate"]) == (1.5e-6, 1e-5)
