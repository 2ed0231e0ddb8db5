"""Types of fields that several kinds of specification share: what is allowed, and what `--help` says about it."""

from typing import Annotated, Literal

from msgspec import Meta

from audit.specs.spec import Settings

MOST = (1 << 31) - 1
# No guarantee is left to speak of above the first; a smaller ε or δ than the others nobody states, and the numerics of
# accountants and bounds were not tested there.
MOST_EPSILON, LEAST_EPSILON, LEAST_DELTA = 500.0, 1e-3, 1e-30

Method = Annotated[
    str,
    Meta(
        description="Name of a condenser (`audit methods` lists them); module:name or file.py:name for your own.",
        extra={"names": "condensers"},
    ),
]
Dataset = Annotated[str, Meta(description="Data set: a name (`audit data` lists them), an .npz file or a folder.")]
Records = Annotated[
    Annotated[int, Meta(ge=1, le=MOST)] | None,
    Meta(description="Use a class-balanced pool of this many records. Default: all."),
]
ImagesPerClass = Annotated[
    Annotated[int, Meta(ge=1, le=MOST)] | None,
    Meta(description="Synthetic images per class. Default: 1, or the value of the preset's paper."),
]
Ratio = Annotated[
    Annotated[float, Meta(gt=0, le=1)] | None,
    Meta(description="Alternative to --ipc: ratio of synthetic to condensed records (r of Dong et al.)."),
]
Init = Annotated[
    Literal["random", "real"] | None,
    Meta(description="Initialise synthetic images with noise (random) or with records (real). Default: random."),
]
Preset = Annotated[
    Literal["quick", "paper", "dong"],
    Meta(
        description="quick: small networks and 300 steps; paper: the settings of the method's paper for this data set; "
        "dong: those of Dong et al. `audit methods --method M` gives the source of each."
    ),
]
MethodSettings = Annotated[Settings, Meta(description="A setting of the method. May be repeated.")]
Delta = Annotated[float, Meta(ge=0, lt=1, description="δ of the bound.", extra={"least": LEAST_DELTA})]
AccountedDelta = Annotated[
    float, Meta(ge=0, lt=1, description="δ at which ε is accounted.", extra={"least": LEAST_DELTA})
]
Confidence = Annotated[float, Meta(gt=0, lt=1, description="Confidence of bounds, tests and intervals.")]
Claim = Annotated[
    Annotated[float, Meta(ge=0, le=MOST_EPSILON)] | None,
    Meta(description="The ε claimed for the method; REFUTED (exit 4) if the bound exceeds it."),
]
TargetEpsilon = Annotated[
    Annotated[float, Meta(ge=LEAST_EPSILON, le=MOST_EPSILON)] | None,
    Meta(description="Calibrate a private method's noise to this ε at --delta."),
]
Audited = Annotated[
    str | int | None,
    Meta(
        description="Audit this many records, drawn class by class, or those listed in a file; all others are in every "
        "run. If it is not set, all records are audited.",
        extra={"metavar": "N|FILE"},
    ),
]
Seed = Annotated[int, Meta(ge=0, le=(1 << 63) - 1, description="Seed of all random numbers.")]
Device = Annotated[str, Meta(description="auto, cpu, cuda, cuda:N, mps, or cuda:N,M,… with one worker per GPU.")]
Compile = Annotated[
    Literal["auto", "on", "off"],
    Meta(description="Use compiled kernels; auto: where they save time and a compiler is installed."),
]
Tries = Annotated[
    int,
    Meta(
        ge=1,
        le=1_000_000,
        description="Number of audits (seeds, attacks) tried in total; bounds are corrected for multiple testing.",
    ),
]
ShuffleMembership = Annotated[
    bool, Meta(description="Control: give the attack labels independent of membership, so that it must find nothing.")
]
Normalisation = Annotated[
    Literal["auto", "official", "unit", "symmetric"],
    Meta(
        description="With --synthetic: whether its pixels are normalised by the official mean and standard "
        "deviation (official), lie in [0, 1] (unit) or in [−1, 1] (symmetric)."
    ),
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
    Meta(description="With --synthetic: the file of `audit coins` that chose its members.", extra={"metavar": "FILE"}),
]
Column = Annotated[
    tuple[int, ...],
    Meta(description="With --members: N for the coins of set_N, once per --synthetic. Default: the columns in order."),
]
Index = Annotated[
    tuple[int, ...],
    Meta(
        description="Number of the set in a file that holds several, from 0, once per --synthetic. Default: the first."
    ),
]
Groups = Annotated[
    str | None,
    Meta(
        description="Also report AUC, TPR and ε per group: by label, or by a CSV file with columns record and "
        "group (or COLUMN).",
        extra={"metavar": "label|FILE[:COLUMN]", "omit_default": True},
    ),
]
Scores = Annotated[
    str | None,
    Meta(
        description="Audit models of your own from this table of their signals (.csv, .parquet, .npz): run, record, "
        "member, and logit, confidence or loss.",
        extra={"metavar": "FILE", "omit_default": True},
    ),
]
FairCoins = Annotated[
    bool,
    Meta(
        description="With --scores: state that every record was in every test run by its own fair coin, tossed "
        "before the training. The bound is valid only if this is true.",
        extra={"omit_default": True},
    ),
]
