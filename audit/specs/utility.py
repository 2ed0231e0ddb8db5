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
    """

    COMMAND: ClassVar[str] = "utility"
    methods: Annotated[
        tuple[str, ...],
        Meta(
            description="Condenser; may be repeated. Default: dm, or none with --synthetic.",
            extra={"option": "--method"},
        ),
    ] = ()
    synthetic: Annotated[
        tuple[str, ...],
        Meta(
            description="A set that somebody released (.safetensors, .npz, .pt). May be repeated.",
            extra={"metavar": "FILE"},
        ),
    ] = ()
    index: Annotated[int, Meta(ge=0, le=fields.MOST, description="Which set of a file that holds several.")] = 0
    normalisation: fields.Normalisation = "auto"
    dataset: fields.Dataset = "digits"
    records: fields.Records = None
    ipc: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=fields.MOST)], ...],
        Meta(min_length=1, description="Images per class; several by commas.", extra={"separator": ","}),
    ] = (1,)
    epsilon: Annotated[
        tuple[Annotated[float, Meta(gt=0)], ...],
        Meta(description="Calibrate private methods to this ε; several by commas.", extra={"separator": ","}),
    ] = ()
    init: fields.Init = None
    preset: fields.Preset = "quick"
    settings: Annotated[
        Settings, Meta(description="Any setting of the methods; victim.KEY for training. May be repeated.")
    ] = msgspec.field(default_factory=dict)
    architectures: Annotated[
        tuple[Architecture, ...],
        Meta(
            min_length=1,
            description="Of convnet, mlp, lenet, alexnet, vgg11, resnet18: which, by commas, or all.",
            extra={"separator": ","},
        ),
    ] = ("convnet",)
    seeds: Annotated[int, Meta(ge=1, le=10_000, description="Condensations and networks of each kind.")] = 5
    one_set: Annotated[
        bool, Meta(description="Condense once and train every network on it: quicker; see the docs.")
    ] = False
    epochs: Annotated[
        Annotated[int, Meta(ge=1, le=fields.MOST)] | None, Meta(description="Passes over a set; default by --preset.")
    ] = None
    match: Annotated[
        Literal["small", "all", "none"],
        Meta(
            description="Search the random subset of equal accuracy: on convnet, mlp, lenet; on all; not at all.",
        ),
    ] = "small"
    full: Annotated[bool, Meta(description="Train on all records too.")] = True
    delta: fields.AccountedDelta = 1e-5
    seed: fields.Seed = 0
    device: fields.Device = "auto"
