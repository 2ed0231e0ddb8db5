"""Methods and attacks from outside: a file, a module, or an entry point of an installed package.

Nothing is imported but what a person names: `path/to/file.py:name` and `module:name` (installed, or in the current
directory), or the name of an entry point. `name` is a decorated function, or the name that its decorator gave it.
A checksum of the sources is part of what determines a result: of the file, or of the whole package that the module
is in; not of what these import in turn.
"""

import ast
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from condensers.errors import BadConfig
from condensers.spelling import did_you_mean

MARK = "__registered__"  # where a decorator leaves what it made of a function

Registered = TypeVar("Registered")


def mark(function: Callable[..., Any], registered: object) -> None:
    """Note on a decorated function what it was registered as, for whoever loads it by its place."""
    setattr(function, MARK, registered)


def import_namesake(package: ModuleType, name: str) -> None:
    """Import the file of our own that is called as a method or an attack is, if there is one, and no other.

    One that is called otherwise is found as well, when all files are imported.
    """
    module = name.replace("-", "_")
    if any(found.name == module for found in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")


def registered_names(package: ModuleType, decorator: str) -> tuple[str, ...]:
    """The names under which the files of our own register functions, read from their text: nothing is imported.

    So a misspelt name is refused before torch is loaded.
    """
    pattern = re.compile(rf'^@{decorator}\(\s*"([^"]+)"', re.MULTILINE)
    files = sorted(Path(folder) / f"{found.name}.py" for folder in package.__path__ for found in _modules(folder))
    return tuple(sorted(name for file in files for name in pattern.findall(file.read_text(encoding="utf-8"))))


def _modules(folder: str) -> list[pkgutil.ModuleInfo]:
    return [found for found in pkgutil.iter_modules([folder]) if not found.ispkg]


def check_name(option: str, name: str, package: ModuleType, decorator: str) -> None:
    """Refuse a name that neither a file of our own nor an installed package registers."""
    if is_reference(name) or name in registered_names(package, decorator):
        return
    known = [*registered_names(package, decorator), *entry_points(f"{decorator}s")]
    if name not in known:
        own = "; write a method of your own as module:name or path/to/file.py:name" if decorator == "condenser" else ""
        raise BadConfig(f"{option} {name!r} is not one of {', '.join(known)}{own}{did_you_mean(name, known)}")


def is_reference(name: str) -> bool:
    """A colon is how a person says that code of their own is to be run."""
    return ":" in name


def directory_part(name: str) -> str:
    """A method's name as part of a file name: `a/b.py:mine` is b-mine. No separator and no `..` is left in it."""
    place, colon, function = name.rpartition(":")
    if not colon:
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip(".-") or "unnamed"
    stem = Path(place).stem if place.endswith(".py") else place
    return "-".join(re.sub(r"[^A-Za-z0-9_]+", "-", part).strip("-") for part in (stem, function))


def load_reference(reference: str, kind: type[Registered], what: str) -> tuple[Registered, str]:
    """What `module:name` or `file.py:name` was registered as, and the checksum of its sources.

    `what` says in messages what was asked for, such as "--method" and "condenser".
    """
    key = (reference, os.getcwd())
    if key not in _LOADED:
        _LOADED[key] = _load(reference, kind, what)
    return _LOADED[key]


_LOADED: dict[tuple[str, str], tuple[Any, str]] = {}


def _load(reference: str, kind: type, what: str) -> tuple[Any, str]:
    place, _, name = reference.rpartition(":")
    if not place or not name:
        raise BadConfig(f"{reference}: write a {what} of your own as module:name or path/to/file.py:name")
    module = _import_file(reference, Path(place)) if place.endswith(".py") else _import(reference, place)
    function = _find(reference, module, name, kind, what)
    return getattr(function, MARK), _checksum({module, inspect.getmodule(function) or module})


def entry_points(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """What installed packages offer, by name; nothing of it is imported."""
    return {point.name: point for point in importlib.metadata.entry_points(group=group)}


def load_entry_point(point: importlib.metadata.EntryPoint, kind: type[Registered], what: str) -> tuple[Registered, str]:
    """What an entry point was registered as, and the checksum of its sources."""
    return load_reference(point.value.replace(" ", ""), kind, what)


def source_files(reference: str) -> tuple[Path, ...]:
    """The file that a reference `path/to/file.py:name` names; none where it names something installed."""
    place = reference.rpartition(":")[0]
    return (Path(place),) if place.endswith(".py") else ()


def _find(reference: str, module: ModuleType, name: str, kind: type, what: str) -> Any:
    decorated = [value for value in vars(module).values() if isinstance(getattr(value, MARK, None), kind)]
    for function in decorated:
        if getattr(module, name, None) is function or getattr(function, MARK).name == name:
            return function
    if hasattr(module, name):
        raise BadConfig(f"{reference}: {name} is not a {what}; decorate it with @{what}(…)")
    there = ", ".join(function.__name__ for function in decorated) or "none"
    raise BadConfig(f"{reference}: no {name!r} in {module.__file__}; {what}s there: {there}")


def _import_file(reference: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise BadConfig(f"{reference}: there is no file {Path.cwd() / path}")
    path = path.resolve()
    unique = f"plugin_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    specification = importlib.util.spec_from_file_location(unique, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[unique] = module  # dataclasses look their module up
    with _last_on_path(str(path.parent)), _explained(reference):
        specification.loader.exec_module(module)
    return module


def _import(reference: str, name: str) -> ModuleType:
    """Import from what is installed, or else from the current directory, which is on the path for this import only.

    It stands last there: nothing in it can take the place of a module that another package asks for.
    """
    importlib.invalidate_caches()
    with _last_on_path(os.getcwd()), _explained(reference, name):
        return importlib.import_module(name)


@contextmanager
def _last_on_path(folder: str) -> Iterator[None]:
    """Modules of this folder can be imported while the block runs, where no other has their name."""
    added = folder not in sys.path
    if added:
        sys.path.append(folder)
    try:
        yield
    finally:
        if added:
            sys.path.remove(folder)


@contextmanager
def _explained(reference: str, module: str = "") -> Iterator[None]:
    """Turn whatever an import raises into one line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            raise BadConfig(
                f"{reference}: there is no module {error.name!r}, neither installed nor in {os.getcwd()}"
            ) from None
        raise BadConfig(f"{reference}: its import failed with {type(error).__name__}: {error}") from None


def _checksum(modules: set[ModuleType]) -> str:
    """Of the files of the modules and of those beside them that they import, or of all sources of their packages."""
    digest = hashlib.sha256()
    for top in sorted({module.__name__.partition(".")[0] for module in modules}):
        package = sys.modules[top]
        roots = [Path(root) for root in getattr(package, "__path__", [])]
        files = [(str(path.relative_to(root)), path) for root in roots for path in sorted(root.rglob("*.py"))]
        files = files or [(path.name, path) for path in _with_siblings(Path(str(package.__file__)))]
        for name, path in files:
            digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _with_siblings(path: Path) -> list[Path]:
    """A file and the modules beside it that it imports, and those that they import."""
    found, waiting = [path], [path]
    while waiting:
        tree = ast.parse(waiting.pop().read_text(encoding="utf-8"))
        names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        for name in sorted({name.partition(".")[0] for name in names}):
            sibling = path.parent / f"{name}.py"
            if sibling.is_file() and sibling not in found:
                found.append(sibling)
                waiting.append(sibling)
    return found
