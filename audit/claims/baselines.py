"""Condensation against baselines: a random subset of the records, and training with DP-SGD.

Dong et al. say that condensed data give privacy; Carlini, Feldman and Nasr (arXiv:2209.14987) that there is no
significant evidence of more privacy than that of a naive baseline, and that DP-SGD is more accurate and provably
better protected. Sizes and ε of equal accuracy were chosen by accuracy alone, at seed 0 (docs/results.md).
"""

from audit.claims.comparisons import more_private_than
from audit.claims.privacy_for_free import DONG, DRAWS, KNOWN_RANDOMNESS, PUBLISHED, SEES_SET
from audit.claims.record import Claim, Test

DISPUTED = f"{DONG}; disputed by Carlini, Feldman, Nasr, arXiv:2209.14987"
WHERE = "abstract and section 5; abstract"
EQUAL_SUBSET = "lira --method real --ipc 5"
DPSGD = "lira --method dpsgd --epsilon 2.25"
SEES_RELEASE = (
    "each adversary sees what is released: the synthetic set, with its public randomness known, or the outputs of "
    "DP-SGD's network"
)
OUTPUTS_ONLY = "DP-SGD releases its weights too; only their outputs were attacked here"


def _paired(first: str, second: str) -> dict[str, tuple[str, ...]]:
    """The same coins for both. DP-SGD has no public randomness to draw."""
    without = second == DPSGD
    return {
        scale: (f"{first} {flags}", f"{second} {flags.partition(' --public-draws')[0] if without else flags}")
        for scale, flags in DRAWS.items()
    }


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
                commands=_paired(f"lira --method dm{flag}", f"lira --method real{flag}"),
                judge=more_private_than("a random subset of equal size"),
            )
            for level, threat_model, flag in (("model", KNOWN_RANDOMNESS, ""), ("set", SEES_SET, " --level set"))
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
                commands=_paired(f"lira --method dm{flag}", f"{EQUAL_SUBSET}{flag}"),
                judge=more_private_than("a random subset with five records per synthetic image, as accurate"),
            )
            for level, threat_model, flag in (("model", KNOWN_RANDOMNESS, ""), ("set", SEES_SET, " --level set"))
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
                commands=_paired(f"lira --method dm{flag}", DPSGD),
                judge=more_private_than("DP-SGD, about as accurate", not_done=OUTPUTS_ONLY),
            )
            for name, threat_model, flag in (
                ("model", KNOWN_RANDOMNESS, ""),
                ("what is released", SEES_RELEASE, " --level set"),
            )
        ),
    ),
)
