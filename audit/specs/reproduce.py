"""A table or a figure of a paper, run again: `Reproduce`."""

import shlex
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Settings, Spec
from condensers.errors import BadConfig

SCALES = ("smoke", "reduced", "full")


class Reproduce(Spec, frozen=True, kw_only=True):
    """One table or figure of a paper: the published values compared with ours.

    >>> Reproduce(item="dong/table-2", scale="reduced").command()
    'audit reproduce dong/table-2 --scale reduced'
    """

    COMMAND: ClassVar[str] = "reproduce"
    item: Annotated[str, Meta(description="Which table or figure, such as dong/table-2; `audit reproduce` lists them.")]
    scale: Annotated[
        Literal["smoke", "reduced", "full"],
        Meta(
            description="smoke: minutes, digits in place of the data; reduced: the paper's data and network with fewer "
            "steps, runs or epochs; full: the paper's settings."
        ),
    ] = "smoke"
    datasets: Annotated[
        tuple[str, ...],
        Meta(
            description="Use only these data sets of the item. May be repeated. Default: all; one at scale smoke.",
            extra={"option": "--dataset"},
        ),
    ] = ()
    methods: Annotated[
        tuple[str, ...],
        Meta(
            description="Use only these methods of the item. May be repeated. Default: all.",
            extra={"option": "--method"},
        ),
    ] = ()
    only: Annotated[
        tuple[str, ...],
        Meta(
            description="Use only values of the item with this label, such as ipc=10 or ratio=0.002. May be repeated.",
            extra={"metavar": "NAME=VALUE"},
        ),
    ] = ()
    ratio_of: Annotated[
        Literal["members", "all"],
        Meta(description="Whether r of Dong et al. is relative to the condensed half of the data or to all of it."),
    ] = "members"
    records: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Use this many records of each data set; images per class that a table gives as a ratio r "
            "follow. Not at scale smoke. Default: all."
        ),
    ] = None
    seeds: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)] | None,
        Meta(description="Seeds, networks or runs of an attack (its --shadows) per value. Default: by --scale."),
    ] = None
    settings: Annotated[
        Settings, Meta(description="A setting of the methods, instead of that of the scale. May be repeated.")
    ] = msgspec.field(default_factory=dict)
    seed: fields.Seed = 0
    device: fields.Device = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale == "smoke" and self.records is not None:
            raise BadConfig(f"--records {self.records}: scale smoke has its own few; add --scale reduced")

    def command(self) -> str:
        """The command line that asks for this again; the item stands by itself."""
        words = shlex.split(super().command())
        place = words.index("--item")
        return shlex.join([*words[:2], words[place + 1], *words[2:place], *words[place + 2 :]])
