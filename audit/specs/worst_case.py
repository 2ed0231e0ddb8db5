"""The audit of what a private method draws from the records: `WorstCase`."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Spec


class WorstCase(Spec, frozen=True, kw_only=True):
    """The adversary chooses neighbouring pools and sees every noisy sum.

    >>> WorstCase(method="ldpdc", epsilon=1.0, trials=10_000).command()
    'audit worst-case --method ldpdc --epsilon 1.0 --trials 10000'
    """

    COMMAND: ClassVar[str] = "worst-case"
    method: fields.Method = "ndpdc"
    epsilon: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="Calibrate the noise to this ε; default: the method's noise multiplier."),
    ] = None
    delta: Annotated[float, Meta(gt=0, lt=1, description="δ of claim and bounds.")] = 1e-5
    trials: Annotated[
        Annotated[int, Meta(ge=100, le=100_000_000)] | None,
        Meta(
            description="Runs, half of them with the canary. [default: 100000, or 8000 where the claim grants no "
            "family of mechanisms, so that there is no tightness to measure]"
        ),
    ] = None
    rate: Annotated[float, Meta(gt=0, le=1, description="Rate at which a record is sampled.")] = 0.5
    settings: fields.MethodSettings = msgspec.field(default_factory=dict)
    confidence: fields.Confidence = 0.95
    seed: fields.Seed = 0
