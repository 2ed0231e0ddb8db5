"""What counts as another program: behaviour, not comments; and what of it decides a shard."""

import ast
import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from test_settings import config_of

import audit.games.settings
from audit.engine.fingerprint import PACKAGES, SHARD_SOURCES, behaviour, code_fingerprints

# In the import closure of `membership.shard`, and without a say in what stands in a shard: they decide what stands in
# the configuration, find modules, name errors, or store bytes whose checksum is tested.
NOT_OF_A_SHARD = {
    "audit/__init__.py", "audit/games/settings.py", "audit/engine/store.py", "audit/engine/fingerprint.py",
    "attacks/__init__.py", "audit/engine/checkpoints.py", "audit/games/membership/config.py",
    "attacks/registry.py", "audit/engine/progress.py", "audit/games/membership/coins.py", "audit/specs/__init__.py",
    "audit/specs/spec.py", "audit/specs/fields.py", "audit/specs/condense.py", "audit/version.py",
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
        ("condensers/dm.py", "momentum: float = 0.5", "momentum: float = 0.6", {"code", "shard code"}),
        ("attacks/victims.py", "weight_decay: float = 5e-4", "weight_decay: float = 4e-4", {"code", "shard code"}),
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
    before = code_fingerprints(copy)
    text = (copy / path).read_text(encoding="utf-8")
    assert old in text
    (copy / path).write_text(text.replace(old, new, 1), encoding="utf-8")
    after = code_fingerprints.__wrapped__(copy)
    assert {name for name in before if before[name] != after[name]} == changed


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


def test_all_that_a_shard_imports_is_covered() -> None:
    seen, waiting = set(), {"audit/games/membership/shard.py"}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        waiting |= imports_of(Path(path)) - seen - NOT_OF_A_SHARD
    assert {path for path in seen if not path.startswith(SHARD_SOURCES)} == set()
