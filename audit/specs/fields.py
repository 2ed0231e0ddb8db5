"""Types of fields that several kinds of specification share: what is allowed, and what `--help` says about it."""

from typing import Annotated, Literal

from msgspec import Meta

from audit.specs.spec import Settings

MOST = (1 << 31) - 1

Method = Annotated[
    str,
    Meta(
        description="Condenser; `audit methods` lists them. One of your own: module:name or file.py:name.",
    ),
]
Dataset = Annotated[str, Meta(description="Name (`audit data`), .npz file or folder.")]
Records = Annotated[
    Annotated[int, Meta(ge=1, le=MOST)] | None,
    Meta(description="Class-balanced pool of this many records; default: all."),
]
ImagesPerClass = Annotated[
    Annotated[int, Meta(ge=1, le=MOST)] | None, Meta(description="Synthetic images per class; default 1.")
]
Ratio = Annotated[
    Annotated[float, Meta(gt=0, le=1)] | None,
    Meta(description="Instead of --ipc: synthetic over condensed records, r of Dong et al."),
]
Init = Annotated[Literal["random", "real"] | None, Meta(description="Where synthetic images start; default: random.")]
Preset = Annotated[
    Literal["quick", "paper"], Meta(description="Small networks and 300 steps, or the published settings.")
]
MethodSettings = Annotated[Settings, Meta(description="Any setting of the method. May be repeated.")]
Delta = Annotated[float, Meta(ge=0, lt=1, description="δ of the bound.")]
AccountedDelta = Annotated[float, Meta(ge=0, lt=1, description="δ at which ε is accounted.")]
Confidence = Annotated[float, Meta(gt=0, lt=1, description="Of bounds, tests and intervals.")]
Claim = Annotated[
    Annotated[float, Meta(ge=0)] | None,
    Meta(description="An ε claimed for the method: REFUTED (exit 4) if the bound exceeds it."),
]
TargetEpsilon = Annotated[
    Annotated[float, Meta(gt=0)] | None,
    Meta(description="Calibrate a private method's noise to this ε at --delta."),
]
Audited = Annotated[
    str | int | None,
    Meta(
        description="Coins for so many records, drawn class by class, or for those in a file; all others are in every "
        "run. Default: coins for all.",
        extra={"metavar": "N|FILE"},
    ),
]
Seed = Annotated[int, Meta(ge=0, le=(1 << 63) - 1, description="Seed of everything.")]
Device = Annotated[str, Meta(description="auto, cpu, cuda, cuda:N or mps.")]
Compile = Annotated[
    Literal["auto", "on", "off"],
    Meta(description="Compiled kernels; auto: where they save time and a compiler is installed."),
]
Tries = Annotated[
    int, Meta(ge=1, le=1_000_000, description="Audits (seeds, attacks) tried in all: the error is divided among them.")
]
ShuffleMembership = Annotated[
    bool, Meta(description="Control: give the attack labels independent of membership. It must find nothing.")
]
Normalisation = Annotated[
    Literal["auto", "official", "unit", "symmetric"],
    Meta(description="Of --synthetic: the official code's mean and deviation, [0, 1] or [−1, 1]."),
]
Synthetic = Annotated[
    tuple[str, ...],
    Meta(
        description="Audit this released set (.safetensors, .npz, .pt) instead. May be repeated.",
        extra={"metavar": "FILE"},
    ),
]
Members = Annotated[
    str | None,
    Meta(description="Of --synthetic: the coins of `audit coins` that chose its members.", extra={"metavar": "FILE"}),
]
Column = Annotated[
    tuple[int, ...],
    Meta(description="Of --members: N for set_N, once for each --synthetic; default: in order."),
]
Index = Annotated[
    tuple[int, ...],
    Meta(description="Which set of a file that holds several, once for each --synthetic; default: the first."),
]
