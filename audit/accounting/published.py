"""The mechanisms that the papers publish, as data: what is sampled, how much noise, how often, and who proves what.

Status: "proved" (a theorem that holds), "unsound" (a claim whose proof fails, or whose code does not do what is
accounted), "assumed" (our reading, since the papers leave something open). Where the released code spends more than it
accounts for, `actual` says how, so that both can be computed; where in the code that is, audit/claims/accusations.py
says. `printed_by` says whose the printed ε is, which need not be who published the settings.

Importing this imports no accountant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from condensers.errors import BadConfig

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

ZHENG_LI = "Zheng & Li, Differentially Private Dataset Condensation"
PSG_PAPER = "Chen, Kerkouche, Fritz, Private Set Generation with Discriminative Information, supplementary C.3, C.4"
NUM_SHARDS = 1000  # GS-WGAN's discriminators
FROM_THE_CLOCK = (
    "The released code draws its noise from a generator that was seeded by the clock (at most 17 bits), which no "
    "accounting covers"
)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a mechanism needs to be accounted: `batch` is the expected number of records in a sample."""

    class_sizes: tuple[int, ...]
    batch: int
    noise_multiplier: float
    steps: int


@dataclass(frozen=True, kw_only=True)
class Actual:
    """What runs instead of what is accounted.

    `attained_by` says which neighbours attain its privacy loss, so that the ε of PLD is a lower bound as well. Some
    faults are there at one number of images per class only.
    """

    reason: str
    attained_by: str
    sampling: str | None = None
    noise_factor: float = 1.0  # of the noise multiplier, not of the one that is accounted
    images_per_class: int | None = None
    fewest: int | None = None  # of a batch, where its size varies and the accounting has the largest


@dataclass(frozen=True, kw_only=True)
class Published:
    """One method. No `noise_multiplier`: calibrated to `target_epsilon`. `steps` maps (images per class, target ε)."""

    source: str
    theorem: str
    status: str
    sampling: str
    batch: int
    steps: Callable[[int, float], int]
    noise_multiplier: float | None = None
    target_epsilon: float = 1.0
    images_per_class: int = 50
    conversion: str = "balle"
    adjacency: str | None = None  # where it is not what the sampling says
    accounted_noise_factor: float = 1.0  # the claim accounts with this many times the noise multiplier
    printed: dict[str, float] = field(default_factory=dict)  # ε as printed, at these defaults and δ = 1e-5
    printed_by: str = ""
    private_share: dict[str, float] = field(default_factory=dict)  # of (ε, δ), the rest goes to an auxiliary generator
    note: str = ""
    actual: Actual | None = None


def _psg_steps(images_per_class: int, target_epsilon: float) -> int:
    """R·T·K, C.3: K = 10; R = 1000 for ε = 10 and 200 for ε = 1; T by images per class."""
    outer = {1: 1, 10: 10, 20: 20, 50: 50}
    if images_per_class not in outer:
        raise BadConfig(
            f"--ipc {images_per_class}: PSG states its number of iterations for 1, 10, 20 and 50 only; give --steps "
            "for other values"
        )
    return (200 if target_epsilon <= 1 else 1000) * outer[images_per_class] * 10


METHODS: dict[str, Published] = {
    "ldpdc": Published(
        source=ZHENG_LI,
        theorem="Theorem III.1",
        status="proved",
        sampling="poisson per class",
        batch=50,
        steps=lambda images_per_class, _: images_per_class,
        noise_multiplier=1.0,
        printed={"mnist": 1.10, "fashion-mnist": 1.06, "cifar10": 1.14, "celeba": 0.61},
        printed_by=f"{ZHENG_LI}, Table I",
        note="the noise multiplier is σ/(b√d), b√d the norm of the largest image; one release per synthetic image",
    ),
    "ndpdc": Published(
        source=ZHENG_LI,
        theorem="Theorem III.2",
        status="proved",
        sampling="poisson per class",
        batch=50,
        steps=lambda *_: 10_000,
        noise_multiplier=1.0,
        printed={"mnist": 6.12, "fashion-mnist": 5.45, "cifar10": 6.72, "celeba": 0.71},
        printed_by=f"{ZHENG_LI}, Table I",
        note=f"the noise multiplier is σ/G; the number of synthetic images costs nothing. {FROM_THE_CLOCK}",
    ),
    "psg": Published(
        source=PSG_PAPER,
        theorem="composition of R·T·K subsampled Gaussian releases",
        status="proved",
        sampling="poisson",
        batch=256,
        steps=_psg_steps,
        target_epsilon=10.0,
        images_per_class=10,
        note="noise σC on the sum of clipped gradients, as in the code, which runs R + 1 rounds and accounts for R",
    ),
    "dyn-psg": Published(
        source="Wu et al., Dynamic differential privacy-based dataset condensation",
        theorem="Proposition 1",
        status="unsound",
        sampling="poisson",
        batch=256,
        steps=lambda *_: 100_000,
        images_per_class=10,
        conversion="mironov",
        note="the noise is scaled by the largest clipped norm in the batch, which depends on the records: Proposition "
        "1 treats it as a constant and does not hold. What is computed is the claim, not a guarantee. The batch size "
        "is PSG's, because the paper states none",
    ),
    "dosser": Published(
        source="Zheng et al., Improving Noise Efficiency in Privacy-preserving Dataset Distillation",
        theorem="Theorem 2 with the accounting of Zheng & Li",
        status="proved",
        sampling="poisson per class",
        batch=50,
        steps=lambda *_: 10_000,
        private_share={"mnist": 0.8, "fashion-mnist": 0.8},
        note="proved for the algorithm as written, not for the released code. On MNIST and FashionMNIST a fifth of "
        f"(ε, δ) is spent on the generator of auxiliary images and is added. {FROM_THE_CLOCK}; at one image per class "
        "(--ipc 1) its noise is fresh at every step instead",
        actual=Actual(
            reason="at one image per class, or without augmentation, the released code adds fresh noise at each of "
            "200 000 optimisation steps to 10 000 stored sums: 20 visits of each on average, which together are "
            "equivalent to a noise multiplier of σ/√20",
            attained_by="a record whose clipped features have the clipping norm",
            noise_factor=20**-0.5,
            images_per_class=1,
        ),
    ),
    "dpmix": Published(
        source=ZHENG_LI
        + ", section IV, after Lee et al., Synthesizing Differentially Private Datasets using Random Mixing",
        theorem="none available",
        status="assumed",
        sampling="fixed size",
        batch=50,
        steps=lambda images_per_class, _: images_per_class,
        noise_multiplier=0.5**0.5,
        note="interpreted as: one mixture of 50 records per synthetic image and class out of the whole set; noise "
        "multipliers σ_X = σ_Y = 1 for image and label, released together, which is 1/√2. No ε is printed for these "
        "values",
    ),
    "dp-merf": Published(
        source=PSG_PAPER,
        theorem="Gaussian mechanism, once",
        status="proved",
        sampling="everybody",
        batch=1,
        steps=lambda *_: 1,
        noise_multiplier=5.0,
        conversion="mironov",
        adjacency="replace-one",
        printed=dict.fromkeys(("mnist", "fashion-mnist", "cifar10", "celeba"), 1.0),
        printed_by=PSG_PAPER,
        note="the noise multiplier is relative to the sensitivity 2/n of the mean embedding when a record is replaced",
    ),
    "dp-hp": Published(
        source="Vinaroz et al., Hermite Polynomial Features for Private Data Generation; released code at e9aec76",
        theorem="Gaussian mechanism: the sum kernel once, the product kernel once per epoch (10)",
        status="proved",
        sampling="everybody",
        batch=1,
        steps=lambda *_: 1,
        # σ = 5.159 for (.8, 5e-6) and 59.25 for (.2, 5e-6) over ten releases; together worth this multiplier.
        noise_multiplier=(5.159**-2 + 10 * 59.25**-2) ** -0.5,
        adjacency="replace-one",
        printed=dict.fromkeys(("mnist", "fashion-mnist"), 1.0),
        printed_by="DP-HP: .8 + .2 of epsilon, half of delta each, added up; each share by Renyi's accountant",
        note="noise multipliers relative to the sensitivity 2/n; the composition costs less than the sum of the shares",
    ),
    "dp-kip": Published(
        source="Vinaroz, Park, Differentially Private Kernel Inducing Points; released code at da198c8",
        theorem="composition of 12 000 subsampled Gaussian releases (10 epochs in batches of 50)",
        status="unsound",
        sampling="poisson",
        batch=50,
        steps=lambda *_: 12_000,
        target_epsilon=1.0,
        images_per_class=1,
        note="the claim assumes Poisson samples; the released code uses slices of shuffled epochs, and on MNIST "
        "its images start from real records, which no accounting covers",
    ),
    "dp-sinkhorn": Published(
        source="Cao et al., Don't Generate Me (DP-Sinkhorn), arXiv:2111.01177; README of the released code at 2571a60",
        theorem="composition of subsampled Gaussian releases of sensitivity 2C, up to 3000 epochs",
        status="unsound",
        sampling="poisson",
        batch=50,
        steps=lambda *_: 3_600_000,
        noise_multiplier=1.1,
        conversion="mironov",
        printed={"mnist": 10.0},
        printed_by="DP-Sinkhorn: the target of the commands in its README, which 3000 epochs may not reach",
        note="as many images are generated as the Poisson sample has records, so each release reveals the size of its "
        "sample, which amplification by sampling assumes to be hidden. For FashionMNIST: --sigma 0.9 --steps 1820000",
    ),
    "gs-wgan": Published(
        source=PSG_PAPER,
        theorem="composition of 20 000 · 32 releases sampled at 1/1000",
        status="unsound",
        sampling="shards, gradients apart",
        batch=32,
        steps=lambda *_: 20_000,
        noise_multiplier=1.07,
        conversion="mironov",
        printed={"mnist": 10.0, "fashion-mnist": 10.0},
        printed_by=f"{PSG_PAPER}, of the default configuration of GS-WGAN's repository, whose script computes it",
        note="the claim accounts for the gradients of one draw as if they came from 32 separate draws",
        actual=Actual(
            reason="one draw of a discriminator releases all gradients of the generator's batch together, 32 or 28 of "
            "them; 20 000 draws of a joint release, counted with 28",
            attained_by="a record that reverses all gradients of its discriminator and leaves those of the other "
            "discriminators unchanged",
            sampling="shards, gradients together",
            fewest=28,
        ),
    ),
    "dp-cgan": Published(
        source="Torkzadehmahani, Kairouz, Paten, DP-CGAN, released code: DP_CGAN_RdpAcc.py",
        theorem="composition of 30 304 subsampled Gaussian releases, after which the script's accountant passes 9.6",
        status="unsound",
        sampling="poisson",
        batch=600,
        steps=lambda *_: 30_304,
        noise_multiplier=1.12,
        accounted_noise_factor=1.1,
        conversion="mironov",
        printed={"mnist": 9.6},
        printed_by="DP-CGAN: the target of the script, and the slides in its repository (CV-COPS 2019)",
        note="accounted with σ·C = 1.232, where the noise multiplier is σ = 1.12. The supplementary C.4 of PSG, which "
        "runs DP-CGAN as a baseline, prints σ = 2.1 and 30 000 iterations and no ε",
        actual=Actual(
            reason="each of four tensors is clipped to C separately, so the sensitivity of the whole gradient is 2C, "
            "with noise of standard deviation σC",
            attained_by="a record whose gradient has the norm C in each of the four tensors, if batches are Poisson "
            "samples, as is accounted (the code uses slices of shuffled epochs)",
            noise_factor=0.5,
        ),
    ),
}


def published_event(sampling: str, setting: Setting) -> DpEvent:
    """The event of a setting under one of the ways of sampling."""
    from audit.accounting import events

    noise, steps, batch, sizes = setting.noise_multiplier, setting.steps, setting.batch, setting.class_sizes

    def poisson(size: int) -> DpEvent:
        return events.subsampled_gaussian(sampling_rate=batch / size, noise_multiplier=noise, steps=steps)

    match sampling:
        case "poisson per class":
            _check_batch(batch, min(sizes), "the smallest class")
            return events.parallel({str(label): poisson(size) for label, size in enumerate(sizes)})
        case "poisson":
            _check_batch(batch, sum(sizes), "the whole set")
            return poisson(sum(sizes))
        case "fixed size":
            _check_batch(batch, sum(sizes), "the whole set")
            return events.fixed_size_gaussian(
                population=sum(sizes), batch=batch, noise_multiplier=noise, steps=steps * len(sizes)
            )
        case "everybody":
            return events.gaussian(noise, steps)
        case "shards, gradients apart":
            return events.fixed_size_gaussian(
                population=NUM_SHARDS, batch=1, noise_multiplier=noise, steps=steps * batch
            )
        case "shards, gradients together":
            return events.subsampled_gaussian(
                sampling_rate=1 / NUM_SHARDS, noise_multiplier=noise / batch**0.5, steps=steps
            )
    raise ValueError(f"unknown sampling {sampling!r}")


def claimed_event(method: Published, setting: Setting) -> DpEvent:
    """What is accounted for the setting."""
    noise = setting.noise_multiplier * method.accounted_noise_factor
    return published_event(method.sampling, replace(setting, noise_multiplier=noise))


def actual_event(method: Published, setting: Setting, images_per_class: int) -> DpEvent | None:
    """What the released code does at that number of images per class, where that is not what is accounted."""
    actual = method.actual
    if actual is None or actual.images_per_class not in (None, images_per_class):
        return None
    noise = setting.noise_multiplier * actual.noise_factor
    batch = setting.batch if actual.fewest is None else min(setting.batch, actual.fewest)
    return published_event(actual.sampling or method.sampling, replace(setting, noise_multiplier=noise, batch=batch))


def _check_batch(batch: int, size: int, whole: str) -> None:
    if not 1 <= batch <= size:
        raise BadConfig(f"--batch {batch}: must lie between 1 and {size}, the size of {whole}")
