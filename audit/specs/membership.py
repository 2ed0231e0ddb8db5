"""Audits by membership coins: `Lira`, `Rmia`, `Loss`, `GanLeak`, and `Compare` and `Ladder`, which combine them."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Settings, Spec, fields_of, refuse_without_sets
from condensers.errors import BadConfig

MOST_SHADOWS = 100_000
Count = Annotated[int, Meta(ge=1, le=MOST_SHADOWS)]


class Membership(Spec, frozen=True, kw_only=True):
    """What every audit by membership coins is asked for."""

    method: fields.Method = "dm"
    dataset: fields.Dataset = "digits"
    records: fields.Records = None
    ipc: fields.ImagesPerClass = None
    ratio: fields.Ratio = None
    init: fields.Init = None
    audited: fields.Audited = None
    level: Annotated[
        Literal["model", "set", "generator"],
        Meta(description="What the adversary sees: a network trained on the set, the set itself, or the generator."),
    ] = "model"
    preset: fields.Preset = "quick"
    settings: Settings = msgspec.field(default_factory=dict)
    shadows: Annotated[Count, Meta(description="Condensations of random halves.")] = 256
    test_runs: Annotated[
        Count | None, Meta(description="Runs kept for testing the attack; default: a quarter, all for loss.")
    ] = None
    fit_runs: Annotated[
        Count | None, Meta(description="Learn from this many of the other runs only; default: all of them.")
    ] = None
    public_draws: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Groups of runs, each with networks and starting noise of its own; intervals are over groups.",
        ),
    ] = 1
    bits: Annotated[
        Annotated[int, Meta(ge=1, le=16)] | None,
        Meta(description="Release pixels cut to the data's range and rounded to so many bits; 8: what a PNG holds."),
    ] = None
    canaries: Annotated[
        str | None,
        Meta(
            description="Plant records: mislabelled, outlier, blank, crafted; reported by themselves.",
            extra={"metavar": "KIND:COUNT,…"},
        ),
    ] = None
    queries: Annotated[int, Meta(ge=1, le=9, description="Queries per record: itself and shifts by a pixel.")] = 1
    delta: fields.Delta = 1e-5
    confidence: fields.Confidence = 0.95
    tries: fields.Tries = 1
    claim: fields.Claim = None
    epsilon: fields.TargetEpsilon = None
    independent_randomness: Annotated[
        bool, Meta(description="Every run draws its own networks and noise: the papers' terms; slower.")
    ] = False
    shuffle_membership: fields.ShuffleMembership = False
    seed: fields.Seed = 0
    device: fields.Device = "auto"
    compile: fields.Compile = "auto"
    shard_runs: Annotated[
        Count | None, Meta(description="Runs computed together; default: what fits in memory, at most 64.")
    ] = None

    def __post_init__(self) -> None:
        if isinstance(self.audited, int) and not isinstance(self.audited, bool):
            msgspec.structs.force_setattr(self, "audited", str(self.audited))
        super().__post_init__()
        if self.ipc is not None and self.ratio is not None:
            raise BadConfig("--ipc and --ratio say the same thing: give one of them")


class ReleasedSets(Membership, frozen=True, kw_only=True):
    """What an attack is asked for that can also audit sets which somebody else released."""

    synthetic: fields.Synthetic = ()
    members: fields.Members = None
    column: fields.Column = ()
    index: fields.Index = ()
    normalisation: fields.Normalisation = "auto"
    known_randomness: Annotated[
        bool,
        Meta(description="Of --synthetic: its networks and noise were those of --seed and the adversary knows them."),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_without_sets(self, ("members", "column", "index", "known_randomness"))
        if self.synthetic and self.audited is not None:
            raise BadConfig("--audited: the coins of --members say who is audited; leave it out")


class Lira(ReleasedSets, frozen=True, kw_only=True):
    """The likelihood-ratio attack of Carlini et al. with shadow condensations.

    >>> Lira(method="dm", shadows=64, level="set").command()
    'audit lira --level set --shadows 64'
    """

    COMMAND: ClassVar[str] = "lira"


class Rmia(ReleasedSets, frozen=True, kw_only=True):
    """Robust membership inference (Zarifzadeh et al.), for few shadow condensations.

    >>> Rmia().shadows
    16
    """

    COMMAND: ClassVar[str] = "rmia"
    shadows: Annotated[Count, Meta(description="Condensations of random halves.")] = 16


class GanLeak(Membership, frozen=True, kw_only=True):
    """How well released generators reconstruct the records (Chen et al. 2020).

    >>> GanLeak(method="dp-merf", shadows=32).command()
    'audit gan-leak --method dp-merf --shadows 32'
    """

    COMMAND: ClassVar[str] = "gan-leak"
    method: fields.Method = "cgan"
    level: Annotated[Literal["generator"], Meta(description="What the adversary sees: the generator.")] = "generator"
    shadows: Annotated[Count, Meta(description="Generators trained on random halves.")] = 64


class Loss(Membership, frozen=True, kw_only=True):
    """The loss-threshold attack, by the two protocols of Dong et al.

    >>> Loss(method="real", ipc=10).command()
    'audit loss --method real --ipc 10'
    """

    COMMAND: ClassVar[str] = "loss"
    shadows: Annotated[Count, Meta(description="Condensations (seeds).", extra={"also": "--runs"})] = 10


class Compare(Membership, frozen=True, kw_only=True):
    """Several attacks and levels on the same condensations.

    >>> Compare(attacks="loss:model,lira:set").command()
    'audit compare --attacks loss:model,lira:set'
    """

    COMMAND: ClassVar[str] = "compare"
    attacks: Annotated[
        str | None,
        Meta(
            description="What to compare; default: loss, rmia and lira at both levels with few and with all fit runs.",
            extra={"metavar": "ATTACK:LEVEL[:FIT_RUNS],…"},
        ),
    ] = None


class Ladder(Membership, frozen=True, kw_only=True):
    """One method against adversaries who see more and more: model, set, transcript.

    >>> Ladder(method="ndpdc", epsilon=8.0).command()
    'audit ladder --method ndpdc --epsilon 8.0'
    """

    COMMAND: ClassVar[str] = "ladder"
    trials: Annotated[
        Annotated[int, Meta(ge=100, le=100_000_000)] | None,
        Meta(description="Runs at the transcript; default: as many as `audit worst-case` takes."),
    ] = None


def as_lira(spec: Membership, **changes: Any) -> Lira:
    """The same condensations under LiRA, with some fields changed."""
    return Lira(**{name: getattr(spec, name) for name, _ in fields_of(Membership)} | changes)
