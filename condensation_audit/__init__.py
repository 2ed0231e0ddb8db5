"""The suite under a name that no other package has.

>>> import condensation_audit
>>> condensation_audit.Lira(shadows=64).command()
'audit lira --shadows 64'

It has the public names of `audit`. A project with a package of its own that is called `audit`, `attacks`, `condensers`
or `reports` hides ours wherever its folder comes first on the path; that is said in one line when a name is used.
"""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

_OURS = ("audit", "attacks", "condensers", "reports")


def _audit() -> ModuleType:
    """Our package of that name, and not another one."""
    home = Path(__file__).resolve().parents[1]
    for name in _OURS:
        found = getattr(importlib.import_module(name), "__file__", None)
        if found is None or Path(found).resolve().parents[1] != home:
            raise ImportError(
                f"condensation_audit needs its own package {name!r}, but {found or 'a folder'} is imported under that "
                f"name; run from another folder, or rename that package"
            )
    return importlib.import_module("audit")


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__version__":
        raise AttributeError(name)
    return getattr(_audit(), name)


def __dir__() -> list[str]:
    return dir(_audit())
