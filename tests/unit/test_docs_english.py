"""Expressions that readers stumbled over do not come back into README and docs. Code blocks are not prose."""

import re

import pytest
from conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Expression: what to write instead.
AVOIDED = {
    r"comes from the crowd": "comes from the number of records",
    r"\bcores bear\b|\bbears? (that|little|much)\b": "fits on, tolerates, handles",
    r"not met a GPU": "is untested on GPUs",
    r"\b(images?|records?|members|event|numbers?) an? (class|run|set)\b": "per class, per run",
    r"waited for": "run to completion",
    r"cannot show here": "no larger ε can be certified with this many trials",
    r"\bWho (runs|holds|knows)\b": "If you run …; an adversary who …",
    r"ε speaks of|speaks of (it|them|ε)": "adjacency; is about",
    r"[Ww]hat touched the records": "mechanism ledger",
    r"[Aa]dversary at the door": "transcript-level audit",
    r"told coins": "given labels independent of membership",
    r"[Ww]hoever (looks|knows|holds)": "an adversary who …",
    r"\bgives? (it|them|the record|a record|somebody)? ?away\b": "leaks",
}


@pytest.mark.parametrize(("avoided", "better"), AVOIDED.items())
def test_expression_is_not_used(avoided: str, better: str) -> None:
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = re.search(avoided, " ".join(prose.split()))
        assert found is None, f"{page.relative_to(ROOT)}: {found and found.group()!r}; better: {better}"
