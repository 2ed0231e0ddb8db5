"""The audit of what a method releases where the adversary chooses the records: `WorstCase`."""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Spec


class WorstCase(Spec, frozen=True, kw_only=True):
    """The adversary chooses neighbouring pools and sees every noisy sum, the set, or a network trained on it.

    >>> WorstCase(method="ldpdc", epsilon=1.0, trials=10_000).command()
    'audit worst-case --method ldpdc --epsilon 1.0 --trials 10000'
    """

    COMMAND: ClassVar[str] = "worst-case"
    method: fields.Method = "ndpdc"
    level: Annotated[
        Literal["transcript", "set", "model"] | None,
        Meta(description="What the adversary sees. [default: transcript for private methods, else set]"),
    ] = None
    epsilon: Annotated[
        Annotated[float, Meta(ge=fields.LEAST_EPSILON, le=fields.MOST_EPSILON)] | None,
        Meta(description="Calibrate the noise to this ε. Default: use the method's noise multiplier."),
    ] = None
    claim: Annotated[
        str | float | None,
        Meta(
            description="The claim to test: an ε at --delta, gaussian:sigma=S,rate=Q,steps=T, gdp:MU or laplace:B. "
            "[default: what the ledger proves]"
        ),
    ] = None
    delta: Annotated[
        float, Meta(gt=0, lt=1, description="δ of claim and bounds.", extra={"least": fields.LEAST_DELTA})
    ] = 1e-5
    trials: Annotated[
        Annotated[int, Meta(ge=100, le=100_000_000)] | None,
        Meta(
            description="Runs, half of them with the canary. [default: 100000, or 8000 if the claim names no "
            "family of mechanisms or the level is not transcript, or 1000 without a claim]"
        ),
    ] = None
    design: Annotated[
        tuple[str, ...],
        Meta(description="Use only this design of neighbouring pools. May be repeated. [default: all that apply]"),
    ] = ()
    dataset: Annotated[
        str | None,
        Meta(
            description="Data set that gives the shape, the classes and natural records: a name, .npz file or folder."
        ),
    ] = None
    records: Annotated[
        int, Meta(ge=2, le=fields.MOST, description="Number of natural records, equally many per class.")
    ] = 60
    shape: Annotated[str, Meta(description="Shape of a record if no data set is given.")] = "1x8x8"
    classes: Annotated[int, Meta(ge=2, le=1000, description="Number of classes if no data set is given.")] = 2
    rate: Annotated[float, Meta(gt=0, le=1, description="Rate at which the method samples a record.")] = 0.5
    settings: fields.MethodSettings = msgspec.field(default_factory=dict)
    confidence: fields.Confidence = 0.95
    seed: fields.Seed = 0
