"""Claims of differential privacy: LDPDC, NDPDC, PSG, Dyn-PSG, Dosser, GS-WGAN, DP-CGAN.

At the transcript the noise is calibrated to a small configuration, so that thousands of runs of the real code fit into
minutes; the accounting is held against the printed figures at the printed settings.
"""

from typing import Any

from audit.claims.judges import guarantee_holds
from audit.claims.printed import printed_epsilon_is_right
from audit.claims.ranges import PublishedRange
from audit.claims.record import Claim, Test, at_scales
from audit.specs.account import Account
from audit.specs.worst_case import WorstCase

ZHENG_LI = "Zheng & Li, Differentially Private Dataset Condensation"
AT_THE_DOOR = "the theorem's: the adversary chooses the neighbouring sets and sees every noisy sum"
ON_PAPER = "none: arithmetic"
CLOCK = {"noise_source": "clock"}
# A theorem is claimed for any data and settings, released code for those that it was run with.
AS_RUN = PublishedRange(steps=(10_000, 10_000), network="convnet of depth 3 and width 128")


def _at_the_door(
    method: str,
    epsilon: float,
    settings: dict[str, str] | None = None,
    name: str = "transcript",
    quick_trials: int = 10_000,
) -> Test:
    spec = WorstCase(method=method, epsilon=epsilon, settings=settings or {})
    return Test(
        name=f"{name}, epsilon {epsilon:g}",
        threat_model=AT_THE_DOOR,
        specs=at_scales(quick=spec.but(trials=quick_trials), full=spec.but(trials=100_000)),
        judge=guarantee_holds,
    )


def on_paper(method: Any, datasets: tuple[Any, ...]) -> Test:
    """The accounting at the printed settings."""
    specs = tuple(Account(method=method, dataset=dataset) for dataset in datasets)
    return Test(
        name="accounting",
        threat_model=ON_PAPER,
        specs={"quick": specs, "full": specs},
        judge=printed_epsilon_is_right,
    )


CLAIMS = (
    Claim(
        name="ldpdc-dp",
        who=ZHENG_LI,
        where="Theorem III.1 and Table I",
        statement="LDPDC is (epsilon, 1e-5)-DP: 1.10, 1.06, 1.14, 0.61 on MNIST, FashionMNIST, CIFAR-10, CelebA",
        tests=(
            on_paper("ldpdc", ("mnist", "fashion-mnist", "cifar10", "celeba")),
            _at_the_door("ldpdc", 1),
            _at_the_door("ldpdc", 8),
        ),
    ),
    Claim(
        name="ndpdc-dp",
        who=ZHENG_LI,
        where="Theorem III.2 and Table I",
        statement="NDPDC is (epsilon, 1e-5)-DP: 6.12, 5.45, 6.72, 0.71 on MNIST, FashionMNIST, CIFAR-10, CelebA",
        tests=(
            on_paper("ndpdc", ("mnist", "fashion-mnist", "cifar10", "celeba")),
            _at_the_door("ndpdc", 1),
            _at_the_door("ndpdc", 8),
        ),
    ),
    Claim(
        name="ndpdc-code",
        who=f"{ZHENG_LI}, released code",
        where="accusation ndpdc-clock",
        statement="The released code of NDPDC is as private as its theorem.",
        published=AS_RUN,
        tests=(_at_the_door("ndpdc", 1, CLOCK, name="transcript, noise seeded by the clock"),),
    ),
    Claim(
        name="psg-dp",
        who="Chen, Kerkouche, Fritz, Private Set Generation with Discriminative Information",
        where="section 4 and supplementary C",
        statement="PSG is (epsilon, 1e-5)-DP at epsilon 1 and 10.",
        tests=(_at_the_door("psg", 1), _at_the_door("psg", 8)),
    ),
    Claim(
        name="dyn-psg-dp",
        who="Wu et al., Dynamic differential privacy-based dataset condensation",
        where="Proposition 1",
        statement="Dyn-PSG, with noise scaled by the largest clipped norm in the batch, is (epsilon, delta)-DP.",
        tests=(_at_the_door("dyn-psg", 1), _at_the_door("dyn-psg", 8)),
    ),
    Claim(
        name="dosser-dp",
        who="Zheng et al., Improving Noise Efficiency in Privacy-preserving Dataset Distillation",
        where="Theorem 2",
        statement="Dosser is (epsilon, delta)-DP.",
        tests=(_at_the_door("dosser", 1), _at_the_door("dosser", 8)),
    ),
    Claim(
        name="dosser-code",
        who="Zheng et al., released code",
        where="accusations dosser-clock and dosser-fresh-noise",
        statement="The released code of Dosser is as private as its theorem.",
        published=AS_RUN,
        tests=(
            _at_the_door("dosser", 1, CLOCK, name="transcript, noise seeded by the clock"),
            _at_the_door(
                "dosser",
                1,
                {"fresh_noise": "true", "augmentation": "none", "optimisation_steps": "200"},
                name="transcript, without augmentation: fresh noise at every step",
                quick_trials=4000,
            ),
        ),
    ),
    Claim(
        name="gs-wgan-dp",
        who="Chen, Kerkouche, Fritz, Private Set Generation with Discriminative Information, of GS-WGAN",
        where="supplementary C.4 prints epsilon 10 for the default configuration of GS-WGAN's repository, whose "
        "evaluation/privacy_analysis.py computes it",
        statement="GS-WGAN is (10, 1e-5)-DP on MNIST and FashionMNIST.",
        tests=(on_paper("gs-wgan", ("mnist", "fashion-mnist")),),
    ),
    Claim(
        name="dp-cgan-dp",
        who="Torkzadehmahani, Kairouz, Paten, DP-CGAN",
        where="the target of DP_CGAN_RdpAcc.py and the slides in its repository; PSG's supplementary C.4 prints "
        "sigma 2.1 and no epsilon",
        statement="DP-CGAN is (9.6, 1e-5)-DP on MNIST.",
        tests=(on_paper("dp-cgan", ("mnist",)),),
    ),
)
