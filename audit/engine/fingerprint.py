"""What the code does, as a checksum: comments, docstrings and formatting do not count.

A fingerprint covers the abstract syntax trees of modules. That of the shards covers what decides a shard's bytes, and
so do those of the sets and networks of `audit utility`; that of the record covers everything, the words of verdicts and
reports among it. So a change of wording names another run directory, and the shards, sets and networks of an earlier
one are still taken. A syntax tree belongs to a minor version of Python, and so do the fingerprints.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("attacks", "audit", "condensers", "reports")
# Modules that decide what stands in a shard. What others decide beforehand (`settings`, `resolve`, the
# accountants) stands in the configuration; how a shard is stored (audit/engine/store.py) is checked when it is read.
SHARD_SOURCES = (
    "condensers/", "attacks/canaries.py", "attacks/dc_augmentation.py", "attacks/victims.py", "audit/data/",
    "audit/games/membership/audited.py", "audit/games/membership/game.py", "audit/games/membership/shard.py",
)  # fmt: skip
# The same of a condensed set in a cell, and of the networks that are trained on one.
SET_SOURCES = ("condensers/", "audit/data/", "audit/games/full_pool.py", "audit/games/utility/work.py")
NETWORK_SOURCES = (
    *SET_SOURCES, "attacks/dc_augmentation.py", "attacks/victims.py", "audit/games/utility/networks.py",
    "audit/games/utility/training.py",
)  # fmt: skip
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_fingerprints(root: Path = Path(__file__).parents[2]) -> dict[str, str]:
    """Of all sources (`code`), and of those that decide a shard (`shard code`)."""
    return {"code": fingerprint(PACKAGES, root), "shard code": fingerprint(SHARD_SOURCES, root)}


@cache
def fingerprint(sources: tuple[str, ...], root: Path = Path(__file__).parents[2]) -> str:
    """Of the modules whose names start so."""
    found = hashlib.sha256()
    for name, content in _contents(root).items():
        if name.startswith(sources):
            found.update(content)
    return found.hexdigest()[:16]


@cache
def _contents(root: Path) -> dict[str, bytes]:
    """What every module does, by name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            found[name] = f"{name}\n{behaviour(path.read_text(encoding='utf-8'))}\n".encode()
    return found


def behaviour(source: str) -> str:
    """The syntax tree of a module without its docstrings, as text without positions."""
    tree = ast.parse(source)
    for node in _statements(tree):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all statements in it, without looking into expressions, of which there are ten times as many."""
    yield node
    for name in _BLOCKS:
        for inner in getattr(node, name, ()):
            yield from _statements(inner)
