"""Audits by membership coins: `Lira`, `Rmia`, `Loss`, `GanLeak`, and `Compare` and `Ladder`, which combine them."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

import attacks
from audit.specs import fields
from audit.specs.spec import Settings, Spec, default_of, fields_of, option_of, refuse_without_sets
from condensers.errors import BadConfig
from condensers.plugins import check_name

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
    shadows: Annotated[Count, Meta(description="Number of condensations of random halves of the pool.")] = 256
    test_runs: Annotated[
        Count | None,
        Meta(description="Runs on which the attack is tested. Default: a quarter of all runs; all for loss."),
    ] = None
    fit_runs: Annotated[
        Count | None, Meta(description="Fit the attack on only this many of the other runs. Default: all of them.")
    ] = None
    fit_design: Annotated[
        Literal["coins", "enumerated"],
        Meta(
            description="With --audited: draw the members of fit runs by coins, or enumerate all combinations of the "
            "audited records of a class.",
        ),
    ] = "coins"
    public_draws: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Number of groups of runs, each with its own public randomness; intervals are over groups.",
        ),
    ] = 1
    bits: Annotated[
        Annotated[int, Meta(ge=1, le=16)] | None,
        Meta(description="Clip released pixels to the data's range and round them to this many bits (8 as in a PNG)."),
    ] = None
    canaries: Annotated[
        str | None,
        Meta(
            description="Plant canaries (mislabelled, outlier, blank, crafted); they are reported separately.",
            extra={"metavar": "KIND:COUNT,…"},
        ),
    ] = None
    queries: Annotated[
        int, Meta(ge=1, le=9, description="Queries per record: the record itself and shifts by one pixel.")
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
        if isinstance(self.audited, int) and not isinstance(self.audited, bool):
            msgspec.structs.force_setattr(self, "audited", str(self.audited))
        super().__post_init__()
        if self.ipc is not None and self.ratio is not None:
            raise BadConfig("--ipc and --ratio both set the number of synthetic images: give only one of them")


class OneAttack(Membership, frozen=True, kw_only=True):
    """What a single attack is asked for."""

    groups: fields.Groups = None


# What has a meaning for models that a person trained: all else speaks of condensations, which there are none of.
OF_OWN_MODELS = (
    "scores", "fair_coins", "groups", "settings", "test_runs", "fit_runs", "delta", "confidence", "tries", "claim",
    "shuffle_membership", "seed",
)  # fmt: skip


class OwnModels(OneAttack, frozen=True, kw_only=True):
    """What an attack is asked for that can also audit models which a person trained without this program."""

    scores: fields.Scores = None
    fair_coins: fields.FairCoins = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fair_coins and self.scores is None:
            raise BadConfig("--fair-coins: has no meaning without --scores FILE")
        if self.scores is None:
            return
        for name, hint in fields_of(type(self)):
            if name not in OF_OWN_MODELS and getattr(self, name) != default_of(type(self), name):
                raise BadConfig(f"{option_of(name, hint)}: has no meaning with --scores; nothing is condensed")
        if not self.fair_coins:
            raise BadConfig(
                "--scores: state with --fair-coins that every record was in every test run by its own fair coin, "
                "tossed before the training (`audit coins` draws such coins); no ε can be certified without it"
            )


class ReleasedSets(OwnModels, frozen=True, kw_only=True):
    """What an attack is asked for that can also audit sets which somebody else released."""

    synthetic: fields.Synthetic = ()
    members: fields.Members = None
    column: fields.Column = ()
    index: fields.Index = ()
    normalisation: fields.Normalisation = "auto"
    known_randomness: Annotated[
        bool,
        Meta(
            description="With --synthetic: state that the set was made with the public randomness of --seed, which "
            "the adversary knows."
        ),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_without_sets(self, ("members", "column", "index", "known_randomness"))
        if self.synthetic and self.audited is not None:
            raise BadConfig("--audited: the coins of --members determine which records are audited; leave it out")


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
    shadows: Annotated[Count, Meta(description="Number of condensations of random halves of the pool.")] = 16


class GanLeak(OneAttack, frozen=True, kw_only=True):
    """How well released generators reconstruct the records (Chen et al. 2020).

    >>> GanLeak(method="dp-merf", shadows=32).command()
    'audit gan-leak --method dp-merf --shadows 32'
    """

    COMMAND: ClassVar[str] = "gan-leak"
    method: fields.Method = "cgan"
    level: Annotated[Literal["generator"], Meta(description="What the adversary sees: the generator.")] = "generator"
    shadows: Annotated[Count, Meta(description="Number of generators trained on random halves of the pool.")] = 64


class Loss(OwnModels, frozen=True, kw_only=True):
    """The loss-threshold attack, by the two protocols of Dong et al.

    >>> Loss(method="real", ipc=10).command()
    'audit loss --method real --ipc 10'
    """

    COMMAND: ClassVar[str] = "loss"
    shadows: Annotated[Count, Meta(description="Number of condensations.", extra={"also": "--runs"})] = 10


# Of audits that choose their levels otherwise: a level is rejected instead of ignored.
NoLevel = Annotated[
    Literal["model", "set", "generator"], Meta(description="Not an option of this audit.", extra={"hidden": True})
]


def reject_level(spec: Membership, instead: str) -> None:
    if spec.level != "model":
        raise BadConfig(f"--level {spec.level}: {instead}")


class Compare(Membership, frozen=True, kw_only=True):
    """Several attacks and levels on the same condensations.

    >>> Compare(attacks="loss:model,lira:set").command()
    'audit compare --attacks loss:model,lira:set'
    """

    COMMAND: ClassVar[str] = "compare"
    level: NoLevel = "model"
    attacks: Annotated[
        str | None,
        Meta(
            description="Attacks to compare. Default: loss, rmia and lira at both levels, with few and all fit runs.",
            extra={"metavar": "ATTACK:LEVEL[:FIT_RUNS],…"},
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        reject_level(self, "the levels are part of --attacks, for example --attacks lira:set,rmia:set")
        for entry in () if self.attacks is None else self.attacks.split(","):
            check_name("--attacks", entry.strip().partition(":")[0], attacks, "attack")


class Ladder(Membership, frozen=True, kw_only=True):
    """One method against increasingly strong adversaries: model, set, transcript.

    >>> Ladder(method="ndpdc", epsilon=8.0).command()
    'audit ladder --method ndpdc --epsilon 8.0'
    """

    COMMAND: ClassVar[str] = "ladder"
    level: NoLevel = "model"
    trials: Annotated[
        Annotated[int, Meta(ge=100, le=100_000_000)] | None,
        Meta(description="Runs at level transcript. Default: that of `audit worst-case`."),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        reject_level(self, "a ladder runs all levels; for one of them use audit lira --level or audit worst-case")


def as_lira(spec: Membership, **changes: Any) -> Lira:
    """The same condensations under LiRA, with some fields changed."""
    return Lira(**{name: getattr(spec, name) for name, _ in fields_of(Membership)} | changes)
