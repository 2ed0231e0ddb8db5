"""Privacy audits of dataset condensation.

Describe an audit by a specification, run it, and read the record:

>>> import audit
>>> spec = audit.Lira(method="dm", level="set", shadows=64)
>>> spec.command()
'audit lira --level set --shadows 64'

`audit.run(spec)` returns the record that `report.json` holds, with `epsilon.lower`, `roc`, `verdict`, `to_pdf(path)`
and `to_html(path)`. Importing this package is cheap: torch is imported when an audit runs.
"""

import importlib
from typing import TYPE_CHECKING, Any

from audit.version import __version__

# Public name: the module that holds it. Imported on first use.
_PUBLIC = {
    "Adversaries": "audit.specs.grids",
    "Attribute": "audit.specs.attribute",
    "Compare": "audit.specs.membership",
    "Condense": "audit.specs.condense",
    "Continual": "audit.specs.continual",
    "GanLeak": "audit.specs.membership",
    "Ladder": "audit.specs.membership",
    "Lira": "audit.specs.membership",
    "Loss": "audit.specs.membership",
    "Reproduce": "audit.specs.reproduce",
    "Rmia": "audit.specs.membership",
    "Sweep": "audit.specs.grids",
    "Theory": "audit.specs.theory",
    "Utility": "audit.specs.utility",
    "Visual": "audit.specs.pictures",
    "WorstCase": "audit.specs.worst_case",
    "Executor": "audit.engine.executor",
    "InProcess": "audit.engine.executor",
    "Local": "audit.engine.executor",
    "Ray": "audit.engine.ray",
    "account": "audit.api",
    "audit_models": "audit.api",
    "bound_epsilon": "audit.api",
    "load": "audit.api",
    "plan": "audit.api",
    "run": "audit.api",
}
__all__ = ["__version__", *_PUBLIC]

if TYPE_CHECKING:
    from audit.api import account, audit_models, bound_epsilon, load, plan, run
    from audit.engine.executor import Executor, InProcess, Local
    from audit.engine.ray import Ray
    from audit.specs.attribute import Attribute
    from audit.specs.condense import Condense
    from audit.specs.continual import Continual
    from audit.specs.grids import Adversaries, Sweep
    from audit.specs.membership import Compare, GanLeak, Ladder, Lira, Loss, Rmia
    from audit.specs.pictures import Visual
    from audit.specs.reproduce import Reproduce
    from audit.specs.theory import Theory
    from audit.specs.utility import Utility
    from audit.specs.worst_case import WorstCase


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'audit' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
