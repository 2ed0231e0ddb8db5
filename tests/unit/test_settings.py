import dataclasses
import importlib.util
import json
import re
import sys

import pytest
from small_specs import small_spec, spec_of

from audit.games.membership.config import AuditConfig
from audit.games.membership.request import resolved_spec
from audit.games.membership.resolve import resolve_config
from audit.games.membership.summary import judge
from audit.games.settings import default_augmentation, parse_changes
from condensers.dm import DmConfig
from condensers.errors import BadConfig, BadInput
from reports.records.schema import Claim, EpsilonBound


def config_of(**changes) -> AuditConfig:
    return resolve_config(small_spec(**changes), None)[0]


@pytest.mark.parametrize("level", ["model", "set"])
def test_a_run_is_named_by_attack_method_data_level_and_digest(level: str) -> None:
    config = config_of(level=level)
    assert config.directory_name == f"lira-dm-digits-{level}-{config.digest}"


def test_digest_covers_what_determines_the_result():
    base = config_of()
    assert config_of().digest == base.digest
    rounded = [{"changes": (f"{whose}precision=bfloat16-emulated",)} for whose in ("", "victim.")]
    for change in (
        {"seed": 1}, {"shadows": 17}, {"delta": 0.0}, {"changes": ("iterations=5",)}, {"records": 210}, *rounded
    ):  # fmt: skip
        assert config_of(**change).digest != base.digest


def test_config_survives_the_round_trip_through_json():
    config = config_of(changes=("iterations=5", "victim.epochs=7", "attack.online=false"))
    again = AuditConfig.from_json(config.to_json())
    assert again == config
    assert json.loads(config.to_json())["method_config"]["iterations"] == 5
    assert config.victim_config["epochs"] == 7
    assert config.attack_config["online"] is False


def test_set_comes_after_the_preset():
    assert config_of().method_config["iterations"] == 300
    assert config_of(preset="paper", ipc=1).method_config["iterations"] == 20000
    assert config_of(changes=("iterations=4",)).method_config["iterations"] == 4


def test_ratio_against_the_papers_definition():
    """r = |S|/|T| with |T| half of the pool: 400 records, r = .1 → 20 images, 2 per class."""
    assert config_of(records=400, ratio=0.1).method_config["ipc"] == 2


def test_digits_are_never_mirrored(digits):
    assert "flip" not in default_augmentation(digits)
    for name in ("fashion-mnist", "cifar10", "celeba", "celeba-64"):
        assert "flip" in default_augmentation(dataclasses.replace(digits, name=name))


@pytest.mark.parametrize(
    "text", ["iterations=x", "iterations", "=3", "nonsense=1", "victim.nonsense=1", "compiled=maybe"]
)
def test_bad_changes_are_refused(text):
    with pytest.raises(BadConfig, match="--set"):
        config_of(changes=(text,))


def test_changes_take_the_types_of_their_fields():
    assert parse_changes({"learning_rate": "3", "compiled": "True"}, DmConfig, prefix="") == {
        "learning_rate": 3.0,
        "compiled": True,
    }


def test_three_quarters_of_the_shadows_are_fit_runs():
    assert config_of(shadows=256).test_runs == 64
    assert config_of(shadows=256, test_runs=10).test_runs == 10


def test_the_reproduction_command_gives_the_same_digest():
    config = config_of(changes=("iterations=5",), ipc=2, claim=3.0, seed=9, records=200, test_runs=5)
    command = resolved_spec(config).command()
    assert command.startswith("audit lira ")
    assert resolve_config(spec_of(command), None)[0].digest == config.digest


def test_no_field_is_left_out_of_a_resolved_specification():
    """`ratio` becomes --ipc; the others are written as they were asked for or decided."""
    asked = small_spec(
        method="dm", dataset="digits", records=200, ipc=2, init="random", level="set", preset="paper",
        settings={"width": "8"},
        shadows=24, test_runs=6, fit_runs=9, public_draws=3, canaries="blank:3", queries=1, delta=0.25, confidence=0.9,
        tries=3, claim=1.5, shuffle_membership=True, seed=7, device="cpu", compile="off", shard_runs=4,
    )  # fmt: skip
    found = resolved_spec(resolve_config(asked, None)[0])
    assert found == asked
    assert resolve_config(found, None)[0].digest == resolve_config(asked, None)[0].digest


@pytest.mark.parametrize(
    ("claim", "lower", "verdict"), [(None, 9.0, "NO CLAIM"), (1.0, 1.5, "REFUTED"), (1.0, 1.0, "NOT REFUTED")]
)
def test_verdicts(claim, lower, verdict):
    bound = EpsilonBound(
        lower=lower, delta=1e-5, confidence=0.95, estimator="one-run", unit="record", num_trials=10, ceiling=10.0,
        assumptions=(),
    )  # fmt: skip
    claimed = None if claim is None else Claim(epsilon_rdp=None, epsilon_pld=claim, delta=1e-5, source="stated")
    found, reason = judge(config_of(claim=claim), bound, claimed)
    assert found == verdict
    assert "safe" not in reason


def test_epsilon_calibrates_the_noise_of_a_private_method_and_is_not_overshot():
    from audit.accounting.ledger import claim_from_ledger
    from audit.games.membership.game import nominal_class_sizes
    from condensers.registry import get_method

    config, pool = resolve_config(small_spec(method="ldpdc", changes=("batch=5",), epsilon=2.0), None)
    method = get_method("ldpdc")
    claim = claim_from_ledger(method.plan(method.config(**config.method_config), nominal_class_sizes(pool)), 1e-5)
    assert 1.99 < claim.epsilon_pld <= 2.0 <= claim.epsilon_rdp
    assert resolved_spec(config).epsilon == 2.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "dm", "epsilon": 1.0}, "dm adds no noise"),
        ({"method": "ldpdc", "epsilon": 0.0}, r"--epsilon 0.0: must lie in \[0.001, 500\]"),
        ({"method": "ldpdc", "epsilon": -1.0}, r"--epsilon -1.0: must lie in \[0.001, 500\]"),
        ({"method": "ldpdc", "epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"method": "ldpdc", "epsilon": 1.0, "delta": 0.0}, "delta"),
        ({"method": "ldpdc", "epsilon": 1.0, "changes": ("noise_multiplier=2",)}, "both determine the noise"),
        ({"method": "ldpdc", "changes": ("batch=5", "noise_multiplier=0.002")}, "more noise"),
        ({"method": "ldpdc", "changes": ("batch=5", "noise_multiplier=0.0001")}, "noise multiplier 0.0001"),
        ({"method": "ldpdc", "changes": ("batch=11",)}, "batch=11: must lie in 1…10"),
        ({"method": "ndpdc", "init": "real"}, "are not differentially private"),
    ],
    ids=str,
)
def test_bad_input_of_private_methods_is_one_line(changes, said):
    flags = {"changes": ("batch=5",), **changes}
    with pytest.raises(BadInput, match=said) as told:
        config_of(**flags)
    assert "\n" not in str(told.value)


POSTPONED = """
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional


@dataclass(frozen=True, kw_only=True)
class Config:
    ipc: int = 1
    size: int | None = None
    rate: Optional[float] = 0.5
    kind: Literal["a", "b", 3] = "a"
    mixed: int | str = 1
    flag: bool = False
    shape: tuple[int, ...] = ()
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ipc=3", 3), ("size=7", 7), ("size=none", None), ("rate=2", 2.0), ("rate=None", None), ("kind=b", "b"),
        ("kind=3", 3), ("mixed=4", 4), ("mixed=x", "x"), ("flag=true", True),
    ],
)  # fmt: skip
def test_changes_of_postponed_and_optional_types(text, value, tmp_path):
    name, _, given = text.partition("=")
    assert parse_changes({name: given}, postponed_config(tmp_path), prefix="") == {name: value}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("size=x", "--set size=x: expected a whole number or none"),
        ("kind=c", "--set kind=c: expected one of a, b, 3"),
        (
            "shape=1",
            "--set shape=1: the type tuple[int, ...] cannot be set on the command line; supported are bool, int",
        ),
    ],
)
def test_changes_of_other_types_are_one_line(text, said, tmp_path):
    name, _, given = text.partition("=")
    with pytest.raises(BadConfig, match=re.escape(said)):
        parse_changes({name: given}, postponed_config(tmp_path), prefix="")


def postponed_config(folder) -> type:
    path = folder / "postponed.py"
    path.write_text(POSTPONED)
    spec = importlib.util.spec_from_file_location("postponed", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["postponed"] = module
    spec.loader.exec_module(module)
    return module.Config
