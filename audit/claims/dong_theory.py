"""The theory of Dong, Zhao and Lyu (arXiv:2206.00240, section 4 and Appendices A to D), as claims."""

from audit.claims.effect import Effect, effect_is_of_order
from audit.claims.privacy_for_free import DONG
from audit.claims.ranges import PublishedRange
from audit.claims.record import Claim, Specs, Test, at_scales
from audit.claims.theory import barycentres_approach, closed_form_holds, eq33_holds
from audit.specs.theory import Theory

NO_ADVERSARY = "none: a measurement of synthetic sets"
ARITHMETIC = "none: arithmetic"
SEEDS = {"quick": 3, "full": 8}
ONCE = at_scales(Theory())
SEVERAL: Specs = {scale: tuple(Theory(seed=k) for k in range(num)) for scale, num in SEEDS.items()}


def _effect(extractor: str) -> Specs:
    scales = {"quick": (4, 8), "full": (8, 32)}
    return {
        scale: tuple(Effect(extractor=extractor, left_out=left_out, seed=k) for k in range(seeds))
        for scale, (seeds, left_out) in scales.items()
    }


CLAIMS = (
    Claim(
        name="minimiser-of-dm",
        who=DONG,
        where="Propositions 4.3 and 4.4",
        statement="For a linear extractor the barycentres of S and T coincide, and S* = S0 + mean(T) - mean(S0).",
        tests=(Test(name="linear extractor", threat_model=NO_ADVERSARY, specs=SEVERAL, judge=closed_form_holds),),
    ),
    Claim(
        name="minimiser-beyond-linear",
        who=DONG,
        where="Remark 4.5, Appendix D.2 and Figure 7",
        statement="For two-layer and convolutional extractors too the barycentres of S and T approach each other.",
        published=PublishedRange(datasets=("cifar10",), ratio=(0.01, 0.02)),
        tests=tuple(
            Test(
                name=f"{extractor} extractor",
                threat_model=NO_ADVERSARY,
                specs=SEVERAL,
                judge=barycentres_approach(extractor),
            )
            for extractor in ("linear-relu", "convnet")
        ),
    ),
    Claim(
        name="equation-33",
        who=DONG,
        where="Appendix C, Eq. (33)",
        statement="ln p/q is at most L sum |s'_i - s_i| + |K_S' - K_S|.",
        tests=(Test(name="counterexample", threat_model=ARITHMETIC, specs=ONCE, judge=eq33_holds),),
    ),
    Claim(
        name="effect-of-one",
        who=DONG,
        where="Proposition 4.10 for linear extractors; abstract and Remark 4.5 for others",
        statement="One element's effect on what is released is O(m/n), read as a law for the n that are measured.",
        tests=tuple(
            Test(
                name=f"leave one out, {extractor} extractor",
                threat_model="none: a measurement of the synthetic sets with and without one record",
                specs=_effect(extractor),
                judge=effect_is_of_order,
            )
            for extractor in ("linear", "convnet")
        ),
    ),
)
