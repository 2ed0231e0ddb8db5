"""A claim, its tests, and what they found.

A test is some specifications and a judge of their records. It runs under the threat model of the paper or
under a stronger one that it names. Judges look at intervals and bounds that were valid before anybody looked: no
threshold is chosen on the data that it is tested on. The tests of one claim share its error rate (Bonferroni).

A finding carries the range of settings that the claim was published for and the scope that was tested. Where they
differ it lists the mismatches, and its verdict is one outside of the published range: it says nothing about the
paper's own settings.

Verdicts:
- CONTRADICTED: a valid bound or interval excludes what is claimed, under this threat model.
- CONFIRMED: a valid bound or interval lies within what is claimed (for claims that something is so).
- NOT CONTRADICTED: what was measured agrees with the claim; a stronger test might not.
- NOT SHOWN: what was measured neither excludes the claim nor supports it.
- NOT TESTABLE HERE: says what it would take.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from audit.claims.ranges import ANYTHING, PublishedRange
from audit.specs.spec import Spec
from reports.records.scope import Scope

VERDICTS = ("CONTRADICTED", "CONFIRMED", "NOT CONTRADICTED", "NOT SHOWN", "NOT TESTABLE HERE")
SCALES = ("quick", "full")
SCHEMA = "condensation-audit/claims/2"
OUTSIDE = "outside the published range"


# What is run at a scale. Confidence is left to the run, and a seed is counted from that of the run.
Specs = Mapping[str, tuple[Spec, ...]]


def at_scales(quick: Spec, full: Spec | None = None) -> Specs:
    """One specification at each scale, or the same at both."""
    return {"quick": (quick,), "full": (quick if full is None else full,)}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One specification's record, and coins and scores of its test runs where it has any.

    `draws` numbers the draw of the public randomness that each test run had. `scope` is None where nothing was run on
    any data, as in arithmetic on printed figures.
    """

    record: Any
    members: np.ndarray = field(default_factory=lambda: np.empty(0))
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))
    draws: np.ndarray = field(default_factory=lambda: np.empty(0))
    scope: Scope | None = None


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What a judge says: a verdict and the figures behind it in one line.

    `is_arithmetic` where nothing random decided it, so that it has no confidence.
    """

    verdict: str
    figures: str
    is_arithmetic: bool = False

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is not one of {', '.join(VERDICTS)}")


Judge = Callable[[Sequence[Evidence], float], Ruling]  # evidence of the specifications in turn, significance


@dataclass(frozen=True, kw_only=True)
class Test:
    """`specs` maps a scale to what is run."""

    name: str
    threat_model: str
    specs: Specs
    judge: Judge


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What somebody published, and for which settings. `needs` says what a claim would take that has no tests here."""

    name: str
    who: str
    where: str
    statement: str
    tests: tuple[Test, ...] = ()
    needs: str = ""
    published: PublishedRange = ANYTHING


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one test of one claim found, as it is stored and printed; arithmetic has no confidence."""

    claim: str
    test: str
    threat_model: str
    verdict: str
    figures: str
    confidence: float | None
    scale: str
    commands: tuple[str, ...]
    version: str
    claimed_for: str
    tested_in: str
    mismatches: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The verdict, no wider than its evidence."""
        return f"{self.verdict} ({OUTSIDE})" if self.mismatches else self.verdict
