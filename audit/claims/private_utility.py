"""Claims about the accuracy and the printed figures of private methods: Zheng & Li, Wu et al., Zheng et al.

Accuracies here are of digits and of a small pool of FashionMNIST, with quick presets and one image per class; the
papers have all records and 10 or 50 images per class. Runs have randomness of their own, so intervals are over runs.
"""

from audit.claims.comparisons import more_accurate_than
from audit.claims.printed import noise_gives, row_is_that_of
from audit.claims.ranges import PublishedRange
from audit.claims.record import Claim, Test, at_scales
from audit.specs.account import Account
from audit.specs.membership import Loss

ZHENG_LI = "Zheng & Li, Differentially Private Dataset Condensation"
DOSSER = "Zheng et al., Improving Noise Efficiency in Privacy-preserving Dataset Distillation"
NO_ADVERSARY = "none: a measurement of accuracy"
ON_PAPER = "none: arithmetic on printed figures"
DATA = {"digits": Loss(), "fashion-mnist": Loss(dataset="fashion-mnist", records=2000)}
RUNS = {"quick": 8, "full": 20}
CONVNET = "convnet of depth 3 and width 128"

# Accuracies in percent, "data set, images per class".
_CELLS = tuple(f"{data}, {ipc}" for data in ("mnist", "fashion-mnist", "cifar10") for ipc in (10, 50))
DM_ROW_OF_DOSSER = dict(zip(_CELLS, (97.8, 99.2, 84.6, 88.7, 52.1, 60.6), strict=True))  # Table 1, "DM w/o DP"
PUBLISHED_ROWS = {
    # Zheng & Li, Table I: DM from noise, as they measured it.
    "DM (Zheng & Li, Table I)": {"mnist, 50": 98.38, "fashion-mnist, 50": 86.90, "cifar10, 50": 59.69},
    # readme.md of VICO-UoE/DatasetCondensation at 53f63a6, section on DSA.
    "DSA (VICO-UoE/DatasetCondensation at 53f63a6, readme.md)": dict(
        zip(_CELLS, (97.8, 99.2, 84.6, 88.7, 52.1, 60.6), strict=True)
    ),
}


def _more_accurate(first: str, second: str, baseline: str, epsilon: float) -> tuple[Test, ...]:
    return tuple(
        Test(
            name=f"{name}, epsilon {epsilon:g}",
            threat_model=NO_ADVERSARY,
            specs={
                scale: tuple(
                    data.but(method=method, epsilon=epsilon, shadows=runs, independent_randomness=True)
                    for method in (first, second)
                )
                for scale, runs in RUNS.items()
            },
            judge=more_accurate_than(baseline),
        )
        for name, data in DATA.items()
    )


CLAIMS = (
    Claim(
        name="ndpdc-above-ldpdc",
        who=ZHENG_LI,
        where="Tables I and II",
        statement="NDPDC is more accurate than LDPDC: at epsilon 1, 95.32, 78.79 and 42.40 against 85.80, 63.64 and "
        "25.46 percent on MNIST, FashionMNIST and CIFAR-10.",
        published=PublishedRange(
            datasets=("mnist", "fashion-mnist", "cifar10"), members_per_class=(5000, 6742), network=CONVNET
        ),
        tests=(*_more_accurate("ndpdc", "ldpdc", "LDPDC", 1), *_more_accurate("ndpdc", "ldpdc", "LDPDC", 10)),
    ),
    Claim(
        name="ldpdc-above-dpmix",
        who=ZHENG_LI,
        where="section IV",
        statement="LDPDC is more accurate than DPMix: 25.81 against 10.22 percent on CIFAR-10, L = M = 50, sigma = 1.",
        published=PublishedRange(datasets=("cifar10",), members_per_class=(5000, 5000)),
        tests=_more_accurate("ldpdc", "dpmix", "DPMix", 10),
    ),
    Claim(
        name="dosser-above-ndpdc",
        who=DOSSER,
        where="abstract and Table 1",
        statement="At epsilon 1 Dosser gains 10.0 points over NDPDC with 50 images per class on CIFAR-10, and 8.3 "
        "points with a fifth of the images.",
        published=PublishedRange(datasets=("cifar10",), members_per_class=(5000, 5000), network=CONVNET),
        tests=_more_accurate("dosser", "ndpdc", "NDPDC", 1),
    ),
    Claim(
        name="dosser-dm-row",
        who=DOSSER,
        where='Table 1, row "DM w/o DP"',
        statement="The row holds the accuracy of DM without privacy.",
        tests=(
            Test(
                name="printed tables",
                threat_model=ON_PAPER,
                specs={"quick": (), "full": ()},
                judge=row_is_that_of(DM_ROW_OF_DOSSER, PUBLISHED_ROWS),
            ),
        ),
    ),
    Claim(
        name="dyn-psg-above-psg",
        who="Wu et al., Dynamic differential privacy-based dataset condensation",
        where="section 4 and Table 4",
        statement="Under the same privacy budget Dyn-PSG gains 3.66 points over PSG on SVHN and 1.76 on CIFAR-10.",
        needs="SVHN or all of CIFAR-10, the decay of the clipping norm, which the paper does not print, and a budget: "
        "Dyn-PSG has none to compare at, since its guarantee is refuted (dyn-psg-dp)",
    ),
    Claim(
        name="adult-noise",
        who=ZHENG_LI,
        where="section V-D",
        statement="On Adult, epsilon 1 results in a noise multiplier of 2.09. The section prints neither L nor I: 50 "
        "and 10 000 are those of the other experiments, and the smaller class has 7841 records.",
        tests=(
            Test(
                name="accounting",
                threat_model=ON_PAPER,
                specs=at_scales(Account(gaussian=True, rate=0.006376737661012626, noise_multiplier=2.09, steps=10_000)),
                judge=noise_gives(1.0),
            ),
        ),
    ),
)
