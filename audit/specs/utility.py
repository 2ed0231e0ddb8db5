"""What a synthetic set is worth to train on: `Utility`."""

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Settings, Spec

Architecture = Literal["convnet", "mlp", "lenet", "alexnet", "vgg11", "resnet18", "all"]


class Utility(Spec, frozen=True, kw_only=True):
    """Networks trained on synthetic sets, on random subsets and on all records, tested on real records.

    >>> Utility(methods=("dm", "real"), ipc=(1, 10), full=False).command()
    'audit utility --method dm --method real --ipc 1,10 --no-full'
    >>> Utility(methods=("ldpdc,psg", "dp-merf")).methods
    ('ldpdc', 'psg', 'dp-merf')
    """

    COMMAND: ClassVar[str] = "utility"
    methods: Annotated[
        tuple[str, ...],
        Meta(
            description="Condensers, separated by commas; may be repeated. Default: dm, or none with --synthetic.",
            extra={"option": "--method", "names": "condensers"},
        ),
    ] = ()
    synthetic: Annotated[
        tuple[str, ...],
        Meta(
            description="A set that somebody released (.safetensors, .npz, .pt). May be repeated.",
            extra={"metavar": "FILE"},
        ),
    ] = ()
    index: Annotated[
        int, Meta(ge=0, le=fields.MOST, description="Number of the set in a file that holds several, from 0.")
    ] = 0
    normalisation: fields.Normalisation = "auto"
    dataset: fields.Dataset = "digits"
    records: fields.Records = None
    ipc: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=fields.MOST)], ...],
        Meta(
            description="Images per class, separated by commas. Default: 1, or the value of the preset's paper.",
            extra={"separator": ","},
        ),
    ] = ()
    epsilon: Annotated[
        tuple[Annotated[float, Meta(ge=fields.LEAST_EPSILON, le=fields.MOST_EPSILON)], ...],
        Meta(
            description="Calibrate private methods to these values of ε, separated by commas.", extra={"separator": ","}
        ),
    ] = ()
    init: fields.Init = None
    preset: fields.Preset = "quick"
    settings: Annotated[
        Settings, Meta(description="A setting of the methods, or victim.KEY for training. May be repeated.")
    ] = msgspec.field(default_factory=dict)
    architectures: Annotated[
        tuple[Architecture, ...],
        Meta(
            min_length=1,
            description="Networks, separated by commas: convnet, mlp, lenet, alexnet, vgg11, resnet18, or all.",
            extra={"separator": ","},
        ),
    ] = ("convnet",)
    seeds: Annotated[
        int, Meta(ge=1, le=10_000, description="Number of condensations and of networks of each kind.")
    ] = 5
    one_set: Annotated[bool, Meta(description="Condense once and train every network on the same set. Faster.")] = False
    epochs: Annotated[
        Annotated[int, Meta(ge=1, le=fields.MOST)] | None, Meta(description="Training epochs. Default: by --preset.")
    ] = None
    match: Annotated[
        Literal["small", "all", "none"],
        Meta(
            description="Search for the random subset of equal accuracy with convnet, mlp and lenet (small), with all "
            "networks, or not at all.",
        ),
    ] = "small"
    subset: Annotated[bool, Meta(description="Also train on a random subset of the same size.")] = True
    full: Annotated[bool, Meta(description="Also train on all records.")] = True
    delta: fields.AccountedDelta = 1e-5
    seed: fields.Seed = 0
    device: fields.Device = "auto"

    def __post_init__(self) -> None:
        named = tuple(name.strip() for given in self.methods for name in given.split(","))
        msgspec.structs.force_setattr(self, "methods", named)
        super().__post_init__()
