"""Guessing a masked part of a record from a released set: `Attribute`."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.membership import Count, Lira
from audit.specs.spec import Spec, fields_of
from condensers.errors import BadConfig

FEWEST_TEST_RUNS = 2
OWN = ("masked", "claim", "tries")


class Attribute(Spec, frozen=True, kw_only=True):
    """How much better a masked part of a record is guessed with the released set than without it.

    >>> Attribute(method="real", ipc=5, masked="centre").command()
    'audit attribute --method real --ipc 5 --masked centre'
    """

    COMMAND: ClassVar[str] = "attribute"
    method: fields.Method = "dm"
    dataset: fields.Dataset = "digits"
    records: fields.Records = None
    ipc: fields.ImagesPerClass = None
    ratio: fields.Ratio = None
    init: fields.Init = None
    masked: Annotated[
        str,
        Meta(
            description="What is guessed: right-half, left-half, top-half, bottom-half or centre of an image, or a "
            "file of feature numbers.",
            extra={"metavar": "PART|FILE"},
        ),
    ] = "right-half"
    preset: fields.Preset = "quick"
    settings: fields.MethodSettings = msgspec.field(default_factory=dict)
    shadows: Annotated[Count, Meta(description="Number of condensations of random halves of the pool.")] = 64
    test_runs: Annotated[
        Count | None,
        Meta(description="Runs on which the adversary is tested. Default: a quarter of all runs, at least 2."),
    ] = None
    public_draws: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Number of groups of runs, each with its own public randomness; intervals are over groups.",
        ),
    ] = 1
    delta: fields.Delta = 1e-5
    confidence: fields.Confidence = 0.95
    tries: fields.Tries = 1
    claim: fields.Claim = None
    epsilon: fields.TargetEpsilon = None
    independent_randomness: Annotated[
        bool,
        Meta(
            description="Draw new public randomness for every run, unknown to the adversary, as in the papers. Slower."
        ),
    ] = False
    shuffle_membership: fields.ShuffleMembership = False
    seed: fields.Seed = 0
    device: fields.Device = "auto"
    compile: fields.Compile = "auto"
    shard_runs: Annotated[
        Count | None, Meta(description="Runs computed together. Default: as many as fit in memory, at most 64.")
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ipc is not None and self.ratio is not None:
            raise BadConfig("--ipc and --ratio both set the number of synthetic images: give only one of them")
        if self.num_test_runs < FEWEST_TEST_RUNS:
            raise BadConfig(
                f"--test-runs {self.num_test_runs}: must be at least {FEWEST_TEST_RUNS}, since intervals are "
                "computed over runs"
            )

    @property
    def num_test_runs(self) -> int:
        """Those asked for, or a quarter."""
        return max(FEWEST_TEST_RUNS, self.shadows // 4) if self.test_runs is None else self.test_runs

    def condensations(self) -> Lira:
        """The specification of the same condensations under an attack on membership at level set."""
        own = {name: getattr(self, name) for name, _ in fields_of(Attribute) if name not in (*OWN, "test_runs")}
        return Lira(**own, level="set", test_runs=self.num_test_runs)
