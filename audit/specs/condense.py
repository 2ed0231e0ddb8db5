"""Making a synthetic set for release: `Condense`."""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Spec
from condensers.errors import BadConfig


class Condense(Spec, frozen=True, kw_only=True):
    """All records condensed once, or those that a file of coins chose. A private method draws fresh noise every time.

    >>> Condense(method="ndpdc", epsilon=1.0, formats=("npz", "pt")).command()
    'audit condense --method ndpdc --epsilon 1.0 --format npz,pt'
    """

    COMMAND: ClassVar[str] = "condense"
    method: fields.Method = "dm"
    dataset: fields.Dataset = "digits"
    records: fields.Records = None
    ipc: fields.ImagesPerClass = None
    init: fields.Init = None
    preset: fields.Preset = "quick"
    epsilon: fields.TargetEpsilon = None
    settings: fields.MethodSettings = msgspec.field(default_factory=dict)
    members: Annotated[
        str | None,
        Meta(
            description="Condense only the members according to this file of `audit coins`.",
            extra={"metavar": "FILE"},
        ),
    ] = None
    column: Annotated[int, Meta(ge=0, le=fields.MOST, description="With --members: N for set_N.")] = 0
    hold_out: Annotated[
        bool, Meta(description="Leave out the quarter of the records that `audit utility` tests on.")
    ] = False
    formats: Annotated[
        tuple[Literal["safetensors", "npz", "pt", "all"], ...],
        Meta(
            min_length=1,
            description="File formats, separated by commas: safetensors, npz, pt, or all.",
            extra={"option": "--format", "separator": ","},
        ),
    ] = ("all",)
    delta: fields.AccountedDelta = 1e-5
    seed: Annotated[
        int,
        Meta(ge=0, le=(1 << 63) - 1, description="Seed of all random numbers except the noise of a private release."),
    ] = 0
    device: fields.Device = "auto"
    compile: fields.Compile = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members is None and self.column:
            raise BadConfig(f"--column {self.column}: can only be given together with --members FILE")
        if self.members is not None and self.hold_out:
            raise BadConfig("--members and --hold-out both select the records to condense: give only one of them")
