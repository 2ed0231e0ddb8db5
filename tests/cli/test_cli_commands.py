"""The command that a record prints names the same work, to the last digit; and no printed bound exceeds its value."""

import shlex
from dataclasses import replace
from typing import Any

import pytest

from audit.commands.visual import _command as visual_command
from audit.commands.visual import _resolve as resolve_visual
from audit.commands.worst_case import _command as worst_case_command
from audit.commands.worst_case import _experiment, _for_people
from audit.gate.file import flags_of
from audit.resolve import resolve_config
from audit.settings import AuditConfig
from audit.summary import reproduction_command
from audit.worst_case import run_worst_case

# Six significant digits, which `:g` keeps, are not enough for any of these.
NUMBERS = "--delta 1.23456789e-07 --confidence 0.98333333333333339 --seed 9223372036854775807"
NOISE = "--epsilon 1.2345678901 --set batch=4 --set width=4 --set learning_rate=0.012345678901"


def config_of(command: str) -> AuditConfig:
    name, *arguments = shlex.split(command)[1:]
    attack, level = ("lira", {"level": "model"}) if name in ("compare", "ladder") else (name, {})
    return resolve_config(attack, {**flags_of(name, tuple(arguments)), **level})[0]


@pytest.mark.parametrize(
    "name", ["lira", "rmia", "loss", "compare --attacks lira:model:9,loss:model", "ladder --trials 5"]
)
@pytest.mark.parametrize("flags", ["--claim 0.1234567891234", f"--method ndpdc {NOISE}", "--ratio 0.123456789"])
def test_printed_command_of_an_attack_against_digest(name: str, flags: str) -> None:
    asked = config_of(f"audit {name} --records 120 --shadows 24 --shard-runs 8 {NUMBERS} {flags}")
    printed = reproduction_command(asked, "" if name == asked.attack else name)
    assert printed.startswith(f"audit {name} ")
    assert config_of(printed).digest == asked.digest


@pytest.mark.parametrize("noise", ["--epsilon 1.2345678901", "--set noise_multiplier=2.0000000001"])
def test_printed_command_of_worst_case_against_experiment(noise: str) -> None:
    arguments = f"--method ndpdc {NUMBERS} --rate 0.12345678901 --trials 123 {noise} --set width=9 --set width=8"
    flags = flags_of("worst-case", tuple(shlex.split(arguments)))
    again = flags_of("worst-case", tuple(shlex.split(worst_case_command(flags))[2:]))
    assert _experiment(again).to_json() == _experiment(flags).to_json()


def test_printed_command_of_visual_against_configuration() -> None:
    def config(arguments: list[str]) -> Any:
        return resolve_visual(flags_of("visual", tuple(arguments)))[0]

    asked = config(
        shlex.split(f"--method ndpdc --records 120 --runs 2 --distance l2 {NUMBERS} {NOISE} --claim 0.1234567")
    )
    assert config(shlex.split(visual_command(asked))[2:]) == asked


def test_lower_bounds_of_worst_case_are_printed_rounded_down(tmp_path) -> None:
    flags = flags_of("worst-case", ("--method", "ldpdc", "--trials", "200", "--rate", "1"))
    report = run_worst_case(_experiment(flags), "", tmp_path, lambda _: None)
    bounds = tuple(replace(bound, lower=1.9996, ceiling=7.6789) for bound in report.bounds)
    changed = replace(report, epsilon=bounds[0], bounds=bounds, tightness=0.8889, canary_length=0.9996)
    text = _for_people(replace(changed, claimed=replace(report.claimed, epsilon_pld=2.0001, epsilon_rdp=2.1111)))
    assert text.count("epsilon >= 1.999 ") == len(bounds)
    assert text.count("ceiling 7.67)") == len(bounds)
    assert "tightness      0.888 " in text
    assert "at least 99.9% in every release" in text
    assert "epsilon 2.001 (PLD), 2.112 (RDP)" in text
