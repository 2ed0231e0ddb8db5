"""Classes that arrive in stages, of which only synthetic sets are passed on: `Continual`."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Settings, Spec


class Continual(Spec, frozen=True, kw_only=True):
    """Class-incremental learning from condensed sets (Chen et al., supplementary C.5).

    >>> Continual(method="psg", dataset="mnist", epsilon=10.0).command()
    'audit continual --method psg --dataset mnist --epsilon 10.0'
    """

    COMMAND: ClassVar[str] = "continual"
    method: fields.Method = "dm"
    dataset: fields.Dataset = "digits"
    records: fields.Records = None
    stages: Annotated[int, Meta(ge=1, le=1000, description="Number of stages, which share the classes equally.")] = 5
    ipc: fields.ImagesPerClass = None
    epsilon: fields.TargetEpsilon = None
    preset: fields.Preset = "quick"
    settings: Annotated[
        Settings, Meta(description="A setting of the method, or victim.KEY for training. May be repeated.")
    ] = msgspec.field(default_factory=dict)
    seeds: Annotated[int, Meta(ge=1, le=10_000, description="Number of condensations per stage, and of networks.")] = 3
    epochs: Annotated[
        Annotated[int, Meta(ge=1, le=fields.MOST)] | None, Meta(description="Training epochs. Default: by --preset.")
    ] = None
    delta: fields.AccountedDelta = 1e-5
    seed: fields.Seed = 0
    device: fields.Device = "auto"
