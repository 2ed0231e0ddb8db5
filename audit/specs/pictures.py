"""Looking at synthetic images: `Visual`."""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Spec, default_of, fields_of, option_of, refuse_without_sets
from condensers.errors import BadConfig

OF_A_CONDENSATION = ("method", "ipc", "ratio", "init", "preset", "settings", "runs", "epsilon")
UNTESTED = "has no meaning without --members FILE; nothing is tested without the coins of the set"
DISTANCES = ("l2", "lpips", "lpips-alexnet")


class Visual(Spec, frozen=True, kw_only=True):
    """The nearest real images of every synthetic image, with a test of how many of them are members.

    >>> Visual(init="real", ipc=10).command()
    'audit visual --ipc 10 --init real'
    """

    COMMAND: ClassVar[str] = "visual"
    method: fields.Method = "dm"
    dataset: fields.Dataset = "digits"
    records: fields.Records = None
    ipc: fields.ImagesPerClass = None
    ratio: fields.Ratio = None
    init: fields.Init = None
    preset: fields.Preset = "quick"
    settings: fields.MethodSettings = msgspec.field(default_factory=dict)
    runs: Annotated[int, Meta(ge=1, le=10_000, description="Number of condensations of random halves of the pool.")] = (
        16
    )
    distances: Annotated[
        tuple[Literal["l2", "lpips", "lpips-alexnet"], ...],
        Meta(
            description="Distance; may be repeated. Default: l2, and lpips (VGG16) if its weights are installed.",
            extra={"option": "--distance"},
        ),
    ] = ()
    synthetic: fields.Synthetic = ()
    members: fields.Members = None
    column: fields.Column = ()
    index: fields.Index = ()
    normalisation: fields.Normalisation = "auto"
    delta: fields.Delta = 1e-5
    confidence: fields.Confidence = 0.95
    claim: fields.Claim = None
    epsilon: fields.TargetEpsilon = None
    shuffle_membership: fields.ShuffleMembership = False
    seed: fields.Seed = 0
    device: fields.Device = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ipc is not None and self.ratio is not None:
            raise BadConfig("--ipc and --ratio both set the number of synthetic images: give only one of them")
        refuse_without_sets(self, ("members", "column", "index"))
        if self.synthetic:
            self._check_released()

    def _check_released(self) -> None:
        """Refuse what has no meaning for sets that somebody else made."""
        hints = dict(fields_of(Visual))
        for name in OF_A_CONDENSATION:
            if getattr(self, name) != default_of(Visual, name):
                option = option_of(name, hints[name])
                raise BadConfig(f"{option}: has no meaning with --synthetic; nothing is condensed")
        for name in ("claim", "shuffle_membership"):
            if self.members is None and getattr(self, name) not in (None, False):
                raise BadConfig(f"{option_of(name, hints[name])}: {UNTESTED}")
