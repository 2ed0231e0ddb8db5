"""Specifications: everything follows from their fields."""

import doctest
import math
import shlex

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.specs import membership, pictures, worst_case
from audit.specs.membership import Compare, Ladder, Lira, Loss, Rmia
from audit.specs.options import build, split_settings, with_fields
from audit.specs.pictures import Visual
from audit.specs.spec import Spec, as_settings, default_of, fields_of, meta_of
from audit.specs.worst_case import WorstCase
from condensers.errors import BadConfig

KINDS = (Lira, Rmia, Loss, Compare, Ladder, WorstCase, Visual)


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


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_survive_command_and_json(kind: type[Spec]) -> None:
    assert parse(kind, kind().command()) == kind()
    assert kind.from_json(kind().to_json()) == kind()


@given(
    delta=st.floats(0, 1, exclude_max=True),
    epsilon=st.none() | st.floats(1e-300, 1e300),
    shadows=st.integers(1, 100_000),
    seed=st.integers(0, 2**63 - 1),
    settings=st.dictionaries(st.text("abc.", min_size=1), st.text(st.characters(exclude_categories=["C", "Z"]))),
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
        ({"shadows": 0}, "--shadows 0: expected a whole number >= 1"),
        ({"shadows": "many"}, "--shadows many: expected a whole number, got text"),
        ({"level": "door"}, "--level door: must be one of model, set"),
        ({"delta": 1.0}, "--delta 1.0: expected a number < 1.0"),
        ({"confidence": math.nan}, "--confidence nan: must be a finite number"),
        ({"ipc": 1, "ratio": 0.1}, "say the same thing"),
        ({"seed": -1}, "--seed -1: expected a whole number >= 0"),
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


@pytest.mark.parametrize("module", [membership, pictures, worst_case])
def test_examples_run(module) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
