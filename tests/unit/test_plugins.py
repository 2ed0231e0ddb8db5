"""Methods and attacks from outside: what is imported, what is recorded, what is refused."""

import dataclasses
import os
import sys

import pytest
import torch
from small_specs import small_spec

from attacks.registry import get_attack
from audit.commands.methods import list_all
from audit.games.membership.config import AuditConfig
from audit.games.membership.resolve import resolve_config
from audit.games.membership.shard import condense
from condensers.errors import BadConfig, BadData
from condensers.plugins import directory_part
from condensers.pool import CondensedBatch
from condensers.randomness import Randomness
from condensers.registry import Method, all_methods, condense_runs, get_method, untracked

SOURCE = '''
from dataclasses import dataclass
import torch
from small_specs import small_spec
from condensers.pool import CondensedBatch
from condensers.registry import condenser

@dataclass(frozen=True, kw_only=True)
class Config:
    ipc: int = 1
    init: str = "random"

@condenser("{name}", config=Config)
def zeros(pool, included, config, *, randomness, track):
    """Black images."""
    labels = torch.arange(pool.num_classes).expand(len(included), -1)
    images = torch.zeros(*labels.shape, *pool.images.shape[1:])
    return CondensedBatch(images=images, labels=labels, initial_records=torch.full_like(labels, -1))
'''
ATTACK = '''
from dataclasses import dataclass
from attacks.registry import attack

@dataclass(frozen=True, kw_only=True)
class Config:
    pass

@attack("mine", config=Config, needs_fit_runs=False)
def score_mine(observations, config):
    """Nothing."""
    return observations.test_signals[:, :, 0]
'''


def config_of(method: str) -> AuditConfig:
    return resolve_config(small_spec(method=method), None)[0]


def test_a_file_and_a_module_give_the_same_method(tmp_path, monkeypatch):
    (tmp_path / "zeros_here.py").write_text(SOURCE.format(name="blank"))
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    found = [get_method(f"{place}:{name}") for place in ("zeros_here", "zeros_here.py") for name in ("zeros", "blank")]
    assert [method.summary for method in found] == ["Black images."] * 4
    assert len({method.plugin for method in found}) == 1
    assert [method.name for method in found] == [
        "zeros_here:zeros", "zeros_here:blank", "zeros_here.py:zeros", "zeros_here.py:blank",
    ]  # fmt: skip
    assert sys.path == before


def test_a_plugin_does_not_take_the_name_of_a_method_of_ours(tmp_path):
    path = tmp_path / "impostor.py"
    path.write_text(SOURCE.format(name="dm"))
    ours = get_method("dm")
    assert get_method(f"{path}:dm").summary == "Black images."
    assert get_method("dm") == ours
    assert "zeros" not in all_methods()


def test_digest_covers_the_source_of_a_plugin(tmp_path):
    digests = set()
    for folder, text in (("a", ""), ("b", ""), ("c", "\nCHANGED = True\n")):
        path = tmp_path / folder / "mine.py"
        path.parent.mkdir()
        path.write_text(SOURCE.format(name="mine") + text)
        config = dataclasses.replace(config_of(f"{path}:zeros"), method="mine.py:zeros")
        digests.add(config.digest)
        assert "/" not in config.directory_name
        assert ":" not in config.directory_name
    assert len(digests) == 2


def test_digest_covers_every_file_of_a_package(tmp_path, monkeypatch):
    package = tmp_path / "package_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "methods.py").write_text("from package_of_mine.work import zeros\n")
    (package / "work.py").write_text(SOURCE.format(name="mine"))
    monkeypatch.chdir(tmp_path)
    method = get_method("package_of_mine.methods:zeros")
    (package / "other.py").write_text("ANYTHING = 1\n")
    assert get_method("package_of_mine.methods:mine").plugin != method.plugin


def test_a_plugin_that_changed_under_a_running_audit_is_refused(tmp_path, digits):
    path = tmp_path / "moving.py"
    path.write_text(SOURCE.format(name="mine"))
    config = config_of(f"{path}:zeros")
    config = dataclasses.replace(config, versions={**config.versions, "method plugin": "another"})
    included = torch.ones(1, digits.num_records, dtype=torch.bool)
    with pytest.raises(BadData, match="has changed since"):
        condense(config, digits, included, Randomness(seed=0, runs=(0,)), untracked)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with entry points, as an installer would leave it."""
    (tmp_path / "installed_here.py").write_text(SOURCE.format(name="anything") + ATTACK)
    (tmp_path / "untouched.py").write_text("raise RuntimeError('nobody named it')")
    facts = tmp_path / "installed_here-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-here\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[condensers]\nblank = installed_here:zeros\ndm = untouched:dm\nbad = untouched:bad\n"
        "[attacks]\nmine = installed_here:score_mine\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed")
def test_entry_points_are_found_by_name_and_imported_only_then():
    assert get_method("blank").summary == "Black images."
    assert get_method("blank").name == "blank"
    assert get_method("blank").plugin
    assert get_method("dm").plugin == ""
    assert get_attack("mine").plugin
    assert config_of("blank").versions["method plugin"] == get_method("blank").plugin
    assert {"name": "blank", "group": "condensers", "place": "installed_here:zeros"} in list_all()["installed"]
    with pytest.raises(BadConfig, match=r"is not one of .*blank"):
        get_method("blanc")
    assert "untouched" not in sys.modules
    with pytest.raises(BadConfig, match="nobody named it"):
        get_method("bad")


def test_an_attack_from_a_file(tmp_path):
    path = tmp_path / "attack_here.py"
    path.write_text(ATTACK)
    assert get_attack(f"{path}:score_mine").summary == "Nothing."
    with pytest.raises(BadConfig, match="attacks there: score_mine"):
        get_attack(f"{path}:other")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("dm", "dm"),
        ("a/b c/mine.py:make", "mine-make"),
        ("package.module:make_it", "package-module-make_it"),
        ("../x.py:a/b", "x-a-b"),
    ],
)
def test_directory_part(name, part):
    assert directory_part(name) == part
    assert os.sep not in directory_part(name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"images": torch.zeros(5, 3, 1, 2, 2)}, r"images of shape \(5, 3, 1, 2, 2\), not \(5, 3, 3, 12, 12\)"),
        ({"labels": torch.zeros(3, dtype=torch.int64)}, "labels of shape"),
        ({"initial_records": torch.zeros(5, 2, dtype=torch.int64)}, "initial_records of shape"),
        (None, "not a CondensedBatch"),
    ],
    ids=["images", "labels", "initial_records", "type"],
)
def test_what_a_method_returns_is_checked(small_pool, small_members, change, said):
    labels = torch.arange(3).expand(5, -1)
    right = CondensedBatch(
        images=torch.zeros(5, 3, 3, 12, 12), labels=labels, initial_records=torch.full_like(labels, -1)
    )
    returned = None if change is None else dataclasses.replace(right, **change)
    method = Method(name="mine", summary="", config=dict, condense=lambda *_, **__: returned, presets={})
    with pytest.raises(BadConfig, match=said):
        condense_runs(
            method, small_pool, small_members, None, class_sizes=(12.0,) * 3,
            randomness=Randomness(seed=0, runs=tuple(range(5))),
        )  # fmt: skip
