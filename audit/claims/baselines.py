"""Condensation against baselines: a random subset of the records, and training with DP-SGD.

Dong et al. say that condensed data give privacy; Carlini, Feldman and Nasr (arXiv:2209.14987) that there is no
significant evidence of more privacy than that of a naive baseline, and that DP-SGD is more accurate and provably
better protected. Sizes and ε of equal accuracy were chosen by accuracy alone, at seed 0 (docs/results.md).
"""

from typing import Literal

from audit.claims.comparisons import more_private_than
from audit.claims.privacy_for_free import DONG, DRAWS, KNOWN_RANDOMNESS, PUBLISHED, SEES_SET
from audit.claims.record import Claim, Specs, Test
from audit.specs.membership import Lira

DISPUTED = f"{DONG}; disputed by Carlini, Feldman, Nasr, arXiv:2209.14987"
WHERE = "abstract and section 5; abstract"
EQUAL_SUBSET = Lira(method="real", ipc=5)
DPSGD = Lira(method="dpsgd", epsilon=2.25)
SEES_RELEASE = (
    "each adversary sees what is released: the synthetic set, with its public randomness known, or the outputs of "
    "DP-SGD's network"
)
OUTPUTS_ONLY = "DP-SGD releases its weights too; only their outputs were attacked here"
Level = Literal["model", "set"]
LEVELS: tuple[tuple[Level, str], ...] = (("model", KNOWN_RANDOMNESS), ("set", SEES_SET))
RELEASED: tuple[tuple[str, str, Level], ...] = (
    ("model", KNOWN_RANDOMNESS, "model"),
    ("what is released", SEES_RELEASE, "set"),
)


def _paired(first: Lira, second: Lira) -> Specs:
    """The same coins for both. DP-SGD has no public randomness to draw."""
    without = {"public_draws": 1} if second == DPSGD else {}
    return {scale: (first.but(**runs), second.but(**runs | without)) for scale, runs in DRAWS.items()}


CLAIMS = (
    Claim(
        name="better-than-subset",
        who=DISPUTED,
        where=WHERE,
        statement="A condensed set is more private than a random subset of the records of the same size.",
        published=PUBLISHED,
        tests=tuple(
            Test(
                name=level,
                threat_model=threat_model,
                specs=_paired(Lira(level=level), Lira(method="real", level=level)),
                judge=more_private_than("a random subset of equal size"),
            )
            for level, threat_model in LEVELS
        ),
    ),
    Claim(
        name="better-than-equal-subset",
        who=DISPUTED,
        where=WHERE,
        statement="A condensed set is more private than a random subset that is as useful for training.",
        published=PUBLISHED,
        tests=tuple(
            Test(
                name=level,
                threat_model=threat_model,
                specs=_paired(Lira(level=level), EQUAL_SUBSET.but(level=level)),
                judge=more_private_than("a random subset with five records per synthetic image, as accurate"),
            )
            for level, threat_model in LEVELS
        ),
    ),
    Claim(
        name="better-than-dpsgd",
        who=DISPUTED,
        where=WHERE,
        statement="A condensed set is more private than training with DP-SGD to the same accuracy.",
        published=PUBLISHED,
        tests=tuple(
            Test(
                name=name,
                threat_model=threat_model,
                specs=_paired(Lira(level=level), DPSGD),
                judge=more_private_than("DP-SGD, about as accurate", not_done=OUTPUTS_ONLY),
            )
            for name, threat_model, level in RELEASED
        ),
    ),
)
