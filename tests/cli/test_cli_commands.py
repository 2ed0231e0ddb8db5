"""The command that a record prints names the same work, to the last digit; and no printed bound exceeds its value."""

import shlex
from dataclasses import replace

import pytest
from small_specs import spec_of

from audit.commands.worst_case import _for_people
from audit.engine.executor import InProcess
from audit.engine.where import Where
from audit.games.membership.config import AuditConfig
from audit.games.membership.request import resolved_as, resolved_spec
from audit.games.membership.resolve import resolve_config
from audit.games.transcript.record import run_worst_case
from audit.games.transcript.resolve import resolve_experiment
from audit.games.visual.resolve import resolve_visual
from audit.specs.membership import Compare, Ladder
from audit.specs.options import parse
from audit.specs.pictures import Visual
from audit.specs.worst_case import WorstCase

# Six significant digits, which `:g` keeps, are not enough for any of these.
NUMBERS = "--delta 1.23456789e-07 --confidence 0.98333333333333339 --seed 9223372036854775807"
NOISE = "--epsilon 1.2345678901 --set batch=4 --set width=4 --set learning_rate=0.012345678901"


def config_of(command: str) -> AuditConfig:
    return resolve_config(spec_of(command), None)[0]


OTHERS = {
    "compare --attacks lira:model:9,loss:model": (Compare, {"attacks": "lira:model:9,loss:model"}),
    "ladder --trials 500": (Ladder, {"trials": 500}),
}


@pytest.mark.parametrize("name", ["lira", "rmia", "loss", *OTHERS])
@pytest.mark.parametrize("flags", ["--claim 0.1234567891234", f"--method ndpdc {NOISE}", "--ratio 0.123456789"])
def test_printed_command_of_an_attack_against_digest(name: str, flags: str) -> None:
    asked = config_of(f"audit {name} --records 120 --shadows 24 --shard-runs 8 {NUMBERS} {flags}")
    kind, own = OTHERS.get(name, (None, {}))
    printed = (resolved_spec(asked) if kind is None else resolved_as(kind, asked, **own)).command()
    assert all(word in shlex.split(printed) for word in shlex.split(name))
    assert config_of(printed).digest == asked.digest


@pytest.mark.parametrize("noise", ["--epsilon 1.2345678901", "--set noise_multiplier=2.0000000001"])
def test_printed_command_of_worst_case_against_experiment(noise: str) -> None:
    arguments = f"--method ndpdc {NUMBERS} --rate 0.12345678901 --trials 123 {noise} --set width=9 --set width=8"
    spec = spec_of(f"worst-case {arguments}")
    assert resolve_experiment(spec_of(spec.command())).to_json() == resolve_experiment(spec).to_json()


def test_printed_command_of_visual_against_configuration(tmp_path) -> None:
    arguments = f"--method ndpdc --records 120 --runs 2 --distance l2 {NUMBERS} {NOISE} --claim 0.1234567"
    where = Where(out=tmp_path)
    asked = resolve_visual(parse(Visual, shlex.split(arguments)), where)
    again = resolve_visual(parse(Visual, shlex.split(asked.command)[2:]), where)
    assert again.config == asked.config
    assert again.command == asked.command


def test_lower_bounds_of_worst_case_are_printed_rounded_down(tmp_path) -> None:
    spec = WorstCase(method="ldpdc", trials=200, rate=1.0)
    report = run_worst_case(resolve_experiment(spec), "", Where(out=tmp_path, executor=InProcess()), lambda _: None)
    bounds = tuple(replace(bound, lower=1.9996, ceiling=7.6789) for bound in report.bounds)
    changed = replace(report, epsilon=bounds[0], bounds=bounds, tightness=0.8889, canary_length=0.9996)
    text = _for_people(replace(changed, claimed=replace(report.claimed, epsilon_pld=2.0001, epsilon_rdp=2.1111)))
    assert text.count("ε ≥ 1.999 ") == len(bounds)
    assert text.count("ceiling 7.67)") == len(bounds)
    assert "tightness      0.888 " in text
    assert "at least 99.9% in every release" in text
    assert "ε ≤ 2.001 (PLD), 2.112 (RDP) at δ = 10⁻⁵" in text
