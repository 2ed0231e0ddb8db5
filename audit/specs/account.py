"""The analytic ε of a published method, of a mechanism, or of a ledger of events: `Account`."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from audit.specs.fields import LEAST_DELTA, LEAST_EPSILON, MOST, MOST_EPSILON
from audit.specs.spec import Spec
from condensers.errors import BadConfig

Positive = Annotated[int, Meta(ge=1, le=10**18)]


class Account(Spec, frozen=True, kw_only=True):
    """What a mechanism's proof guarantees; no record is looked at.

    >>> Account(method="ldpdc", dataset="mnist").command()
    'audit account --method ldpdc --dataset mnist'
    """

    COMMAND: ClassVar[str] = "account"
    method: Annotated[
        str | None,
        Meta(
            description="A published method, with its published settings (ldpdc, ndpdc, …), or your own file.py:name."
        ),
    ] = None
    gaussian: Annotated[
        bool, Meta(description="Account for a (subsampled) Gaussian mechanism with --rate, --sigma and --steps.")
    ] = False
    ledger: Annotated[
        str | None, Meta(description="A JSON file that describes the events to account for.", extra={"metavar": "FILE"})
    ] = None
    dataset: Annotated[
        Literal["mnist", "fashion-mnist", "cifar10", "svhn", "celeba", "digits", "adult"] | None,
        Meta(description="Data set whose class sizes are used; the data are not needed."),
    ] = None
    class_sizes: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=MOST)], ...],
        Meta(
            description="Class sizes of your own data, instead of --dataset.",
            extra={"separator": ",", "repeats": True, "metavar": "N,N,..."},
        ),
    ] = ()
    ipc: Annotated[Positive | None, Meta(description="Synthetic images per class.")] = None
    batch: Annotated[
        Positive | None,
        Meta(description="Expected records in a sample (per class where the method samples per class)."),
    ] = None
    noise_multiplier: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="Standard deviation of the noise divided by the sensitivity.", extra={"also": "--sigma"}),
    ] = None
    steps: Annotated[Positive | None, Meta(description="Number of releases.")] = None
    rate: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | None,
        Meta(description="With --gaussian: sampling rate in (0, 1]. [default: 1]"),
    ] = None
    sampling: Annotated[
        Literal["poisson", "fixed"],
        Meta(
            description="With --gaussian. fixed: samples of fixed size, where a record is replaced, so that the "
            "sensitivity is twice the clipping norm."
        ),
    ] = "poisson"
    delta: Annotated[float, Meta(gt=0, lt=1, description="δ at which ε is computed.", extra={"least": LEAST_DELTA})] = (
        1e-5
    )
    epsilon: Annotated[
        Annotated[float, Meta(ge=LEAST_EPSILON, le=MOST_EPSILON)] | None,
        Meta(description="Find the noise multiplier for this epsilon."),
    ] = None
    accountant: Annotated[
        Literal["rdp", "pld"],
        Meta(description="With --epsilon: the accountant to calibrate by. The papers used rdp; pld needs less noise."),
    ] = "rdp"
    conversion: Annotated[
        Literal["balle", "mironov"],
        Meta(description="Conversion from RDP to (epsilon, delta): Balle et al. or Mironov."),
    ] = "balle"
    curve: Annotated[
        bool, Meta(description="Also print the largest true-positive rates that the guarantee allows.")
    ] = False
    cross_check: Annotated[bool, Meta(description="Also print Opacus' RDP and PRV (imports torch).")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.method is not None) + self.gaussian + (self.ledger is not None) != 1:
            raise BadConfig("give one of --method NAME, --gaussian and --ledger FILE")
        own = ("dataset", "class_sizes", "ipc", "batch", "noise_multiplier", "steps", "rate", "epsilon")
        refused = {"--method": ("rate",), "--gaussian": ("dataset", "class_sizes", "ipc", "batch"), "--ledger": own}
        kind = "--method" if self.method is not None else "--gaussian" if self.gaussian else "--ledger"
        for name in refused[kind]:
            if getattr(self, name) not in (None, ()):
                raise BadConfig(f"--{name.replace('_', '-')} cannot be combined with {kind}")
        if self.noise_multiplier is not None and self.epsilon is not None:
            raise BadConfig("--epsilon computes the noise multiplier: leave out --noise-multiplier")
        if self.method is not None and (self.dataset is None) == (not self.class_sizes):
            raise BadConfig("give one of --dataset NAME and --class-sizes N,N,...")
