"""What counts as another program: behaviour, not comments; and what of it decides a shard."""

import ast
import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from test_settings import config_of

import audit.games.settings
from audit.engine.fingerprint import (
    NETWORK_SOURCES,
    PACKAGES,
    SET_SOURCES,
    SHARD_SOURCES,
    _contents,
    behaviour,
    code_fingerprints,
    fingerprint,
)

# In the import closure of what computes shards, sets and networks, and without a say in what stands in them: they
# decide what stands in the configuration, find modules, name errors, share out work, or store what has a checksum.
NOT_DECIDING = {
    "audit/__init__.py", "audit/games/settings.py", "audit/engine/store.py", "audit/engine/fingerprint.py",
    "attacks/__init__.py", "audit/engine/checkpoints.py", "audit/games/membership/config.py",
    "attacks/registry.py", "audit/engine/progress.py", "audit/games/membership/coins.py", "audit/specs/__init__.py",
    "audit/specs/spec.py", "audit/specs/fields.py", "audit/specs/condense.py", "audit/version.py",
    "audit/engine/allocator.py", "audit/engine/cells.py", "audit/engine/executor.py", "reports/records/utility.py",
}  # fmt: skip


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        ("condensers/dm.py", '"""Distribution matching', '"""Another docstring', set()),
        ("condensers/dm.py", "momentum: float = 0.5", "momentum: float = 0.5  # a comment", set()),
        ("condensers/dm.py", "momentum: float = 0.5", "momentum: float = (\n        0.5\n    )", set()),
        (
            "condensers/dm.py",
            "momentum: float = 0.5",
            "momentum: float = 0.6",
            {"code", "shard code", "sets", "networks"},
        ),
        (
            "attacks/victims.py",
            "weight_decay: float = 5e-4",
            "weight_decay: float = 4e-4",
            {"code", "shard code", "networks"},
        ),
        (
            "audit/games/membership/game.py",
            "INCLUSION_PROBABILITY = 0.5",
            "INCLUSION_PROBABILITY = 0.4",
            {"code", "shard code"},
        ),
        ("audit/games/membership/summary.py", "A stronger attack might.", "A better attack might.", {"code"}),
        ("reports/words/bounds.py", "nothing is certified", "nothing is shown", {"code"}),
        ("attacks/lira.py", "SMALLEST_DEVIATION = 1e-6", "SMALLEST_DEVIATION = 1e-7", {"code"}),
    ],
)
def test_fingerprints_against_edits(copy: Path, path: str, old: str, new: str, changed: set[str]) -> None:
    before = all_fingerprints(copy)
    text = (copy / path).read_text(encoding="utf-8")
    assert old in text
    (copy / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    for cached in (fingerprint, _contents):
        cached.cache_clear()
    after = all_fingerprints(copy)
    assert {name for name in before if before[name] != after[name]} == changed


def all_fingerprints(root: Path) -> dict[str, str]:
    cells = {"sets": fingerprint(SET_SOURCES, root), "networks": fingerprint(NETWORK_SOURCES, root)}
    return {**code_fingerprints(root), **cells}


def test_docstrings_of_every_kind_are_left_out_and_other_strings_are_not() -> None:
    plain = "class A:\n    def f(self):\n        return 1\n"
    told = '"""m"""\nclass A:\n    """c"""\n    def f(self):\n        """f"""\n        return 1\n'
    assert behaviour(told) == behaviour(plain)
    assert behaviour("x = 'a'") != behaviour("x = 'b'")


@pytest.mark.parametrize(("name", "same_shards"), [("code", True), ("attack plugin", True), ("shard code", False)])
def test_wording_names_another_run_and_takes_the_same_shards(monkeypatch, name: str, same_shards: bool) -> None:
    for level in ("set", "model"):
        before = config_of(level=level)
        with monkeypatch.context() as patched:
            found = audit.games.settings.versions
            patched.setattr(
                audit.games.settings, "versions", lambda *given, found=found: {**found(*given), name: "other"}
            )
            after = config_of(level=level)
        assert after.digest != before.digest
        assert (after.condensation_digest == before.condensation_digest) == same_shards
        assert (after.work_digest == before.work_digest) == same_shards


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = {Path(*name.split(".")).with_suffix(".py") for name in names if name.split(".")[0] in PACKAGES}
    return {file.as_posix() for file in files if (ROOT / file).exists()}


@pytest.mark.parametrize(
    ("first", "covered", "apart"),
    [
        ("audit/games/membership/shard.py", SHARD_SOURCES, set()),
        # Networks are trained on sets that are in other cells.
        ("audit/games/utility/work.py", SET_SOURCES, {"audit/games/utility/training.py"}),
        ("audit/games/utility/work.py", NETWORK_SOURCES, set()),
    ],
)
def test_all_that_is_imported_is_covered(first: str, covered: tuple[str, ...], apart: set[str]) -> None:
    seen, waiting = set(), {first}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        waiting |= imports_of(Path(path)) - seen - NOT_DECIDING - apart
    assert {path for path in seen if not path.startswith(covered)} == set()
