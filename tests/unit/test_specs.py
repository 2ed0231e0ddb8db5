"""Specifications: everything follows from their fields."""

import doctest
import math
import shlex
from typing import get_args

import click
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from audit.accounting.account import account as account_for
from audit.accounting.class_sizes import CLASS_SIZES
from audit.specs import (
    account,
    attribute,
    condense,
    continual,
    membership,
    pictures,
    reproduce,
    theory,
    utility,
    worst_case,
)
from audit.specs.account import Account
from audit.specs.attribute import Attribute
from audit.specs.condense import Condense
from audit.specs.continual import Continual
from audit.specs.membership import Compare, GanLeak, Ladder, Lira, Loss, Rmia
from audit.specs.options import build, split_settings, with_fields
from audit.specs.pictures import Visual
from audit.specs.spec import Spec, as_settings, default_of, fields_of, meta_of, plain_type
from audit.specs.theory import Theory
from audit.specs.utility import Utility
from audit.specs.worst_case import WorstCase
from condensers.errors import BadConfig

KINDS = (Attribute, Lira, Rmia, Loss, GanLeak, Compare, Ladder, WorstCase, Visual, Utility, Theory, Condense, Continual)
# Every field away from its default, as far as they go together.
CHANGED = (
    Utility(
        methods=("dm", "my file.py:own"), synthetic=("a b.pt",), index=2, normalisation="unit", dataset="mnist",
        records=90, ipc=(1, 10), epsilon=(0.1, 1 / 3), init="real", preset="paper",
        settings={"iterations": "3", "victim.epochs": "2"}, architectures=("mlp", "vgg11"), seeds=3, one_set=True,
        epochs=7, match="none", subset=False, full=False, delta=1.23456789e-7, seed=2**63 - 1, device="cpu",
    ),
    Attribute(
        method="ndpdc", dataset="mnist", records=90, ipc=3, init="random", masked="my mask.txt", preset="paper",
        settings={"iterations": "3"}, shadows=12, test_runs=4, public_draws=2, delta=1e-7, confidence=1 / 3, tries=2,
        claim=0.1, epsilon=0.7, shuffle_membership=True, seed=1, device="cpu", compile="off", shard_runs=3,
    ),
    Attribute(ratio=1 / 3, independent_randomness=True),
    Continual(
        method="psg", dataset="mnist", records=90, stages=2, ipc=3, epsilon=1 / 3, preset="paper",
        settings={"iterations": "3"}, seeds=4, epochs=7, delta=1e-7, seed=9, device="cpu",
    ),
    Theory(dataset="mnist", records=77, ipc=(3,), iterations=9, seed=5),
    Condense(
        method="ndpdc", dataset="mnist", records=100, ipc=3, init="random", preset="paper", epsilon=1 / 3,
        settings={"batch": "4"}, members="coins of mine.csv", column=2, formats=("npz", "pt"), delta=0.1 + 0.2, seed=9,
        device="cpu", compile="off",
    ),
    Condense(hold_out=True),
    Visual(
        method="ndpdc", records=9, ratio=1 / 3, init="random", preset="paper", settings={"a": "b c"}, runs=2,
        distances=("l2", "lpips"), delta=1e-7, confidence=1 / 3, claim=0.1, epsilon=0.7, shuffle_membership=True,
        seed=1, device="cpu",
    ),
    Visual(synthetic=("a.pt", "b.pt"), members="c.csv", column=(1, 0), index=(0, 1), normalisation="unit"),
    Account(method="psg", class_sizes=(10, 10, 20), ipc=3, batch=4, noise_multiplier=1 / 3, steps=7, delta=1e-6),
    Account(
        gaussian=True, rate=1 / 3, epsilon=0.1, steps=3, sampling="fixed", accountant="pld", conversion="mironov",
        curve=True, cross_check=True,
    ),
    Account(ledger="l.json"),
    Account(method="psg", dataset="mnist"),
    Visual(dataset="mnist", ipc=3),
)  # fmt: skip


def parse(kind: type[Spec], command: str) -> Spec:
    """What the command line makes of a command."""

    @click.command()
    @with_fields(kind)
    def made(**_flags: object) -> None:
        """Never called."""

    program, name, *words = shlex.split(command)
    assert (program, name) == ("audit", kind.COMMAND)
    return build(kind, made.make_context(name, words).params)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_has_help_and_a_default_that_is_allowed(kind: type[Spec]) -> None:
    made = kind()
    for name, hint in fields_of(kind):
        assert getattr(made, name) == default_of(kind, name)
        assert any(meta.description for meta in meta_of(hint)), f"{kind.__name__}.{name} has no help"


def test_help_is_that_of_the_outermost_annotation() -> None:
    said = {
        kind: next(meta.description for meta in meta_of(dict(fields_of(kind))["settings"])) for kind in (Lira, Visual)
    }
    assert said[Visual] == "A setting of the method. May be repeated."
    assert "attack.KEY" in said[Lira]


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_survive_command_and_json(kind: type[Spec]) -> None:
    assert parse(kind, kind().command()) == kind()
    assert kind.from_json(kind().to_json()) == kind()


@pytest.mark.parametrize("made", CHANGED, ids=lambda made: type(made).__name__)
def test_changed_fields_survive_command_and_json(made: Spec) -> None:
    assert parse(type(made), made.command()) == made
    assert type(made).from_json(made.to_json()) == made
    assert parse(type(made), made.command()).digest == made.digest


def test_the_changed_ones_leave_no_field_out() -> None:
    """A field that is added has to be told here how it looks in a command."""
    for kind in {type(made) for made in CHANGED}:
        for name, _ in fields_of(kind):
            values = [getattr(made, name) for made in CHANGED if type(made) is kind]
            assert any(value != default_of(kind, name) for value in values), (kind, name)


def test_names_in_an_account_are_those_there_are() -> None:
    hints = dict(fields_of(Account))
    with pytest.raises(BadConfig, match="'magic': is not one of ldpdc"):
        account_for(Account(method="magic", dataset="mnist"))
    assert set(get_args(plain_type(hints["dataset"]))) == set(CLASS_SIZES)


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        (Utility, {"ipc": (1, 0)}, "--ipc 0: must lie in"),
        (Utility, {"architectures": ("vit",)}, "--architectures vit: must be one of convnet"),
        (Attribute, {"shadows": 8, "test_runs": 1}, "--test-runs 1: must be at least 2"),
        (Attribute, {"ipc": 1, "ratio": 0.5}, "both set the number of synthetic images"),
        (Theory, {"ipc": ()}, "--ipc"),
        (Condense, {"column": 1}, "--column 1: can only be given together with --members FILE"),
        (Condense, {"members": "m", "hold_out": True}, "give only one of them"),
        (Condense, {"formats": ("zip",)}, "--format zip: must be one of safetensors"),
        (Visual, {"synthetic": ("a",), "runs": 3}, "--runs: has no meaning with --synthetic"),
        (Visual, {"synthetic": ("a",), "claim": 1.0}, "--claim: has no meaning without --members FILE"),
        (Account, {}, "give one of --method"),
        (Account, {"gaussian": True, "ipc": 1}, "--ipc cannot be combined with --gaussian"),
        (Account, {"method": "psg", "dataset": "mnist", "class_sizes": (1,)}, "give one of --dataset"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_said_in_one_line(kind: type[Spec], changes: dict, said: str) -> None:
    with pytest.raises(BadConfig, match=said) as error:
        kind(**changes)
    assert "\n" not in str(error.value)


PRINTABLE = st.text(st.characters(exclude_categories=["C", "Z"]).filter(str.isprintable))


@hypothesis_settings(deadline=None)
@given(
    delta=st.just(0.0) | st.floats(1e-30, 1, exclude_max=True),
    epsilon=st.none() | st.floats(1e-3, 500),
    shadows=st.integers(1, 100_000),
    seed=st.integers(0, 2**63 - 1),
    settings=st.dictionaries(
        st.text("abc.", min_size=1), st.text(st.characters(exclude_categories=["C", "Z"]).filter(str.isprintable))
    ),
    files=st.lists(st.text("ab ./'\"", min_size=1).filter(lambda text: not text.startswith("-"))),
    flag=st.booleans(),
)
def test_command_and_json_lose_no_digit(delta, epsilon, shadows, seed, settings, files, flag) -> None:
    made = Lira(
        delta=delta, epsilon=epsilon, shadows=shadows, seed=seed, settings=settings, synthetic=tuple(files),
        shuffle_membership=flag,
    )  # fmt: skip
    assert parse(Lira, made.command()) == made
    assert Lira.from_json(made.to_json()) == made
    assert parse(Lira, made.command()).digest == made.digest


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shadows": 0}, "--shadows 0: must lie in 1…100000"),
        ({"shadows": "many"}, "--shadows many: expected a whole number, got text"),
        ({"level": "door"}, "--level door: must be one of model, set"),
        ({"delta": 1.0}, r"--delta 1.0: must lie in \[0, 1\)"),
        ({"confidence": math.nan}, "--confidence nan: must lie strictly between 0 and 1"),
        ({"ipc": 1, "ratio": 0.1}, "both set the number of synthetic images"),
        ({"seed": -1}, "--seed -1: must lie in 0…9223372036854775807"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(changes: dict, said: str) -> None:
    with pytest.raises(BadConfig, match=said) as error:
        Lira(**changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ['{"shadows": 0}', '{"depth": 1}', "[1]", "{", '{"level": "door"}'])
def test_json_that_is_no_specification_is_one_line(text: str) -> None:
    with pytest.raises(BadConfig, match=r"^lira: "):
        Lira.from_json(text)


def test_the_digest_depends_on_every_field() -> None:
    changed = Lira(shadows=64)
    assert len({Lira().digest, changed.digest, changed.but(seed=1).digest, Lira(settings={"a": "1"}).digest}) == 4
    assert Lira(settings={"b": "2", "a": "1"}).digest == Lira(settings={"a": "1", "b": "2"}).digest


def test_settings_of_other_types_become_text() -> None:
    assert as_settings({"a": 1, "b": True, "c": 0.1, "d": "x"}) == {"a": "1", "b": "true", "c": "0.1", "d": "x"}
    with pytest.raises(BadConfig, match="KEY=VALUE"):
        split_settings(("a",))


@pytest.mark.parametrize(
    "module", [account, attribute, condense, continual, membership, pictures, reproduce, theory, utility, worst_case]
)
def test_examples_run(module) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
