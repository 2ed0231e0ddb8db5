"""Several audits of one method under one specification: `Adversaries` and `Sweep`."""

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from audit.specs import fields
from audit.specs.membership import MOST_SHADOWS, Membership, NoLevel, reject_level
from condensers.errors import BadConfig
from condensers.spelling import did_you_mean

DOUBTS = ("everybody", "audited", "one-per-class")
RANDOMNESS = ("known", "unknown")
LEVELS = ("model", "set")
# Axis of a sweep: what it is called, and the largest value that is allowed.
AXES = {
    "over_records": ("records in the pool", fields.MOST),
    "over_audited": ("records in doubt", fields.MOST),
    "over_steps": ("steps", fields.MOST),
    "over_ipc": ("images per class", fields.MOST),
    "over_shadows": ("runs", MOST_SHADOWS),
}


class Adversaries(Membership, frozen=True, kw_only=True):
    """LiRA under a grid of adversaries: randomness known or not × records in doubt × level.

    >>> Adversaries(dataset="mnist", shadows=128).command()
    'audit adversaries --dataset mnist --shadows 128'
    """

    COMMAND: ClassVar[str] = "adversaries"
    level: NoLevel = "model"
    audited: fields.Audited = "200"
    doubt: Annotated[
        str,
        Meta(
            description="Records in doubt: everybody (all), audited (see --audited), one-per-class; comma-separated.",
            extra={"metavar": "WHO,…"},
        ),
    ] = ",".join(DOUBTS)
    randomness: Annotated[
        str,
        Meta(
            description="Whether the adversary knows the public randomness: known, unknown or both.",
            extra={"metavar": "WHICH,…"},
        ),
    ] = ",".join(RANDOMNESS)
    levels: Annotated[str, Meta(description="Levels: model, set or both.", extra={"metavar": "LEVEL,…"})] = ",".join(
        LEVELS
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        reject_level(self, "the grid has both levels; choose with --levels")
        if self.independent_randomness:
            raise BadConfig(
                "--independent-randomness: the grid covers known and unknown randomness; choose with --randomness"
            )
        for name, allowed in (("doubt", DOUBTS), ("randomness", RANDOMNESS), ("levels", LEVELS)):
            parse_choices(f"--{name}", getattr(self, name), allowed)
        if self.audited is None:
            raise BadConfig("--audited is missing: give the number of records in doubt")


class Sweep(Membership, frozen=True, kw_only=True):
    """LiRA while one size at a time is varied and all others are kept, with a power law fitted to the results.

    >>> Sweep(level="set", over_steps="100,300").command()
    'audit sweep --level set --over-steps 100,300'
    """

    COMMAND: ClassVar[str] = "sweep"
    over_records: Annotated[
        str | None, Meta(description="Values for the size of the pool.", extra={"metavar": "N,…"})
    ] = None
    over_audited: Annotated[
        str | None, Meta(description="Values for the number of records in doubt.", extra={"metavar": "N,…"})
    ] = None
    over_steps: Annotated[
        str | None, Meta(description="Values for the number of iterations.", extra={"metavar": "N,…"})
    ] = None
    over_ipc: Annotated[
        str | None, Meta(description="Values for the number of images per class.", extra={"metavar": "N,…"})
    ] = None
    over_shadows: Annotated[
        str | None, Meta(description="Values for the number of runs.", extra={"metavar": "N,…"})
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(self.values_of(name) for name in AXES):
            raise BadConfig(
                "nothing to sweep over: give --over-records, --over-audited, --over-steps, --over-ipc or "
                "--over-shadows, for example --over-steps 100,1000"
            )  # fmt: skip

    def values_of(self, axis: str) -> tuple[int, ...]:
        """The values of an axis, in rising order."""
        text: Any = getattr(self, axis)
        if text is None:
            return ()
        flag, (_, most) = f"--{axis.replace('_', '-')}", AXES[axis]
        words = [word.strip() for word in text.split(",")]
        if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= most for word in words):
            raise BadConfig(f"{flag} {text}: write whole numbers in 1…{most} separated by commas, such as 100,1000")
        if len(set(words)) < len(words):
            raise BadConfig(f"{flag} {text}: names a value twice")
        return tuple(sorted(int(word) for word in words))


def parse_choices(flag: str, text: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Some of what is allowed, in that order."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in allowed:
            raise BadConfig(f"{flag} {text}: {word!r} is not one of {', '.join(allowed)}{did_you_mean(word, allowed)}")
    return tuple(word for word in allowed if word in words)
